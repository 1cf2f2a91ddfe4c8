//! The last good report of each account, from which a mail after a restart takes its amounts.

use std::collections::BTreeMap;

use rusqlite::{Transaction, params};

use super::rows::{Columns as _, stamp};
use super::{Store, StoreError};
use crate::model::{AccountName, LastReport};

impl Store {
    /// The stored reports.
    pub(crate) fn reports(&self) -> Result<BTreeMap<AccountName, LastReport>, StoreError> {
        self.all("SELECT account, body FROM reports", [], |row| Ok((row.parsed(0)?, row.json(1)?)))
    }
}

pub(super) fn write(
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
