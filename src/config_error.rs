//! The errors of a configuration file, the daemon's own or the web server's: all of them together, one a line
//! with file, key and remedy. Errors hold no secrets: they name keys and files, and quote values of harmless
//! keys only.

use std::fmt;

/// One error.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ConfigProblem {
    /// The file or environment variable.
    pub source: String,
    /// The key as written; empty if the error is about the whole file.
    pub key: String,
    /// The error and the remedy.
    pub message: String,
}

/// One line in any case, since it goes to a log.
impl fmt::Display for ConfigProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [&self.source, &self.key, &self.message].into_iter().filter(|part| !part.is_empty());
        f.write_str(&one_line(&parts.map(String::as_str).collect::<Vec<_>>().join(": ")))
    }
}

/// All errors in the order in which they were found; never empty in an `Err`.
#[derive(Clone, PartialEq, Eq, Debug, Default, thiserror::Error)]
#[error("{}", .0.iter().map(ConfigProblem::to_string).collect::<Vec<_>>().join("\n"))]
pub(crate) struct ConfigErrors(pub Vec<ConfigProblem>);

/// Control characters as escapes.
pub(crate) fn one_line(text: &str) -> String {
    let escaped = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(escaped).collect()
}
