//! The outbox: rendered mails and one envelope a recipient. Claim, send, result are three commits. Each way that mails leave
//! by has a queue, and a sender, of its own.

use std::collections::BTreeSet;

use chrono::{DateTime, Duration, Utc};
use rusqlite::{OptionalExtension as _, Params, Transaction, TransactionBehavior, named_params, params};

use super::rows::stamp;
use super::{Store, StoreError};
use crate::alert::{Event, Key, Notice};
use crate::failpoint;
use crate::model::WEBHOOK;

/// A rendered mail, ready to be sent as it is, for ever.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Outgoing {
    /// Without angle brackets.
    pub message_id: String,
    /// Envelope sender; of what goes to a webhook its Idempotency-Key.
    pub sender: String,
    pub recipients: Vec<String>,
    pub subject: String,
    pub lane: Lane,
    /// Unique keys of the events that it tells.
    pub event_keys: Vec<String>,
    /// What it is made of.
    pub notice: Notice,
    pub raw: Vec<u8>,
    /// Since when its recipient waits for it.
    pub created_at: DateTime<Utc>,
}

/// Disconnect mails never wait behind others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Lane {
    Disconnect,
    Normal,
}

/// A mail to one recipient, claimed for sending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Claim {
    pub envelope: i64,
    pub message_id: String,
    pub sender: String,
    pub recipient: String,
    pub raw: Vec<u8>,
    /// Attempts before this one.
    pub attempts: u32,
    pub subject: String,
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SendResult {
    Sent,
    /// To be tried again, then. `perhaps` where it may have arrived all the same.
    Retry {
        due_at: DateTime<Utc>,
        error: String,
        perhaps: bool,
    },
    /// The connection itself failed: this mail's attempt does not count.
    Untried {
        error: String,
    },
    /// Never to be tried again.
    Dead {
        error: String,
    },
}

/// A mail to one recipient that waited for too long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Expired {
    pub message_id: String,
    pub recipient: String,
    pub subject: String,
    pub error: String,
}

/// The envelopes that leave by one way.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Queue {
    /// To mail addresses.
    Mail,
    /// To the webhook of this name.
    Webhook(String),
}

/// An envelope of the queue that the parameter `:queue` names.
pub(super) fn in_queue() -> String {
    format!("(recipient = :queue OR (:queue = '' AND recipient NOT LIKE '{WEBHOOK}%'))")
}

/// The parameter of an envelope's queue.
pub(super) fn queue_of() -> String {
    format!("CASE WHEN recipient LIKE '{WEBHOOK}%' THEN recipient ELSE '' END")
}

impl Queue {
    /// The value of `:queue`: the one recipient, or nothing.
    pub(super) fn parameter(&self) -> String {
        match self {
            Self::Mail => String::new(),
            Self::Webhook(name) => format!("{WEBHOOK}{name}"),
        }
    }
}

impl Store {
    /// Claims the next mail of a queue that is due: disconnect mails first, then by age. One that speaks of an incident, or of
    /// another of the same VM, container or site, of which its recipient still waits for older news stays behind it.
    pub(crate) fn claim(&mut self, queue: &Queue, now: DateTime<Utc>) -> Result<Option<Claim>, StoreError> {
        // A transaction that first reads could not wait for a command that writes meanwhile.
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let found = transaction
            .query_row(
                &format!(
                    "SELECT e.id, m.message_id, m.sender, e.recipient, m.raw, e.attempts, m.subject
                     FROM envelopes e JOIN messages m USING (message_id)
                     WHERE {DELIVERABLE} AND {} AND e.due_at <= :now
                     ORDER BY m.lane, e.due_at, e.id LIMIT 1",
                    in_queue()
                ),
                named_params! {":now": stamp(now), ":queue": queue.parameter()},
                |row| {
                    Ok(Claim {
                        envelope: row.get(0)?,
                        message_id: row.get(1)?,
                        sender: row.get(2)?,
                        recipient: row.get(3)?,
                        raw: row.get(4)?,
                        attempts: row.get(5)?,
                        subject: row.get(6)?,
                    })
                },
            )
            .optional()?;
        let Some(claim) = found else { return Ok(None) };
        transaction.execute("UPDATE envelopes SET state = 'sending' WHERE id = ?1", [claim.envelope])?;
        failpoint::reach("claiming");
        transaction.commit()?;
        Ok(Some(claim))
    }

