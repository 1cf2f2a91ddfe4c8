//! Lines of the text exposition format: names, escaped labels, numbers.
//!
//! The lines are the same in text 0.0.4 and in OpenMetrics 1.0.0.

use std::borrow::Cow;
use std::io::Write as _;

use chrono::{DateTime, Utc};

use crate::model::{Money, Resource};

/// The value of a label.
#[derive(Clone, Copy)]
pub(super) enum Label<'a> {
    Id(u64),
    Text(&'a str),
}

impl<'a> Label<'a> {
    /// A text that may be unknown. An empty label counts as an absent one.
    pub(super) fn maybe(text: Option<&'a str>) -> Self {
        Self::Text(text.unwrap_or_default())
    }
}

/// The value of a sample. It is exact and never converted to a float.
pub(super) trait Value: Copy {
    fn write(&self, out: &mut Vec<u8>);
}

impl Value for u64 {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(itoa::Buffer::new().format(*self).as_bytes());
    }
}

impl Value for i64 {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(itoa::Buffer::new().format(*self).as_bytes());
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

/// A moment, in seconds since the Unix epoch.
impl Value for DateTime<Utc> {
    fn write(&self, out: &mut Vec<u8>) {
        self.timestamp().write(out);
    }
}

/// Takes the samples of one family of one account.
pub(super) struct Lines<'a> {
    out: &'a mut Vec<u8>,
    /// The labels after `account`.
    labels: &'static [&'static str],
    /// `name{account="…"`, the same on every line.
    start: Vec<u8>,
}

impl<'a> Lines<'a> {
    /// `labels` are those of the family; `account` is the first.
    pub(super) fn new(
        out: &'a mut Vec<u8>,
        family: &str,
        labels: &'static [&'static str],
        account: &str,
    ) -> Self {
        debug_assert_eq!(labels.first(), Some(&"account"));
        let labels = labels.get(1..).unwrap_or_default();
        let mut start = Vec::with_capacity(80);
        start.extend_from_slice(family.as_bytes());
        start.extend_from_slice(b"{account=\"");
        escape(&mut start, account);
        start.push(b'"');
        Self { out, labels, start }
    }

    /// Writes one sample; `labels` are those after `account`, in the order of the family's row.
    pub(super) fn put(&mut self, labels: &[Label<'_>], value: impl Value) {
        debug_assert_eq!(labels.len(), self.labels.len(), "{}", String::from_utf8_lossy(&self.start));
        let out = &mut *self.out;
        out.extend_from_slice(&self.start);
        for (name, label) in self.labels.iter().zip(labels) {
            out.push(b',');
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(b"=\"");
            match *label {
                Label::Id(id) => id.write(out),
                Label::Text(text) => escape(out, text),
            }
            out.push(b'"');
        }
        out.extend_from_slice(b"} ");
        value.write(out);
        out.push(b'\n');
    }

    /// Writes one sample if its value is known.
    pub(super) fn maybe(&mut self, labels: &[Label<'_>], value: Option<impl Value>) {
        if let Some(value) = value {
            self.put(labels, value);
        }
    }

    /// Writes one sample for each row, with the labels that describe it.
    pub(super) fn info<'r, T: 'r, const N: usize>(
        &mut self,
        rows: impl IntoIterator<Item = &'r T>,
        labels: impl Fn(&'r T) -> [Label<'r>; N],
    ) {
        rows.into_iter().for_each(|row| self.put(&labels(row), true));
    }

    /// Writes one sample for each row that has a value, under the row's id.
    pub(super) fn each<'r, T: Resource<Id: Into<u64>> + 'r, V: Value>(
        &mut self,
        rows: impl IntoIterator<Item = &'r T>,
        value: impl Fn(&'r T) -> Option<V>,
    ) {
        for row in rows {
            self.maybe(&[Label::Id(row.id().into())], value(row));
        }
    }
}

/// The result of [`escape`] for NUL, for cases in which two texts must not become one label unnoticed.
pub(super) fn without_nul(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { text.replace('\0', "\u{fffd}").into() } else { text.into() }
}

/// Scrapers with a limit refuse a whole page for one label: Azure's agent from 1,024 bytes, Mimir from 2,048.
const LONGEST_LABEL: usize = 1_023;

/// Escapes backslash, quote and line feed as the format requires. NUL becomes U+FFFD: it is valid UTF-8, but
/// Prometheus's lexer takes it for the end of the page. Other control characters stay. A longer text
/// is cut between characters.
pub(super) fn escape(out: &mut Vec<u8>, text: &str) {
    let text = without_nul(text);
    let mut rest = &text.as_bytes()[..text.floor_char_boundary(LONGEST_LABEL)];
    while let Some(at) = rest.iter().position(|byte| matches!(byte, b'\\' | b'"' | b'\n')) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(match rest[at] {
            b'\\' => b"\\\\",
            b'"' => b"\\\"",
            _ => b"\\n",
        });
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_cut_on_a_letter() {
        for (text, want) in [
            ("n".repeat(1_024), 1_023),
            ("ж".repeat(600), 1_022),
            ("n".repeat(1_023), 1_023),
            ("\0".repeat(400), 1_023),
        ] {
            let mut out = Vec::new();
            escape(&mut out, &text);
            assert_eq!((out.len(), String::from_utf8(out).is_ok()), (want, true));
        }
    }

    #[test]
    fn values_are_exact() {
        let mut out = Vec::new();
        let mut lines = Lines::new(&mut out, "hosting_billing_balance", &["account"], "main");
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
