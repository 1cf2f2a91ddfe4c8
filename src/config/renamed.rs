//! Keys that got another name. For two minor versions the old one is understood, and warned of with the new one;
//! then it is unknown. Names a layer's keys anew before it is merged; reads nothing itself.

use figment::value::{Dict, Map, Value};
use figment::{Metadata, Profile, Provider};

use super::keys;
use super::problem::Findings;

/// A key that got another name. Both as in the table of keys, with the same placeholders in the same order.
#[derive(Debug)]
pub struct Renamed {
    pub old: &'static str,
    pub new: &'static str,
    /// The first version that does not know the old name: two minor versions after the one that renamed it.
    pub unknown_from: &'static str,
}

/// All of them. A test fails when one's time is over, so that it goes.
pub const RENAMED: &[Renamed] = &[];

/// Names, oldest first, and what the caller wants to be told of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Renames(pub &'static [Renamed]);

impl Renames {
    /// A key's present name, where it has another than this.
    pub fn of(self, path: &[String]) -> Option<(Vec<String>, &'static Renamed)> {
        self.0.iter().find_map(|renamed| {
            let (old, new) = (keys::places(renamed.old), keys::places(renamed.new));
            let (old, new) = old.iter().zip(&new).find(|(old, _)| keys::is_place(old, path))?;
            // What the user named goes from one to the other.
            let mut own = old.iter().zip(path).filter(|(segment, _)| segment.starts_with('<'));
            let name = |segment: &&str| match segment.starts_with('<') {
                true => own.next().map_or_else(|| (*segment).to_owned(), |(_, name)| name.clone()),
                false => (*segment).to_owned(),
            };
            Some((new.iter().map(name).collect(), renamed))
        })
    }

    /// Says that a key has another name now.
    pub fn warn(
        self,
        source: &str,
        old: &[String],
        new: &[String],
        renamed: &Renamed,
        findings: &mut Findings,
    ) {
        let message = format!(
            "is called '{}' now; rename it: hostwatch {} will not know it any more",
            new.join("."),
            renamed.unknown_from
        );
        findings.warn(source, &old.join("."), message);
    }

    /// The values of a file with every key under its present name.
    pub fn apply(
        self,
        mut data: Map<Profile, Dict>,
        source: &str,
        findings: &mut Findings,
    ) -> Map<Profile, Dict> {
        if self.0.is_empty() {
            return data;
        }
        for table in data.values_mut() {
            let mut paths = Vec::new();
            leaves(table, &mut Vec::new(), &mut paths);
            for old in paths {
                let Some((new, renamed)) = self.of(&old) else { continue };
                if get(table, &new).is_some() {
                    let message = format!("given beside '{}', its name now; keep that one", new.join("."));
                    findings.error(source, &old.join("."), message);
                    continue;
                }
                let Some(value) = take(table, &old) else { continue };
                put(table, &new, value);
                self.warn(source, &old, &new, renamed, findings);
            }
        }
        data
    }
}

/// A layer whose keys have been named anew; its values still come from where they came from.
pub(super) struct Present<P> {
    pub inner: P,
    pub data: Map<Profile, Dict>,
}

impl<P: Provider> Provider for Present<P> {
    fn metadata(&self) -> Metadata {
        self.inner.metadata()
    }

    fn data(&self) -> Result<Map<Profile, Dict>, figment::Error> {
        Ok(self.data.clone())
    }
}

fn leaves(table: &Dict, path: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
    for (name, value) in table {
        path.push(name.clone());
        match value.as_dict() {
            Some(inner) => leaves(inner, path, found),
            None => found.push(path.clone()),
        }
        path.pop();
    }
}

fn get<'a>(table: &'a Dict, path: &[String]) -> Option<&'a Value> {
    let (last, tables) = path.split_last()?;
    tables.iter().try_fold(table, |table, name| table.get(name)?.as_dict())?.get(last)
}

/// Takes a value out, and the tables that are empty without it.
fn take(table: &mut Dict, path: &[String]) -> Option<Value> {
    match path {
        [] => None,
        [name] => table.remove(name),
        [name, rest @ ..] => {
            let Some(Value::Dict(_, inner)) = table.get_mut(name) else { return None };
            let value = take(inner, rest);
            if inner.is_empty() {
                table.remove(name);
            }
            value
        }
    }
}

pub(super) fn put(table: &mut Dict, path: &[String], value: Value) {
    match path {
        [] => {}
        [name] => drop(table.insert(name.clone(), value)),
        [name, rest @ ..] => {
            let entry = table.entry(name.clone()).or_insert_with(|| Value::from(Dict::new()));
            if let Value::Dict(_, inner) = entry {
                put(inner, rest, value);
            }
        }
    }
}
