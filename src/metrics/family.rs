//! A metric family is one row: its name, type, help and labels, and the function that writes its samples. The
//! rows are beside their resource; `table` joins them.

use super::given::Given;
use super::text::Lines;
use crate::model::Collector;

/// The type of a family, as in `# TYPE`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub(crate) enum Type {
    Gauge,
    Counter,
    Histogram,
}

/// Facts that are encoded together, since they come from the same rows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum FactSet {
    Account,
    Incidents,
    /// The readings of this collector.
    Of(Collector),
    SiteCounts,
    /// Shown for a report of any age, since an old date is better than none.
    Disconnect,
}

/// Writes the samples of one family for one account; none for unknown values.
pub(super) type Write = fn(&Given<'_>, &mut Lines<'_>);

/// One family.
#[derive(Debug)]
pub(crate) struct Family {
    pub name: &'static str,
    pub kind: Type,
    /// Units and meaning; [`Family::help`] adds the sentence about its collector.
    pub about: &'static str,
    /// In the order in which they are written.
    pub labels: &'static [&'static str],
    /// `None` for the families in `own`.
    pub(super) facts: Option<(FactSet, Write)>,
}

/// Rows of families, all gauges: set, name, labels after `account`, meaning, and the function that writes the
/// samples.
macro_rules! facts {
    ($($set:ident $(($of:ident))? $name:literal [$($label:literal),*] $about:literal => $write:expr;)*) => {
        &[$(Family {
            name: $name,
            kind: $crate::metrics::family::Type::Gauge,
            about: $about,
            labels: &["account", $($label),*],
            facts: Some(($crate::metrics::family::FactSet::$set $(($crate::model::Collector::$of))?, $write)),
        }),*]
    };
}
pub(super) use facts;

impl Family {
    /// The collector whose readings it shows. `None` for the daemon's own families, for configured facts, and for
    /// decisions from the readings of several collectors.
    pub(crate) fn collector(&self) -> Option<Collector> {
        match self.facts?.0 {
            FactSet::Account | FactSet::Incidents => None,
            FactSet::Of(collector) => Some(collector),
            FactSet::SiteCounts => Some(Collector::Sites),
            FactSet::Disconnect => Some(Collector::ExpectedBalance),
        }
    }

    /// The text after `# HELP name`. It holds no quote, backslash or line break, since the two formats escape
    /// them differently.
    fn help(&self) -> String {
        let Some(collector) = self.collector() else { return self.about.to_owned() };
        let outlives = matches!(self.facts, Some((FactSet::Disconnect, _)));
        format!(
            "{} Where polls of {} fail the last good reading is served{}, its age is in \
             hostwatch_collector_last_success_timestamp_seconds.",
            self.about,
            collector.as_str(),
            if outlives { ", however old" } else { "" },
        )
    }

    /// The two lines that begin the family on a page. OpenMetrics names counters without `_total` there; a test of
    /// the table checks that only counters end in it.
    pub(crate) fn header(&self, openmetrics: bool) -> String {
        let name = self.name.strip_suffix("_total").filter(|_| openmetrics).unwrap_or(self.name);
        format!("# HELP {name} {}\n# TYPE {name} {}\n", self.help(), self.kind.into_str())
    }
}
