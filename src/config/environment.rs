//! Environment variables as an argument, and the variables that set configuration keys.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;

use figment::value::{Dict, Map, Value};
use figment::{Metadata, Profile, Provider};

use super::findings::Findings;
use super::keys::{self, ValueType};

const PREFIX: &str = "HOSTWATCH_";

/// Variables that the command line reads.
const FLAGS: [&str; 1] = ["HOSTWATCH_CONFIG_FILE"];

/// Environment variables by name. `Debug` shows no values, since they can be secrets.
#[derive(Clone, Default)]
pub(crate) struct Environment(BTreeMap<String, OsString>);

impl Environment {
    /// The variables of this process.
    pub(crate) fn of_process() -> Self {
        Self(std::env::vars_os().map(|(name, value)| (name.to_string_lossy().into_owned(), value)).collect())
    }

    /// The variables whose names begin like this in any case: the rest of each name, and its value. An empty one counts as
    /// not set.
    pub(crate) fn below(&self, start: &str) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().filter_map(move |(name, value)| {
            let (head, rest) = name.split_at_checked(start.len())?;
            let text = value.to_str().filter(|text| !text.trim().is_empty())?;
            head.eq_ignore_ascii_case(start).then_some((rest, text))
        })
    }

    /// The value of a variable, if it is text.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.to_str()
    }
}

impl FromIterator<(String, String)> for Environment {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(pairs: I) -> Self {
        Self(pairs.into_iter().map(|(name, value)| (name, value.into())).collect())
    }
}

impl<const N: usize> From<[(&str, &str); N]> for Environment {
    fn from(pairs: [(&str, &str); N]) -> Self {
        pairs.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// The contents of one file or variable, for figment to merge. They are read once, so that the merged values
/// are the checked ones.
pub(super) struct Layer {
    pub metadata: Metadata,
    pub data: Map<Profile, Dict>,
}

impl Provider for Layer {
    fn metadata(&self) -> Metadata {
        self.metadata.clone()
    }

    fn data(&self) -> Result<Map<Profile, Dict>, figment::Error> {
        Ok(self.data.clone())
    }
}

/// The variables that set keys, with `__` between levels and values of the types in the table of keys.
/// `written` is the file. The name of an account, webhook or chat in a variable matches the one there without regard to
/// case, or to `-` and `_`.
pub(super) fn variables(env: &Environment, written: &Dict, findings: &Findings) -> Vec<Layer> {
    let mut found = Vec::new();
    for (name, value) in &env.0 {
        let Some(rest) = name.strip_prefix(PREFIX).filter(|_| !FLAGS.contains(&name.as_str())) else {
            continue;
        };
        let Some(text) = value.to_str() else {
            findings.error(name, "", "is not text in UTF-8; set it again, or remove it");
            continue;
        };
        if !rest.contains("__") {
            let message = "is not used: levels of a key are separated by '__', such as HOSTWATCH_STORE__PATH";
            findings.warn(name, "", message);
            continue;
        }
        let path = path_of(rest, written);
        // Compose writes an unset variable as an empty one.
        if text.trim().is_empty() {
            if let Some(key) = keys::find(&path) {
                let off =
                    if key.kind == ValueType::Cron { "; \"off\" switches the schedule off" } else { "" };
                findings.warn(name, &path.join("."), format!("is empty and counts as not set{off}"));
            }
            continue;
        }
        // The check of the merged values reports unknown keys, with the variable's name.
        let kind = keys::find(&path).map_or(ValueType::Text, |key| key.kind);
        match typed(text, kind) {
            Some(value) => {
                found.push(Layer { metadata: Metadata::named(name.clone()), data: nested(&path, value) });
            }
            None => findings.error(name, &path.join("."), format!("expected {}", kind.expected())),
        }
    }
    found
}

/// The tables of tables whose names the user chooses.
const NAMED: [&str; 3] = ["accounts", "webhooks", "telegram"];

fn path_of(rest: &str, written: &Dict) -> Vec<String> {
    let mut path: Vec<String> = rest.split("__").map(str::to_ascii_lowercase).collect();
    if NAMED.contains(&path[0].as_str()) && path.len() > 2 {
        let given = rest.split("__").nth(1).unwrap_or_default();
        let plain = |name: &str| name.to_ascii_lowercase().replace('-', "_");
        let names = || written.get(&path[0]).and_then(Value::as_dict).into_iter().flat_map(Dict::keys);
        let exact = names().find(|name| *name == given);
        if let Some(name) = exact.or_else(|| names().find(|name| plain(name) == plain(given))).cloned() {
            path[1] = name;
        }
    }
    path
}

/// The texts of a list in a variable, if they are one.
pub(crate) fn listed(text: &str) -> Option<Vec<String>> {
    typed(text, ValueType::Texts)?.deserialize().ok()
}

/// A variable's text as a value of this type. A string stays as it is, including `00123`.
fn typed(text: &str, kind: ValueType) -> Option<Value> {
    let text = if kind.is_text() { text } else { text.trim() };
    let bare = !text.starts_with('[');
    let value = if kind.is_text() {
        Some(Value::from(text))
    } else if matches!(kind, ValueType::Texts | ValueType::Recipients) && bare {
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        Some(Value::from(parts.map(String::from).collect::<Vec<_>>()))
    } else if kind == ValueType::Counts && bare {
        keys::toml_value(&format!("[{text}]"))
    } else {
        let name = || (kind == ValueType::Chat).then(|| Value::from(text));
        keys::toml_value(text).or_else(name)
    };
    value.filter(|value| kind.fits(value))
}

/// A value within the tables of its path.
fn nested(path: &[String], value: Value) -> Map<Profile, Dict> {
    let inner = |value: Value, name: &String| Value::from(Dict::from([(name.clone(), value)]));
    let value = path.iter().rev().fold(value, inner);
    Profile::Default.collect(value.into_dict().unwrap_or_default())
}
