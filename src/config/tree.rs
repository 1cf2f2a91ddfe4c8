//! The merged values held against the table of keys: unknown keys and wrong types are found here, and what
//! is left can be asked for by key, an account seeing its own values before the shared ones.

use std::collections::BTreeMap;

use figment::value::{Dict, Value};

use super::keys::{self, Type};
use super::problem::Findings;
use super::sources::Sources;
use crate::alert::Kind;
use crate::metrics;

/// Values by path, known and of the right type; a wrong one stays as unusable, so that it isn't missed too.
pub(super) struct Tree {
    leaves: BTreeMap<Vec<String>, Leaf>,
}

/// One value.
pub(super) struct Leaf {
    /// Where it stands, `accounts.main.schedule.vms`.
    pub key: String,
    /// File or variable; `None` for a default.
    pub source: Option<String>,
    pub from_environment: bool,
    value: Option<Value>,
}

impl Leaf {
    /// Stands in `[defaults]`.
    pub fn is_shared(&self) -> bool {
        self.key.starts_with("defaults.")
    }
}

/// What one account, or the daemon as a whole, sees.
pub(super) struct View<'a> {
    leaves: BTreeMap<String, &'a Leaf>,
    /// Where its keys stand (`accounts.main`); empty for the daemon.
    pub place: String,
    /// Where it was named.
    pub source: String,
}

impl Tree {
    pub fn check(sources: &Sources, findings: &mut Findings) -> Self {
        let mut tree = Self { leaves: BTreeMap::new() };
        tree.walk(&mut Vec::new(), &sources.values, sources, findings);
        tree
    }

    fn walk(&mut self, path: &mut Vec<String>, table: &Dict, sources: &Sources, findings: &mut Findings) {
        for (name, value) in table {
            path.push(name.clone());
            let source = source_below(value, sources);
            let shown = source.as_deref().unwrap_or(&sources.main);
            match (keys::find(path), value) {
                (None, Value::Dict(_, inner)) if keys::is_table(path) => {
                    self.walk(path, inner, sources, findings);
                }
                (Some(key), value) => {
                    let fits = fits(value, key.kind);
                    if !fits {
                        let (want, example) = (key.kind.as_str(), key.kind.example());
                        let message = format!("is {}, expected {want}, such as {example}", actual(value));
                        findings.error(shown, &path.join("."), message);
                    }
                    let from_environment = sources.is_environment(value);
                    let value = fits.then(|| value.clone());
                    self.leaves
                        .insert(path.clone(), Leaf { key: path.join("."), source, from_environment, value });
                }
                (None, _) if keys::is_table(path) => {
                    let message = format!("is {}, expected a table: [{}]", actual(value), path.join("."));
                    findings.error(shown, &path.join("."), message);
                }
                (None, _) => findings.error(shown, &path.join("."), unknown(path)),
            }
            path.pop();
        }
    }

    /// The whole daemon's view.
    pub fn global(&self, source: &str) -> View<'_> {
        let leaves = self.leaves.values().map(|leaf| (leaf.key.clone(), leaf)).collect();
        View { leaves, place: String::new(), source: source.to_owned() }
    }

    /// An account's view: the shared tables, over them `[defaults]`, over them its own.
    pub fn account(&self, name: &str, source: &str) -> View<'_> {
        let mut leaves = BTreeMap::new();
        for table in ["schedule", "limits", "billing", "alerts", "metrics"] {
            leaves.extend(self.below(&[table]).map(|(_, leaf)| (leaf.key.clone(), leaf)));
        }
        leaves.extend(self.below(&["defaults"]).map(|(path, leaf)| (path[1..].join("."), leaf)));
        leaves.extend(self.below(&["accounts", name]).map(|(path, leaf)| (path[2..].join("."), leaf)));
        View { leaves, place: format!("accounts.{name}"), source: source.to_owned() }
    }

    fn below(&self, prefix: &[&str]) -> impl Iterator<Item = (&Vec<String>, &Leaf)> {
        let prefix: Vec<String> = prefix.iter().map(|&name| name.to_owned()).collect();
        self.leaves.range(prefix.clone()..).take_while(move |(path, _)| path.starts_with(&prefix))
    }
}

/// A table's own tag tells little after a merge; what is in it does.
fn source_below(value: &Value, sources: &Sources) -> Option<String> {
    match value {
        Value::Dict(_, inner) => inner.values().find_map(|value| source_below(value, sources)),
        Value::String(..)
        | Value::Char(..)
        | Value::Bool(..)
        | Value::Num(..)
        | Value::Empty(..)
        | Value::Array(..) => sources.of(value),
    }
}

fn fits(value: &Value, kind: Type) -> bool {
    let all = |fits: fn(&Value) -> bool| value.as_array().is_some_and(|items| items.iter().all(fits));
    match kind {
        Type::Text | Type::Secret | Type::Url | Type::Cron | Type::Duration | Type::File => {
            value.as_str().is_some()
        }
        Type::Switch => value.to_bool().is_some(),
        Type::Count => count(value).is_some(),
        Type::Texts => all(|item| item.as_str().is_some()),
        Type::Counts => all(|item| count(item).is_some()),
    }
}

fn count(value: &Value) -> Option<u32> {
    value.to_num()?.to_u128_lossy()?.try_into().ok()
}

/// What a value is, never which.
fn actual(value: &Value) -> &'static str {
    match value {
        Value::String(..) | Value::Char(..) => "text",
        Value::Bool(..) => "true or false",
        Value::Num(..) => "another number",
        Value::Empty(..) => "empty",
        Value::Dict(..) => "a table",
        Value::Array(..) => "a list of something else",
    }
}

