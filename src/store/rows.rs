//! How rows are read and values are written: moments, JSON, and types with a text form.

use std::fmt::Display;
use std::str::FromStr;

use chrono::{DateTime, Utc};
use rusqlite::{Connection, OptionalExtension as _, Params, Row, Transaction, params, params_from_iter};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Store, StoreError};

/// Columns of types that SQLite lacks. A value that cannot be read is damage.
pub(super) trait Columns {
    fn text(&self, index: usize) -> rusqlite::Result<String>;

    fn moment_if_any(&self, index: usize) -> Result<Option<DateTime<Utc>>, StoreError>;

    fn moment(&self, index: usize) -> Result<DateTime<Utc>, StoreError> {
        moment(&self.text(index)?)
    }

    fn json<T: DeserializeOwned>(&self, index: usize) -> Result<T, StoreError> {
        Ok(serde_json::from_str(&self.text(index)?)?)
    }

    fn parsed<T: FromStr<Err: Display>>(&self, index: usize) -> Result<T, StoreError> {
        self.text(index)?.parse().map_err(|error: T::Err| StoreError::Content(error.to_string()))
    }
}

impl Columns for Row<'_> {
    fn text(&self, index: usize) -> rusqlite::Result<String> {
        self.get(index)
    }

    fn moment_if_any(&self, index: usize) -> Result<Option<DateTime<Utc>>, StoreError> {
        self.get::<_, Option<String>>(index)?.map(|text| moment(&text)).transpose()
    }
}

impl From<serde_json::Error> for StoreError {
    fn from(error: serde_json::Error) -> Self {
        Self::Content(error.to_string())
    }
}

impl Store {
    /// All rows of a query.
    pub(super) fn all<T, All: FromIterator<T>>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> Result<T, StoreError>,
    ) -> Result<All, StoreError> {
        self.connection.prepare_cached(sql)?.query_and_then(params, read)?.collect()
    }
}

/// A text of fixed width, so that text order is time order.
pub(super) fn stamp(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()
}

fn moment(text: &str) -> Result<DateTime<Utc>, StoreError> {
    let parsed = DateTime::parse_from_rfc3339(text);
    parsed.map(|at| at.with_timezone(&Utc)).map_err(|_| StoreError::Content(format!("'{text}' is no moment")))
}

/// Writes the changed rows of a table with a primary key and a value as JSON. A row without a value is deleted.
pub(super) fn write_rows<const N: usize>(
    transaction: &Transaction<'_>,
    table: &str,
    key: [&str; N],
    rows: impl IntoIterator<Item = ([String; N], Option<impl Serialize>)>,
) -> Result<(), StoreError> {
    let (columns, marks) = (key.join(", "), ["?"; N].join(", "));
    let mut put = transaction
        .prepare_cached(&format!("INSERT OR REPLACE INTO {table} ({columns}, body) VALUES ({marks}, ?)"))?;
    let mut forget =
        transaction.prepare_cached(&format!("DELETE FROM {table} WHERE ({columns}) = ({marks})"))?;
    for (key, value) in rows {
        match value {
            Some(value) => {
                put.execute(params_from_iter(key.into_iter().chain([serde_json::to_string(&value)?])))?
            }
            None => forget.execute(params_from_iter(key))?,
        };
    }
    Ok(())
}

pub(super) fn set_meta(connection: &Connection, key: &str, value: &str) -> rusqlite::Result<()> {
    connection.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?1, ?2)", params![key, value])?;
    Ok(())
}

pub(super) fn meta(connection: &Connection, key: &str) -> rusqlite::Result<Option<String>> {
    connection.query_row("SELECT value FROM meta WHERE key = ?1", [key], |row| row.get(0)).optional()
}

pub(super) fn meta_moment(connection: &Connection, key: &str) -> Result<Option<DateTime<Utc>>, StoreError> {
    meta(connection, key)?.map(|text| moment(&text)).transpose()
}
