//! Messages in chats, as rows, kept until their problems are over.

use chrono::{DateTime, Utc};
use rusqlite::{Transaction, params};

use super::rows::{Columns as _, stamp};
use super::{Store, StoreError};
use crate::alert::{Flight, Lane};
use crate::model::TELEGRAM;

/// The table of messages. `told`: the event keys of its problems, as JSON. `raw`: its present text. `number`:
/// its number in the chat, once that is known.
pub(super) const TABLE: &str = "
CREATE TABLE chat_messages (
  recipient TEXT NOT NULL, message_id TEXT NOT NULL, told TEXT NOT NULL, raw BLOB NOT NULL, number INTEGER,
  created_at TEXT NOT NULL, PRIMARY KEY (recipient, message_id)
) STRICT;
";

/// One message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ChatMessage {
    pub recipient: String,
    pub message_id: String,
    /// The event keys of its problems.
    pub told: Vec<String>,
    pub raw: Vec<u8>,
    pub number: Option<i64>,
}

/// Stores a message that is on its way from now on.
pub(super) fn begin(
    transaction: &Transaction<'_>,
    to: &str,
    lane: &str,
    flight: &Flight,
    raw: &[u8],
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    let digest: &str = Lane::Digest.into();
    if !to.starts_with(TELEGRAM) || lane == digest {
        return Ok(());
    }
    let problems = flight.items.iter().filter(|item| !item.event.is_end());
    let told: Vec<&str> = problems.map(|item| item.event_key.as_str()).collect();
    if told.is_empty() {
        return Ok(());
    }
    transaction
        .prepare_cached(
            "INSERT OR REPLACE INTO chat_messages (recipient, message_id, told, raw, number, created_at)
             VALUES (?1, ?2, ?3, ?4, NULL, ?5)",
        )?
        .execute(params![to, flight.id, serde_json::to_string(&told)?, raw, stamp(now)])?;
    Ok(())
}

impl Store {
    /// Notes the number of a message in its chat.
    pub(crate) fn number_chat_message(&mut self, to: &str, id: &str, number: i64) -> Result<(), StoreError> {
        self.connection.execute(
            "UPDATE chat_messages SET number = ?3 WHERE recipient = ?1 AND message_id = ?2",
            params![to, id, number],
        )?;
        Ok(())
    }

    /// The messages that are in a chat.
    pub(crate) fn chat_messages(&self) -> Result<Vec<ChatMessage>, StoreError> {
        let sql =
            "SELECT recipient, message_id, told, raw, number FROM chat_messages WHERE number IS NOT NULL
                   ORDER BY created_at, rowid";
        self.all(sql, [], read)
    }

    /// The message with this id (up to its `@`) to one of these recipients.
    pub(crate) fn chat_message(&self, to: &[String], id: &str) -> Result<Option<ChatMessage>, StoreError> {
        let sql = "SELECT recipient, message_id, told, raw, number FROM chat_messages
                   WHERE substr(message_id, 1, length(?1) + 1) = ?1 || '@'";
        let found: Vec<ChatMessage> = self.all(sql, [id], read)?;
        Ok(found.into_iter().find(|one| to.contains(&one.recipient)))
    }

    /// Forgets a message that needs no further edit.
    pub(crate) fn end_chat_message(&mut self, to: &str, id: &str) -> Result<(), StoreError> {
        let sql = "DELETE FROM chat_messages WHERE recipient = ?1 AND message_id = ?2";
        self.connection.execute(sql, [to, id])?;
        Ok(())
    }

    /// Writes the present text of a message.
    pub(crate) fn change_chat_message(&mut self, message: &ChatMessage) -> Result<(), StoreError> {
        self.connection.execute(
            "UPDATE chat_messages SET raw = ?3, number = ?4 WHERE recipient = ?1 AND message_id = ?2",
            params![message.recipient, message.message_id, message.raw, message.number],
        )?;
        Ok(())
    }
}

fn read(row: &rusqlite::Row<'_>) -> Result<ChatMessage, StoreError> {
    Ok(ChatMessage {
        recipient: row.text(0)?,
        message_id: row.text(1)?,
        told: row.json(2)?,
        raw: row.get(3)?,
        number: row.get(4)?,
    })
}
