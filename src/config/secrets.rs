//! Secrets, from wherever they are given: the key itself, the file that `…_file` names, or a systemd
//! credential. Nothing here puts a secret into a message.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use secrecy::SecretString;

use super::findings::Findings;
use super::sources::reason;
use super::view::{Leaf, View};
use crate::model::nearest::{likeness, nearest};

/// A larger file is surely the wrong one.
const MAX_BYTES: usize = 64 * 1024;

/// Where secrets are looked for, and which files were read.
pub(super) struct Secrets {
    /// What `…_file` is relative to: the main file's directory.
    pub directory: PathBuf,
    /// `$CREDENTIALS_DIRECTORY`.
    pub credentials: Option<PathBuf>,
    pub files: Vec<PathBuf>,
    /// The credentials that somebody would read.
    pub asked: BTreeSet<String>,
}

/// The result of looking for one.
pub(super) enum Secret {
    Absent,
    /// Given, but unusable; that is reported already.
    Broken,
    Given(SecretString),
}

impl Secret {
    pub(super) fn is_absent(&self) -> bool {
        matches!(self, Self::Absent)
    }

    pub(super) fn given(self) -> Option<SecretString> {
        match self {
            Self::Given(secret) => Some(secret),
            Self::Absent | Self::Broken => None,
        }
    }
}

/// From here on one name may be meant for another.
const ALIKE: f64 = 0.5;
/// The id under which the unit loads a whole directory of secrets.
const DIRECTORY_ID: &str = "hostwatch";

impl Secrets {
    /// The secret of `key`. An account's own key comes first, then its systemd credential, then
    /// `[defaults]`; of the key and its `_file` on one level, one set by the environment comes first.
    pub(super) fn get(
        &mut self,
        view: &View<'_>,
        key: &str,
        credential: &str,
        findings: &mut Findings,
    ) -> Secret {
        let file_key = format!("{key}_file");
        let (inline, file) = (view.leaf(key), view.leaf(&file_key));
        let rank = |leaf: &Leaf<'_>| {
            (!leaf.is_shared(), leaf.origin.as_ref().is_some_and(|origin| origin.is_variable))
        };
        let (inline_rank, file_rank) = (inline.as_ref().map(rank), file.as_ref().map(rank));
        if view.is_no_text(key) || view.is_no_text(&file_key) {
            return Secret::Broken;
        }
        self.asked.insert(credential.to_owned());
        let credential = self.credential(credential);
        let own = [inline_rank, file_rank].into_iter().flatten().any(|(own, _)| own);
        if let Some(path) = credential {
            if !own {
                return self.read(&path, view, key, findings);
            }
            let message = format!("set, so the systemd credential {} is not used", path.display());
            view.warn(if inline.is_some() { key } else { &file_key }, findings, message);
        }
        if inline_rank.is_some() && inline_rank == file_rank {
            view.error(key, findings, format!("given beside {file_key}; keep one of them"));
            return Secret::Broken;
        }
        if inline_rank > file_rank {
            return inline_secret(view, key, findings);
        }
        match (file, view.text(&file_key)) {
            (None, _) => Secret::Absent,
            (Some(_), Some(name)) => self.read(&self.directory.join(name), view, &file_key, findings),
            (Some(_), None) => {
                view.error(&file_key, findings, "is empty; name a file, or remove the key");
                Secret::Broken
            }
        }
    }

    /// A credential by its own name, or as systemd names what it loads from a directory: with the
    /// directory's id and an underscore before it.
    fn credential(&self, name: &str) -> Option<PathBuf> {
        let directory = self.credentials.as_ref()?;
        let paths = [directory.join(name), directory.join(format!("{DIRECTORY_ID}_{name}"))];
        paths.into_iter().find(|path| path.symlink_metadata().is_ok())
    }

    /// Warns of files among the credentials that nobody reads: a name misspelt is a group that is off.
    pub(super) fn report_unread(&self, findings: &mut Findings) {
        let beside = self.directory.join("credentials");
        let directory = self.credentials.as_ref().unwrap_or(&beside);
        let Ok(entries) = std::fs::read_dir(directory) else { return };
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let names: BTreeSet<String> = names.filter(|name| !name.starts_with('.')).collect();
        let known: Vec<&str> = self.asked.iter().map(String::as_str).collect();
        for name in &names {
            let bare =
                name.strip_prefix(DIRECTORY_ID).and_then(|name| name.strip_prefix('_')).unwrap_or(name);
            if self.asked.contains(name) || self.asked.contains(bare) {
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

    fn read(&mut self, path: &Path, view: &View<'_>, key: &str, findings: &mut Findings) -> Secret {
        let text = match std::fs::read(path) {
            Ok(bytes) if bytes.len() > MAX_BYTES => Err("is larger than 64 KiB".to_owned()),
            Ok(bytes) => String::from_utf8(bytes).map_err(|_| "is not text".to_owned()),
            Err(error) => Err(format!("cannot be read: {}", reason(&error))),
        };
        let usable = text.and_then(|text| usable(text.trim_end_matches(['\r', '\n'])));
        match usable {
            Ok(secret) => {
                if !self.files.iter().any(|known| known == path) {
                    self.files.push(path.to_owned());
                }
                Secret::Given(secret)
            }
            Err(why) => {
                let remedy = "the secret must be its only content and readable by hostwatch";
                view.error(key, findings, format!("{} {why}; {remedy}", path.display()));
                Secret::Broken
            }
        }
    }
}

fn inline_secret(view: &View<'_>, key: &str, findings: &mut Findings) -> Secret {
    match usable(view.text(key).unwrap_or_default()) {
        Ok(secret) => Secret::Given(secret),
        Err(why) => {
            view.error(key, findings, format!("{why}; give the secret, or remove the key"));
            Secret::Broken
        }
    }
}

fn usable(text: &str) -> Result<SecretString, String> {
    if text.is_empty() {
        return Err("is empty".to_owned());
    }
    if text.chars().any(char::is_control) {
        return Err("holds a line break or another control character".to_owned());
    }
    Ok(SecretString::from(text))
}
