//! Secrets from all their sources: the key itself, the file that `…_file` names, or a systemd credential. No
//! message holds a secret.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use secrecy::{ExposeSecret as _, SecretString};

use super::view::{Leaf, View};
use crate::read_file;

/// A larger file is surely the wrong one.
const MAX_BYTES: usize = 64 * 1024;

/// The result of looking for a secret.
pub(super) enum Secret {
    Absent,
    /// Given, but unusable, which is reported already.
    Broken,
    Given(SecretString),
}

impl Secret {
    pub(super) fn is_absent(&self) -> bool {
        matches!(self, Self::Absent)
    }

    pub(super) fn given(self) -> Option<SecretString> {
        if let Self::Given(secret) = self { Some(secret) } else { None }
    }
}

impl View<'_> {
    /// The secret of `key`, given in place, in a file or as a credential. Two of an account's own places are an
    /// error unless the credential is a copy, and so are two in `[defaults]`, which count if the account has none.
    pub(super) fn secret(&self, key: &str, credential: &str) -> Secret {
        let file_key = format!("{key}_file");
        if self.is_no_text(key) || self.is_no_text(&file_key) {
            return Secret::Broken;
        }
        self.secrets.asked.borrow_mut().insert(credential.to_owned());
        let named = self.text(&file_key).map(|name| self.secrets.directory.join(name));
        // The key may name the credential's own file, which is one place.
        let credential = self.secrets.credential(credential).filter(|path| Some(path) != named.as_ref());
        // `init` copies a variable's secret into a credential, and the variable may stay.
        if let Some(copy) = credential.as_ref().filter(|path| is_copy(path, self.text(key), named.as_deref()))
        {
            return self.read_secret(copy, key);
        }
        let (inline, file) = (self.leaf(key), self.leaf(&file_key));
        let is_own = |leaf: &Leaf<'_>| !leaf.is_shared();
        let has_own = credential.is_some() || inline.iter().chain(&file).any(is_own);
        let counts = |leaf: Option<Leaf<'_>>| leaf.is_some_and(|leaf| is_own(&leaf) || !has_own);
        match (counts(inline), counts(file), credential) {
            (false, false, None) => Secret::Absent,
            (true, false, None) => self.inline_secret(key),
            (false, true, None) => match self.text(&file_key) {
                Some(name) => self.read_secret(&self.secrets.directory.join(name), &file_key),
                None => {
                    self.error(&file_key, "is empty; name a file, or remove the key");
                    Secret::Broken
                }
            },
            (false, false, Some(path)) => self.read_secret(&path, key),
            (inline, _, credential) => {
                let other =
                    credential.map_or(file_key.clone(), |path| format!("the credential {}", path.display()));
                let message = format!("given beside {other}; keep one of them");
                self.error(if inline { key } else { &file_key }, message);
                Secret::Broken
            }
        }
    }

    /// A secret that must be there. Otherwise `None`, which is reported.
    pub(super) fn needed_secret(&self, key: &str, credential: &str) -> Option<SecretString> {
        let secret = self.secret(key, credential);
        if secret.is_absent() {
            let name = key.rsplit('.').next().unwrap_or_default();
            let message = format!("missing; set it, {name}_file, or the systemd credential {credential}");
            self.error(key, message);
        }
        secret.given()
    }

    /// The lines of a file that a key names; `None` without the key, or if it cannot be read, which is reported.
    pub(super) fn secret_file(&self, key: &str) -> Option<SecretString> {
        let path = self.secrets.directory.join(self.text(key)?);
        let text = text_of(&path).map_err(|why| self.error(key, format!("{} {why}", path.display()))).ok()?;
        self.secrets.files.borrow_mut().insert(path);
        Some(SecretString::from(text))
    }

    fn read_secret(&self, path: &Path, key: &str) -> Secret {
        let alone = |why| format!("{why}; the secret must be its only content");
        match text_of(path).and_then(|text| usable(&text).map_err(alone)) {
            Ok(secret) => {
                self.secrets.files.borrow_mut().insert(path.to_owned());
                if is_open(path) {
                    let message =
                        format!("{} can be read by every user of this machine: chmod 640", path.display());
                    self.warn(key, message);
                }
                self.warn_of_edges(&secret, key);
                Secret::Given(secret)
            }
            Err(why) => {
                self.error(key, format!("{} {why}", path.display()));
                Secret::Broken
            }
        }
    }

    fn inline_secret(&self, key: &str) -> Secret {
        match usable(self.text(key).unwrap_or_default()) {
            Ok(secret) => {
                self.warn_of_edges(&secret, key);
                // The origin of a value of the environment is no file.
                if self.leaf(key).and_then(|leaf| leaf.origin).is_some_and(|file| is_open(Path::new(&file))) {
                    let message = "is a secret in a file that every user of this machine can read: chmod 640";
                    self.warn(key, message);
                }
                Secret::Given(secret)
            }
            Err(why) => {
                self.error(key, format!("{why}; give the secret, or remove the key"));
                Secret::Broken
            }
        }
    }

    /// A secret that was copied with more than itself is refused by its server alone, which does not say why.
    fn warn_of_edges(&self, secret: &SecretString, key: &str) {
        let text = secret.expose_secret();
        if text.starts_with('\u{feff}') {
            self.warn(key, "begins with a byte order mark, which is sent with it; save the file without");
        } else if text.trim() != text {
            self.warn(
                key,
                "begins or ends with a blank, which is sent with it; remove it if it is none of the secret",
            );
        }
    }
}

/// The text of a small file.
fn text_of(path: &Path) -> Result<String, String> {
    let usual = "name a text file with the secret alone";
    let text = read_file::text(path).map_err(|why| why.or(usual))?;
    if text.len() > MAX_BYTES { Err(format!("is larger than 64 KiB; {usual}")) } else { Ok(text) }
}

/// Whether a credential holds what all other places of its secret hold.
fn is_copy(credential: &Path, inline: Option<&str>, file: Option<&Path>) -> bool {
    let secret_in = |path: &Path| Some(secret_of(&text_of(path).ok()?).to_owned());
    let others = [inline.map(|text| Some(secret_of(text).to_owned())), file.map(secret_in)];
    let mut others = others.into_iter().flatten().peekable();
    let copy = secret_in(credential);
    copy.is_some() && others.peek().is_some() && others.all(|other| other == copy)
}

fn is_open(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|data| data.mode() & 0o004 != 0)
}

/// The secret in a text from any place, without the end of its line.
fn secret_of(text: &str) -> &str {
    text.trim_end_matches(['\r', '\n'])
}

fn usable(text: &str) -> Result<SecretString, String> {
    let text = secret_of(text);
    if text.is_empty() {
        return Err("is empty".to_owned());
    }
    if text.chars().any(char::is_control) {
        return Err("holds a line break or another control character".to_owned());
    }
    Ok(SecretString::from(text))
}
