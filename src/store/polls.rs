//! What the digest counts over a week: polls by account, mails by what became of them.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use rusqlite::{Transaction, params};

use super::outbox::stamp;
use super::{Store, StoreError};
use crate::model::AccountName;

/// Polls of one account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Polls {
    pub account: AccountName,
    /// All of them, the failed ones too.
    pub polls: u64,
    pub failed: u64,
}

/// What happened since a moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Week {
    /// Polls, and how many of them failed, by account.
    pub polls: BTreeMap<String, (u64, u64)>,
    pub mails_sent: u64,
    pub mails_dead: u64,
}

impl Store {
    /// Polls (by whole UTC days) and deliveries since then.
    pub(crate) fn week(&self, since: DateTime<Utc>) -> Result<Week, StoreError> {
        let mut week = Week::default();
        let mut statement = self.connection.prepare_cached(
            "SELECT account, sum(polls), sum(failed) FROM tallies WHERE day >= ?1 GROUP BY account",
        )?;
        let mut rows = statement.query([day(since)])?;
        while let Some(row) = rows.next()? {
            let (polls, failed): (i64, i64) = (row.get(1)?, row.get(2)?);
            week.polls.insert(row.get(0)?, (polls.unsigned_abs(), failed.unsigned_abs()));
        }
        let ended = |state: &str| -> Result<u64, StoreError> {
            let count: i64 = self.connection.query_row(
                "SELECT count(*) FROM envelopes WHERE state = ?1 AND ended_at >= ?2",
                params![state, stamp(since)],
                |row| row.get(0),
            )?;
            Ok(count.unsigned_abs())
        };
        week.mails_sent = ended("sent")?;
        week.mails_dead = ended("dead")?;
        Ok(week)
    }
}

pub(super) fn add(
    transaction: &Transaction<'_>,
    polls: &[Polls],
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    let mut add = transaction.prepare_cached(
        "INSERT INTO tallies (day, account, polls, failed) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (day, account) DO UPDATE SET polls = polls + ?3, failed = failed + ?4",
    )?;
    for one in polls {
        let count = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        add.execute(params![day(now), one.account.as_str(), count(one.polls), count(one.failed)])?;
    }
    Ok(())
}

fn day(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%d").to_string()
}
