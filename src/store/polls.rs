//! Traces of polls: their results, which the weekly digest counts, and the last good report of each account,
//! from which a mail after a restart takes its amounts.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use rusqlite::{Transaction, params};

use super::rows::{Columns as _, stamp};
use super::{Store, StoreError};
use crate::model::{AccountName, LastReport};

/// The polls of one account: all, and the failed ones.
pub(crate) type Polls = (AccountName, (u64, u64));

/// The counts since a moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Week {
    /// The number of polls and of failed ones, by account.
    pub polls: BTreeMap<String, (u64, u64)>,
    pub mails_sent: u64,
}

impl Store {
    /// Polls (by whole UTC days) and deliveries since a moment.
    pub(crate) fn week(&self, since: DateTime<Utc>) -> Result<Week, StoreError> {
        let polls = "SELECT account, sum(polls), sum(failed) FROM tallies WHERE day >= ?1 GROUP BY account";
        Ok(Week {
            polls: self.all(polls, [day(since)], |row| Ok((row.get(0)?, (row.count(1)?, row.count(2)?))))?,
            mails_sent: self.sent_since(since)?,
        })
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
    for (account, (polls, failed)) in polls {
        let count = |count: &u64| i64::try_from(*count).unwrap_or(i64::MAX);
        add.execute(params![day(now), account.as_str(), count(polls), count(failed)])?;
    }
    Ok(())
}

fn day(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%d").to_string()
}

impl Store {
    /// The stored reports.
    pub(crate) fn reports(&self) -> Result<BTreeMap<AccountName, LastReport>, StoreError> {
        self.all("SELECT account, body FROM reports", [], |row| Ok((row.parsed(0)?, row.json(1)?)))
    }
}

pub(super) fn write_reports(
    transaction: &Transaction<'_>,
    reports: &[(AccountName, LastReport)],
) -> Result<(), StoreError> {
    let mut put = transaction
        .prepare_cached("INSERT OR REPLACE INTO reports (account, read_at, body) VALUES (?1, ?2, ?3)")?;
    for (account, last) in reports {
        put.execute(params![account.as_str(), stamp(last.read_at), serde_json::to_string(last)?])?;
    }
    Ok(())
}
