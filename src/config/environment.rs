//! Environment variables, handed in rather than read, and those of them that set configuration keys.

use std::collections::BTreeMap;
use std::fmt;

use figment::value::{Dict, Map, Value};
use figment::{Metadata, Profile, Provider};

use super::keys::{self, Type};
use super::problem::Findings;
use super::renamed::Renames;

const PREFIX: &str = "HOSTWATCH_";

/// Variables that the command line owns.
const FLAGS: [&str; 1] = ["HOSTWATCH_CONFIG_FILE"];

/// Environment variables by name. `Debug` shows no values: they can be secrets.
#[derive(Clone, Default)]
pub struct Environment(BTreeMap<String, String>);

impl Environment {
    /// Those of this process; what is not Unicode is left out.
    pub fn of_process() -> Self {
        let pairs = std::env::vars_os();
        pairs
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect()
    }

    /// The value of a variable.
    pub fn get(&self, name: &str) -> Option<&str> {
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
pub(super) fn variables(
    env: &Environment,
    accounts: &[String],
    renames: Renames,
    findings: &mut Findings,
) -> Vec<Variable> {
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
        let mut path = path_of(rest, accounts);
        if let Some((new, renamed)) = renames.of(&path) {
            renames.warn(name, &path, &new, renamed, findings);
            path = new;
        }
        let value = match keys::find(&path) {
            // Unknown keys are told by the check of the merged tree, this variable's name beside them.
            None => Value::from(text.as_str()),
            Some(key) => match typed(text, key.kind) {
                Some(value) => value,
                None => {
                    let (want, example) = (key.kind.as_str(), key.kind.example());
                    let message = format!("expected {want}, such as {example}");
                    findings.error(name, &path.join("."), message);
                    continue;
                }
            },
        };
        found.push(Variable { name: name.clone(), path, value });
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
    match kind {
        Type::Text | Type::Secret | Type::Url | Type::Cron | Type::Duration | Type::File => {
            Some(Value::from(text))
        }
        Type::Switch => text.trim().parse::<bool>().ok().map(Value::from),
        Type::Count => text.trim().parse::<u32>().ok().map(Value::from),
        Type::Texts | Type::Counts if text.trim_start().starts_with('[') => keys::toml_value(text.trim()),
        Type::Texts => Some(Value::from(split(text).map(String::from).collect::<Vec<_>>())),
        Type::Counts => {
            split(text).map(|part| part.parse::<u32>().ok()).collect::<Option<Vec<_>>>().map(Value::from)
        }
    }
}

fn split(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|part| !part.is_empty())
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
