//! `[metrics]`: which series are written. No I/O.

use std::collections::{BTreeMap, BTreeSet};

use super::table::FAMILIES;
use crate::model::pattern::matches_pattern;

/// Which states of a resource get a series.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum StateSeries {
    /// 1 on the current state and 0 on every other known one.
    #[default]
    All,
    /// Only the current state's.
    Current,
}

/// `[metrics]`; `stale_after` is part of each account's profile.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Settings {
    pub state_series: StateSeries,
    pub hidden: Hidden,
    /// Of an account's collector; 0 for as many as there are.
    pub max_series_per_collector: u64,
}

/// Families that are not written.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Hidden(BTreeSet<&'static str>);

impl Hidden {
    /// What the keys `families`, `allow` and `deny` leave out: a family's own switch decides; without
    /// one, it is written if `allow` is empty or has it, and `deny` has it not.
    pub fn new(switches: &BTreeMap<String, bool>, allow: &[String], deny: &[String]) -> Self {
        let any = |patterns: &[String], name| patterns.iter().any(|pattern| matches_pattern(pattern, name));
        let by_name = |name| (allow.is_empty() || any(allow, name)) && !any(deny, name);
        let names = FAMILIES.iter().map(|family| family.name);
        Self(names.filter(|&name| !switches.get(name).copied().unwrap_or_else(|| by_name(name))).collect())
    }

    /// Is this family left out?
    pub fn has(&self, name: &str) -> bool {
        self.0.contains(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switch_goes_before_deny_and_deny_before_allow() {
        let texts = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
        let hidden = |switches: &[(&str, bool)], allow: &[&str], deny: &[&str]| {
            let switches = switches.iter().map(|&(name, on)| (name.to_owned(), on)).collect();
            Hidden::new(&switches, &texts(allow), &texts(deny))
        };
        assert_eq!(hidden(&[], &[], &[]), Hidden::default());
        let one = hidden(&[("hosting_vm_disks", false)], &[], &[]);
        assert_eq!(one.0, ["hosting_vm_disks"].into());
        let some =
            hidden(&[("hosting_vm_info", true)], &["hosting_vm_*", "hosting_vms"], &["*_info", "*_ips"]);
        let shown = |name: &str| !some.has(name);
        assert!(shown("hosting_vms") && shown("hosting_vm_state") && shown("hosting_vm_info"));
        assert!(!shown("hosting_vm_ips") && !shown("hosting_sites") && !shown("hostwatch_build_info"));
    }
}
