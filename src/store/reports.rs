//! The last good report of each account, as a row: what a mail after a restart names amounts from.

use std::collections::BTreeMap;

use rusqlite::{Transaction, params};

use super::outbox::stamp;
use super::{Store, StoreError, json};
use crate::model::{AccountName, LastReport};

impl Store {
    /// Those that were kept.
    pub(crate) fn reports(&self) -> Result<BTreeMap<AccountName, LastReport>, StoreError> {
        let mut reports = BTreeMap::new();
        let mut statement = self.connection.prepare("SELECT account, body FROM reports")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let account: String = row.get(0)?;
            let account = account.parse().map_err(|error| StoreError::Content(format!("{error}")))?;
            reports.insert(account, json(&row.get::<_, String>(1)?)?);
        }
        Ok(reports)
    }
}

pub(super) fn write(
    transaction: &Transaction<'_>,
    reports: &[(AccountName, LastReport)],
) -> Result<(), StoreError> {
    let mut put = transaction
        .prepare_cached("INSERT OR REPLACE INTO reports (account, read_at, body) VALUES (?1, ?2, ?3)")?;
    for (account, last) in reports {
        let body = serde_json::to_string(last).map_err(|error| StoreError::Content(error.to_string()))?;
        put.execute(params![account.as_str(), stamp(last.read_at), body])?;
    }
    Ok(())
}
