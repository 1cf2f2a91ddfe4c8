//! Notices that the hourly cap keeps back until a summary mails them.

use chrono::{DateTime, Utc};
use rusqlite::{Transaction, params};

use super::rows::{Columns as _, stamp};
use super::{Store, StoreError};
use crate::alert::Item;

/// Items kept back, and who is to get them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RateLimited {
    pub at: DateTime<Utc>,
    /// Mailboxes as configured.
    pub to: Vec<String>,
    pub items: Vec<Item>,
}

pub(super) const MAILS_SINCE: &str = "
SELECT count(DISTINCT m.created_at || m.told) FROM messages m WHERE m.lane = 1 AND m.created_at > ?1 AND EXISTS (
  SELECT 1 FROM envelopes e WHERE e.message_id = m.message_id AND e.state <> 'withdrawn')";

impl Store {
    /// What is held, oldest first, and the row it ends at.
    pub(crate) fn rate_limited(&self) -> Result<(Vec<RateLimited>, Option<i64>), StoreError> {
        let mut last = None;
        let held = self.all("SELECT id, held_at, recipients, items FROM held ORDER BY id", [], |row| {
            last = Some(row.get(0)?);
            Ok(RateLimited { at: row.moment(1)?, to: row.json(2)?, items: row.json(3)? })
        })?;
        Ok((held, last))
    }

    /// Since when something is held.
    pub(crate) fn rate_limited_since(&self) -> Result<Option<DateTime<Utc>>, StoreError> {
        self.moment_of("SELECT min(held_at) FROM held", [])
    }

    /// Mails of the common lane made since then, withdrawn ones aside. What goes out by several ways is one.
    pub(crate) fn mails_since(&self, since: DateTime<Utc>) -> Result<u32, StoreError> {
        let count = self.connection.query_row(MAILS_SINCE, [stamp(since)], |row| row.get(0))?;
        Ok(count)
    }
}

pub(super) fn write(
    transaction: &Transaction<'_>,
    held: &[RateLimited],
    released: Option<i64>,
) -> Result<(), StoreError> {
    if let Some(last) = released {
        transaction.execute("DELETE FROM held WHERE id <= ?1", [last])?;
    }
    for one in held {
        let (to, items) = (serde_json::to_string(&one.to)?, serde_json::to_string(&one.items)?);
        transaction.execute(
            "INSERT INTO held (held_at, recipients, items) VALUES (?1, ?2, ?3)",
            params![stamp(one.at), to, items],
        )?;
    }
    Ok(())
}
