//! A recipient in the configuration: a text, or a table with its language.

use serde::Deserialize;

/// `"ann@example.com"`, or `{ address = "ann@example.com", language = "ru" }`.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Written {
    Plain(String),
    Table(Table),
}

/// A recipient as a table; see `Written`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Table {
    address: String,
    language: Option<String>,
}

impl Written {
    pub(super) fn address(&self) -> &str {
        match self {
            Self::Plain(address) | Self::Table(Table { address, .. }) => address,
        }
    }

    pub(super) fn language(&self) -> Option<&str> {
        match self {
            Self::Plain(_) => None,
            Self::Table(table) => table.language.as_deref(),
        }
    }
}
