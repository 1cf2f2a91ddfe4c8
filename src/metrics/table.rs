//! All metric families in the order of the reference, and the reference itself.

use std::fmt::Write as _;

use super::family::Family;
use super::{billing, container, incidents, inventory, own, site, vm};
use crate::model::Collector;

/// All families.
pub(crate) fn families() -> impl Iterator<Item = &'static Family> {
    [inventory::ACCOUNT, vm::FAMILIES, container::FAMILIES, site::FAMILIES, inventory::FAMILIES]
        .into_iter()
        .chain([billing::FAMILIES, incidents::FAMILIES, own::FAMILIES, own::PROCESS])
        .flatten()
}

/// All families as a page of Markdown, which `hostwatch metrics` prints and docs/metrics.md holds.
pub(crate) fn reference() -> String {
    let mut out = String::from(INTRODUCTION);
    for (title, of_provider) in [("The provider's facts", true), ("The daemon itself", false)] {
        let _ = write!(
            out,
            "\n## {title}\n\n| metric | type | labels | collector | help |\n|---|---|---|---|---|\n"
        );
        for family in families().filter(|family| family.name.starts_with("hosting_") == of_provider) {
            let labels: Vec<String> = family.labels.iter().map(|label| format!("`{label}`")).collect();
            let _ = writeln!(
                out,
                "| `{}` | {} | {} | {} | {} |",
                family.name,
                family.kind.into_str(),
                if labels.is_empty() { "–".to_owned() } else { labels.join(", ") },
                family.collector().map_or("–", Collector::as_str),
                family.about,
            );
        }
    }
    out
}

const INTRODUCTION: &str = "\
# Metrics

Which metrics does hostwatch show, and what do they mean? `hostwatch metrics` wrote this page.

A value that is not known is absent, never 0 or -1, and a family appears only with a sample. Where polls of a
collector fail, its last good reading is served; the reading's age is
`time() - hostwatch_collector_last_success_timestamp_seconds`, and past `stale_after` those families
vanish. A deleted resource's series vanish with the second complete listing without it.

Ids are labels everywhere; names and other descriptions are in the `_info` families only, to be joined
by `* on (account, vm) group_left (name) hosting_vm_info`. `_state` families are 1 on the current state
and 0 on the other known ones (with `state_series = \"current\"`: only the current one). A state that
the provider's documentation does not list adds a series of its own.

`metric_relabel_configs` of Prometheus can leave families out.
";

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::metrics::family::Type;

    #[test]
    fn the_table_keeps_to_the_conventions() {
        let mut names = BTreeSet::new();
        for Family { name, kind, about, labels, facts } in families() {
            assert!(names.insert(*name), "{name} is there twice");
            assert!(about.ends_with('.') && !about.contains(['"', '\\', '\n', '|']), "{name}: {about}");
            assert_eq!(name.ends_with("_total"), *kind == Type::Counter, "{name}");
            let of_accounts = name.starts_with("hosting_") || *name == "hostwatch_incident_open";
            assert_eq!(of_accounts, facts.is_some(), "{name}");
            if facts.is_some() {
                assert!(labels.first() == Some(&"account") && *kind == Type::Gauge, "{name}");
            }
            let unique: BTreeSet<_> = labels.iter().collect();
            assert_eq!(unique.len(), labels.len(), "{name}");
        }
    }
}
