//! Mails that a server took, as rows, which `outbox` shows.

use chrono::{DateTime, Utc};
use rusqlite::{Params, Transaction, params};

use super::rows::{Columns as _, stamp};
use super::{Store, StoreError};
use crate::alert::{Arrived, Key};
use crate::model::mails::SentMail;

impl Store {
    /// Sent mails, the latest first.
    pub(crate) fn sent(&self, most: u32) -> Result<Vec<SentMail>, StoreError> {
        self.sent_of("ORDER BY sent_at DESC, rowid DESC LIMIT ?1", [most])
    }

    /// Mails about an incident, the oldest first.
    pub(crate) fn sent_about(&self, key: &Key) -> Result<Vec<SentMail>, StoreError> {
        let about =
            "WHERE EXISTS (SELECT 1 FROM json_each(told) WHERE instr(value, ?1) = 1) ORDER BY sent_at, rowid";
        self.sent_of(about, [format!("{key}#")])
    }

    fn sent_of(&self, which: &str, params: impl Params) -> Result<Vec<SentMail>, StoreError> {
        let sql =
            format!("SELECT message_id, recipient, subject, told, created_at, sent_at FROM sent {which}");
        self.all(&sql, params, |row| {
            Ok(SentMail {
                message_id: row.text(0)?,
                recipient: row.text(1)?,
                subject: row.text(2)?,
                told: row.json(3)?,
                created_at: row.moment(4)?,
                sent_at: row.moment(5)?,
            })
        })
    }

    /// The time of the last mail that a server took.
    pub(crate) fn last_sent(&self) -> Result<Option<DateTime<Utc>>, StoreError> {
        let last: Vec<_> = self.all("SELECT max(sent_at) FROM sent", [], |row| row.moment_if_any(0))?;
        Ok(last.into_iter().flatten().next())
    }
}

/// Moves mails that arrived to the sent ones.
pub(super) fn write(transaction: &Transaction<'_>, arrived: &[Arrived]) -> Result<(), StoreError> {
    let mut note = transaction.prepare_cached(
        "INSERT OR REPLACE INTO sent (message_id, recipient, subject, told, created_at, sent_at)
         SELECT message_id, recipient, subject, ?5, ?3, ?4 FROM in_flight WHERE message_id = ?1 AND recipient = ?2",
    )?;
    for Arrived { message_id, to, told, made_at, at } in arrived {
        let told = serde_json::to_string(told)?;
        note.execute(params![message_id, to, stamp(*made_at), stamp(*at), told])?;
    }
    Ok(())
}
