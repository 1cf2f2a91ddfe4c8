//! Incidents and the reasons of decisions, as rows.

use chrono::{DateTime, Utc};
use rusqlite::{Params, Transaction, params};

use super::rows::{Columns as _, meta, meta_moment};
use super::{Store, StoreError, history};
use crate::alert::{Incident, Key, Reason, Remembered};

/// What a start finds.
#[derive(Debug, Default)]
pub(crate) struct Loaded {
    pub remembered: Remembered,
    /// The first-start mail was decided in an earlier life.
    pub started: bool,
    /// When the daemon last watched; `None` for a store that has never been used.
    pub watched_until: Option<DateTime<Utc>>,
    /// Until when digests were decided on.
    pub digested_until: Option<DateTime<Utc>>,
}

impl Store {
    /// Everything the engine goes on from.
    pub(crate) fn load(&self, now: DateTime<Utc>) -> Result<Loaded, StoreError> {
        let mut statement =
            self.connection.prepare("SELECT body FROM incidents ORDER BY updated_at DESC, key")?;
        Ok(Loaded {
            remembered: Remembered::of(statement.query_and_then([], |row| row.json(0))?, now)?,
            started: meta(&self.connection, "started")?.is_some(),
            watched_until: meta_moment(&self.connection, "watched_until")?,
            digested_until: meta_moment(&self.connection, "digested_until")?,
        })
    }

    fn incidents_of(&self, which: &str, params: impl Params) -> Result<Vec<Incident>, StoreError> {
        self.all(&format!("SELECT body FROM incidents {which}"), params, |row| row.json(0))
    }

    /// Every incident ever, by key.
    pub(crate) fn incidents(&self) -> Result<Vec<Incident>, StoreError> {
        self.incidents_of("ORDER BY key", [])
    }

    /// The incident of a key.
    pub(crate) fn incident(&self, key: &str) -> Result<Option<Incident>, StoreError> {
        Ok(self.incidents_of("WHERE key = ?1", [key])?.pop())
    }

    /// Those whose key or subject holds this text, and those whose key it holds; by key. Others are not parsed.
    pub(crate) fn incidents_near(&self, text: &str) -> Result<Vec<Incident>, StoreError> {
        let near = "WHERE instr(key, ?1) OR instr(?1, key) OR instr(json_extract(body, '$.subject'), ?1) ORDER BY key";
        self.incidents_of(near, [text])
    }

    /// Those that changed since then, by key.
    pub(crate) fn incidents_since(&self, since: DateTime<Utc>) -> Result<Vec<Incident>, StoreError> {
        self.incidents_of("WHERE updated_at >= ?1 ORDER BY key", [since.to_rfc3339()])
    }

    /// The reasons kept about one incident, oldest first; at most the last `most`.
    pub(crate) fn decisions(&self, key: &str, most: u32) -> Result<Vec<(DateTime<Utc>, Reason)>, StoreError> {
        let sql = "SELECT decided_at, reason FROM decisions WHERE key = ?1 ORDER BY id DESC LIMIT ?2";
        let mut decisions: Vec<_> =
            self.all(sql, params![key, most], |row| Ok((row.moment(0)?, Reason::of_stored(&row.text(1)?))))?;
        decisions.reverse();
        Ok(decisions)
    }
}

pub(super) fn write(
    transaction: &Transaction<'_>,
    incidents: &[Incident],
    decisions: &[(Key, Reason)],
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    let mut put = transaction.prepare_cached(
        "INSERT OR REPLACE INTO incidents (key, phase, severity, updated_at, body) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    for incident in incidents {
        let body = serde_json::to_string(incident)?;
        put.execute(params![
            incident.key.to_string(),
            incident.phase.as_str(),
            incident.severity.as_str(),
            now.to_rfc3339(),
            body
        ])?;
    }
    history::write(transaction, incidents, now)?;
    let mut last =
        transaction.prepare_cached("SELECT reason FROM decisions WHERE key = ?1 ORDER BY id DESC LIMIT 1")?;
    let mut add =
        transaction.prepare_cached("INSERT INTO decisions (key, decided_at, reason) VALUES (?1, ?2, ?3)")?;
    for (key, reason) in decisions {
        let key = key.to_string();
        // The same reason again, poll after poll, would bury the ones that matter.
        let known: Option<String> = last.query_row([&key], |row| row.get(0)).ok();
        if known.is_none_or(|known| Reason::of_stored(&known).to_string() != reason.to_string()) {
            add.execute(params![key, now.to_rfc3339(), reason.stored()])?;
        }
    }
    Ok(())
}
