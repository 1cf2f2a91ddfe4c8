//! The daemon's own families: their series begin, change and end while it runs. Many accounts have hundreds of
//! thousands of series. So a series stores only its value and a pointer to its label values, which all accounts
//! share.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use parking_lot::{MappedMutexGuard, Mutex, MutexGuard};

use super::family::{Family, Type};
use super::held::{BETWEEN, Counter, Gauge, Held, Histogram, OwnLines};
use super::text::without_nul;

pub(super) type GaugeVec = Vector<Gauge>;
pub(super) type CounterVec = Vector<Counter>;
pub(super) type HistogramVec = Vector<Histogram>;

/// The series of one family, one for each set of label values.
pub(super) struct Vector<V> {
    family: &'static Family,
    /// Sorted, as they are written.
    labels: Vec<&'static str>,
    series: Mutex<AllSeries<V>>,
}

/// The series by the value of their first label, the account, and then by their other values, joined in that
/// order.
struct AllSeries<V> {
    by_first: BTreeMap<Box<str>, Vec<(Arc<str>, V)>>,
    /// The joined values, each once.
    others: BTreeSet<Arc<str>>,
}

impl<V> Default for AllSeries<V> {
    fn default() -> Self {
        Self { by_first: BTreeMap::new(), others: BTreeSet::new() }
    }
}

impl<V: Held> AllSeries<V> {
    fn entry(&mut self, first: &str, others: &str) -> &mut V {
        if !self.by_first.contains_key(first) {
            self.by_first.insert(first.into(), Vec::new());
        }
        let series = self.by_first.get_mut(first).expect("it was put there");
        let place = match series.binary_search_by(|(one, _)| (**one).cmp(others)) {
            Ok(place) => place,
            Err(place) => {
                let known = self.others.get(others).cloned().unwrap_or_else(|| {
                    let new: Arc<str> = others.into();
                    self.others.insert(Arc::clone(&new));
                    new
                });
                series.insert(place, (known, V::default()));
                place
            }
        };
        &mut series[place].1
    }
}

impl<V: Held> Vector<V> {
    pub(super) fn new(family: &'static Family) -> Self {
        let mut labels = family.labels.to_vec();
        labels.sort_unstable();
        Self { family, labels, series: Mutex::default() }
    }

    /// The series with these values, in the order of the family's row. It begins at 0.
    pub(super) fn with_label_values(&self, values: &[&str]) -> MappedMutexGuard<'_, V> {
        debug_assert_eq!(values.len(), self.labels.len(), "{}", self.family.name);
        let value = |label: &&str| {
            let place = self.family.labels.iter().position(|one| one == label);
            place.and_then(|place| values.get(place)).copied().unwrap_or_default()
        };
        let mut values = self.labels.iter().map(value);
        let first = without_nul(values.next().unwrap_or_default());
        let others = joined(values);
        MutexGuard::map(self.series.lock(), |series| series.entry(&first, &others))
    }

    /// Begins a series, unless it exists.
    pub(super) fn begin(&self, values: &[&str]) {
        drop(self.with_label_values(values));
    }

    /// Ends all series.
    pub(super) fn reset(&self) {
        self.series.lock().by_first.clear();
    }
}

fn joined<'a>(values: impl Iterator<Item = &'a str>) -> String {
    let mut key = String::new();
    for (place, value) in values.enumerate() {
        if place > 0 {
            key.push(BETWEEN);
        }
        key.push_str(&without_nul(value));
    }
    key
}

/// A family with values of any type.
pub(super) trait AnyVector {
    fn family(&self) -> &'static Family;
    /// Removes the series that have all these labels. Does nothing if the family lacks one of them.
    fn forget(&self, of: &[(&str, &str)]);
    /// Writes the lines of the family, if it has series.
    fn write(&self, openmetrics: bool, out: &mut Vec<u8>);
}

impl<V: Held> AnyVector for Vector<V> {
    fn family(&self) -> &'static Family {
        self.family
    }

    fn forget(&self, of: &[(&str, &str)]) {
        let place = |label: &str| self.labels.iter().position(|one| *one == label);
        let wanted = of.iter().map(|(label, value)| Some((place(label)?, without_nul(value))));
        let Some(wanted) = wanted.collect::<Option<BTreeMap<_, _>>>() else { return };
        let has_others = |values: &str| {
            let mut others = wanted.iter().filter(|(place, _)| **place > 0);
            others.all(|(place, value)| values.split(BETWEEN).nth(place - 1) == Some(value))
        };
        let mut all = self.series.lock();
        match wanted.get(&0) {
            Some(first) => {
                if let Some(series) = all.by_first.get_mut(&**first) {
                    series.retain(|(values, _)| !has_others(values));
                }
            }
            None => all.by_first.values_mut().for_each(|series| series.retain(|(one, _)| !has_others(one))),
        }
        all.by_first.retain(|_, series| !series.is_empty());
    }

    fn write(&self, openmetrics: bool, out: &mut Vec<u8>) {
        let all = self.series.lock();
        if all.by_first.is_empty() {
            return;
        }
        out.extend_from_slice(self.family.header(openmetrics).as_bytes());
        let mut values = String::new();
        for (first, series) in &all.by_first {
            for (others, held) in series {
                values.clear();
                values.push_str(first);
                values.push(BETWEEN);
                values.push_str(others);
                held.write(&mut OwnLines {
                    out,
                    name: self.family.name,
                    labels: &self.labels,
                    values: &values,
                });
            }
        }
    }
}

impl<V> fmt::Debug for Vector<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.family.name)
    }
}

