//! What a user decides about incidents: ladder, confirmation, reminders, rules. No I/O.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use chrono_tz::Tz;

use super::kind::{Kind, Severity};
use crate::model::pattern::matches_pattern;
use crate::model::{AccountName, ContainerState};

/// `[alerts]`, with the account's part of `[billing]`.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct AlertSettings {
    /// Rungs in days, tightest last; always holds `lead_days + 1`, never 0 (overdue is always a rung).
    pub disconnect_days: Vec<u32>,
    /// Of the account's dates.
    pub zone: Tz,
    /// How long a payment takes to arrive, in days.
    pub lead_days: u32,
    /// From the cut-off until the provider deletes the data, in days; 0 where that is not known.
    pub deletion_days: u32,
    /// Bad observations before an incident opens.
    pub confirm_polls: u32,
    /// Good observations before it closes.
    pub recover_polls: u32,
    /// How long a passing state may last.
    pub stuck_after: Duration,
    /// The same for Backuping and Restoring.
    pub stuck_after_backup: Duration,
    pub collector_failing_after: Duration,
    /// For how long a critical incident may stay open and not be acknowledged.
    pub escalate_after: Duration,
    /// Who hears of it then; of a cut-off from the last safe day on.
    pub escalate_to: Vec<String>,
    /// Absent severities are not reminded of.
    pub remind_every: BTreeMap<Severity, Duration>,
    pub rules: BTreeMap<Kind, Rule>,
    /// The states of containers that the configuration names a number for.
    pub container_states: BTreeSet<String>,
}

/// What an account's incidents are judged by, and who hears of them.
#[derive(Clone, Debug)]
pub(crate) struct Watcher {
    pub settings: Arc<AlertSettings>,
    /// Recipients where no rule names others; empty for none.
    pub to: Vec<String>,
}

/// `[alerts.rules]`, one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rule {
    /// `None`: the kind's own default.
    pub enabled: Option<bool>,
    pub severity: Option<Severity>,
    /// Patterns (`*` and `?`) of names it is limited to; empty for all.
    pub only: Vec<String>,
    /// Patterns of names it leaves out.
    pub except: Vec<String>,
    /// Recipients instead of the account's.
    pub to: Vec<String>,
}

/// The zone of an account's dates.
pub(super) fn zone_of(watchers: &BTreeMap<AccountName, Watcher>, account: &AccountName) -> Tz {
    watchers.get(account).map_or(Tz::UTC, |watcher| watcher.settings.zone)
}

impl Watcher {
    /// Who hears of incidents of this kind.
    pub(crate) fn recipients(&self, kind: Kind) -> &[String] {
        match self.settings.rules.get(&kind) {
            Some(rule) if !rule.to.is_empty() => &rule.to,
            _ => &self.to,
        }
    }
}

impl AlertSettings {
    /// The defaults of the contract (section 3).
    pub(crate) fn defaults() -> Self {
        let day = Duration::from_secs(86_400);
        Self {
            disconnect_days: vec![14, 7, 4, 3, 1],
            zone: Tz::UTC,
            lead_days: 3,
            deletion_days: 0,
            confirm_polls: 1,
            recover_polls: 2,
            stuck_after: Duration::from_secs(30 * 60),
            stuck_after_backup: Duration::from_secs(6 * 3600),
            collector_failing_after: Duration::from_secs(15 * 60),
            escalate_after: day / 2,
            escalate_to: Vec::new(),
            remind_every: BTreeMap::from([(Severity::Critical, day), (Severity::Warning, 3 * day)]),
            rules: BTreeMap::new(),
            container_states: ContainerState::KNOWN.iter().map(|state| state.as_str().to_owned()).collect(),
        }
    }

    /// Is this kind watched?
    pub(crate) fn enabled(&self, kind: Kind) -> bool {
        self.rules.get(&kind).and_then(|rule| rule.enabled).unwrap_or(kind.on_by_default())
    }

    /// The severity of incidents of this kind; the ladder has its own.
    pub(crate) fn severity(&self, kind: Kind) -> Severity {
        self.rules.get(&kind).and_then(|rule| rule.severity).unwrap_or(kind.default_severity())
    }

    /// Bad observations before an incident opens: one at least.
    pub(crate) fn to_confirm(&self) -> u32 {
        self.confirm_polls.max(1)
    }

    /// Good observations before it closes: one at least.
    pub(crate) fn to_recover(&self) -> u32 {
        self.recover_polls.max(1)
    }

    /// Does the kind's rule take in a resource of this name?
    pub(crate) fn covers(&self, kind: Kind, name: &str) -> bool {
        let Some(rule) = self.rules.get(&kind) else { return true };
        let named = |patterns: &[String]| patterns.iter().any(|pattern| matches_pattern(pattern, name));
        (rule.only.is_empty() || named(&rule.only)) && !named(&rule.except)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_narrow_a_kind() {
        let mut settings = AlertSettings::defaults();
        assert!(settings.enabled(Kind::VmError) && !settings.enabled(Kind::ResourceGone));
        let rule = Rule { only: vec!["web-*".into()], except: vec!["web-test*".into()], ..Rule::default() };
        settings.rules.insert(Kind::VmError, rule);
        assert!(settings.covers(Kind::VmError, "web-1"));
        assert!(!settings.covers(Kind::VmError, "web-test-1"));
        assert!(!settings.covers(Kind::VmError, "db"));
        assert!(settings.covers(Kind::VmBlocked, "db"));
    }
}
