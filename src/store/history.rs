//! Episodes of incidents as rows: the past that the page shows.

use rusqlite::params;

use super::rows::{Columns as _, stamp};
use super::{Store, StoreError};
use crate::alert::{Episode, History, Past, Title};

impl Store {
    /// Episodes that were open at or after a moment, the latest first.
    pub(crate) fn history(&self, past: &Past) -> Result<History, StoreError> {
        let (only, value) = match (&past.keys, &past.account) {
            (Some(keys), _) => {
                let keys: Vec<String> = keys.iter().map(ToString::to_string).collect();
                ("key IN (SELECT value FROM json_each(?2))", serde_json::to_string(&keys)?)
            }
            (None, Some(account)) => ("substr(key, 1, length(?2)) = ?2", format!("{account}/")),
            (None, None) => ("?2 = ''", String::new()),
        };
        let sql = format!(
            "SELECT key, since, ended_at, severity, title FROM episodes
             WHERE (ended_at IS NULL OR ended_at >= ?1) AND {only} ORDER BY since DESC LIMIT ?3"
        );
        let most = i64::try_from(past.most).unwrap_or(i64::MAX).saturating_add(1);
        let mut episodes: Vec<Episode> = self.all(&sql, params![stamp(past.from), value, most], |row| {
            Ok(Episode {
                key: row.parsed(0)?,
                since: row.moment(1)?,
                ended: row.moment_if_any(2)?,
                severity: row.parsed(3)?,
                title: Title::of_stored(row.get(4)?),
            })
        })?;
        let more = episodes.len() > past.most;
        episodes.truncate(past.most);
        Ok(History { episodes, more })
    }
}
