//! Incidents and mails as plain values for people to look at. The server knows neither the rules nor
//! the store; whoever does fills these in.

use chrono::{DateTime, Utc};
use serde::Serialize;

/// What the watchdog is about, at one moment.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    /// Open ones and recently closed ones, in any order.
    pub incidents: Vec<IncidentRow>,
    pub outbox: OutboxSummary,
    /// When a mail server last took a mail.
    pub last_mail_at: Option<DateTime<Utc>>,
    /// Mails are configured.
    pub mails: bool,
    /// The watched VM that this daemon runs on, in words: it goes dark with it.
    pub lives_on: Option<String>,
}

/// One incident.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct IncidentRow {
    pub key: String,
    pub account: String,
    pub kind: String,
    /// `critical`, `warning` or `info`.
    pub severity: String,
    /// `pending`, `firing`, `recovering` or `resolved`.
    pub state: String,
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
    /// Told of and not over.
    pub fn is_open(&self) -> bool {
        matches!(self.state.as_str(), "firing" | "recovering")
    }

    /// Somebody knows and said so.
    pub fn is_looked_after(&self) -> bool {
        self.acknowledged || self.silenced_until.is_some()
    }

    /// Waits for somebody to act.
    pub fn needs_you(&self) -> bool {
        self.is_open() && !self.is_looked_after() && self.severity != "info"
    }
}

/// Mails by what became of them, one a recipient.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct OutboxSummary {
    pub queued: u64,
    pub sending: u64,
    pub sent: u64,
    pub dead: u64,
    /// When the oldest that waits was queued.
    pub oldest: Option<DateTime<Utc>>,
}
