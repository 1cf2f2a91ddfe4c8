//! The layers of a configuration (defaults, files, environment) merged by figment into one tree of values
//! that know where they come from. Says nothing about their meaning.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use figment::error::Kind;
use figment::providers::{Format, Toml};
use figment::value::{Dict, Map, Value};
use figment::{Figment, Metadata, Profile, Provider};

use super::environment::{self, Environment};
use super::keys::KEYS;
use super::problem::Findings;
use super::renamed::{Present, Renames, put};

/// The merged values, and which accounts and tables somebody wrote.
pub(super) struct Sources {
    pub values: Dict,
    pub figment: Figment,
    /// Where each account was named first.
    pub accounts: BTreeMap<String, String>,
    /// Where `[email]` was named first.
    pub email: Option<String>,
    /// What errors about nothing in particular name: the file, or the environment without one.
    pub main: String,
}

/// Reads and merges all layers. `None` where the main file can't be had: nothing else is worth saying then.
pub(super) fn read(
    path: Option<&Path>,
    env: &Environment,
    renames: Renames,
    findings: &mut Findings,
) -> Option<Sources> {
    let mut sources = Sources {
        values: Dict::new(),
        figment: Figment::from(Defaults),
        accounts: BTreeMap::new(),
        email: None,
        main: path.map_or_else(|| "environment".to_owned(), |path| path.display().to_string()),
    };
    if let Some(path) = path {
        let inner = Toml::file_exact(path);
        let data = inner.data().map_err(|error| refuse_file(path, &error, findings)).ok()?;
        let data = renames.apply(data, &sources.main, findings);
        sources.note(&data, &sources.main.clone(), findings);
        sources.figment = sources.figment.merge(Present { inner, data });
        for extra in account_files(path, findings) {
            sources.add_accounts(&extra, renames, findings);
        }
    }
    let names: Vec<String> = sources.accounts.keys().cloned().collect();
    for variable in environment::variables(env, &names, renames, findings) {
        if let Ok(data) = variable.data() {
            sources.note_environment(&data, &variable.metadata().name);
        }
        sources.figment = sources.figment.merge(variable);
    }
    sources.values = sources.figment.data().ok()?.remove(&Profile::Default).unwrap_or_default();
    Some(sources)
}

impl Sources {
    /// The file or variable that a value was read from; `None` for a default.
    pub fn of(&self, value: &Value) -> Option<String> {
        let metadata = self.figment.get_metadata(value.tag())?;
        let file = metadata.source.as_ref().and_then(|source| source.file_path());
        match file {
            Some(path) => Some(path.display().to_string()),
            None if metadata.name == DEFAULTS => None,
            None => Some(metadata.name.to_string()),
        }
    }

    /// Was this value read from a variable?
    pub fn is_environment(&self, value: &Value) -> bool {
        let metadata = self.figment.get_metadata(value.tag());
        metadata.is_some_and(|metadata| metadata.source.is_none() && metadata.name != DEFAULTS)
    }

    /// A file of `accounts.d`.
    fn add_accounts(&mut self, path: &Path, renames: Renames, findings: &mut Findings) {
        let inner = Toml::file_exact(path);
        let data = match inner.data() {
            Ok(data) => data,
            Err(error) => return refuse_file(path, &error, findings),
        };
        let source = path.display().to_string();
        let data = renames.apply(data, &source, findings);
        for name in data.values().flat_map(Dict::keys).filter(|name| *name != "accounts") {
            let message = "only [accounts.NAME] tables belong in accounts.d; move it to the main file";
            findings.error(&source, name, message);
        }
        self.note(&data, &source, findings);
        self.figment = std::mem::take(&mut self.figment).merge(Present { inner, data });
    }

    fn note(&mut self, data: &Map<Profile, Dict>, source: &str, findings: &mut Findings) {
        for name in account_names(data) {
            if let Some(first) = self.accounts.insert(name.clone(), source.to_owned()) {
                let message = format!("this account is in {first} too; keep one of them");
                findings.error(source, &format!("accounts.{name}"), message);
            }
        }
        if has_email(data) {
            self.email.get_or_insert_with(|| source.to_owned());
        }
    }

    fn note_environment(&mut self, data: &Map<Profile, Dict>, source: &str) {
        for name in account_names(data) {
            self.accounts.entry(name.clone()).or_insert_with(|| source.to_owned());
        }
        if has_email(data) {
            self.email.get_or_insert_with(|| source.to_owned());
        }
    }
}

fn has_email(data: &Map<Profile, Dict>) -> bool {
    data.values().any(|table| table.get("email").is_some_and(|email| email.as_dict().is_some()))
}

fn account_names(data: &Map<Profile, Dict>) -> impl Iterator<Item = &String> {
    let accounts = data.values().filter_map(|table| table.get("accounts")?.as_dict());
    accounts.flat_map(Dict::keys)
}

/// `accounts.d/*.toml` beside the main file, by name.
fn account_files(main: &Path, findings: &mut Findings) -> Vec<PathBuf> {
    let directory = main.parent().unwrap_or(Path::new("")).join("accounts.d");
    let entries = match std::fs::read_dir(&directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Vec::new(),
        Err(error) => {
            let message =
                format!("cannot be listed: {}; give hostwatch access, or remove it", reason(&error));
            findings.error(&directory.display().to_string(), "", message);
            return Vec::new();
        }
    };
    let visible = |path: &PathBuf| {
        let hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        !hidden && path.extension().is_some_and(|extension| extension == "toml")
    };
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(visible).collect();
    files.sort();
    files
}

/// An operating system's error without its number.
pub(super) fn reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}

/// Says why a file is no TOML, or can't be read. The line itself is not quoted: it can hold a secret.
fn refuse_file(path: &Path, error: &figment::Error, findings: &mut Findings) {
    let text = if let Kind::Message(text) = &error.kind { text.clone() } else { error.kind.to_string() };
    let source = path.display().to_string();
    let Some(place) = text.strip_prefix("TOML parse error at ") else {
        let why = text.split(" (os error").next().unwrap_or(&text);
        let message = format!("cannot be read: {why}; name the file with --config.file");
        return findings.error(&source, "", message);
    };
    let mut lines = place.lines();
    let place = lines.next().unwrap_or_default();
    // "line 3, column 5", then the gutter with the source and a caret, then what is wrong.
    let caret = |line: &&str| line.trim_start().starts_with('|') && line.trim_end().ends_with('^');
    let why: Vec<&str> = lines
        .skip_while(|line| !caret(line))
        .skip(1)
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    let why = if why.is_empty() { "something is missing here".to_owned() } else { why.join("; ") };
    findings.error(&source, "", format!("{place}: not valid TOML: {why}"));
}

const DEFAULTS: &str = "defaults";

/// The defaults of the table of keys; those of an account stand in `[defaults]`.
struct Defaults;

impl Provider for Defaults {
    fn metadata(&self) -> Metadata {
        Metadata::named(DEFAULTS)
    }

    fn data(&self) -> Result<Map<Profile, Dict>, figment::Error> {
        let mut root = Dict::new();
        for key in KEYS {
            let path = key.path.replace("accounts.<name>", "defaults");
            if let Some(value) = key.default_value().filter(|_| !path.contains('<')) {
                let path: Vec<String> = path.split('.').map(str::to_owned).collect();
                put(&mut root, &path, value);
            }
        }
        Ok(Profile::Default.collect(root))
    }
}
