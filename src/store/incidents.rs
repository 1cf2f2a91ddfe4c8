//! The reasons for changes of incidents, and the ends of digests, as rows.

use chrono::{DateTime, Utc};
use rusqlite::{Connection, params};

use super::rows::{Columns as _, meta_moment};
use super::{Store, StoreError};
use crate::model::AccountName;

/// The key of the row with the end of an account's last digest.
pub(super) fn digested_until_of(account: &AccountName) -> String {
    format!("digested_until/{account}")
}

/// The time until which digests were decided. The first one covers the time since the first start.
pub(super) fn digested_until(connection: &Connection) -> Result<Option<DateTime<Utc>>, StoreError> {
    meta_moment(connection, "digested_until")?
        .map_or_else(|| meta_moment(connection, "started"), |at| Ok(Some(at)))
}

impl Store {
    /// The end of an account's last digest, otherwise of any account's, if it is known.
    pub(crate) fn digested_until(&self, account: &AccountName) -> Result<Option<DateTime<Utc>>, StoreError> {
        meta_moment(&self.connection, &digested_until_of(account))?
            .map_or_else(|| digested_until(&self.connection), |until| Ok(Some(until)))
    }

    /// The last `most` reasons of an incident, the oldest first.
    pub(crate) fn decisions(&self, key: &str, most: u32) -> Result<Vec<(DateTime<Utc>, String)>, StoreError> {
        let sql = "SELECT decided_at, reason FROM decisions WHERE key = ?1 ORDER BY id DESC LIMIT ?2";
        let mut decisions: Vec<_> =
            self.all(sql, params![key, most], |row| Ok((row.moment(0)?, row.text(1)?)))?;
        decisions.reverse();
        Ok(decisions)
    }
}