    /// Notes how an attempt ended.
    pub(crate) fn finish(
        &mut self,
        claim: &Claim,
        result: &SendResult,
        now: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        // Known by mail and recipient: where the store left its file, or went back, numbers may be others.
        let (id, to, at) = (&claim.message_id, &claim.recipient, stamp(now));
        match result {
            SendResult::Sent => {
                self.connection.execute(
                    "UPDATE envelopes SET state = 'sent', attempts = attempts + 1, error = NULL, ended_at = ?3
                     WHERE message_id = ?1 AND recipient = ?2",
                    params![id, to, at],
                )?;
                // Nobody waits for it any more, so it is never made anew.
                self.connection.execute(
                    "UPDATE messages SET notice = NULL WHERE message_id = ?1 AND NOT EXISTS (
                       SELECT 1 FROM envelopes e WHERE e.message_id = ?1 AND e.state <> 'sent')",
                    [id],
                )?
            }
            SendResult::Retry { due_at, error, perhaps } => self.connection.execute(
                "UPDATE envelopes SET state = 'queued', attempts = attempts + 1, due_at = ?3, error = ?4,
                   perhaps = perhaps OR ?5
                 WHERE message_id = ?1 AND recipient = ?2",
                params![id, to, stamp(*due_at), error, perhaps],
            )?,
            SendResult::Untried { error } => self.connection.execute(
                "UPDATE envelopes SET state = 'queued', due_at = ?3, error = ?4
                 WHERE message_id = ?1 AND recipient = ?2",
                params![id, to, at, error],
            )?,
            SendResult::Dead { error } => {
                // Nobody was told: if it is told again that is the first time.
                self.connection.execute(FORGET_TOLD, [id, to])?;
                self.connection.execute(
                    "UPDATE envelopes SET state = 'dead', attempts = attempts + 1, error = ?4, ended_at = ?3
                     WHERE message_id = ?1 AND recipient = ?2",
                    params![id, to, at, error],
                )?
            }
        };
        Ok(())
    }

    /// When the next mail of a queue that waits for no other falls due; `None` with none queued.
    pub(crate) fn next_due(&self, queue: &Queue) -> Result<Option<DateTime<Utc>>, StoreError> {
        self.moment_of(
            &format!("SELECT min(e.due_at) FROM envelopes e WHERE {DELIVERABLE} AND {}", in_queue()),
            named_params! {":queue": queue.parameter()},
        )
    }

    /// Notes that what waits after a first attempt was tried for so much longer.
    pub(crate) fn tried_for(&mut self, queue: &Queue, time: std::time::Duration) -> Result<(), StoreError> {
        let seconds = i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
        self.connection.execute(
            &format!(
                "UPDATE envelopes SET tried_seconds = tried_seconds + :seconds
                 WHERE state = 'queued' AND error IS NOT NULL AND {}",
                in_queue()
            ),
            named_params! {":seconds": seconds, ":queue": queue.parameter()},
        )?;
        Ok(())
    }

    /// Gives up mails that were tried for five days of running.
    pub(crate) fn expire(&mut self, queue: &Queue, now: DateTime<Utc>) -> Result<Vec<Expired>, StoreError> {
        let sql = format!(
            "UPDATE envelopes SET state = 'dead', expired = 1, ended_at = :now
             WHERE state = 'queued' AND tried_seconds >= :most AND {}
             RETURNING message_id, recipient, error,
               (SELECT subject FROM messages m WHERE m.message_id = envelopes.message_id)",
            in_queue()
        );
        let most = GIVE_UP_AFTER.num_seconds();
        self.expired(&sql, named_params! {":now": stamp(now), ":most": most, ":queue": queue.parameter()})
    }

    /// Those that this gives up, by Message-ID, recipient, error and subject. Nobody was told what they tell.
    pub(super) fn expired(&self, sql: &str, params: impl Params) -> Result<Vec<Expired>, StoreError> {
        let expired: Vec<Expired> = self.all(sql, params, |row| {
            Ok(Expired {
                message_id: row.get(0)?,
                recipient: row.get(1)?,
                error: row.get(2)?,
                subject: row.get(3)?,
            })
        })?;
        for one in &expired {
            self.connection.execute(FORGET_TOLD, [&one.message_id, &one.recipient])?;
        }
        Ok(expired)
    }

    /// No mail waits for longer than a minute because the clock was set back.
    pub(crate) fn pull_in(&mut self, latest: DateTime<Utc>) -> Result<(), StoreError> {
        self.connection.execute(
            "UPDATE envelopes SET due_at = ?1 WHERE state = 'queued' AND due_at > ?1",
            [stamp(latest)],
        )?;
        Ok(())
    }

    /// Claims that a crash left open are void. They may have gone out, and go first.
    pub(super) fn void_claims(&mut self) -> Result<(), StoreError> {
        self.connection.execute(
            "UPDATE envelopes SET state = 'queued', due_at = ?1, perhaps = 1 WHERE state = 'sending'",
            [stamp(DateTime::UNIX_EPOCH)],
        )?;
        Ok(())
    }
}

