//! The outbox: rendered mails and one envelope a recipient. Claim, send, result are three commits.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Duration, Utc};
use rusqlite::{OptionalExtension, Transaction, TransactionBehavior, params};

use super::{Store, StoreError, json, moment};
use crate::alert::{Event, Key, Unsent};
use crate::failpoint;
use crate::model::AccountName;

/// A rendered mail, ready to be sent as it is, for ever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outgoing {
    /// Without angle brackets.
    pub message_id: String,
    /// Envelope sender.
    pub sender: String,
    pub recipients: Vec<String>,
    pub subject: String,
    pub lane: Lane,
    /// What it tells; unique keys of the events, and incident with event.
    pub event_keys: Vec<String>,
    pub told: Vec<(Key, Event)>,
    pub raw: Vec<u8>,
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
    pub created_at: DateTime<Utc>,
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SendResult {
    Sent,
    /// To be tried again, then.
    Retry {
        due_at: DateTime<Utc>,
        error: String,
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

/// Where an envelope stands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum EnvelopeState {
    Queued,
    Sending,
    Sent,
    Dead,
    Withdrawn,
}

impl EnvelopeState {
    pub(super) const ALL: [Self; 5] = [Self::Queued, Self::Sending, Self::Sent, Self::Dead, Self::Withdrawn];

    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Sending => "sending",
            Self::Sent => "sent",
            Self::Dead => "dead",
            Self::Withdrawn => "withdrawn",
        }
    }
}

/// One envelope as `hostwatch outbox` shows it.
#[derive(Clone, Debug)]
pub(crate) struct Envelope {
    pub id: i64,
    pub state: String,
    pub recipient: String,
    pub subject: String,
    pub created_at: DateTime<Utc>,
    pub attempts: u32,
    pub error: Option<String>,
}

/// Counts by state, and how old the oldest unsent mail is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Summary {
    pub by_state: BTreeMap<&'static str, u64>,
    pub oldest: Option<DateTime<Utc>>,
    pub last_sent: Option<DateTime<Utc>>,
    pub trouble: Trouble,
}

/// What speaks against delivery. Once a later mail got through to anybody, it is not the server, but one
/// recipient of whom nothing arrives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Trouble {
    /// Since when the oldest mail waits.
    pub waits_since: Option<DateTime<Utc>>,
    /// When a mail was last given up.
    pub given_up_at: Option<DateTime<Utc>>,
}

/// A mail to one recipient that was given up and that no other mail has named yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GivenUp {
    pub envelope: i64,
    pub recipient: String,
    pub error: String,
    /// Everybody whom the mail was for.
    pub recipients: BTreeSet<String>,
    /// The accounts of its incidents; none where it told of none.
    pub accounts: BTreeSet<AccountName>,
}

/// A mail to one recipient that waited for too long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Expired {
    pub message_id: String,
    pub recipient: String,
    pub subject: String,
    pub error: String,
}

