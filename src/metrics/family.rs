//! What a metric family is: one row with its name, type, help and labels, and what writes its samples. The rows
//! stand with their resource; `table` joins them.

use super::given::Given;
use super::text::Lines;
use crate::model::Collector;

/// The type of a family, as `# TYPE` says it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub(crate) enum Type {
    Gauge,
    Counter,
    Histogram,
}

impl Type {
    /// The word after `# TYPE name`.
    pub(crate) const fn as_str(self) -> &'static str {
        self.into_str()
    }
}

/// Facts of the provider that are encoded together, since they are made of the same rows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum FactSet {
    Account,
    Vms,
    Containers,
    Sites,
    SiteCounts,
    Databases,
    CronJobs,
    Ips,
    SshKeys,
    Balance,
    /// Shown however old the report is: an old date is worth more than none.
    Disconnect,
    Charges,
}

impl FactSet {
    /// Whose readings it shows; none for what is configured.
    pub(super) const fn collector(self) -> Option<Collector> {
        Some(match self {
            Self::Account => return None,
            Self::Vms => Collector::Vms,
            Self::Containers => Collector::Containers,
            Self::Sites | Self::SiteCounts => Collector::Sites,
            Self::Databases => Collector::Databases,
            Self::CronJobs => Collector::CronJobs,
            Self::Ips => Collector::Ips,
            Self::SshKeys => Collector::SshKeys,
            Self::Balance | Self::Disconnect => Collector::ExpectedBalance,
            Self::Charges => Collector::Charges,
        })
    }
}

/// Writes the samples of one family of one account; none where nothing is known.
pub(super) type Write = fn(&Given<'_>, &mut Lines<'_>);

/// One family.
#[derive(Debug)]
pub(crate) struct Family {
    pub name: &'static str,
    pub kind: Type,
    /// Units and meaning; [`Family::help`] adds what holds for its collector.
    pub about: &'static str,
    /// In the order in which they are written.
    pub labels: &'static [&'static str],
    /// None for the daemon's own, which `own` keeps.
    pub(super) facts: Option<(FactSet, Write)>,
}

/// Rows of the provider's facts, all gauges: their set, name, labels after `account`, meaning, and what writes the samples.
macro_rules! facts {
    ($($set:ident $name:literal [$($label:literal),*] $about:literal => $write:expr;)*) => {
        &[$(Family {
            name: $name,
            kind: $crate::metrics::family::Type::Gauge,
            about: $about,
            labels: &["account", $($label),*],
            facts: Some(($crate::metrics::family::FactSet::$set, $write)),
        }),*]
    };
}
pub(super) use facts;

impl Family {
    /// Whose readings it shows; none for the daemon's own.
    pub(crate) fn collector(&self) -> Option<Collector> {
        self.facts.and_then(|(section, _)| section.collector())
    }

    /// The text after `# HELP name`. Holds no quote, backslash or line break: both formats would
    /// escape them, each in its own way.
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

    /// The two lines that open the family in a page.
    pub(crate) fn header(&self) -> String {
        format!("# HELP {0} {1}\n# TYPE {0} {2}\n", self.name, self.help(), self.kind.as_str())
    }
}
