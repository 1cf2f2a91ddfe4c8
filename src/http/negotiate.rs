//! What a client's `Accept` and `Accept-Encoding` ask for. Never refuses: who asks for nothing we have
//! gets plain text.

use hyper::HeaderMap;
use hyper::header::{ACCEPT, ACCEPT_ENCODING, HeaderName};

/// The formats of `/metrics`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Format {
    Text,
    OpenMetrics,
}

impl Format {
    pub(super) const fn content_type(self) -> &'static str {
        match self {
            Self::Text => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// OpenMetrics where it is asked for by name and at least as dearly as plain text.
pub(super) fn format(headers: &HeaderMap) -> Format {
    let (mut openmetrics, mut text) = (0, 0);
    for (range, quality) in items(headers, ACCEPT) {
        let best = match range.as_str() {
            "application/openmetrics-text" => &mut openmetrics,
            "text/plain" | "text/*" | "*/*" => &mut text,
            _ => continue,
        };
        *best = quality.max(*best);
    }
    if openmetrics > 0 && openmetrics >= text { Format::OpenMetrics } else { Format::Text }
}

/// Does the client take gzip?
pub(super) fn gzip(headers: &HeaderMap) -> bool {
    let items: Vec<_> = items(headers, ACCEPT_ENCODING).collect();
    let quality = |names: &[&str]| {
        items.iter().find(|(name, _)| names.contains(&name.as_str())).map(|&(_, quality)| quality)
    };
    quality(&["gzip", "x-gzip"]).or_else(|| quality(&["*"])).is_some_and(|quality| quality > 0)
}

/// The items of a list header in small letters, without parameters, with their quality in thousandths.
fn items(headers: &HeaderMap, name: HeaderName) -> impl Iterator<Item = (String, u32)> {
    let lines = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    lines.flat_map(|line| line.split(',')).map(|item| {
        let mut parts = item.split(';').map(str::trim);
        let range = parts.next().unwrap_or_default().to_ascii_lowercase();
        let quality = parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
        (range, quality.map_or(1000, thousandths))
    })
}

/// What cannot be read counts as not wanted.
fn thousandths(quality: &str) -> u32 {
    let quality: f64 = quality.trim().parse().unwrap_or(0.0);
    (quality.clamp(0.0, 1.0) * 1000.0).round() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: HeaderName, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name, value.parse().unwrap())])
    }

    #[test]
    fn formats() {
        let prometheus = "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,\
                          application/openmetrics-text;version=0.0.1;q=0.5,\
                          text/plain;version=1.0.0;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2";
        let table = [
            (prometheus, Format::OpenMetrics),
            ("", Format::Text),
            ("*/*", Format::Text),
            ("text/html,application/xhtml+xml,*/*;q=0.8", Format::Text),
            ("application/openmetrics-text", Format::OpenMetrics),
            ("Application/OpenMetrics-Text; version=1.0.0", Format::OpenMetrics),
            ("application/openmetrics-text;q=0.5, text/plain;q=0.9", Format::Text),
            ("application/openmetrics-text;q=0.5, text/plain;q=0.5", Format::OpenMetrics),
            ("application/openmetrics-text;q=0", Format::Text),
            ("application/openmetrics-text;q=x", Format::Text),
            ("application/json", Format::Text),
        ];
        for (accept, want) in table {
            assert_eq!(format(&headers(ACCEPT, accept)), want, "{accept}");
        }
        assert_eq!(format(&HeaderMap::new()), Format::Text);
    }

    #[test]
    fn encodings() {
        let table = [
            ("gzip", true),
            ("GZIP", true),
            ("deflate, gzip;q=0.5", true),
            ("gzip;q=0", false),
            ("gzip; q=0.000, *", false),
            ("*", true),
            ("*;q=0", false),
            ("identity", false),
            ("gzipped", false),
            ("", false),
        ];
        for (accept, want) in table {
            assert_eq!(gzip(&headers(ACCEPT_ENCODING, accept)), want, "{accept}");
        }
        assert!(!gzip(&HeaderMap::new()));
    }
}
