//! The value of one of the daemon's own series, and its lines.

use std::fmt::Display;
use std::io::Write as _;

use super::family::Type;
use super::text::escape;

/// Upper bounds in seconds. The interface answers within a fraction of a second; 30 is the time-out.
const DURATION_BUCKETS: [f64; 9] = [0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0];

/// The separator between the label values of a series, which sorts before any of their characters.
pub(super) const BETWEEN: &str = "\0";

/// The value of a series.
#[derive(Debug)]
pub(super) enum Held {
    Number(f64),
    Histogram(Box<Histogram>),
}

#[derive(Default, Debug)]
pub(super) struct Histogram {
    /// The count of each bucket alone.
    buckets: [u64; DURATION_BUCKETS.len()],
    sum: f64,
    count: u64,
}

impl Held {
    /// The value of a new series.
    pub(super) fn new(kind: Type) -> Self {
        match kind {
            Type::Gauge | Type::Counter => Self::Number(0.0),
            Type::Histogram => Self::Histogram(Box::default()),
        }
    }

    /// Adds to a number, or takes a value into a histogram.
    pub(super) fn add(&mut self, value: f64) {
        match self {
            Self::Number(number) => *number += value,
            Self::Histogram(all) => {
                if let Some(bucket) = DURATION_BUCKETS.iter().position(|&bound| value <= bound) {
                    all.buckets[bucket] += 1;
                }
                all.sum += value;
                all.count += 1;
            }
        }
    }

    pub(super) fn write(&self, lines: &mut OwnLines<'_>) {
        match self {
            Self::Number(number) => lines.put("", None, number),
            Self::Histogram(all) => {
                let mut so_far = 0;
                for (bound, here) in DURATION_BUCKETS.iter().zip(all.buckets) {
                    so_far += here;
                    lines.put("_bucket", Some(&bound.to_string()), so_far);
                }
                lines.put("_bucket", Some("+Inf"), all.count);
                lines.put("_sum", None, all.sum);
                lines.put("_count", None, all.count);
            }
        }
    }
}

/// Writes the lines of one series.
pub(super) struct OwnLines<'a> {
    pub(super) out: &'a mut Vec<u8>,
    pub(super) name: &'a str,
    pub(super) labels: &'a [&'static str],
    /// The label values, joined in the order of the labels.
    pub(super) values: &'a str,
}

impl OwnLines<'_> {
    fn put(&mut self, suffix: &str, bound: Option<&str>, value: impl Display) {
        let out = &mut *self.out;
        out.extend_from_slice(self.name.as_bytes());
        out.extend_from_slice(suffix.as_bytes());
        let pairs = self.labels.iter().copied().zip(self.values.split(BETWEEN));
        let mut opening = b'{';
        for (label, text) in pairs.chain(bound.map(|bound| ("le", bound))) {
            out.push(opening);
            out.extend_from_slice(label.as_bytes());
            out.extend_from_slice(b"=\"");
            escape(out, text);
            out.push(b'"');
            opening = b',';
        }
        if opening == b',' {
            out.push(b'}');
        }
        let _ = writeln!(out, " {value}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_counts_up_and_a_bound_belongs_to_its_bucket() {
        let mut took = Held::new(Type::Histogram);
        for seconds in [0.05, 0.06, 4.0, 31.0] {
            took.add(seconds);
        }
        let mut out = Vec::new();
        let mut lines =
            OwnLines { out: &mut out, name: "took_seconds", labels: &["account"], values: "main" };
        took.write(&mut lines);
        let text = String::from_utf8(out).unwrap();
        for (bound, count) in [("0.05", 1), ("0.1", 2), ("2.5", 2), ("5", 3), ("30", 3), ("+Inf", 4)] {
            let line = format!("took_seconds_bucket{{account=\"main\",le=\"{bound}\"}} {count}\n");
            assert!(text.contains(&line), "{line} in {text}");
        }
        assert!(
            text.ends_with(
                "took_seconds_sum{account=\"main\"} 35.11\ntook_seconds_count{account=\"main\"} 4\n"
            )
        );
    }
}
