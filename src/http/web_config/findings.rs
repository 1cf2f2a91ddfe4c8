//! The errors of a web configuration, and the files that were read.

use std::path::{Path, PathBuf};

use crate::config_error::{ConfigErrors, ConfigProblem, one_line};
use crate::file_stamp::FileStamp;

/// The problems and notes so far, and the files that were read.
pub(super) struct WebFindings {
    main: PathBuf,
    problems: Vec<ConfigProblem>,
    notes: Vec<String>,
    files: Vec<FileStamp>,
}

impl WebFindings {
    pub(super) fn new(main: &Path) -> Self {
        Self { main: main.to_owned(), problems: Vec::new(), notes: Vec::new(), files: Vec::new() }
    }

    pub(super) fn error(&mut self, key: &str, message: impl Into<String>) {
        let source = self.main.display().to_string();
        self.problems.push(ConfigProblem { source, key: key.to_owned(), message: message.into() });
    }

    pub(super) fn note(&mut self, note: impl AsRef<str>) {
        self.notes.push(one_line(note.as_ref()));
    }

    /// A path in the file, which is relative to the file's directory.
    pub(super) fn beside(&self, path: &str) -> PathBuf {
        self.main.parent().unwrap_or(Path::new("")).join(path)
    }

    /// The content of a file that `key` names. If it cannot be read: `None`, and a problem.
    pub(super) fn read<T>(
        &mut self,
        path: &Path,
        key: &str,
        read: impl FnOnce(&Path) -> Result<T, String>,
    ) -> Option<T> {
        self.files.push(FileStamp::now(path));
        let named = if key.is_empty() { String::new() } else { format!("{} ", path.display()) };
        read(path).map_err(|why| self.error(key, format!("{named}{why}"))).ok()
    }

    /// The notes and files, if there is no problem.
    pub(super) fn finish(self) -> Result<(Vec<String>, Vec<FileStamp>), ConfigErrors> {
        if self.problems.is_empty() { Ok((self.notes, self.files)) } else { Err(ConfigErrors(self.problems)) }
    }
}