impl Store {
    /// Mails of which no envelope was ever tried.
    pub(crate) fn unsent(&self) -> Result<Unsent, StoreError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT m.message_id, m.told FROM messages m WHERE m.message_id IN (
               SELECT message_id FROM envelopes WHERE state = 'queued' AND attempts = 0)
             AND NOT EXISTS (
               SELECT 1 FROM envelopes e WHERE e.message_id = m.message_id
               AND NOT (e.state = 'queued' AND e.attempts = 0))",
        )?;
        let rows = statement.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))?;
        let mut unsent = Unsent::new();
        for row in rows {
            let (id, told) = row?;
            unsent.insert(id, json(&told)?);
        }
        Ok(unsent)
    }

    /// Claims the next mail that is due: disconnect mails first, then by age.
    pub(crate) fn claim(&mut self, now: DateTime<Utc>) -> Result<Option<Claim>, StoreError> {
        // A transaction that first reads could not wait for a command that writes meanwhile.
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let found = transaction
            .query_row(
                "SELECT e.id, m.message_id, m.sender, e.recipient, m.raw, e.attempts, m.created_at
                 FROM envelopes e JOIN messages m USING (message_id)
                 WHERE e.state = 'queued' AND e.due_at <= ?1 ORDER BY m.lane, e.due_at, e.id LIMIT 1",
                [stamp(now)],
                |row| {
                    Ok((
                        row.get(0)?,
                        row.get(1)?,
                        row.get(2)?,
                        row.get(3)?,
                        row.get(4)?,
                        row.get(5)?,
                        row.get::<_, String>(6)?,
                    ))
                },
            )
            .optional()?;
        let Some((envelope, message_id, sender, recipient, raw, attempts, created)) = found else {
            return Ok(None);
        };
        transaction.execute("UPDATE envelopes SET state = 'sending' WHERE id = ?1", [envelope])?;
        failpoint::reach("claiming");
        transaction.commit()?;
        let created_at = moment(&created)?;
        Ok(Some(Claim { envelope, message_id, sender, recipient, raw, attempts, created_at }))
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
            SendResult::Sent => self.connection.execute(
                "UPDATE envelopes SET state = 'sent', attempts = attempts + 1, error = NULL, ended_at = ?3
                 WHERE message_id = ?1 AND recipient = ?2",
                params![id, to, at],
            )?,
            SendResult::Retry { due_at, error } => self.connection.execute(
                "UPDATE envelopes SET state = 'queued', attempts = attempts + 1, due_at = ?3, error = ?4
                 WHERE message_id = ?1 AND recipient = ?2",
                params![id, to, stamp(*due_at), error],
            )?,
            SendResult::Untried { error } => self.connection.execute(
                "UPDATE envelopes SET state = 'queued', due_at = ?3, error = ?4
                 WHERE message_id = ?1 AND recipient = ?2",
                params![id, to, at, error],
            )?,
            SendResult::Dead { error } => self.connection.execute(
                "UPDATE envelopes SET state = 'dead', attempts = attempts + 1, error = ?4, ended_at = ?3
                 WHERE message_id = ?1 AND recipient = ?2",
                params![id, to, at, error],
            )?,
        };
        Ok(())
    }

    /// When the next queued mail falls due; `None` with none queued.
    pub(crate) fn next_due(&self) -> Result<Option<DateTime<Utc>>, StoreError> {
        let due: Option<String> = self.connection.query_row(
            "SELECT min(due_at) FROM envelopes WHERE state = 'queued'",
            [],
            |row| row.get(0),
        )?;
        due.map(|text| moment(&text)).transpose()
    }

    /// Gives up queued mails created before `then` that were tried.
    pub(crate) fn expire(
        &mut self,
        then: DateTime<Utc>,
        now: DateTime<Utc>,
    ) -> Result<Vec<Expired>, StoreError> {
        let mut statement = self.connection.prepare_cached(
            "UPDATE envelopes SET state = 'dead', ended_at = ?2
             WHERE state = 'queued' AND error IS NOT NULL AND coalesce(revived_at, '') < ?1
               AND message_id IN (SELECT message_id FROM messages WHERE created_at < ?1)
             RETURNING message_id, recipient, error,
               (SELECT subject FROM messages m WHERE m.message_id = envelopes.message_id)",
        )?;
        let rows = statement.query_map(params![stamp(then), stamp(now)], |row| {
            Ok(Expired {
                message_id: row.get(0)?,
                recipient: row.get(1)?,
                error: row.get(2)?,
                subject: row.get(3)?,
            })
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// No mail waits for longer than a minute because the clock was set back.
    pub(crate) fn pull_in(&mut self, latest: DateTime<Utc>) -> Result<(), StoreError> {
        self.connection.execute(
            "UPDATE envelopes SET due_at = ?1 WHERE state = 'queued' AND due_at > ?1",
            [stamp(latest)],
        )?;
        Ok(())
    }

    /// Mails that were given up and that no other mail has named yet.
    pub(crate) fn unreported(&self) -> Result<Vec<GivenUp>, StoreError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT e.id, e.recipient, coalesce(e.error, ''), m.told,
               (SELECT json_group_array(recipient) FROM envelopes o WHERE o.message_id = e.message_id)
             FROM envelopes e JOIN messages m USING (message_id) WHERE e.state = 'dead' AND e.reported = 0",
        )?;
        let mut rows = statement.query([])?;
        let mut given_up = Vec::new();
        while let Some(row) = rows.next()? {
            let told: Vec<(Key, Event)> = json(&row.get::<_, String>(3)?)?;
            given_up.push(GivenUp {
                envelope: row.get(0)?,
                recipient: row.get(1)?,
                error: row.get(2)?,
                recipients: json(&row.get::<_, String>(4)?)?,
                accounts: told.into_iter().map(|(key, _)| key.account).collect(),
            });
        }
        Ok(given_up)
    }

    /// Every envelope, newest first.
    pub(crate) fn envelopes(&self, most: u32) -> Result<Vec<Envelope>, StoreError> {
        let mut statement = self.connection.prepare(
            "SELECT e.id, e.state, e.recipient, m.subject, m.created_at, e.attempts, e.error
             FROM envelopes e JOIN messages m USING (message_id) ORDER BY e.id DESC LIMIT ?1",
        )?;
        let mut rows = statement.query([most])?;
        let mut envelopes = Vec::new();
        while let Some(row) = rows.next()? {
            envelopes.push(Envelope {
                id: row.get(0)?,
                state: row.get(1)?,
                recipient: row.get(2)?,
                subject: row.get(3)?,
                created_at: moment(&row.get::<_, String>(4)?)?,
                attempts: row.get(5)?,
                error: row.get(6)?,
            });
        }
        Ok(envelopes)
    }

    /// Counts for metrics and the page.
    pub(crate) fn outbox_summary(&self) -> Result<Summary, StoreError> {
        let mut summary = Summary::default();
        for state in EnvelopeState::ALL {
            let count: i64 = self.connection.query_row(
                "SELECT count(*) FROM envelopes WHERE state = ?1",
                [state.as_str()],
                |row| row.get(0),
            )?;
            summary.by_state.insert(state.as_str(), count.unsigned_abs());
        }
        let time = |sql: &str, since: &[&str]| -> Result<_, StoreError> {
            let mut statement = self.connection.prepare_cached(sql)?;
            let found: Option<String> =
                statement.query_row(rusqlite::params_from_iter(since), |row| row.get(0))?;
            found.map(|text| moment(&text)).transpose()
        };
        summary.oldest = time(
            "SELECT min(m.created_at) FROM envelopes e JOIN messages m USING (message_id)
             WHERE e.state IN ('queued', 'sending')",
            &[],
        )?;
        summary.last_sent = time("SELECT max(ended_at) FROM envelopes WHERE state = 'sent'", &[])?;
        let since = summary.last_sent.map(stamp).unwrap_or_default();
        summary.trouble.waits_since = time(
            "SELECT min(m.created_at) FROM envelopes e JOIN messages m USING (message_id)
             WHERE e.state IN ('queued', 'sending') AND (e.attempts = 0 OR m.created_at > ?1)",
            &[&since],
        )?;
        summary.trouble.given_up_at = time(
            "SELECT max(e.ended_at) FROM envelopes e JOIN messages m USING (message_id)
             WHERE e.state = 'dead' AND m.created_at > ?1",
            &[&since],
        )?;
        Ok(summary)
    }

    /// Claims that a crash left open are void.
    pub(super) fn void_claims(&mut self, now: DateTime<Utc>) -> Result<(), StoreError> {
        self.connection.execute(
            "UPDATE envelopes SET state = 'queued', due_at = ?1 WHERE state = 'sending'",
            [stamp(now)],
        )?;
        Ok(())
    }
}

