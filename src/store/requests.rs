//! What commands beside the daemon ask of the outbox, and how the daemon notices that somebody wrote.

use chrono::{DateTime, Utc};
use rusqlite::params;

use super::outbox::stamp;
use super::{Store, StoreError, meta, set_meta};

/// Which envelopes a command means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Which {
    One(i64),
    All,
}

impl Store {
    /// A number that changes whenever another process has written to the store.
    pub(crate) fn data_version(&self) -> Result<i64, StoreError> {
        Ok(self.connection.query_row("PRAGMA data_version", [], |row| row.get(0))?)
    }

    /// Has mails that wait or were given up tried again at once, with five days more; how many.
    pub(crate) fn retry(&mut self, which: Which, now: DateTime<Utc>) -> Result<usize, StoreError> {
        let transaction = self.writable()?.transaction()?;
        let sql = "UPDATE envelopes SET state = 'queued', due_at = ?1, revived_at = ?1, ended_at = NULL
                   WHERE state IN ('queued', 'dead')";
        let at = stamp(now);
        let changed = match which {
            Which::All => transaction.execute(sql, [&at])?,
            Which::One(id) => transaction.execute(&format!("{sql} AND id = ?2"), params![at, id])?,
        };
        set_meta(&transaction, "retry_asked", &at)?;
        transaction.commit()?;
        Ok(changed)
    }

    /// Takes mails that wait, or were given up, out of the outbox for good; how many.
    pub(crate) fn drop_mails(&mut self, which: Which, now: DateTime<Utc>) -> Result<usize, StoreError> {
        let sql = "UPDATE envelopes SET state = 'withdrawn', error = 'dropped by hand', ended_at = ?1
                   WHERE state IN ('queued', 'dead')";
        let (at, connection) = (stamp(now), self.writable()?);
        Ok(match which {
            Which::All => connection.execute(sql, [&at])?,
            Which::One(id) => connection.execute(&format!("{sql} AND id = ?2"), params![at, id])?,
        })
    }

    /// When somebody last asked for another attempt.
    pub(crate) fn retry_asked(&self) -> Result<Option<String>, StoreError> {
        Ok(meta(&self.connection, "retry_asked")?)
    }
}