pub(super) fn insert(
    transaction: &Transaction<'_>,
    mail: &Outgoing,
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    // The last guard of "one mail an event": whoever had it already is left out.
    let mut recipients = Vec::new();
    for recipient in &mail.recipients {
        let mut fresh = mail.event_keys.is_empty();
        for event_key in &mail.event_keys {
            let added = transaction.execute(
                "INSERT OR IGNORE INTO told (event_key, recipient, message_id) VALUES (?1, ?2, ?3)",
                params![event_key, recipient, mail.message_id],
            )?;
            fresh |= added > 0;
        }
        if fresh {
            recipients.push(recipient);
        }
    }
    if recipients.is_empty() {
        return Ok(());
    }
    let told: Vec<(&Key, &Event)> = mail.notice.items.iter().map(|item| (&item.key, &item.event)).collect();
    let (told, notice) = (serde_json::to_string(&told)?, serde_json::to_string(&mail.notice)?);
    let lane = i64::from(mail.lane == Lane::Normal);
    transaction.execute(
        "INSERT OR IGNORE INTO messages (message_id, created_at, sender, subject, lane, told, raw, notice)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        params![
            mail.message_id,
            stamp(mail.created_at),
            mail.sender,
            mail.subject,
            lane,
            told,
            mail.raw,
            notice
        ],
    )?;
    let mut add = transaction.prepare_cached(
        "INSERT OR IGNORE INTO news (message_id, incident, episode, about) VALUES (?1, ?2, ?3, ?4)",
    )?;
    for item in &mail.notice.items {
        add.execute(params![mail.message_id, item.key.to_string(), item.episode, item.key.about()])?;
    }
    for recipient in recipients {
        transaction.execute(
            "INSERT INTO envelopes (message_id, recipient, state, due_at) VALUES (?1, ?2, 'queued', ?3)",
            params![mail.message_id, recipient, stamp(now)],
        )?;
    }
    Ok(())
}

/// Takes back mails that wait, each to one recipient, with the memory of having told what they tell.
pub(super) fn withdraw(
    transaction: &Transaction<'_>,
    mails: &BTreeSet<(String, String)>,
) -> Result<(), StoreError> {
    for (id, to) in mails {
        let withdrawn = transaction.execute(
            "UPDATE envelopes SET state = 'withdrawn' WHERE message_id = ?1 AND recipient = ?2 AND state = 'queued'",
            [id, to],
        )?;
        if withdrawn == 0 {
            return Err(StoreError::Conflict);
        }
        transaction.execute(FORGET_TOLD, [id, to])?;
    }
    Ok(())
}

pub(super) const FORGET_TOLD: &str = "DELETE FROM told WHERE message_id = ?1 AND recipient = ?2";

/// An envelope `e` that may be sent: its recipient waits for no older news of what it speaks of.
const DELIVERABLE: &str = "e.state = 'queued' AND NOT EXISTS (
  SELECT 1 FROM news n JOIN news o ON o.about = n.about
    JOIN envelopes b ON b.message_id = o.message_id AND b.recipient = e.recipient
  WHERE n.message_id = e.message_id AND b.id < e.id AND b.state IN ('queued', 'sending'))";

/// Delays between attempts; the last one repeats.
const RETRY_SECONDS: [i64; 5] = [30, 120, 300, 900, 1800];
/// A mail that was tried for so long while the daemon ran is given up.
const GIVE_UP_AFTER: Duration = Duration::days(5);

/// How long to wait after the attempt that follows `attempts` others.
pub(crate) fn retry_delay(attempts: u32) -> Duration {
    let index = (attempts as usize).min(RETRY_SECONDS.len() - 1);
    Duration::milliseconds(RETRY_SECONDS[index] * 1000 / i64::from(failpoint::haste()))
}
