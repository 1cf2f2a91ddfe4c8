//! A recipient in the configuration: a text, or a table with its language.

use figment::error::Kind;
use figment::value::Value;
use serde::Deserialize;

use crate::model::nearest::nearest;

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

/// The error of a table with an unknown key. `Written` itself would not say which key it is.
pub(super) fn unknown_key(value: &Value) -> Option<String> {
    value.as_dict()?;
    value.deserialize::<Table>().err()?.into_iter().find_map(|error| {
        let Kind::UnknownField(name, known) = error.kind else { return None };
        let near = nearest(&name, known);
        Some(format!("holds a table with the unknown key '{name}'; did you mean '{near}'?"))
    })
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
