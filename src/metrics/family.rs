//! What a metric family is, and the reference made of all of them. The rows are in `table`.

use std::fmt::Write as _;

use super::table::FAMILIES;
use crate::model::Collector;

/// The type of a family, as `# TYPE` says it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Type {
    Gauge,
    Counter,
    Histogram,
}

impl Type {
    /// The word after `# TYPE name`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Gauge => "gauge",
            Self::Counter => "counter",
            Self::Histogram => "histogram",
        }
    }
}

/// One row of the table.
#[derive(Debug)]
pub struct Family {
    pub name: &'static str,
    pub kind: Type,
    /// Units and meaning; [`Family::help`] adds what holds for its collector.
    pub about: &'static str,
    /// In the order in which they are written.
    pub labels: &'static [&'static str],
    /// Whose readings it shows; none for the daemon's own.
    pub collector: Option<Collector>,
    /// Shown however old the reading is.
    pub outlives_stale_after: bool,
}

impl Family {
    /// The text after `# HELP name`. Holds no quote, backslash or line break: both formats would
    /// escape them, each in its own way.
    pub fn help(&self) -> String {
        let mut help = self.about.to_owned();
        if let Some(collector) = self.collector {
            let _ =
                write!(help, " Where polls of {} fail the last good reading is served", collector.as_str());
            if self.outlives_stale_after {
                help.push_str(", however old");
            }
            help.push_str(", its age is in hostwatch_collector_last_success_timestamp_seconds.");
        }
        help
    }

    /// Has series of single resources, whose id is the first label after `account`.
    pub(super) fn is_of_resources(&self) -> bool {
        matches!(self.labels.get(1), Some(&("vm" | "container" | "site" | "ip" | "order")))
    }

    /// The two lines that open the family in a page.
    pub fn header(&self) -> String {
        format!("# HELP {0} {1}\n# TYPE {0} {2}\n", self.name, self.help(), self.kind.as_str())
    }
}

/// The row of a family by its name.
pub fn named(name: &str) -> Option<&'static Family> {
    FAMILIES.iter().copied().find(|family| family.name == name)
}

/// Every family as a page of Markdown: what `hostwatch metrics` prints and docs/metrics.md holds.
pub fn reference() -> String {
    let mut out = String::from(INTRODUCTION);
    for (title, of_provider) in [("The provider's facts", true), ("The daemon itself", false)] {
        let _ = write!(
            out,
            "\n## {title}\n\n| metric | type | labels | collector | help |\n|---|---|---|---|---|\n"
        );
        for family in FAMILIES.iter().filter(|family| family.name.starts_with("hosting_") == of_provider) {
            let labels: Vec<String> = family.labels.iter().map(|label| format!("`{label}`")).collect();
            let _ = writeln!(
                out,
                "| `{}` | {} | {} | {} | {} |",
                family.name,
                family.kind.as_str(),
                if labels.is_empty() { "–".to_owned() } else { labels.join(", ") },
                family.collector.map_or("–", Collector::as_str),
                family.about,
            );
        }
    }
    out
}

const INTRODUCTION: &str = "\
# Metrics

Written by `hostwatch metrics`; a test holds this page and the code equal.

What is not known is absent, never 0 or -1, and no family appears without a sample. Where polls of a
collector fail, its last good reading is served; the reading's age is
`time() - hostwatch_collector_last_success_timestamp_seconds`, and past `stale_after` those families
vanish. A deleted resource's series vanish with the next complete listing.

Ids are labels everywhere; names and other descriptions are in the `_info` families only, to be joined
by `* on (account, vm) group_left (name) hosting_vm_info`. `_state` families are 1 on the current state
and 0 on the other known ones (with `state_series = \"current\"`: only the current one); a state that
the provider's documentation does not list adds a series of its own.

`[metrics]` of the configuration can leave families out (`families`, `allow`, `deny`) and cap the series
of a collector (`max_series_per_collector`); `hostwatch_series_dropped` tells what the cap left out.
";

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_table_keeps_to_the_conventions() {
        let mut names = BTreeSet::new();
        for family in FAMILIES {
            let Family { name, kind, about, labels, .. } = family;
            assert!(names.insert(*name), "{name} is there twice");
            assert!(about.ends_with('.') && !about.contains(['"', '\\', '\n', '|']), "{name}: {about}");
            assert_eq!(name.ends_with("_total"), *kind == Type::Counter, "{name}");
            let hosting = name.starts_with("hosting_");
            assert_eq!(
                hosting,
                labels.first() == Some(&"account") && *kind == Type::Gauge && hosting,
                "{name}"
            );
            let unique: BTreeSet<_> = labels.iter().collect();
            assert_eq!(unique.len(), labels.len(), "{name}");
        }
    }
}
