//! Incidents and mails as people see them: which are shown, in which order, with which words. Pure.

use chrono::{DateTime, Duration, Utc};
use serde::{Deserialize, Serialize};

use crate::alert::{Incident, Key, Kind, Overlays, Phase, Severity};
use crate::model::AccountName;

/// How long an incident is shown after it ended.
const SHOWN_AFTER_END: Duration = Duration::days(7);
/// The closed incidents that are listed.
const RECENT: usize = 20;

/// Incidents and mails at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Alerting {
    /// Open ones and recently closed ones, in any order.
    pub incidents: Vec<IncidentRow>,
    pub mails: Mails,
}

/// One incident.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct IncidentRow {
    pub key: Key,
    pub account: AccountName,
    pub kind: Kind,
    pub severity: Severity,
    #[serde(rename = "state")]
    pub phase: Phase,
    /// In words for people.
    pub title: String,
    pub resource_name: String,
    pub since: DateTime<Utc>,
    pub last_change: DateTime<Utc>,
    pub resolved_at: Option<DateTime<Utc>>,
    /// Why it is in this state.
    pub reason: String,
    pub acknowledged: bool,
    /// No mail of it until then.
    pub silenced_until: Option<DateTime<Utc>>,
}

impl IncidentRow {
    /// An incident as it is shown; `None` for one that has not begun, that nobody was told of before it
    /// ended, or that ended long ago.
    pub(crate) fn of(incident: &Incident, overlays: &Overlays, now: DateTime<Utc>) -> Option<Self> {
        let shown = match incident.phase {
            Phase::Watching => false,
            Phase::Pending | Phase::Firing | Phase::Recovering => true,
            Phase::Resolved => {
                incident.announced && incident.resolved_at.is_some_and(|at| at > now - SHOWN_AFTER_END)
            }
        };
        let cause = incident.folded_into.as_ref().map(|cause| format!(" (part of {cause})"));
        shown.then(|| Self {
            key: incident.key.clone(),
            account: incident.key.account.clone(),
            kind: incident.key.kind,
            severity: incident.severity,
            phase: incident.phase,
            title: incident.words(),
            resource_name: incident.subject.clone(),
            since: incident.since,
            last_change: incident.last_change,
            resolved_at: incident.resolved_at,
            reason: format!("{}; {}{}", incident.detail, incident.reason, cause.unwrap_or_default()),
            acknowledged: overlays.is_acknowledged(incident),
            silenced_until: overlays.silence(incident, now).map(|silence| silence.until),
        })
    }

    /// Told of and not over.
    pub(crate) fn is_open(&self) -> bool {
        self.phase.is_open()
    }

    /// Somebody knows and said so.
    pub(crate) fn is_looked_after(&self) -> bool {
        self.acknowledged || self.silenced_until.is_some()
    }

    /// Waits for somebody to act.
    pub(crate) fn needs_you(&self) -> bool {
        self.is_open() && !self.is_looked_after() && self.severity != Severity::Info
    }
}

/// Incidents that are open, and those that closed lately.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Incidents {
    /// The worst first; what somebody looks after at the end.
    pub open: Vec<IncidentRow>,
    /// The latest first.
    pub recent: Vec<IncidentRow>,
}

impl Incidents {
    pub(super) fn of<'a>(rows: impl Iterator<Item = &'a IncidentRow>) -> Self {
        let (mut recent, mut open): (Vec<_>, Vec<_>) =
            rows.cloned().partition(|row| row.phase == Phase::Resolved);
        open.sort_by_key(|row| (row.is_looked_after(), std::cmp::Reverse(row.severity), row.since));
        recent.sort_by_key(|row| std::cmp::Reverse(row.resolved_at.unwrap_or(row.last_change)));
        recent.truncate(RECENT);
        Self { open, recent }
    }
}

/// What became of mails.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Mails {
    /// Absent: mails are not configured.
    pub outbox: Option<OutboxSummary>,
    /// When a mail server last took a mail.
    pub last_mail_at: Option<DateTime<Utc>>,
    /// The watched VM that the daemon itself runs on, in words; it goes dark with it.
    pub lives_on: Option<String>,
}

/// Mails by what became of them, one a recipient.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct OutboxSummary {
    pub queued: u64,
    pub sending: u64,
    pub sent: u64,
    pub dead: u64,
    /// When the oldest that waits was queued.
    pub oldest: Option<DateTime<Utc>>,
}

impl OutboxSummary {
    /// Those that are not delivered yet.
    pub(crate) fn waiting(&self) -> u64 {
        self.queued + self.sending
    }
}
