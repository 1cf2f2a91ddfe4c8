//! The layers of a configuration (defaults, file, environment), merged by figment into one tree of values that
//! know their origin, and the places of secrets. It does not interpret them.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use figment::error::Kind;
use figment::providers::{Format, Toml};
use figment::value::{Dict, Map, Value};
use figment::{Figment, Metadata, Profile, Provider};

use super::environment::{self, Environment, Layer};
use super::findings::Findings;
use super::keys::KEYS;
use crate::model::nearest::{likeness, nearest};
use crate::read_file::{self, Unreadable};

/// The merged values, and the accounts and tables that the user wrote.
pub(super) struct Sources {
    pub values: Value,
    figment: Figment,
    /// The place where each account was named first.
    pub accounts: BTreeMap<String, String>,
    /// The place where `[email]` was named first.
    pub email: Option<String>,
    /// The source in errors about no particular key: the file, or the environment if there is none.
    pub main: String,
}

/// Reads and merges all layers. `None` if the file cannot be read, since other errors would then be noise.
pub(super) fn read(path: Option<&Path>, env: &Environment, findings: &Findings) -> Option<Sources> {
    let mut sources = Sources {
        values: Value::from(Dict::new()),
        figment: Figment::from(defaults()),
        accounts: BTreeMap::new(),
        email: None,
        main: path.map_or_else(|| "environment".to_owned(), |path| path.display().to_string()),
    };
    if let Some(path) = path {
        sources.add_file(path, findings)?;
    }
    let written = sources.figment.data().ok()?.remove(&Profile::Default).unwrap_or_default();
    for variable in environment::variables(env, &written, findings) {
        sources.note(&variable.data, &variable.metadata.name);
        sources.figment = sources.figment.merge(variable);
    }
    sources.values = sources.figment.data().ok()?.remove(&Profile::Default).unwrap_or_default().into();
    Some(sources)
}

impl Sources {
    /// The file or variable of a value; `None` for a default. After merging only the values inside a table know their
    /// file, and not the table itself.
    pub(super) fn origin(&self, value: &Value) -> Option<String> {
        if let Some(table) = value.as_dict() {
            return table.values().find_map(|value| self.origin(value));
        }
        let metadata = self.figment.get_metadata(value.tag()).filter(|metadata| metadata.name != DEFAULTS)?;
        let file = metadata.source.as_ref().and_then(|source| source.file_path());
        Some(file.map_or_else(|| metadata.name.to_string(), |path| path.display().to_string()))
    }

    /// Merges the file. `None` if it is unusable.
    fn add_file(&mut self, path: &Path, findings: &Findings) -> Option<()> {
        let source = path.display().to_string();
        let usual = "name the file with --config.file";
        let refuse = |why: Unreadable| findings.error(&source, "", why.or(usual));
        let text = read_file::text(path).map_err(refuse).ok()?;
        let data = Toml::string(&text).data().map_err(|error| refuse_text(&source, &error, findings)).ok()?;
        let former = path.with_file_name("accounts.d");
        let is_account = |file: std::fs::DirEntry| file.path().extension().is_some_and(|end| end == "toml");
        if std::fs::read_dir(&former).is_ok_and(|files| files.flatten().any(is_account)) {
            let message = format!("is no longer read; move its accounts into {source}, and remove it");
            findings.error(&former.display().to_string(), "", message);
        }
        self.note(&data, &source);
        self.figment = std::mem::take(&mut self.figment)
            .merge(Layer { metadata: Toml::file_exact(path).metadata(), data });
        Some(())
    }

    /// Notes the accounts and tables that a layer names.
    fn note(&mut self, data: &Map<Profile, Dict>, source: &str) {
        let accounts = data.values().filter_map(|table| table.get("accounts")?.as_dict());
        for name in accounts.flat_map(Dict::keys) {
            self.accounts.entry(name.clone()).or_insert_with(|| source.to_owned());
        }
        if data.values().any(|table| table.get("email").is_some_and(|email| email.as_dict().is_some())) {
            self.email.get_or_insert_with(|| source.to_owned());
        }
    }
}

