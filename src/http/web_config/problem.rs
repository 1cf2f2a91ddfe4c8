//! What is wrong with a web configuration, all of it at once, and what was read to find out. Never holds a secret.

use std::fmt;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// One thing that is wrong with a configuration, this or the daemon's own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Problem {
    /// The file or environment variable.
    pub source: String,
    /// The key as it stands there; empty where the whole file is meant.
    pub key: String,
    /// What is wrong and what to do.
    pub message: String,
}

/// One line, whatever the parts hold: it goes to a log.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [&self.source, &self.key, &self.message].into_iter().filter(|part| !part.is_empty());
        f.write_str(&one_line(&parts.map(String::as_str).collect::<Vec<_>>().join(": ")))
    }
}

/// Everything that is wrong, in the order it was found; never empty in an `Err`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Problems(pub Vec<Problem>);

impl std::error::Error for Problems {}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.iter().map(Problem::to_string).collect::<Vec<_>>().join("; "))
    }
}

/// Control characters as escapes.
fn one_line(text: &str) -> String {
    let escaped = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(escaped).collect()
}

/// A reading under way: what it found and which files it read.
pub(super) struct Findings {
    main: PathBuf,
    problems: Vec<Problem>,
    notes: Vec<String>,
    files: Vec<Seen>,
}

/// A file as it was just before it was read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Seen {
    path: PathBuf,
    stamp: Option<Stamp>,
}

/// Differs where a file's content does, however it was replaced.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Stamp {
    place: (u64, u64),
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Seen {
    /// As it is now, or that it is not there.
    pub(crate) fn now(path: &Path) -> Self {
        let stamp = std::fs::metadata(path).ok().map(|file| Stamp {
            place: (file.dev(), file.ino()),
            size: file.size(),
            modified: (file.mtime(), file.mtime_nsec()),
            changed: (file.ctime(), file.ctime_nsec()),
        });
        Self { path: path.to_owned(), stamp }
    }

    /// It is another by now, or gone.
    pub(crate) fn has_changed(&self) -> bool {
        Self::now(&self.path) != *self
    }
}

impl Findings {
    pub(super) fn new(main: &Path) -> Self {
        Self { main: main.to_owned(), problems: Vec::new(), notes: Vec::new(), files: Vec::new() }
    }

    pub(super) fn error(&mut self, key: &str, message: impl Into<String>) {
        let source = self.main.display().to_string();
        self.problems.push(Problem { source, key: key.to_owned(), message: message.into() });
    }

    pub(super) fn note(&mut self, note: impl AsRef<str>) {
        self.notes.push(one_line(note.as_ref()));
    }

    /// A path as the file means it: relative to itself.
    pub(super) fn beside(&self, path: &str) -> PathBuf {
        self.main.parent().unwrap_or(Path::new("")).join(path)
    }

    /// The bytes of a file that `key` names; `None` and a problem where it cannot be read.
    pub(super) fn bytes(&mut self, path: &Path, key: &str) -> Option<Vec<u8>> {
        self.files.push(Seen::now(path));
        let bytes = std::fs::read(path);
        let named = if key.is_empty() { String::new() } else { format!("{} ", path.display()) };
        bytes.map_err(|error| self.error(key, format!("{named}cannot be read: {error}"))).ok()
    }

    /// The same for text.
    pub(super) fn text(&mut self, path: &Path, key: &str) -> Option<String> {
        let bytes = self.bytes(path, key)?;
        let text = String::from_utf8(bytes);
        text.map_err(|_| self.error(key, "is not UTF-8; save it as that")).ok()
    }

    /// Notes and files, where nothing is wrong.
    pub(super) fn finish(self) -> Result<(Vec<String>, Vec<Seen>), Problems> {
        if self.problems.is_empty() { Ok((self.notes, self.files)) } else { Err(Problems(self.problems)) }
    }
}
