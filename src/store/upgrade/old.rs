//! The incidents of a store of release 0.2 (version 7), read as they were written.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use rusqlite::Connection;
use serde::Deserialize;
use serde_json::Value;

use super::super::StoreError;
use super::super::rows::Columns as _;
use crate::alert::{CalendarEntry, Key, Severity};

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum OldPhase {
    Watching,
    Pending,
    Firing,
    Recovering,
    Resolved,
    Unwatched,
}

impl OldPhase {
    pub(super) const fn is_open(self) -> bool {
        matches!(self, Self::Firing | Self::Recovering)
    }
}

#[derive(Clone, Deserialize)]
pub(super) struct OldIncident {
    pub key: Key,
    /// Counts suspicions, not openings.
    pub episode: u32,
    pub phase: OldPhase,
    pub severity: Severity,
    pub subject: String,
    pub problem: String,
    pub detail: String,
    #[serde(default)]
    reason: Value,
    pub since: DateTime<Utc>,
    pub held_since: DateTime<Utc>,
    pub held: String,
    pub last_observed: DateTime<Utc>,
    pub last_change: DateTime<Utc>,
    pub resolved_at: Option<DateTime<Utc>>,
    pub streak: u32,
    /// It was known at the first start.
    #[serde(default)]
    pub pre_existing: bool,
    /// The incident whose mail covers this one.
    pub folded_into: Option<Key>,
    #[serde(default)]
    pub threads: BTreeMap<String, String>,
    pub ladder: Option<Value>,
    pub calendar: Option<CalendarEntry>,
}

/// The dates that the last two mails about a cut-off named, and whether a payment waits for its mail.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct OldLadder {
    pub told: Option<DateTime<Utc>>,
    pub told_before: Option<DateTime<Utc>>,
    pub paid: bool,
}

impl OldIncident {
    /// The reason for its last change, as this release reads it.
    pub(super) fn cause(&self) -> Option<crate::alert::Cause> {
        serde_json::from_value(self.reason.get("cause")?.clone()).ok()
    }

    pub(super) fn ladder(&self) -> OldLadder {
        let ladder = self.ladder.clone().map(serde_json::from_value);
        ladder.and_then(Result::ok).unwrap_or_default()
    }
}

pub(super) fn incidents(connection: &Connection) -> Result<BTreeMap<Key, OldIncident>, StoreError> {
    let mut statement = connection.prepare("SELECT body FROM incidents")?;
    let rows = statement.query_and_then([], |row| {
        let incident: OldIncident = row.json(0)?;
        Ok((incident.key.clone(), incident))
    })?;
    rows.collect()
}
