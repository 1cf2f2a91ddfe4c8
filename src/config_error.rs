//! What is wrong with a configuration file, the daemon's own or that of the web server: all of it at once, a line
//! each with file, key and remedy. Never holds a secret: messages name keys and files, and quote values of
//! harmless keys only.

use std::fmt;

/// One thing that is wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ConfigProblem {
    /// The file or environment variable.
    pub source: String,
    /// The key as it stands there; empty where the whole file is meant.
    pub key: String,
    /// What is wrong and what to do.
    pub message: String,
}

/// One line, whatever the parts hold: it goes to a log.
impl fmt::Display for ConfigProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [&self.source, &self.key, &self.message].into_iter().filter(|part| !part.is_empty());
        f.write_str(&one_line(&parts.map(String::as_str).collect::<Vec<_>>().join(": ")))
    }
}

/// Everything that is wrong, in the order it was found; never empty in an `Err`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct ConfigErrors(pub Vec<ConfigProblem>);

impl std::error::Error for ConfigErrors {}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.iter().map(ConfigProblem::to_string).collect::<Vec<_>>().join("\n"))
    }
}

/// Control characters as escapes.
pub(crate) fn one_line(text: &str) -> String {
    let escaped = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(escaped).collect()
}
