//! What became of mails, counted: by state, by account, the oldest that waits, the last that was given up.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use rusqlite::Row;

use super::rows::{Columns as _, stamp};
use super::{Store, StoreError};
use crate::model::AccountName;
use crate::model::mails::{GivenUpMails, MailState};

/// Counts by state, and how old the oldest unsent mail is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Summary {
    pub by_state: BTreeMap<&'static str, u64>,
    pub oldest: Option<DateTime<Utc>>,
    pub last_sent: Option<DateTime<Utc>>,
    pub trouble: Trouble,
    pub given_up: Option<GivenUpMails>,
    /// The same of the mails about each account.
    pub given_up_of: BTreeMap<AccountName, GivenUpMails>,
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
        for &state in MailState::NAMES {
            let sql = "SELECT count(*) FROM envelopes WHERE state = ?1";
            let count = self.connection.query_row(sql, [state], |row| row.count(0))?;
            summary.by_state.insert(state, count);
        }
        summary.oldest = self.moment_of(
            "SELECT min(m.created_at) FROM envelopes e JOIN messages m USING (message_id)
             WHERE e.state IN ('queued', 'sending')",
            [],
        )?;
        summary.last_sent = self.moment_of(LAST_SENT, [])?;
        let since = summary.last_sent.map(stamp).unwrap_or_default();
        summary.trouble.waits_since = self.moment_of(
            "SELECT min(m.created_at) FROM envelopes e JOIN messages m USING (message_id)
             WHERE e.state IN ('queued', 'sending') AND (e.attempts = 0 OR m.created_at > ?1)",
            [&since],
        )?;
        summary.trouble.given_up_at = self.moment_of(
            "SELECT max(e.ended_at) FROM envelopes e JOIN messages m USING (message_id)
             WHERE e.state = 'dead' AND m.created_at > ?1",
            [&since],
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
            let Ok(account) = row.parsed(0) else { continue };
            let of_account = found.entry(account).or_default();
            if row.get(1)? {
                of_account.dead = row.count(2)?;
            } else {
                (of_account.waiting, of_account.oldest) = (row.count(2)?, row.moment_if_any(3)?);
            }
        }
        Ok(found)
    }

    fn last_given_up_of(&self) -> Result<BTreeMap<AccountName, GivenUpMails>, StoreError> {
        let sql = format!(
            "SELECT count(DISTINCT e.id), recipient, coalesce(error, ''), max(ended_at),
               substr(k.key, 1, instr(k.key, '/') - 1) account
             FROM envelopes e JOIN (
               SELECT DISTINCT message_id, json_extract(told.value, '$[0]') key FROM messages m, json_each(m.told) told
               WHERE message_id IN (SELECT message_id FROM envelopes WHERE state = 'dead' AND reported = 0)
                          ) k USING (message_id) WHERE {GIVEN_UP} GROUP BY account"
        );
        let of_accounts: Vec<_> = self.all(&sql, [], |row| Ok((row.parsed(4).ok(), given_up(row)?)))?;
        Ok(of_accounts.into_iter().filter_map(|(account, mails)| Some((account?, mails))).collect())
    }

    fn last_given_up(&self) -> Result<Option<GivenUpMails>, StoreError> {
        // Without any there is no group, and no row.
        let sql = format!(
            "SELECT count(*), recipient, coalesce(error, ''), max(ended_at) FROM envelopes e WHERE {GIVEN_UP}
             GROUP BY state"
        );
        Ok(self.all::<_, Vec<_>>(&sql, [], given_up)?.pop())
    }
}

fn given_up(row: &Row<'_>) -> Result<GivenUpMails, StoreError> {
    let (recipient, error) = (row.get(1)?, row.get(2)?);
    Ok(GivenUpMails { count: row.count(0)?, recipient, error, at: row.moment(3)? })
}
