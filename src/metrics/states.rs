//! Series of states, the same for VMs, containers and sites.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::settings::StateSeries;
use super::text::{self, Label, Lines};

/// The states of resources: 1 for the current one and 0 for other known ones, or only the current one. An
/// unknown state has a series of its own.
pub(super) fn each<'a, K: Iterator<Item = &'static str>>(
    lines: &mut Lines<'_>,
    current: impl Iterator<Item = (u64, &'a str)>,
    known: impl Fn() -> K,
    series: StateSeries,
) {
    for (id, current) in current {
        let mut listed = false;
        for state in known().filter(|_| series == StateSeries::All) {
            listed |= state == current;
            lines.put(&[Label::Id(id), Label::Text(state)], state == current);
        }
        if !listed {
            lines.put(&[Label::Id(id), Label::Text(current)], true);
        }
    }
}

/// The number of resources in each state, with 0 for known states without any. States that a label cannot tell
/// apart are counted together, since a duplicate series makes the whole scrape fail.
pub(super) fn count<'a>(
    lines: &mut Lines<'_>,
    known: impl Iterator<Item = &'static str>,
    current: impl Iterator<Item = &'a str>,
) {
    let mut counts: BTreeMap<Cow<'a, str>, u64> = known.map(|state| (state.into(), 0)).collect();
    for state in current {
        *counts.entry(text::without_nul(state)).or_default() += 1;
    }
    for (state, count) in counts {
        lines.put(&[Label::Text(&state)], count);
    }
}
