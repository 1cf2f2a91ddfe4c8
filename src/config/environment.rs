//! Environment variables, handed in rather than read, and those of them that set configuration keys.

use std::collections::BTreeMap;
use std::fmt;

use figment::value::{Dict, Map, Value};
use figment::{Metadata, Profile, Provider};

use super::keys::{self, Type};
use super::problem::Findings;

const PREFIX: &str = "HOSTWATCH_";

/// Variables that the command line owns.
const FLAGS: [&str; 1] = ["HOSTWATCH_CONFIG_FILE"];

/// Environment variables by name. `Debug` shows no values: they can be secrets.
#[derive(Clone, Default)]
pub(crate) struct Environment(BTreeMap<String, String>);

impl Environment {
    /// Those of this process; what is not Unicode is left out.
    pub(crate) fn of_process() -> Self {
        let pairs = std::env::vars_os();
        pairs
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect()
    }

    /// The value of a variable.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }
}

impl FromIterator<(String, String)> for Environment {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(pairs: I) -> Self {
        Self(pairs.into_iter().collect())
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

/// One variable as a layer of its own, so that errors can name it.
pub(super) struct Variable {
    name: String,
    path: Vec<String>,
    value: Value,
}

/// The variables that set keys, `__` between levels, values typed by the table of keys. `accounts` are the
/// names that files define: a variable's account is matched to them without regard to case or of `-` and `_`.
pub(super) fn variables(env: &Environment, accounts: &[String], findings: &mut Findings) -> Vec<Variable> {
    let mut found = Vec::new();
    for (name, text) in &env.0 {
        let Some(rest) = name.strip_prefix(PREFIX).filter(|_| !FLAGS.contains(&name.as_str())) else {
            continue;
        };
        if !rest.contains("__") {
            let message = "is not used: levels of a key are separated by '__', such as HOSTWATCH_STORE__PATH";
            findings.warn(name, "", message);
            continue;
        }
        let path = path_of(rest, accounts);
        // Unknown keys are told by the check of the merged values, this variable's name beside them.
        let kind = keys::find(&path).map_or(Type::Text, |key| key.kind);
        match typed(text, kind) {
            Some(value) => found.push(Variable { name: name.clone(), path, value }),
            None => findings.error(name, &path.join("."), format!("expected {}", kind.expected())),
        }
    }
    found
}

fn path_of(rest: &str, accounts: &[String]) -> Vec<String> {
    let mut path: Vec<String> = rest.split("__").map(str::to_ascii_lowercase).collect();
    if path[0] == "accounts" && path.len() > 2 {
        let given = rest.split("__").nth(1).unwrap_or_default();
        let plain = |name: &str| name.to_ascii_lowercase().replace('-', "_");
        let exact = accounts.iter().find(|account| *account == given);
        let alike = || accounts.iter().find(|account| plain(account) == plain(given));
        if let Some(account) = exact.or_else(alike) {
            path[1] = account.clone();
        }
    }
    path
}

/// A variable's text as a value of this type. What is a string stays the string it is, `00123` included.
fn typed(text: &str, kind: Type) -> Option<Value> {
    let text = if kind.is_text() { text } else { text.trim() };
    let bare = !text.starts_with('[');
    let value = if kind.is_text() {
        Some(Value::from(text))
    } else if kind == Type::Texts && bare {
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        Some(Value::from(parts.map(String::from).collect::<Vec<_>>()))
    } else if kind == Type::Counts && bare {
        keys::toml_value(&format!("[{text}]"))
    } else {
        keys::toml_value(text)
    };
    value.filter(|value| kind.fits(value))
}

impl Provider for Variable {
    fn metadata(&self) -> Metadata {
        Metadata::named(self.name.clone())
    }

    fn data(&self) -> Result<Map<Profile, Dict>, figment::Error> {
        let mut path = self.path.iter().rev();
        let mut table = Dict::new();
        if let Some(last) = path.next() {
            table.insert(last.clone(), self.value.clone());
        }
        for name in path {
            table = Dict::from([(name.clone(), Value::from(table))]);
        }
        Ok(Profile::Default.collect(table))
    }
}
