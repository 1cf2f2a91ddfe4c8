//! Incidents as metrics show them, so that Prometheus's rules report what mails report.

use chrono::{DateTime, Duration, Utc};

use super::engine::Engine;
use super::incident::Incident;
use super::kind::{Kind, Severity};
use crate::model::freshness::state_collectors;
use crate::model::{AccountIncidents, AccountName, AccountState, IncidentSeries};

/// The kind of an account that is past its cut-off, shown beside `disconnect`. It is a stage of that incident,
/// and none of its own.
const OVERDUE: &str = "overdue";
/// An incident that is over is shown as 0 for a day.
const SHOWN_AFTER: Duration = Duration::days(1);

impl Engine {
    /// Whether each collector that sees states has read this account once, now or before the last start. Then
    /// every open problem has an incident.
    pub(crate) fn knows(&self, account: &AccountName) -> bool {
        self.cut_offs.get(account).is_some_and(|one| one.is_read)
    }

    /// The incidents of one account that metrics show.
    pub(crate) fn exported(&self, account: &AccountName, now: DateTime<Utc>) -> AccountIncidents {
        let series = self.incidents_of(account).flat_map(|one| {
            let itself = self.state_of(one, now);
            let itself = itself.map(|is_open| series(one, one.key.kind.as_str(), one.severity, is_open));
            let overdue = self.is_overdue(one, now);
            itself.into_iter().chain(overdue.map(|is_open| series(one, OVERDUE, Severity::Critical, is_open)))
        });
        AccountIncidents { are_known: self.knows(account), series: series.collect() }
    }

    /// Whether an incident is open; `Some(false)` for a day after its end. `None` if it is not shown: explained
    /// from its first moment, over for longer, or a cut-off that has not reached the first rung.
    fn state_of(&self, one: &Incident, now: DateTime<Utc>) -> Option<bool> {
        let is_far = || {
            let account = &one.key.account;
            let known = self.cut_offs.get(account).zip(self.watchers().get(account));
            known.is_some_and(|(cut_off, watcher)| !cut_off.is_due(&watcher.settings, now))
        };
        match one.phase.is_open() {
            _ if !one.stood_alone => None,
            true => (one.key.kind != Kind::Disconnect || !is_far()).then_some(true),
            false => one.ended.is_some_and(|ended| now - ended < SHOWN_AFTER).then_some(false),
        }
    }

    /// Whether the account is overdue; `Some(false)` for a day after that.
    fn is_overdue(&self, one: &Incident, now: DateTime<Utc>) -> Option<bool> {
        let is_disconnect = one.key.kind == Kind::Disconnect && one.stood_alone;
        let cut_off = self.cut_offs.get(&one.key.account).filter(|_| is_disconnect)?;
        if one.phase.is_open() && cut_off.is_overdue(now) {
            return Some(true);
        }
        (now - cut_off.overdue_until? < SHOWN_AFTER).then_some(false)
    }

    /// Notes an account that each collector that sees states has read once.
    pub(super) fn note_known(&mut self, state: &AccountState) {
        let has_read =
            |collector| state.collectors.get(&collector).is_some_and(|status| status.last_success.is_some());
        let name = &state.profile.name;
        if !self.knows(name) && state_collectors(&state.profile).all(has_read) {
            let mut known = self.cut_offs.get(name).cloned().unwrap_or_default();
            known.is_read = true;
            self.cut_offs.insert(name.clone(), known);
        }
    }
}

fn series(one: &Incident, kind: &'static str, severity: Severity, is_open: bool) -> IncidentSeries {
    let name = if one.key.id().is_some() { one.name() } else { "" };
    IncidentSeries {
        kind,
        resource: one.key.resource.to_string(),
        name: name.to_owned(),
        severity: severity.as_str(),
        is_open,
    }
}
