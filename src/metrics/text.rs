//! Lines of the text exposition format: names, escaped labels, numbers. Knows no resource.
//!
//! What is written here reads the same as text 0.0.4 and as OpenMetrics 1.0.0.

use std::borrow::Cow;
use std::io::Write as _;

use super::family::Family;
use super::series_limit::{Count, Limit};
use crate::model::Money;

/// The value of a label.
#[derive(Clone, Copy)]
pub(super) enum Label<'a> {
    Id(u64),
    Text(&'a str),
}

impl<'a> Label<'a> {
    /// A text that may be unknown: an empty label is an absent one.
    pub(super) fn maybe(text: Option<&'a str>) -> Self {
        Self::Text(text.unwrap_or_default())
    }
}

/// The value of a sample; exact, never by way of a float.
pub(super) trait Value: Copy {
    fn write(&self, out: &mut Vec<u8>);
}

impl Value for u64 {
    fn write(&self, out: &mut Vec<u8>) {
        let _ = write!(out, "{self}");
    }
}

impl Value for i64 {
    fn write(&self, out: &mut Vec<u8>) {
        let _ = write!(out, "{self}");
    }
}

impl Value for bool {
    fn write(&self, out: &mut Vec<u8>) {
        out.push(if *self { b'1' } else { b'0' });
    }
}

impl Value for Money {
    fn write(&self, out: &mut Vec<u8>) {
        let _ = write!(out, "{self}");
    }
}

/// Writes the samples of one family of one account.
pub(super) struct Lines<'a> {
    out: &'a mut Vec<u8>,
    family: &'static Family,
    /// `name{account="…"`, the same on every line.
    start: Vec<u8>,
    limit: Limit,
    /// Where series are only counted.
    count: Option<&'a mut Count>,
}

impl<'a> Lines<'a> {
    pub(super) fn new(out: &'a mut Vec<u8>, family: &'static Family, account: &str) -> Self {
        debug_assert_eq!(family.labels.first(), Some(&"account"));
        let mut start = Vec::with_capacity(80);
        start.extend_from_slice(family.name.as_bytes());
        start.extend_from_slice(b"{account=\"");
        escape(&mut start, account);
        start.push(b'"');
        Self { out, family, start, limit: Limit::default(), count: None }
    }

    /// Leaves out the resources that the limit leaves out.
    pub(super) fn within(mut self, limit: Limit) -> Self {
        self.limit = limit;
        self
    }

    /// Counts series and writes nothing.
    pub(super) fn counting(mut self, count: &'a mut Count) -> Self {
        self.count = Some(count);
        self
    }

    /// One sample; `labels` are those after `account`, in the order of the table.
    pub(super) fn put(&mut self, labels: &[Label<'_>], value: impl Value) {
        debug_assert_eq!(labels.len() + 1, self.family.labels.len(), "{}", self.family.name);
        let resource = match labels.first() {
            Some(&Label::Id(id)) if self.family.is_of_resources() => Some(id),
            Some(_) | None => None,
        };
        if let Some(count) = &mut self.count {
            count.add(resource);
            return;
        }
        if resource.is_some_and(|id| !self.limit.lets(id)) {
            return;
        }
        self.out.extend_from_slice(&self.start);
        for (name, label) in self.family.labels[1..].iter().zip(labels) {
            self.out.push(b',');
            self.out.extend_from_slice(name.as_bytes());
            self.out.extend_from_slice(b"=\"");
            match *label {
                Label::Id(id) => id.write(self.out),
                Label::Text(text) => escape(self.out, text),
            }
            self.out.push(b'"');
        }
        self.out.extend_from_slice(b"} ");
        value.write(self.out);
        self.out.push(b'\n');
    }

    /// One sample where its value is known.
    pub(super) fn maybe(&mut self, labels: &[Label<'_>], value: Option<impl Value>) {
        if let Some(value) = value {
            self.put(labels, value);
        }
    }
}

/// What [`escape`] makes of NUL, where two texts must not become one label unseen.
pub(super) fn without_nul(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { text.replace('\0', "\u{fffd}").into() } else { text.into() }
}

/// Backslash, quote and line feed as the format wants them. NUL becomes U+FFFD: it is valid UTF-8, but
/// Prometheus's lexer takes it for the end of the page. Other control characters stay.
fn escape(out: &mut Vec<u8>, text: &str) {
    let mut rest = text.as_bytes();
    while let Some(at) = rest.iter().position(|byte| matches!(byte, b'\\' | b'"' | b'\n' | 0)) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(match rest[at] {
            b'\\' => b"\\\\",
            b'"' => b"\\\"",
            b'\n' => b"\\n",
            _ => "\u{fffd}".as_bytes(),
        });
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::table;

    #[test]
    fn labels_are_escaped() {
        let table = [
            ("plain", "plain"),
            ("", ""),
            (r"a\b", r"a\\b"),
            (r#"say "hi""#, r#"say \"hi\""#),
            ("two\nlines", r"two\nlines"),
            ("\\\n\"", r#"\\\n\""#),
            ("tab\tcr\r", "tab\tcr\r"),
            ("nul\0", "nul\u{fffd}"),
            ("кириллица 🦀", "кириллица 🦀"),
        ];
        for (text, want) in table {
            let mut out = Vec::new();
            escape(&mut out, text);
            assert_eq!(String::from_utf8(out).unwrap(), want, "{text:?}");
        }
    }

    #[test]
    fn values_are_exact() {
        let mut out = Vec::new();
        let mut lines = Lines::new(&mut out, &table::BILLING_BALANCE, "main");
        lines.put(&[], "79228162514264337593543950.335".parse::<Money>().unwrap());
        lines.put(&[], "-0.10".parse::<Money>().unwrap());
        lines.put(&[], u64::MAX);
        lines.put(&[], -5_i64);
        lines.put(&[], true);
        lines.maybe(&[], None::<u64>);
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "hosting_billing_balance{account=\"main\"} 79228162514264337593543950.335\n\
             hosting_billing_balance{account=\"main\"} -0.1\n\
             hosting_billing_balance{account=\"main\"} 18446744073709551615\n\
             hosting_billing_balance{account=\"main\"} -5\n\
             hosting_billing_balance{account=\"main\"} 1\n"
        );
    }
}
