//! What people decided, as rows: acknowledgements and silences. Commands write them; the daemon reads.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use rusqlite::params;

use super::outbox::stamp;
use super::{Store, StoreError, moment};
use crate::alert::{Ack, Key, Muted, Silence};

impl Store {
    /// Every acknowledgement, and the silences that are not over.
    pub(crate) fn silences(&self, now: DateTime<Utc>) -> Result<Muted, StoreError> {
        let mut acks = BTreeMap::new();
        let mut statement =
            self.connection.prepare_cached("SELECT key, episode, created_at, comment FROM acks")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let key: Key = parsed(&row.get::<_, String>(0)?)?;
            let at = moment(&row.get::<_, String>(2)?)?;
            acks.insert(key, Ack { episode: row.get(1)?, at, comment: row.get(3)? });
        }
        let mut silences = Vec::new();
        let mut statement = self.connection.prepare_cached(
            "SELECT id, pattern, created_at, until, comment FROM silences WHERE until > ?1 ORDER BY id",
        )?;
        let mut rows = statement.query([stamp(now)])?;
        while let Some(row) = rows.next()? {
            silences.push(Silence {
                id: row.get(0)?,
                pattern: row.get(1)?,
                at: moment(&row.get::<_, String>(2)?)?,
                until: moment(&row.get::<_, String>(3)?)?,
                comment: row.get(4)?,
            });
        }
        Ok(Muted { acks, silences })
    }

    /// Acknowledges an episode, in place of an earlier acknowledgement of the same incident.
    pub(crate) fn acknowledge(
        &mut self,
        key: &Key,
        episode: u32,
        comment: &str,
        now: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        self.writable()?.execute(
            "INSERT OR REPLACE INTO acks (key, episode, created_at, comment) VALUES (?1, ?2, ?3, ?4)",
            params![key.to_string(), episode, stamp(now), comment],
        )?;
        Ok(())
    }

    /// Takes an acknowledgement back; false where there was none.
    pub(crate) fn take_back_ack(&mut self, key: &Key) -> Result<bool, StoreError> {
        Ok(self.writable()?.execute("DELETE FROM acks WHERE key = ?1", [key.to_string()])? > 0)
    }

    /// Adds a silence and returns its number.
    pub(crate) fn silence(
        &mut self,
        pattern: &str,
        until: DateTime<Utc>,
        comment: &str,
        now: DateTime<Utc>,
    ) -> Result<i64, StoreError> {
        self.writable()?.execute(
            "INSERT INTO silences (pattern, created_at, until, comment) VALUES (?1, ?2, ?3, ?4)",
            params![pattern, stamp(now), stamp(until), comment],
        )?;
        Ok(self.connection.last_insert_rowid())
    }

    /// Ends a silence; false where none of this number is on.
    pub(crate) fn end_silence(&mut self, id: i64, now: DateTime<Utc>) -> Result<bool, StoreError> {
        let ended = self.writable()?.execute(
            "UPDATE silences SET until = ?2 WHERE id = ?1 AND until > ?2",
            params![id, stamp(now)],
        )?;
        Ok(ended > 0)
    }
}

fn parsed(text: &str) -> Result<Key, StoreError> {
    text.parse().map_err(|error| StoreError::Content(format!("{error}")))
}
