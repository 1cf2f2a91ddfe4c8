//! `[metrics]`: the selection of series. No I/O.

use crate::model::pattern::matches_pattern;

/// The states of a resource that get a series.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum StateSeries {
    /// 1 for the current state and 0 for every other known one.
    #[default]
    All,
    /// Only the current state.
    Current,
}

/// `[metrics]`. `stale_after` is in each account's profile.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct MetricsSettings {
    pub state_series: StateSeries,
    pub selection: Selection,
}

/// The families that are written, by the keys `allow` and `deny`, which are patterns of their names.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Selection {
    /// Empty for all.
    pub allow: Vec<String>,
    pub deny: Vec<String>,
}

impl Selection {
    /// Whether this family is left out.
    pub(crate) fn hides(&self, family: &str) -> bool {
        let any = |patterns: &[String]| patterns.iter().any(|pattern| matches_pattern(pattern, family));
        !(self.allow.is_empty() || any(&self.allow)) || any(&self.deny)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deny_goes_before_allow() {
        let texts = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
        let shows = |allow: &[&str], deny: &[&str], family: &str| {
            !Selection { allow: texts(allow), deny: texts(deny) }.hides(family)
        };
        assert!(shows(&[], &[], "hosting_vm_disks"));
        let (allow, deny) = (["hosting_vm_*", "hosting_vms"], ["*_info", "*_ips"]);
        for family in ["hosting_vms", "hosting_vm_state"] {
            assert!(shows(&allow, &deny, family), "{family}");
        }
        for family in ["hosting_vm_ips", "hosting_vm_info", "hosting_sites", "hostwatch_build_info"] {
            assert!(!shows(&allow, &deny, family), "{family}");
        }
    }
}
