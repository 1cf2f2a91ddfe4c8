//! Notices that the hourly cap keeps back until a summary mails them.

use chrono::{DateTime, Utc};
use rusqlite::{Transaction, params};

use super::outbox::stamp;
use super::{Store, StoreError, json, moment};
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
        let mut statement =
            self.connection.prepare_cached("SELECT id, held_at, recipients, items FROM held ORDER BY id")?;
        let mut rows = statement.query([])?;
        let (mut held, mut last) = (Vec::new(), None);
        while let Some(row) = rows.next()? {
            last = Some(row.get(0)?);
            held.push(RateLimited {
                at: moment(&row.get::<_, String>(1)?)?,
                to: json(&row.get::<_, String>(2)?)?,
                items: json(&row.get::<_, String>(3)?)?,
            });
        }
        Ok((held, last))
    }

    /// Since when something is held.
    pub(crate) fn rate_limited_since(&self) -> Result<Option<DateTime<Utc>>, StoreError> {
        let oldest: Option<String> =
            self.connection.query_row("SELECT min(held_at) FROM held", [], |row| row.get(0))?;
        oldest.map(|text| moment(&text)).transpose()
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
        let text = |error: serde_json::Error| StoreError::Content(error.to_string());
        let to = serde_json::to_string(&one.to).map_err(text)?;
        let items = serde_json::to_string(&one.items).map_err(text)?;
        transaction.execute(
            "INSERT INTO held (held_at, recipients, items) VALUES (?1, ?2, ?3)",
            params![stamp(one.at), to, items],
        )?;
    }
    Ok(())
}