/// The remedy for most mistakes in TOML.
const REMEDY: &str = "write text as key = \"text\", and each key once";

/// Reports why a text is no TOML. The line itself is not quoted, since it can hold a secret.
fn refuse_text(source: &str, error: &figment::Error, findings: &Findings) {
    let text = if let Kind::Message(text) = &error.kind { text.clone() } else { error.kind.to_string() };
    let mut lines = text.strip_prefix("TOML parse error at ").unwrap_or(&text).lines();
    let place = lines.next().unwrap_or_default();
    // "line 3, column 5", then the gutter with the source and a caret, then the error.
    let caret = |line: &&str| line.trim_start().starts_with('|') && line.trim_end().ends_with('^');
    let why: Vec<&str> = lines
        .skip_while(|line| !caret(line))
        .skip(1)
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    let why = if why.is_empty() { "something is missing here".to_owned() } else { why.join("; ") };
    findings.error(source, "", format!("{place}: not valid TOML: {why}; {REMEDY}"));
}

/// The likeness from which on one name may be meant for another.
const ALIKE: f64 = 0.5;
/// The id under which the unit loads a whole directory of secrets.
const DIRECTORY_ID: &str = "hostwatch";

/// The places of secrets, and the files that were read.
pub(super) struct Secrets {
    /// The directory that `…_file` is relative to: that of the main file.
    pub directory: PathBuf,
    /// `$CREDENTIALS_DIRECTORY`, otherwise `credentials` beside the main file; `None` without a file.
    pub credentials: Option<PathBuf>,
    pub files: RefCell<BTreeSet<PathBuf>>,
    /// The names of credentials that some key would read.
    pub asked: RefCell<BTreeSet<String>>,
}

impl Secrets {
    /// A credential by its own name, or by the name that systemd gives it from a directory: the directory's id,
    /// an underscore, and the name.
    pub(super) fn credential(&self, name: &str) -> Option<PathBuf> {
        let directory = self.credentials.as_ref()?;
        let paths = [directory.join(name), directory.join(format!("{DIRECTORY_ID}_{name}"))];
        paths.into_iter().find(|path| path.symlink_metadata().is_ok())
    }

    /// Warns of credentials that no key reads, since a misspelt name turns a group off.
    pub(super) fn report_unread(&self, findings: &Findings) {
        let Some(directory) = &self.credentials else { return };
        let Ok(entries) = std::fs::read_dir(directory) else { return };
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let names: BTreeSet<String> = names.filter(|name| !name.starts_with('.')).collect();
        let (asked, files) = (self.asked.borrow(), self.files.borrow());
        let known: Vec<&str> = asked.iter().map(String::as_str).collect();
        for name in &names {
            let bare =
                name.strip_prefix(DIRECTORY_ID).and_then(|name| name.strip_prefix('_')).unwrap_or(name);
            if asked.contains(name) || asked.contains(bare) || files.contains(&directory.join(name)) {
                continue;
            }
            let near = nearest(bare, &known);
            let hint = if likeness(bare, near) > ALIKE {
                format!("; did you mean \"{near}\"?")
            } else {
                String::new()
            };
            findings.warn(&directory.display().to_string(), name, format!("nobody reads this file{hint}"));
        }
    }
}

const DEFAULTS: &str = "defaults";

/// The defaults in the table of keys. The defaults of accounts are in `[defaults]`.
fn defaults() -> Layer {
    let rows = KEYS.iter().filter(|key| !key.default.is_empty());
    let rows = rows.map(|key| (key.path.replace("accounts.<name>", DEFAULTS), key.default));
    let rows = rows.filter(|(path, _)| !path.contains('<'));
    let text: String = rows.map(|(path, default)| format!("{path} = {default}\n")).collect();
    let data = Toml::string(&text).data().expect("each default is TOML");
    Layer { metadata: Metadata::named(DEFAULTS), data }
}
