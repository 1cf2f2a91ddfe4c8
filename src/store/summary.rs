//! What became of mails, counted: by state, by account, the oldest that waits, the last that was given up.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use super::outbox::{EnvelopeState, stamp};
use super::{Store, StoreError, moment};
use crate::model::AccountName;

/// Counts by state, and how old the oldest unsent mail is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Summary {
    pub by_state: BTreeMap<&'static str, u64>,
    pub oldest: Option<DateTime<Utc>>,
    pub last_sent: Option<DateTime<Utc>>,
    pub trouble: Trouble,
    pub given_up: Option<LastGivenUp>,
    /// The same of the mails about each account.
    pub given_up_of: BTreeMap<AccountName, LastGivenUp>,
}

/// Mails about one account that were not delivered, one a recipient.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Undelivered {
    pub waiting: u64,
    /// When the oldest of these was queued.
    pub oldest: Option<DateTime<Utc>>,
    pub dead: u64,
}

/// When a mail last left.
pub(super) const LAST_SENT: &str = "SELECT max(ended_at) FROM envelopes WHERE state = 'sent'";

/// Of envelopes: those that were given up and of which no mail that arrived tells.
const GIVEN_UP: &str = "state = 'dead' AND reported = 0 AND ended_at IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM named d JOIN envelopes t ON t.message_id = d.named_in
    WHERE d.message_id = e.message_id AND d.recipient = e.recipient AND t.recipient = e.recipient
      AND t.state = 'sent')";

/// Mails that were given up and of which no mail that arrived tells; beside the count the last of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LastGivenUp {
    pub count: u64,
    pub recipient: String,
    pub error: String,
    pub at: DateTime<Utc>,
}

/// Why mails may not be delivered. Once a later mail got through to anybody, it is not the server, but one
/// recipient of whom nothing arrives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Trouble {
    /// Since when the oldest mail waits.
    pub waits_since: Option<DateTime<Utc>>,
    /// When a mail was last given up.
    pub given_up_at: Option<DateTime<Utc>>,
}

impl Store {
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
        summary.last_sent = time(LAST_SENT, &[])?;
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
        summary.given_up = self.last_given_up()?;
        if summary.given_up.is_some() {
            summary.given_up_of = self.last_given_up_of()?;
        }
        Ok(summary)
    }

    /// Mails that were not delivered, by the accounts of the incidents that they speak of.
    pub(crate) fn undelivered_of(&self) -> Result<BTreeMap<AccountName, Undelivered>, StoreError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT substr(n.incident, 1, instr(n.incident, '/') - 1) account, e.state = 'dead' is_dead,
               count(DISTINCT e.id), min(m.created_at)
             FROM envelopes e JOIN messages m USING (message_id) JOIN news n USING (message_id)
             WHERE e.state IN ('queued', 'sending', 'dead') GROUP BY account, is_dead",
        )?;
        let mut rows = statement.query([])?;
        let mut found: BTreeMap<AccountName, Undelivered> = BTreeMap::new();
        while let Some(row) = rows.next()? {
            let Ok(account) = row.get::<_, String>(0)?.parse() else { continue };
            let (is_dead, count) = (row.get(1)?, row.get::<_, i64>(2)?.unsigned_abs());
            let of_account = found.entry(account).or_default();
            if is_dead {
                of_account.dead = count;
            } else {
                (of_account.waiting, of_account.oldest) = (count, Some(moment(&row.get::<_, String>(3)?)?));
            }
        }
        Ok(found)
    }

    fn last_given_up_of(&self) -> Result<BTreeMap<AccountName, LastGivenUp>, StoreError> {
        let mut statement = self.connection.prepare_cached(&format!(
            "SELECT substr(k.key, 1, instr(k.key, '/') - 1) account, count(DISTINCT e.id), recipient,
               coalesce(error, ''), max(ended_at)
             FROM envelopes e JOIN (
               SELECT DISTINCT message_id, json_extract(told.value, '$[0]') key FROM messages m, json_each(m.told) told
               WHERE message_id IN (SELECT message_id FROM envelopes WHERE state = 'dead' AND reported = 0)
             ) k USING (message_id) WHERE {GIVEN_UP} GROUP BY account"
        ))?;
        let mut rows = statement.query([])?;
        let mut found = BTreeMap::new();
        while let Some(row) = rows.next()? {
            let Ok(account) = row.get::<_, String>(0)?.parse() else { continue };
            let (count, at) = (row.get::<_, i64>(1)?.unsigned_abs(), moment(&row.get::<_, String>(4)?)?);
            found.insert(account, LastGivenUp { count, recipient: row.get(2)?, error: row.get(3)?, at });
        }
        Ok(found)
    }

    fn last_given_up(&self) -> Result<Option<LastGivenUp>, StoreError> {
        let mut statement = self.connection.prepare_cached(&format!(
            "SELECT count(*), recipient, coalesce(error, ''), max(ended_at) FROM envelopes e WHERE {GIVEN_UP}"
        ))?;
        let row =
            |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(0)?, row.get(1)?, row.get(2)?, row.get(3)?));
        let (count, recipient, error, at): (_, Option<String>, Option<String>, Option<String>) =
            statement.query_row([], row)?;
        let Some(at) = at else { return Ok(None) };
        let (recipient, error) = (recipient.unwrap_or_default(), error.unwrap_or_default());
        Ok(Some(LastGivenUp { count: count.unsigned_abs(), recipient, error, at: moment(&at)? }))
    }
}