pub(super) fn insert(
    transaction: &Transaction<'_>,
    mail: &Outgoing,
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    // The last guard of "one mail an event": whoever was told already is left out.
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
    let told = serde_json::to_string(&mail.told).map_err(|error| StoreError::Content(error.to_string()))?;
    let lane = i64::from(mail.lane == Lane::Normal);
    transaction.execute(
        "INSERT OR IGNORE INTO messages (message_id, created_at, sender, subject, lane, told, raw)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        params![mail.message_id, stamp(now), mail.sender, mail.subject, lane, told, mail.raw],
    )?;
    for recipient in recipients {
        transaction.execute(
            "INSERT INTO envelopes (message_id, recipient, state, due_at) VALUES (?1, ?2, 'queued', ?3)",
            params![mail.message_id, recipient, stamp(now)],
        )?;
    }
    Ok(())
}

pub(super) fn withdraw(transaction: &Transaction<'_>, ids: &[String]) -> Result<(), StoreError> {
    for id in ids {
        let claimed: bool = transaction.query_row(
            "SELECT EXISTS (SELECT 1 FROM envelopes WHERE message_id = ?1 AND NOT (state = 'queued' AND attempts = 0))",
            [id],
            |row| row.get(0),
        )?;
        if claimed {
            return Err(StoreError::Conflict);
        }
        transaction.execute("UPDATE envelopes SET state = 'withdrawn' WHERE message_id = ?1", [id])?;
    }
    Ok(())
}

/// Delays between attempts; the last one repeats.
const RETRY_SECONDS: [i64; 5] = [30, 120, 300, 900, 1800];
/// After this a mail is given up.
pub(crate) const GIVE_UP_AFTER: Duration = Duration::days(5);

/// How long to wait after the attempt that follows `attempts` others.
pub(crate) fn retry_delay(attempts: u32) -> Duration {
    let index = (attempts as usize).min(RETRY_SECONDS.len() - 1);
    Duration::milliseconds(RETRY_SECONDS[index] * 1000 / i64::from(failpoint::haste()))
}

/// Fixed width, so that text order is time order.
pub(super) fn stamp(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()
}
