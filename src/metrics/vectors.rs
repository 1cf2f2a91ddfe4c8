//! The daemon's own families: their series begin, change and end while it runs.

use std::collections::BTreeMap;
use std::fmt;

use parking_lot::Mutex;

use super::family::{Family, Type};
use super::held::{BETWEEN, Held, OwnLines};

/// The series of one family by their label values, joined in the order of the labels.
pub(super) struct Vector {
    pub(super) family: &'static Family,
    series: Mutex<BTreeMap<Box<str>, Held>>,
}

impl Vector {
    pub(super) fn new(family: &'static Family) -> Self {
        Self { family, series: Mutex::default() }
    }

    /// Sets the series with these values, in the order of the family's row.
    pub(super) fn set(&self, values: &[&str], number: f64) {
        self.change(values, |held| *held = Held::Number(number));
    }

    /// Adds to such a series, or takes a value into a histogram.
    pub(super) fn add(&self, values: &[&str], value: f64) {
        self.change(values, |held| held.add(value));
    }

    /// Begins such a series at 0, unless it exists.
    pub(super) fn begin(&self, values: &[&str]) {
        self.change(values, |_| ());
    }

    fn change(&self, values: &[&str], change: impl FnOnce(&mut Held)) {
        debug_assert_eq!(values.len(), self.family.labels.len(), "{}", self.family.name);
        let values = values.join(BETWEEN).into_boxed_str();
        change(self.series.lock().entry(values).or_insert_with(|| Held::new(self.family.kind)));
    }

    /// Ends all series.
    pub(super) fn reset(&self) {
        self.series.lock().clear();
    }

    /// Ends the series of an account; with a further label and its value, only those that have it. Ends none if the
    /// family lacks one of the labels.
    pub(super) fn forget(&self, account: &str, of: Option<(&str, &str)>) {
        let place = |wanted: &str| self.family.labels.iter().position(|label| *label == wanted);
        if place("account") != Some(0) {
            return;
        }
        let has = |values: &str| {
            of.is_none_or(|(label, value)| {
                place(label).is_some_and(|place| values.split(BETWEEN).nth(place) == Some(value))
            })
        };
        // From the account alone to the last that begins with it and a separator.
        let its = Box::<str>::from(account)..Box::from(format!("{account}\u{1}"));
        self.series.lock().extract_if(its, |values, _| has(values)).for_each(drop);
    }

    /// Writes the lines of the family, if it has series.
    pub(super) fn write(&self, openmetrics: bool, out: &mut Vec<u8>) {
        let all = self.series.lock();
        if all.is_empty() {
            return;
        }
        out.extend_from_slice(self.family.header(openmetrics).as_bytes());
        let Family { name, labels, .. } = *self.family;
        for (values, held) in all.iter() {
            held.write(&mut OwnLines { out, name, labels, values });
        }
    }
}

impl fmt::Debug for Vector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.family.name)
    }
}

/// A row a family: the field with its series, their type, name, labels, help. It makes `FAMILIES` and the
/// struct `Vectors`.
macro_rules! own_metrics {
    ($($field:ident: $kind:ident = $name:literal, [$($label:literal),*], $about:literal;)*) => {
        pub(super) const FAMILIES: &[Family] = &[$(rows::$field),*];

        #[allow(non_upper_case_globals, reason = "named as the fields are")]
        mod rows {
            use super::*;
            $(pub(super) const $field: Family =
                vectors::family(Type::$kind, $name, &[$($label),*], $about);)*
        }

        #[derive(Debug)]
        struct Vectors {
            $($field: Vector,)*
        }

        impl Vectors {
            fn new() -> Self {
                Self { $($field: Vector::new(&rows::$field),)* }
            }

            fn all(&self) -> Vec<&Vector> {
                vec![$(&self.$field),*]
            }
        }
    };
}
pub(super) use own_metrics;

/// A family of the daemon's own.
pub(super) const fn family(
    kind: Type,
    name: &'static str,
    labels: &'static [&'static str],
    about: &'static str,
) -> Family {
    Family { name, kind, about, labels, facts: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    static CALLS: Family = family(Type::Counter, "calls_total", &["account", "group", "code"], "Calls.");
    static ALONE: Family = family(Type::Gauge, "alone", &[], "Without labels.");

    fn text(vector: &Vector) -> String {
        let mut out = Vec::new();
        vector.write(false, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn labels_are_written_as_in_the_row_and_series_by_their_values() {
        let calls = Vector::new(&CALLS);
        assert_eq!(text(&calls), "", "no family without a sample");
        calls.add(&["b", "vm", "200"], 1.0);
        calls.add(&["a-b", "vm", "200"], 2.0);
        calls.begin(&["a", "vm", "500"]);
        calls.add(&["a", "hosting", "500"], 1.0);
        calls.add(&["q\"\\\n", "vm", "200"], 1.0);
        let want = "# HELP calls_total Calls.\n# TYPE calls_total counter\n\
                    calls_total{account=\"a\",group=\"hosting\",code=\"500\"} 1\n\
                    calls_total{account=\"a\",group=\"vm\",code=\"500\"} 0\n\
                    calls_total{account=\"a-b\",group=\"vm\",code=\"200\"} 2\n\
                    calls_total{account=\"b\",group=\"vm\",code=\"200\"} 1\n\
                    calls_total{account=\"q\\\"\\\\\\n\",group=\"vm\",code=\"200\"} 1\n";
        assert_eq!(text(&calls), want);
        let mut open = Vec::new();
        calls.write(true, &mut open);
        let samples = want.lines().skip(2).map(|line| format!("{line}\n")).collect::<String>();
        let want = format!("# HELP calls Calls.\n# TYPE calls counter\n{samples}");
        assert_eq!(String::from_utf8(open).unwrap(), want, "OpenMetrics leaves out _total in comments only");
        let alone = Vector::new(&ALONE);
        alone.set(&[], 1_772_366_400.5);
        assert_eq!(text(&alone), "# HELP alone Without labels.\n# TYPE alone gauge\nalone 1772366400.5\n");
        alone.reset();
        assert_eq!(text(&alone), "");
    }

    #[test]
    fn only_series_with_all_the_labels_are_forgotten() {
        let calls = Vector::new(&CALLS);
        for values in [["a", "vm", "200"], ["a", "vm", "500"], ["a-b", "vm", "200"], ["ab", "vm", "200"]] {
            calls.begin(&values);
        }
        let left = |of| {
            calls.forget("a", of);
            text(&calls)
                .lines()
                .skip(2)
                .map(|line| line["calls_total".len()..].to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(left(Some(("collector", "vms"))).len(), 4, "the family has no such label");
        assert_eq!(left(Some(("code", "404"))).len(), 4);
        assert_eq!(left(Some(("code", "500"))).len(), 3);
        let others =
            [r#"{account="a-b",group="vm",code="200"} 0"#, r#"{account="ab",group="vm",code="200"} 0"#];
        assert_eq!(left(None), others);
    }
}
