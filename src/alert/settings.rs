//! The user's settings for incidents: thresholds, confirmation, reminders, rules. No I/O.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use chrono_tz::Tz;

use super::days::days;
use super::finding::Value;
use super::key::{Key, Target};
use super::kind::{Kind, Severity};
use crate::model::ContainerState;
use crate::model::pattern::matches_pattern;
use crate::model::pay_by::near_from;
use crate::model::states::sounds_bad;

/// `[alerts]`, with the account's part of `[billing]`.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct AlertSettings {
    /// Rungs in days, tightest last; always holds `lead_days + 1`, the last safe day, never 0 (overdue is always a rung).
    pub disconnect_days: Vec<u32>,
    /// The time zone of the account's dates.
    pub zone: Tz,
    /// How long a payment takes to arrive, in days.
    pub lead_days: u32,
    /// The days from the cut-off until the provider deletes the data; 0 if that is not known.
    pub deletion_days: u32,
    /// The number of bad observations before an incident opens, at least one.
    pub confirm_polls: u32,
    /// The number of good observations before it closes, at least one.
    pub recover_polls: u32,
    /// The time that a passing state may last.
    pub stuck_after: Duration,
    pub collector_failing_after: Duration,
    /// The time that a critical incident may stay open without an acknowledgement.
    pub escalate_after: Duration,
    /// The recipients of an escalation, and of a cut-off from the last safe day on.
    pub escalate_to: Vec<String>,
    /// The reminder's interval of each severity. A severity that is absent has no reminders.
    pub remind_every: BTreeMap<Severity, Duration>,
    pub rules: BTreeMap<Kind, Rule>,
    /// The states of containers whose number the configuration names.
    pub container_states: BTreeSet<String>,
}

/// The settings of an account's incidents, and their recipients.
#[derive(Clone, Debug)]
pub(crate) struct Watcher {
    pub settings: Arc<AlertSettings>,
    /// The recipients if no rule names others; empty for none.
    pub to: Vec<String>,
}

/// One kind in `[alerts.rules]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rule {
    /// `None`: the kind's own default.
    pub enabled: Option<bool>,
    pub severity: Option<Severity>,
    /// Patterns (`*` and `?`) of the names that the rule covers; empty for all.
    pub only: Vec<String>,
    /// Patterns of the names that the rule leaves out.
    pub except: Vec<String>,
    /// Recipients instead of the account's.
    pub to: Vec<String>,
}

impl Watcher {
    /// The recipients of incidents of this kind.
    pub(crate) fn recipients(&self, kind: Kind) -> &[String] {
        match self.settings.rules.get(&kind) {
            Some(rule) if !rule.to.is_empty() => &rule.to,
            _ => &self.to,
        }
    }

    /// The recipients of incidents of any kind, without those of an escalation.
    pub(crate) fn all_recipients(&self) -> impl Iterator<Item = &String> {
        self.to.iter().chain(self.settings.rules.values().flat_map(|rule| &rule.to))
    }

    /// All recipients, with those of an escalation.
    pub(crate) fn everybody(&self) -> impl Iterator<Item = &String> {
        self.all_recipients().chain(&self.settings.escalate_to)
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
            collector_failing_after: Duration::from_secs(15 * 60),
            escalate_after: day / 2,
            escalate_to: Vec::new(),
            remind_every: BTreeMap::from([(Severity::Critical, day), (Severity::Warning, 3 * day)]),
            rules: BTreeMap::new(),
            container_states: ContainerState::KNOWN.iter().map(|state| state.as_str().to_owned()).collect(),
        }
    }

    /// The moment at which a rung is crossed. The rung of the last safe day is crossed as that day begins.
    pub(crate) fn crossed_at(&self, rung: u32, cut_off: DateTime<Utc>) -> DateTime<Utc> {
        if rung == self.lead_days + 1 {
            near_from(cut_off, self.lead_days, self.zone)
        } else {
            cut_off - days(rung)
        }
    }

    /// Whether incidents of this key are watched. The loss of a whole listing is, even if that of single resources is
    /// not.
    pub(crate) fn watches(&self, key: &Key) -> bool {
        let rule = self.rules.get(&key.kind).and_then(|rule| rule.enabled);
        rule.unwrap_or(key.kind.on_by_default() || matches!(key.resource, Target::All(_)))
    }

    /// The severity of an incident with this value.
    pub(crate) fn severity_of(&self, key: &Key, value: &Value) -> Severity {
        let sounds_bad =
            || matches!(value, Value::States(states) if states.iter().any(|state| sounds_bad(state)));
        let is_alarming = key.is_of_empty_listing() || sounds_bad();
        let rule = self.rules.get(&key.kind).and_then(|rule| rule.severity);
        let own = if is_alarming { Severity::Warning } else { key.kind.default_severity() };
        rule.unwrap_or(own)
    }

    /// Whether this kind is watched.
    pub(crate) fn enabled(&self, kind: Kind) -> bool {
        self.rules.get(&kind).and_then(|rule| rule.enabled).unwrap_or(kind.on_by_default())
    }

    /// Whether this kind is watched at a resource of this name.
    pub(crate) fn wants(&self, kind: Kind, name: &str) -> bool {
        self.enabled(kind) && self.covers(kind, name)
    }

    /// The severity of incidents of this kind at a stage that is critical or not. Cut-offs have that of their rung.
    pub(crate) fn severity_at(&self, kind: Kind, is_critical: bool) -> Severity {
        let own = if is_critical { Severity::Critical } else { kind.default_severity() };
        self.rules.get(&kind).and_then(|rule| rule.severity).unwrap_or(own)
    }

    /// Whether the kind's rule covers a resource of this name.
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
