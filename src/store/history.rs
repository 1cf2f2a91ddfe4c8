//! Episodes of incidents and the times in which nobody watched, as rows: what the page shows of the past.

use chrono::{DateTime, Utc};
use rusqlite::{Transaction, params};

use super::rows::{Columns as _, meta_moment, set_meta, stamp};
use super::{Store, StoreError};
use crate::alert::{Episode, History, Incident, Past, Phase};

/// The daemon says each minute that it watches. A longer silence is a gap.
const GAP_SECONDS: i64 = 180;

/// From when until when nobody watched.
type Gap = (DateTime<Utc>, DateTime<Utc>);

impl Store {
    /// Episodes that were open at or after a moment, the latest first, and what was not watched since then.
    pub(crate) fn history(&self, past: &Past) -> Result<History, StoreError> {
        let mut history = History {
            watched_since: meta_moment(&self.connection, "watched_since")?,
            gaps: self.gaps(past.from)?,
            ..History::default()
        };
        match &past.keys {
            Some(keys) => {
                for key in keys {
                    let only = key.to_string();
                    history.episodes.extend(self.episodes("key = ?2", &only, past)?);
                }
            }
            None => {
                let (only, value) = match &past.account {
                    Some(account) => ("substr(key, 1, length(?2)) = ?2", format!("{account}/")),
                    None => ("?2 = ''", String::new()),
                };
                history.episodes = self.episodes(only, &value, past)?;
            }
        }
        history.episodes.sort_by_key(|episode| std::cmp::Reverse(episode.since));
        history.more = history.episodes.len() > past.most;
        history.episodes.truncate(past.most);
        Ok(history)
    }

    fn episodes(&self, only: &str, value: &str, past: &Past) -> Result<Vec<Episode>, StoreError> {
        let sql = format!(
            "SELECT key, since, ended_at, severity, title FROM episodes
             WHERE (ended_at IS NULL OR ended_at >= ?1) AND {only} ORDER BY since DESC LIMIT ?3"
        );
        let most = i64::try_from(past.most).unwrap_or(i64::MAX).saturating_add(1);
        self.all(&sql, params![stamp(past.from), value, most], |row| {
            Ok(Episode {
                key: row.parsed(0)?,
                since: row.moment(1)?,
                ended: row.moment_if_any(2)?,
                severity: row.parsed(3)?,
                title: row.get(4)?,
            })
        })
    }

    fn gaps(&self, from: DateTime<Utc>) -> Result<Vec<Gap>, StoreError> {
        let sql = "SELECT since, until FROM gaps WHERE until >= ?1 ORDER BY since LIMIT 1000";
        self.all(sql, [stamp(from)], |row| Ok((row.moment(0)?, row.moment(1)?)))
    }
}

/// Episodes begin when an incident opens, not when it is first suspected.
pub(super) fn write(
    transaction: &Transaction<'_>,
    incidents: &[Incident],
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    let mut put = transaction.prepare_cached(
        "INSERT INTO episodes (key, episode, since, ended_at, severity, title) VALUES (?1, ?2, ?3, NULL, ?4, ?5)
         ON CONFLICT (key, episode) DO UPDATE SET since = excluded.since, ended_at = NULL,
           severity = excluded.severity, title = excluded.title",
    )?;
    let mut end = transaction.prepare_cached(
        "UPDATE episodes SET ended_at = ?3 WHERE key = ?1 AND episode = ?2 AND ended_at IS NULL",
    )?;
    for incident in incidents {
        let key = incident.key.to_string();
        match incident.phase {
            Phase::Firing | Phase::Recovering => {
                put.execute(params![
                    key,
                    incident.episode,
                    stamp(incident.since),
                    incident.severity.as_str(),
                    incident.words()
                ])?;
            }
            Phase::Resolved | Phase::Unwatched => {
                let ended = incident.resolved_at.unwrap_or(now);
                end.execute(params![key, incident.episode, stamp(ended)])?;
            }
            Phase::Watching | Phase::Pending => {}
        }
    }
    Ok(())
}

/// Notes that it was watched until now, and since when it was not before that.
pub(super) fn watched(transaction: &Transaction<'_>, now: DateTime<Utc>) -> Result<(), StoreError> {
    match meta_moment(transaction, "watched_until")? {
        Some(until) if (now - until).num_seconds() > GAP_SECONDS => {
            transaction.execute(
                "INSERT OR REPLACE INTO gaps (since, until) VALUES (?1, ?2)",
                [stamp(until), stamp(now)],
            )?;
        }
        Some(_) => {}
        None => {
            transaction.execute(
                "INSERT OR IGNORE INTO meta (key, value) VALUES ('watched_since', ?1)",
                [now.to_rfc3339()],
            )?;
        }
    }
    Ok(set_meta(transaction, "watched_until", &now.to_rfc3339())?)
}
