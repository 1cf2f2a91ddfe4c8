//! What commands beside the daemon ask of the outbox, and how the daemon notices that somebody wrote.

use chrono::{DateTime, Utc};
use rusqlite::{OptionalExtension as _, Params, params};

use super::rows::{Columns as _, meta, set_meta, stamp};
use super::{Store, StoreError};
use crate::model::mails::MailRecord;

/// Which envelopes a command is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Envelopes {
    /// By their numbers.
    These(Vec<i64>),
    All,
}

const ENVELOPE: &str = "e.id, e.state, e.recipient, m.subject, m.created_at, e.ended_at, e.attempts, e.error,
  json_extract(m.told, '$[0][0]')";

/// Why a mail was withdrawn that somebody dropped; nothing newer took its place.
pub(super) const DROPPED: &str = "dropped by hand";

/// An envelope of the numbers that the second parameter lists.
const LISTED: &str = "id IN (SELECT value FROM json_each(?2))";

fn listed(ids: &[i64]) -> String {
    serde_json::Value::from(ids).to_string()
}

impl Store {
    /// The first of these that neither waits nor was given up.
    pub(crate) fn first_settled(&self, ids: &[i64]) -> Result<Option<i64>, StoreError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT value FROM json_each(?1)
             WHERE value NOT IN (SELECT id FROM envelopes WHERE state IN ('queued', 'dead')) ORDER BY key LIMIT 1",
        )?;
        Ok(statement.query_row([listed(ids)], |row| row.get(0)).optional()?)
    }

    /// Envelopes: what was given up, what waits, then the others, each the newest first.
    pub(crate) fn envelopes(&self, most: u32) -> Result<Vec<MailRecord>, StoreError> {
        let sql = format!(
            "SELECT {ENVELOPE} FROM envelopes e JOIN messages m USING (message_id)
             ORDER BY CASE e.state WHEN 'dead' THEN 0 WHEN 'queued' THEN 1 WHEN 'sending' THEN 1 ELSE 2 END, e.id DESC
             LIMIT ?1"
        );
        self.envelopes_of(&sql, params![most])
    }

    /// Those that speak of an episode of an incident, the oldest first.
    pub(crate) fn mails_about(&self, key: &str, episode: u32) -> Result<Vec<MailRecord>, StoreError> {
        let sql = format!(
            "SELECT {ENVELOPE} FROM news n JOIN messages m USING (message_id) JOIN envelopes e USING (message_id)
             WHERE n.incident = ?1 AND n.episode = ?2 ORDER BY e.id"
        );
        self.envelopes_of(&sql, params![key, episode])
    }

    fn envelopes_of(&self, sql: &str, params: impl Params) -> Result<Vec<MailRecord>, StoreError> {
        let found: Vec<Option<MailRecord>> = self.all(sql, params, |row| {
            // A state that only a newer release knows.
            let Ok(state) = row.parsed(1) else { return Ok(None) };
            let about: Option<String> = row.get(8)?;
            Ok(Some(MailRecord {
                id: row.get(0)?,
                state,
                recipient: row.get(2)?,
                subject: row.get(3)?,
                account: about.and_then(|key| key.split('/').next()?.parse().ok()),
                created_at: row.moment(4)?,
                ended_at: row.moment_if_any(5)?,
                attempts: row.get(6)?,
                error: row.get(7)?,
            }))
        })?;
        Ok(found.into_iter().flatten().collect())
    }

    /// A number that changes whenever another process has written to the store.
    pub(crate) fn data_version(&self) -> Result<i64, StoreError> {
        Ok(self.connection.query_row("PRAGMA data_version", [], |row| row.get(0))?)
    }

    /// Has mails that wait or were given up tried again at once, with five days more; how many.
    pub(crate) fn retry(&mut self, which: Envelopes, now: DateTime<Utc>) -> Result<usize, StoreError> {
        let transaction = self.writable()?.transaction()?;
        let sql = "UPDATE envelopes SET state = 'queued', due_at = ?1, revived_at = ?1, tried_seconds = 0, expired = 0,
                     ended_at = NULL
                   WHERE state IN ('queued', 'dead')";
        let at = stamp(now);
        let changed = match which {
            Envelopes::All => transaction.execute(sql, [&at])?,
            Envelopes::These(ids) => {
                transaction.execute(&format!("{sql} AND {LISTED}"), params![at, listed(&ids)])?
            }
        };
        set_meta(&transaction, "retry_asked", &at)?;
        transaction.commit()?;
        Ok(changed)
    }

    /// Takes mails that wait, or were given up, out of the outbox for good; how many.
    pub(crate) fn drop_mails(&mut self, which: Envelopes, now: DateTime<Utc>) -> Result<usize, StoreError> {
        let transaction = self.writable()?.transaction()?;
        let (all, ids) = match which {
            Envelopes::All => (true, String::from("[]")),
            Envelopes::These(ids) => (false, listed(&ids)),
        };
        // Whom it surely did not reach was not told: if it is told again that is the first time.
        transaction.execute(
            &format!(
                "DELETE FROM told WHERE EXISTS (SELECT 1 FROM envelopes e WHERE e.message_id = told.message_id
                   AND e.recipient = told.recipient AND NOT e.perhaps AND e.state IN ('queued', 'dead')
                   AND (?1 OR e.{LISTED}))"
            ),
            params![all, ids],
        )?;
        let dropped = transaction.execute(
            &format!(
                "UPDATE envelopes SET state = 'withdrawn', error = '{DROPPED}', ended_at = ?3
                 WHERE state IN ('queued', 'dead') AND (?1 OR {LISTED})"
            ),
            params![all, ids, stamp(now)],
        )?;
        transaction.commit()?;
        Ok(dropped)
    }

    /// When somebody last asked for another attempt.
    pub(crate) fn retry_asked(&self) -> Result<Option<String>, StoreError> {
        Ok(meta(&self.connection, "retry_asked")?)
    }
}
