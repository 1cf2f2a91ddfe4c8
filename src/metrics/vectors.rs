//! Families that the prometheus crate's registry keeps: from a row to a registered vector of series. Knows no metric.

use std::collections::HashMap;

use prometheus::core::{Collector, MetricVec, MetricVecBuilder};
use prometheus::{CounterVec, GaugeVec, HistogramOpts, HistogramVec, IntCounterVec, Opts, Registry, Result};

use super::family::{Family, Type};

/// Upper bounds in seconds. The interface's answers take a fraction of a second; 30 is the time out.
const DURATION_BUCKETS: [f64; 9] = [0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0];

/// Series of one family, one for each set of label values.
pub(super) trait Vector: Collector + Clone + Sized + 'static {
    const KIND: Type;
    fn made(opts: Opts, labels: &[&str]) -> Result<Self>;
}

macro_rules! vector {
    ($vector:ident, $kind:ident, |$opts:ident| $with:expr) => {
        impl Vector for $vector {
            const KIND: Type = Type::$kind;
            fn made($opts: Opts, labels: &[&str]) -> Result<Self> {
                Self::new($with, labels)
            }
        }
    };
}

vector!(GaugeVec, Gauge, |opts| opts);
vector!(CounterVec, Counter, |opts| opts);
vector!(IntCounterVec, Counter, |opts| opts);
vector!(HistogramVec, Histogram, |opts| HistogramOpts::from(opts).buckets(DURATION_BUCKETS.into()));

/// A row a family: the field that holds its series and their type, name, labels, help. Makes `FAMILIES` of them, and
/// the struct `Vectors`.
macro_rules! own_metrics {
    ($($field:ident: $vector:ident = $name:literal, [$($label:literal),*], $about:literal;)*) => {
        pub(super) const FAMILIES: &[Family] = &[$(rows::$field),*];

        #[allow(non_upper_case_globals, reason = "named as the fields are")]
        mod rows {
            use super::*;
            $(pub(super) const $field: Family =
                vectors::family::<$vector>($name, &[$($label),*], $about);)*
        }

        #[derive(Debug)]
        struct Vectors {
            $($field: $vector,)*
        }

        impl Vectors {
            fn new(registry: &Registry) -> Self {
                Self { $($field: vectors::registered(registry, &rows::$field),)* }
            }

            /// Removes the series that have all these labels.
            fn forget(&self, of: &[(&str, &str)]) {
                $(vectors::forget(&self.$field, of);)*
            }
        }
    };
}
pub(super) use own_metrics;

/// A family that the registry keeps.
pub(super) const fn family<V: Vector>(
    name: &'static str,
    labels: &'static [&'static str],
    about: &'static str,
) -> Family {
    Family { name, kind: V::KIND, about, labels, facts: None }
}

/// A family that the crate's collector of the process writes, with this very help text.
pub(super) const fn process(name: &'static str, kind: Type, about: &'static str) -> Family {
    Family { name, kind, about, labels: &[], facts: None }
}

/// The vector of a row.
pub(super) fn registered<V: Vector>(registry: &Registry, family: &Family) -> V {
    let vector = V::made(Opts::new(family.name, family.about), family.labels);
    let vector =
        vector.expect("names and labels of the rows are valid, every test of a page holds them to it");
    register(registry, vector.clone());
    vector
}

/// Adds a vector to the pages that the registry makes.
pub(super) fn register(registry: &Registry, collector: impl Collector + 'static) {
    registry.register(Box::new(collector)).expect("names are unique, a test of the table holds them to it");
}

/// Removes the series of a vector that have all these labels.
pub(super) fn forget<T: MetricVecBuilder>(vector: &MetricVec<T>, of: &[(&str, &str)]) {
    for family in vector.collect() {
        for metric in family.get_metric() {
            let labels = metric.get_label().iter();
            let labels: HashMap<&str, &str> = labels.map(|pair| (pair.name(), pair.value())).collect();
            if of.iter().all(|(name, value)| labels.get(name) == Some(value)) {
                // It may be removed already.
                let _ = vector.remove(&labels);
            }
        }
    }
}
