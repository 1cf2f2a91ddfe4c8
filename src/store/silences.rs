//! People's decisions as rows: acknowledgements and silences. Commands write them; the daemon reads them.

use chrono::{DateTime, Utc};
use rusqlite::params;

use super::rows::{Columns as _, stamp};
use super::{Store, StoreError};
use crate::alert::{Ack, Key, Muted, Silence};

impl Store {
    /// Writes people's decisions into a store that began empty. Silences keep their numbers, by which people end them.
    pub(crate) fn decided(&mut self, muted: &Muted) -> Result<(), StoreError> {
        for (key, Ack { episode, at, comment }) in &muted.acks {
            self.acknowledge(key, *episode, comment, *at)?;
        }
        for Silence { id, pattern, at, until, comment } in &muted.silences {
            self.connection.execute(
                "INSERT INTO silences (id, pattern, created_at, until, comment) VALUES (?1, ?2, ?3, ?4, ?5)",
                params![id, pattern, stamp(*at), stamp(*until), comment],
            )?;
        }
        Ok(())
    }

    /// All acknowledgements, and the silences that are not over.
    pub(crate) fn silences(&self, now: DateTime<Utc>) -> Result<Muted, StoreError> {
        let acks = self.all("SELECT key, episode, created_at, comment FROM acks", [], |row| {
            let ack = Ack { episode: row.get(1)?, at: row.moment(2)?, comment: row.get(3)? };
            Ok((row.parsed(0)?, ack))
        })?;
        let sql = "SELECT id, pattern, created_at, until, comment FROM silences WHERE until > ?1 ORDER BY id";
        let silences = self.all(sql, [stamp(now)], |row| {
            Ok(Silence {
                id: row.get(0)?,
                pattern: row.get(1)?,
                at: row.moment(2)?,
                until: row.moment(3)?,
                comment: row.get(4)?,
            })
        })?;
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

    /// Takes an acknowledgement back; false if there was none.
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

    /// Ends a silence; false if none with this number is on.
    pub(crate) fn end_silence(&mut self, id: i64, now: DateTime<Utc>) -> Result<bool, StoreError> {
        let ended = self.writable()?.execute(
            "UPDATE silences SET until = ?2 WHERE id = ?1 AND until > ?2",
            params![id, stamp(now)],
        )?;
        Ok(ended > 0)
    }
}
