//! The values that one account, or the daemon as a whole, sees. An account sees its own table before
//! `[defaults]`, and that before the shared tables. Errors name the place where the value was written.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::ops::RangeInclusive;

use figment::value::{Dict, Value};
use serde::de::DeserializeOwned;

use super::findings::Findings;
use super::sources::{Secrets, Sources};

/// The visible values; see the module.
pub(super) struct View<'a> {
    pub sources: &'a Sources,
    pub secrets: &'a Secrets,
    /// Where its errors and warnings go.
    pub findings: &'a Findings,
    /// The path of its keys (`accounts.main`); empty for the daemon.
    pub place: String,
    /// The source in which it was named.
    pub source: String,
}

/// One value.
pub(super) struct Leaf<'a> {
    /// Its full key, such as `accounts.main.schedule.vms`.
    key: String,
    value: &'a Value,
    /// `None` for a default.
    pub origin: Option<String>,
}

impl Leaf<'_> {
    /// Whether the value is in `[defaults]`.
    pub(super) fn is_shared(&self) -> bool {
        self.key.starts_with("defaults.")
    }
}

impl<'a> View<'a> {
    /// The values at another place.
    pub(super) fn at(&self, place: String, source: &str) -> Self {
        Self { place, source: source.to_owned(), ..*self }
    }

    /// The values of a key or table in all its places, the nearest first.
    fn found(&self, key: &str) -> impl Iterator<Item = (String, &'a Value)> {
        let places: &[&str] = if self.place.is_empty() { &[""] } else { &[&self.place, "defaults", ""] };
        let paths: Vec<String> = places.iter().map(|place| format!("{place}.{key}")).collect();
        let values = &self.sources.values;
        paths.into_iter().filter_map(move |path| {
            let path = path.trim_start_matches('.');
            Some((path.to_owned(), values.find_ref(path)?))
        })
    }

    /// A value, if one is set or has a default.
    pub(super) fn leaf(&self, key: &str) -> Option<Leaf<'a>> {
        let (key, value) = self.found(key).next()?;
        Some(Leaf { key, value, origin: self.sources.origin(value) })
    }

    /// Whether the user gave it a value, usable or not. An empty text is no value.
    pub(super) fn is_set(&self, key: &str) -> bool {
        self.leaf(key).is_some_and(|leaf| leaf.value.as_str() != Some(""))
    }

    /// Whether its value is no text, which is reported already.
    pub(super) fn is_no_text(&self, key: &str) -> bool {
        self.leaf(key).is_some_and(|leaf| leaf.value.as_str().is_none())
    }

    /// A text; `None` if unset, empty or unusable.
    pub(super) fn text(&self, key: &str) -> Option<&'a str> {
        self.leaf(key)?.value.as_str().filter(|text| !text.is_empty())
    }

    /// A value of another type; `None` if unset or unusable.
    pub(super) fn get<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        self.leaf(key)?.value.deserialize().ok()
    }

    /// The names below a table: codes of container states, or kinds of rules.
    pub(super) fn names_below(&self, table: &str) -> BTreeSet<String> {
        self.found(table).filter_map(|(_, value)| value.as_dict()).flat_map(Dict::keys).cloned().collect()
    }

    /// A text converted by `parse`. Its error is reported with file and key. An empty text counts as unset.
    pub(super) fn parsed<T, E: Display>(
        &self,
        key: &str,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Option<T> {
        parse(self.text(key)?).map_err(|error| self.error(key, error.to_string())).ok()
    }

    /// A whole number within limits; the lower limit if it is wrong.
    pub(super) fn bounded(&self, key: &str, range: RangeInclusive<u32>) -> u32 {
        let (least, most) = range.into_inner();
        match self.get(key) {
            Some(value) if (least..=most).contains(&value) => value,
            Some(value) => {
                let message = format!("{value} is out of range; allowed are {least} to {most}");
                self.error(key, message);
                least
            }
            None => least,
        }
    }

    /// Reports an error about a key, set or missing.
    pub(super) fn error(&self, key: &str, message: impl Into<String>) {
        let (source, place) = self.locate(key);
        self.findings.error(&source, &place, message);
    }

    /// Reports a warning about a key.
    pub(super) fn warn(&self, key: &str, message: impl Into<String>) {
        let (source, place) = self.locate(key);
        self.findings.warn(&source, &place, message);
    }

    /// The source and full name of a key. For a default it is the place in the account's own table.
    fn locate(&self, key: &str) -> (String, String) {
        let written = |leaf: &Leaf<'_>| leaf.origin.is_some() || !leaf.is_shared();
        match self.leaf(key).filter(written) {
            Some(leaf) => (leaf.origin.unwrap_or_else(|| self.source.clone()), leaf.key),
            None => (self.source.clone(), format!("{}.{key}", self.place).trim_start_matches('.').to_owned()),
        }
    }
}