fn unknown(path: &[String]) -> String {
    let (name, table) = path.split_last().map_or(("", path), |(name, table)| (name.as_str(), table));
    let known = keys::names_in(table);
    if known.contains(&"<kind>") {
        return format!("unknown kind of incident; did you mean '{}'?", nearest(name, Kind::NAMES));
    }
    if known.contains(&"<name>") {
        return "an account's name is made of letters, digits, '_' and '-'; rename it".to_owned();
    }
    if known.contains(&"<family>") {
        let names: Vec<&str> = metrics::FAMILIES.iter().map(|family| family.name).collect();
        return format!("unknown metric; did you mean '{}'?", nearest(name, &names));
    }
    if known.contains(&"<code>") {
        return "a container state's code is a whole number, such as 0 = \"ENABLED\"".to_owned();
    }
    let near = nearest(name, &known);
    let alike = strsim::normalized_damerau_levenshtein(name, near) >= 0.5;
    match keys::homes_of(name).next() {
        Some(home) if !alike => format!("unknown key in this place; it belongs to '{home}'"),
        Some(_) | None => format!("unknown key; did you mean '{near}'?"),
    }
}

/// The name most like `name`.
pub(super) fn nearest<'a>(name: &str, known: &[&'a str]) -> &'a str {
    let likeness = |known: &str| strsim::normalized_damerau_levenshtein(&name.to_ascii_lowercase(), known);
    let mut best = ("", -1.0);
    for &candidate in known {
        let likeness = likeness(&candidate.to_ascii_lowercase());
        if likeness > best.1 {
            best = (candidate, likeness);
        }
    }
    best.0
}

impl<'a> View<'a> {
    /// The value's place and source, where one is set or has a default.
    pub fn leaf(&self, key: &str) -> Option<&'a Leaf> {
        self.leaves.get(key).copied()
    }

    /// Somebody gave it a value, were it an unusable one; an empty text is none.
    pub fn is_set(&self, key: &str) -> bool {
        let value = self.leaf(key).map(|leaf| leaf.value.as_ref());
        value.is_some_and(|value| value.and_then(Value::as_str) != Some(""))
    }

    /// Has a value of the wrong type; that has been said.
    pub fn is_unusable(&self, key: &str) -> bool {
        self.leaf(key).is_some_and(|leaf| leaf.value.is_none())
    }

    /// A text; `None` where unset, empty or unusable.
    pub fn text(&self, key: &str) -> Option<&'a str> {
        self.leaf(key)?.value.as_ref()?.as_str().filter(|text| !text.is_empty())
    }

    pub fn switch(&self, key: &str) -> Option<bool> {
        self.leaf(key)?.value.as_ref()?.to_bool()
    }

    pub fn count(&self, key: &str) -> Option<u32> {
        count(self.leaf(key)?.value.as_ref()?)
    }

    pub fn texts(&self, key: &str) -> Vec<&'a str> {
        let items = self.leaf(key).and_then(|leaf| leaf.value.as_ref()?.as_array()).unwrap_or_default();
        items.iter().filter_map(Value::as_str).collect()
    }

    pub fn counts(&self, key: &str) -> Vec<u32> {
        let items = self.leaf(key).and_then(|leaf| leaf.value.as_ref()?.as_array()).unwrap_or_default();
        items.iter().filter_map(count).collect()
    }

    /// The names below a table: codes of container states, kinds of rules.
    pub fn names_below(&self, table: &str) -> Vec<String> {
        let prefix = format!("{table}.");
        let rest = self.leaves.keys().filter_map(|key| key.strip_prefix(&prefix));
        let mut names: Vec<String> =
            rest.map(|rest| rest.split('.').next().unwrap_or_default().to_owned()).collect();
        names.dedup();
        names
    }

    /// A text put through `parse`; its error is told with file and key. Empty is unset.
    pub fn parsed<T>(
        &self,
        key: &str,
        findings: &mut Findings,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<T> {
        let text = self.text(key)?;
        parse(text).map_err(|message| self.error(key, findings, message)).ok()
    }

    /// A whole number within bounds; the lower one stands in where it is wrong.
    pub fn bounded(&self, key: &str, range: std::ops::RangeInclusive<u32>, findings: &mut Findings) -> u32 {
        let Some(value) = self.count(key) else { return *range.start() };
        if !range.contains(&value) {
            let message =
                format!("{value} is out of range; allowed are {} to {}", range.start(), range.end());
            self.error(key, findings, message);
            return *range.start();
        }
        value
    }

    /// Tells an error about a key, set or missing.
    pub fn error(&self, key: &str, findings: &mut Findings, message: impl Into<String>) {
        let (source, place) = self.locate(key);
        findings.error(source, &place, message);
    }

    /// Tells a warning about a key.
    pub fn warn(&self, key: &str, findings: &mut Findings, message: impl Into<String>) {
        let (source, place) = self.locate(key);
        findings.warn(source, &place, message);
    }

    fn locate(&self, key: &str) -> (&str, String) {
        let written = |leaf: &&Leaf| leaf.source.is_some() || !leaf.is_shared();
        match self.leaf(key).filter(written) {
            Some(leaf) => (leaf.source.as_deref().unwrap_or(&self.source), leaf.key.clone()),
            None if self.place.is_empty() => (&self.source, key.to_owned()),
            None => (&self.source, format!("{}.{key}", self.place)),
        }
    }
}