/// A row a family: the field with its series and their type, name, labels, help. It makes `FAMILIES` and the
/// struct `Vectors`.
macro_rules! own_metrics {
    ($($field:ident: $vector:ident = $name:literal, [$($label:literal),*], $about:literal;)*) => {
        pub(super) const FAMILIES: &[Family] = &[$(rows::$field),*];

        #[allow(non_upper_case_globals, reason = "named as the fields are")]
        mod rows {
            use super::*;
            $(pub(super) const $field: Family =
                vectors::family($vector::KIND, $name, &[$($label),*], $about);)*
        }

        #[derive(Debug)]
        struct Vectors {
            $($field: $vector,)*
        }

        impl Vectors {
            fn new() -> Self {
                Self { $($field: $vector::new(&rows::$field),)* }
            }

            fn all(&self) -> Vec<&dyn AnyVector> {
                vec![$(&self.$field),*]
            }
        }
    };
}
pub(super) use own_metrics;

impl<V: Held> Vector<V> {
    /// The type of its series, for the row.
    pub(super) const KIND: Type = V::KIND;
}

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

    fn text(vector: &dyn AnyVector) -> String {
        let mut out = Vec::new();
        vector.write(false, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn labels_are_written_by_name_and_series_by_their_values() {
        let calls = CounterVec::new(&CALLS);
        assert_eq!(text(&calls), "", "no family without a sample");
        calls.with_label_values(&["b", "vm", "200"]).inc();
        calls.with_label_values(&["a-b", "vm", "200"]).inc_by(2.0);
        calls.begin(&["a", "vm", "500"]);
        calls.with_label_values(&["a", "hosting", "500"]).inc();
        calls.with_label_values(&["q\"\\\n", "vm", "200"]).inc();
        let want = "# HELP calls_total Calls.\n# TYPE calls_total counter\n\
                    calls_total{account=\"a\",code=\"500\",group=\"hosting\"} 1\n\
                    calls_total{account=\"a\",code=\"500\",group=\"vm\"} 0\n\
                    calls_total{account=\"a-b\",code=\"200\",group=\"vm\"} 2\n\
                    calls_total{account=\"b\",code=\"200\",group=\"vm\"} 1\n\
                    calls_total{account=\"q\\\"\\\\\\n\",code=\"200\",group=\"vm\"} 1\n";
        assert_eq!(text(&calls), want);
        let mut open = Vec::new();
        calls.write(true, &mut open);
        let samples = want.lines().skip(2).map(|line| format!("{line}\n")).collect::<String>();
        let want = format!("# HELP calls Calls.\n# TYPE calls counter\n{samples}");
        assert_eq!(String::from_utf8(open).unwrap(), want, "OpenMetrics leaves out _total in comments only");
        let alone = GaugeVec::new(&ALONE);
        alone.with_label_values(&[]).set(1_772_366_400.5);
        assert_eq!(text(&alone), "# HELP alone Without labels.\n# TYPE alone gauge\nalone 1772366400.5\n");
        alone.reset();
        assert_eq!(text(&alone), "");
    }

    #[test]
    fn only_series_with_all_the_labels_are_forgotten() {
        let calls = CounterVec::new(&CALLS);
        for values in [["a", "vm", "200"], ["a", "vm", "500"], ["a-b", "vm", "200"], ["ab", "vm", "200"]] {
            calls.begin(&values);
        }
        let left = |of: &[(&str, &str)]| {
            calls.forget(of);
            text(&calls)
                .lines()
                .skip(2)
                .map(|line| line["calls_total".len()..].to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(left(&[("collector", "vms")]).len(), 4, "the family has no such label");
        assert_eq!(left(&[("account", "a"), ("code", "404")]).len(), 4);
        assert_eq!(left(&[("account", "a"), ("code", "500")]).len(), 3);
        let others =
            [r#"{account="a-b",code="200",group="vm"} 0"#, r#"{account="ab",code="200",group="vm"} 0"#];
        assert_eq!(left(&[("account", "a")]), others);
    }

    #[test]
    fn a_label_that_comes_before_the_account_by_name_keeps_nothing() {
        static HELD: Family = family(Type::Gauge, "held", &["account", "address"], "Held.");
        let held = GaugeVec::new(&HELD);
        for values in [["a", "x"], ["a", "y"], ["b", "x"]] {
            held.begin(&values);
        }
        held.forget(&[("account", "a")]);
        assert_eq!(text(&held).lines().skip(2).collect::<Vec<_>>(), [r#"held{account="b",address="x"} 0"#]);
        static BEFORE: Family = family(Type::Gauge, "before", &["account", "aa"], "Before.");
        let before = GaugeVec::new(&BEFORE);
        before.begin(&["a", "x"]);
        before.begin(&["b", "x"]);
        before.forget(&[("account", "a")]);
        assert_eq!(text(&before).lines().skip(2).collect::<Vec<_>>(), [r#"before{aa="x",account="b"} 0"#]);
    }

    #[test]
    fn a_series_takes_little_more_than_its_labels() {
        // 5,000 accounts have a hundred series each.
        assert!(size_of::<(Arc<str>, Gauge)>() <= 24 && size_of::<(Arc<str>, Counter)>() <= 24);
        let calls = CounterVec::new(&CALLS);
        for account in ["a", "b"] {
            calls.with_label_values(&[account, "vm", "200"]).inc();
        }
        let all = calls.series.lock();
        let kept: Vec<*const str> =
            all.by_first.values().flatten().map(|(one, _)| Arc::as_ptr(one)).collect();
        assert!(kept.len() == 2 && std::ptr::addr_eq(kept[0], kept[1]), "the values are kept once");
    }
}
