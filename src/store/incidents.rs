//! Incidents and the reasons of decisions, as rows.

use chrono::{DateTime, Utc};
use rusqlite::{OptionalExtension as _, Transaction, params};

use super::{Store, StoreError, history, json, meta, moment};
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

/// Why something was done or not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NotedDecision {
    pub key: Key,
    pub at: DateTime<Utc>,
    pub reason: Reason,
}

impl Store {
    /// Everything the engine goes on from.
    pub(crate) fn load(&self, now: DateTime<Utc>) -> Result<Loaded, StoreError> {
        let mut statement =
            self.connection.prepare("SELECT body FROM incidents ORDER BY updated_at DESC, key")?;
        let bodies = statement.query_map([], |row| row.get::<_, String>(0))?;
        let remembered = Remembered::of(bodies.map(|body| json(&body?)), now)?;
        let watched_until = meta(&self.connection, "watched_until")?.map(|text| moment(&text)).transpose()?;
        let started = meta(&self.connection, "started")?.is_some();
        let digested = meta(&self.connection, "digested_until")?.map(|text| moment(&text)).transpose()?;
        Ok(Loaded { remembered, started, watched_until, digested_until: digested })
    }

    /// Every incident ever, by key.
    pub(crate) fn incidents(&self) -> Result<Vec<Incident>, StoreError> {
        let mut statement = self.connection.prepare("SELECT body FROM incidents ORDER BY key")?;
        let bodies = statement.query_map([], |row| row.get::<_, String>(0))?;
        bodies.map(|body| json(&body?)).collect()
    }

    /// The incident of a key.
    pub(crate) fn incident(&self, key: &str) -> Result<Option<Incident>, StoreError> {
        let mut statement = self.connection.prepare_cached("SELECT body FROM incidents WHERE key = ?1")?;
        let body = statement.query_row([key], |row| row.get::<_, String>(0)).optional()?;
        body.map(|body| json(&body)).transpose()
    }

    /// Those whose key or subject holds this text, and those whose key it holds; by key. Others are not parsed.
    pub(crate) fn incidents_near(&self, text: &str) -> Result<Vec<Incident>, StoreError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT body FROM incidents
             WHERE instr(key, ?1) OR instr(?1, key) OR instr(json_extract(body, '$.subject'), ?1) ORDER BY key",
        )?;
        let bodies = statement.query_map([text], |row| row.get::<_, String>(0))?;
        bodies.map(|body| json(&body?)).collect()
    }

    /// Those that changed since then, by key.
    pub(crate) fn incidents_since(&self, since: DateTime<Utc>) -> Result<Vec<Incident>, StoreError> {
        let mut statement =
            self.connection.prepare("SELECT body FROM incidents WHERE updated_at >= ?1 ORDER BY key")?;
        let bodies = statement.query_map([since.to_rfc3339()], |row| row.get::<_, String>(0))?;
        bodies.map(|body| json(&body?)).collect()
    }

    /// The reasons kept about one incident, oldest first; at most the last `most`.
    pub(crate) fn decisions(&self, key: &str, most: u32) -> Result<Vec<NotedDecision>, StoreError> {
        let mut statement = self.connection.prepare(
            "SELECT key, decided_at, reason FROM decisions WHERE key = ?1 ORDER BY id DESC LIMIT ?2",
        )?;
        let rows = statement.query_map(params![key, most], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?))
        })?;
        let mut decisions = Vec::new();
        for row in rows {
            let (key, at, reason) = row?;
            let key = key.parse().map_err(|error| StoreError::Content(format!("{error}")))?;
            decisions.push(NotedDecision { key, at: moment(&at)?, reason: Reason::of_stored(&reason) });
        }
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
        let body = serde_json::to_string(incident).map_err(|error| StoreError::Content(error.to_string()))?;
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
