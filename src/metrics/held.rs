//! The value of one of the daemon's own series, and its lines.

use std::fmt::Display;
use std::io::Write as _;

use super::family::Type;
use super::text::escape;

/// Upper bounds in seconds. The interface answers within a fraction of a second; 30 is the time-out.
const DURATION_BUCKETS: [f64; 9] = [0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0];

/// The separator between the label values of a series, which sorts before any of their characters.
pub(super) const BETWEEN: char = '\0';

/// The value of a series.
pub(super) trait Held: Default {
    const KIND: Type;
    fn write(&self, lines: &mut OwnLines<'_>);
}

#[derive(Default, Debug)]
pub(super) struct Gauge(f64);

#[derive(Default, Debug)]
pub(super) struct Counter(f64);

#[derive(Default, Debug)]
pub(super) struct Histogram {
    /// The count of each bucket alone.
    buckets: [u64; DURATION_BUCKETS.len()],
    sum: f64,
    count: u64,
}

impl Gauge {
    pub(super) fn set(&mut self, value: f64) {
        self.0 = value;
    }

    pub(super) fn is_set(&self) -> bool {
        self.0 > 0.0
    }
}

impl Counter {
    pub(super) fn inc(&mut self) {
        self.inc_by(1.0);
    }

    pub(super) fn inc_by(&mut self, more: f64) {
        self.0 += more;
    }
}

impl Histogram {
    pub(super) fn observe(&mut self, value: f64) {
        let bucket = DURATION_BUCKETS.iter().position(|&bound| value <= bound);
        if let Some(bucket) = bucket.and_then(|bucket| self.buckets.get_mut(bucket)) {
            *bucket += 1;
        }
        self.sum += value;
        self.count += 1;
    }
}

impl Held for Gauge {
    const KIND: Type = Type::Gauge;
    fn write(&self, lines: &mut OwnLines<'_>) {
        lines.put("", None, self.0);
    }
}

impl Held for Counter {
    const KIND: Type = Type::Counter;
    fn write(&self, lines: &mut OwnLines<'_>) {
        lines.put("", None, self.0);
    }
}

impl Held for Histogram {
    const KIND: Type = Type::Histogram;
    fn write(&self, lines: &mut OwnLines<'_>) {
        let mut so_far = 0;
        for (bound, here) in DURATION_BUCKETS.iter().zip(self.buckets) {
            so_far += here;
            lines.put("_bucket", Some(&bound.to_string()), so_far);
        }
        lines.put("_bucket", Some("+Inf"), self.count);
        lines.put("_sum", None, self.sum);
        lines.put("_count", None, self.count);
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
        let mut took = Histogram::default();
        for seconds in [0.05, 0.06, 4.0, 31.0] {
            took.observe(seconds);
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
