//! The reasons for changes of incidents, as rows.

use chrono::{DateTime, Utc};
use rusqlite::params;

use super::rows::Columns as _;
use super::{Store, StoreError};

impl Store {
    /// The last `most` reasons of an incident, the oldest first.
    pub(crate) fn decisions(&self, key: &str, most: u32) -> Result<Vec<(DateTime<Utc>, String)>, StoreError> {
        let sql = "SELECT decided_at, reason FROM decisions WHERE key = ?1 ORDER BY id DESC LIMIT ?2";
        let mut decisions: Vec<_> =
            self.all(sql, params![key, most], |row| Ok((row.moment(0)?, row.text(1)?)))?;
        decisions.reverse();
        Ok(decisions)
    }
}
