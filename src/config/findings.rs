//! The errors and warnings of a configuration. Warnings do not prevent its use.

use crate::config_error::{ConfigErrors, ConfigProblem};

/// Errors and warnings in the order in which they are found. Each is kept once, even if several accounts share
/// its cause.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub errors: ConfigErrors,
    pub warnings: Vec<ConfigProblem>,
}

impl Findings {
    pub(super) fn error(&mut self, source: &str, key: &str, message: impl Into<String>) {
        push_once(&mut self.errors.0, source, key, message.into());
    }

    pub(super) fn warn(&mut self, source: &str, key: &str, message: impl Into<String>) {
        push_once(&mut self.warnings, source, key, message.into());
    }
}

fn push_once(problems: &mut Vec<ConfigProblem>, source: &str, key: &str, message: String) {
    let problem = ConfigProblem { source: source.to_owned(), key: key.to_owned(), message };
    if !problems.contains(&problem) {
        problems.push(problem);
    }
}
