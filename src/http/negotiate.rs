//! Chooses format and compression by a client's `Accept` and `Accept-Encoding`. It never refuses: a client that
//! accepts no format of ours gets plain text.

use hyper::HeaderMap;
use hyper::header::{ACCEPT, ACCEPT_ENCODING, HeaderName};

/// The formats of `/metrics`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum PageFormat {
    Text,
    OpenMetrics,
}

/// The escaping schemes for metric names outside the old alphabet. Our names are all inside, so every scheme
/// gives the same bytes. The response repeats the requested scheme.
const ESCAPINGS: [&str; 4] = ["allow-utf-8", "underscores", "dots", "values"];

impl PageFormat {
    /// The content type, with the requested escaping if there was one.
    pub(super) fn content_type(self, escaping: Option<&str>) -> String {
        let (name, version) = self.media_type();
        let escaping = escaping.map_or_else(String::new, |escaping| format!("; escaping={escaping}"));
        format!("{name}; version={version}; charset=utf-8{escaping}")
    }

    /// The media type and its version.
    const fn media_type(self) -> (&'static str, &'static str) {
        match self {
            Self::Text => ("text/plain", "0.0.4"),
            Self::OpenMetrics => ("application/openmetrics-text", "1.0.0"),
        }
    }
}

/// OpenMetrics if the client names it with a q-value that is at least that of plain text, and the escaping
/// requested with it.
pub(super) fn format(headers: &HeaderMap) -> (PageFormat, Option<&'static str>) {
    let (mut openmetrics, mut text) = (0, 0);
    let items: Vec<Item> = items(headers, ACCEPT).collect();
    for item in &items {
        let best = match item.name.as_str() {
            "application/openmetrics-text" => &mut openmetrics,
            "text/plain" | "text/*" | "*/*" => &mut text,
            _ => continue,
        };
        *best = item.quality.max(*best);
    }
    let is_openmetrics = openmetrics > 0 && openmetrics >= text;
    let format = if is_openmetrics { PageFormat::OpenMetrics } else { PageFormat::Text };
    let (name, version) = format.media_type();
    let served = |item: &&Item| {
        let is_its = item.parameter("version").is_none_or(|asked| asked == version);
        item.name == name && item.quality > 0 && is_its
    };
    // The first item of those with the highest q-value.
    let asked = items.iter().filter(served).rev().max_by_key(|item| item.quality);
    let escaping = asked.and_then(|item| item.parameter("escaping"));
    (format, ESCAPINGS.into_iter().find(|known| escaping == Some(known)))
}

/// Whether a body is compressed: unless the client refuses gzip or prefers none.
pub(super) fn is_gzip(headers: &HeaderMap) -> bool {
    let items: Vec<Item> = items(headers, ACCEPT_ENCODING).collect();
    let quality = |names: &[&str]| {
        items.iter().find(|item| names.contains(&item.name.as_str())).map(|item| item.quality)
    };
    let gzip = quality(&["gzip", "x-gzip"]).or_else(|| quality(&["*"])).unwrap_or(0);
    // `identity` is always acceptable, with the lowest q-value if the client does not name it.
    let identity = quality(&["identity"]).unwrap_or(0);
    gzip > 0 && gzip >= identity
}

/// An item of a list header in lower case.
pub(super) struct Item {
    pub(super) name: String,
    parameters: Vec<(String, String)>,
    /// The q-value in thousandths.
    pub(super) quality: u32,
}

impl Item {
    fn parameter(&self, wanted: &str) -> Option<&str> {
        self.parameters.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str())
    }
}

pub(super) fn items(headers: &HeaderMap, name: HeaderName) -> impl Iterator<Item = Item> {
    let lines = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    lines.flat_map(|line| line.split(',')).map(|item| {
        let item = item.to_ascii_lowercase();
        let mut parts = item.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default().to_owned();
        let pair = |part: &str| {
            let (name, value) = part.split_once('=')?;
            Some((name.trim().to_owned(), value.trim().trim_matches('"').to_owned()))
        };
        let mut made = Item { name, parameters: parts.filter_map(pair).collect(), quality: 1000 };
        made.quality = made.parameter("q").map_or(1000, thousandths);
        made
    })
}

/// An unreadable q-value counts as 0.
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
            (prometheus, PageFormat::OpenMetrics),
            ("", PageFormat::Text),
            ("*/*", PageFormat::Text),
            ("text/html,application/xhtml+xml,*/*;q=0.8", PageFormat::Text),
            ("application/openmetrics-text", PageFormat::OpenMetrics),
            ("Application/OpenMetrics-Text; version=1.0.0", PageFormat::OpenMetrics),
            ("application/openmetrics-text;q=0.5, text/plain;q=0.9", PageFormat::Text),
            ("application/openmetrics-text;q=0.5, text/plain;q=0.5", PageFormat::OpenMetrics),
            ("application/openmetrics-text;q=0", PageFormat::Text),
            ("application/openmetrics-text;q=x", PageFormat::Text),
            ("application/json", PageFormat::Text),
        ];
        for (accept, want) in table {
            assert_eq!(format(&headers(ACCEPT, accept)).0, want, "{accept}");
        }
        assert_eq!(format(&HeaderMap::new()), (PageFormat::Text, None));
    }

    /// The headers of Prometheus 3, and of one whose metric names are in the old alphabet.
    #[test]
    fn escapings() {
        let three = "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,\
                     application/openmetrics-text;version=0.0.1;q=0.4,\
                     text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1";
        let table = [
            (
                three.to_owned(),
                "application/openmetrics-text; version=1.0.0; charset=utf-8; escaping=allow-utf-8",
            ),
            (
                three.replace("allow-utf-8", "underscores"),
                "application/openmetrics-text; version=1.0.0; charset=utf-8; escaping=underscores",
            ),
            (
                "text/plain;version=1.0.0;escaping=allow-utf-8;q=0.6,text/plain;version=0.0.4;q=0.5"
                    .to_owned(),
                "text/plain; version=0.0.4; charset=utf-8",
            ),
            (
                "text/plain;version=0.0.4;escaping=\"values\"".to_owned(),
                "text/plain; version=0.0.4; charset=utf-8; escaping=values",
            ),
            (
                "text/plain;escaping=dots".to_owned(),
                "text/plain; version=0.0.4; charset=utf-8; escaping=dots",
            ),
            ("text/plain;escaping=none".to_owned(), "text/plain; version=0.0.4; charset=utf-8"),
            ("text/plain;escaping=dots;q=0".to_owned(), "text/plain; version=0.0.4; charset=utf-8"),
        ];
        for (accept, want) in table {
            let (format, escaping) = format(&headers(ACCEPT, &accept));
            assert_eq!(format.content_type(escaping), want, "{accept}");
        }
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
            ("zstd", false),
            ("gzip, deflate, br, zstd", true),
            ("identity, gzip;q=0.5", false),
            ("identity;q=0.6, gzip;q=0.5", false),
            ("identity;q=0.5, gzip;q=0.5", true),
            ("identity;q=0, gzip;q=0.1", true),
            ("identity;q=0", false),
        ];
        for (accept, want) in table {
            assert_eq!(is_gzip(&headers(ACCEPT_ENCODING, accept)), want, "{accept}");
        }
        assert!(!is_gzip(&HeaderMap::new()));
    }
}
