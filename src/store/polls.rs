//! What polls left: how they went, which the digest counts over a week beside the mails, and the last good report of each
//! account, which a mail after a restart names amounts from.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use rusqlite::{Transaction, params};

use super::rows::{Columns as _, stamp};
use super::{Store, StoreError};
use crate::model::{AccountName, LastReport};

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
        let polls = "SELECT account, sum(polls), sum(failed) FROM tallies WHERE day >= ?1 GROUP BY account";
        let ended = |state: &str| {
            let sql = "SELECT count(*) FROM envelopes WHERE state = ?1 AND ended_at >= ?2";
            self.connection.query_row(sql, params![state, stamp(since)], |row| row.count(0))
        };
        Ok(Week {
            polls: self.all(polls, [day(since)], |row| Ok((row.get(0)?, (row.count(1)?, row.count(2)?))))?,
            mails_sent: ended("sent")?,
            mails_dead: ended("dead")?,
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
    for one in polls {
        let count = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        add.execute(params![day(now), one.account.as_str(), count(one.polls), count(one.failed)])?;
    }
    Ok(())
}

fn day(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%d").to_string()
}

impl Store {
    /// Those that were kept.
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
