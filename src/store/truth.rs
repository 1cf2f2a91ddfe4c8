//! Incidents as rows, with their history and the reasons for their changes, and cut-offs.

use chrono::{DateTime, Utc};
use rusqlite::{Transaction, params};

use super::StoreError;
use super::rows::{stamp, write_rows};
use crate::alert::{Cause, Engine, Incident, Phase};

pub(super) fn write(
    transaction: &Transaction<'_>,
    engine: &Engine,
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    let incidents = engine.incidents.unsaved().map(|(key, one)| ([key.to_string()], one));
    write_rows(transaction, "incidents", ["key"], incidents)?;
    for (key, incident) in engine.incidents.unsaved().filter_map(|(key, one)| Some((key.to_string(), one?))) {
        write_episode(transaction, &key, incident, &engine.title(incident).stored(), now)?;
        write_reason(transaction, &key, incident, now)?;
    }
    let cut_offs = engine.cut_offs.unsaved().map(|(account, one)| ([account.to_string()], one));
    write_rows(transaction, "cut_offs", ["account"], cut_offs)
}

/// Writes an episode into the history once it opened. An episode that was over as soon as it was seen is
/// written too.
fn write_episode(
    transaction: &Transaction<'_>,
    key: &str,
    incident: &Incident,
    title: &str,
    now: DateTime<Utc>,
) -> rusqlite::Result<()> {
    let (episode, since) = (incident.episode, stamp(incident.since));
    let again = match incident.phase {
        _ if episode == 0 => return Ok(()),
        Phase::Firing | Phase::Recovering => {
            "since = excluded.since, ended_at = NULL, severity = excluded.severity, title = excluded.title"
        }
        Phase::Pending | Phase::Resolved | Phase::Removed | Phase::Unwatched => {
            "ended_at = coalesce(ended_at, excluded.ended_at)"
        }
    };
    let ended = (!incident.phase.is_open()).then(|| stamp(incident.ended.unwrap_or(now)));
    let mut write = transaction.prepare_cached(&format!(
        "INSERT INTO episodes (key, episode, since, ended_at, severity, title) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
         ON CONFLICT (key, episode) DO UPDATE SET {again}"
    ))?;
    write.execute(params![key, episode, since, ended, incident.severity.as_str(), title])?;
    Ok(())
}

/// Writes a reason, unless it is the last one of the episode again: repeats at each poll would bury the
/// important ones.
fn write_reason(
    transaction: &Transaction<'_>,
    key: &str,
    incident: &Incident,
    now: DateTime<Utc>,
) -> rusqlite::Result<()> {
    let mut last = transaction.prepare_cached(
        "SELECT reason FROM decisions WHERE key = ?1 AND decided_at >= ?2 ORDER BY id DESC LIMIT 1",
    )?;
    let known: Option<String> = last.query_row([key, &stamp(incident.since)], |row| row.get(0)).ok();
    if known.and_then(|known| Cause::of_stored(&known)).as_ref() != Some(&incident.why) {
        let mut add = transaction
            .prepare_cached("INSERT INTO decisions (key, decided_at, reason) VALUES (?1, ?2, ?3)")?;
        add.execute(params![key, stamp(now), incident.why.stored()])?;
    }
    Ok(())
}
