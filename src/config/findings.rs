//! The errors and warnings of a configuration. Warnings do not prevent its use.

use std::cell::RefCell;

use crate::config_error::{ConfigErrors, ConfigProblem};

/// Errors and warnings in the order in which they are found. Each is kept once, even if several accounts share
/// its cause.
#[derive(Debug, Default)]
pub(super) struct Findings {
    errors: RefCell<Vec<ConfigProblem>>,
    warnings: RefCell<Vec<ConfigProblem>>,
}

impl Findings {
    pub(super) fn error(&self, source: &str, key: &str, message: impl Into<String>) {
        push_once(&self.errors, source, key, message.into());
    }

    pub(super) fn warn(&self, source: &str, key: &str, message: impl Into<String>) {
        push_once(&self.warnings, source, key, message.into());
    }

    /// The errors, and the warnings.
    pub(super) fn parts(self) -> (ConfigErrors, Vec<ConfigProblem>) {
        (ConfigErrors(self.errors.into_inner()), self.warnings.into_inner())
    }
}

fn push_once(problems: &RefCell<Vec<ConfigProblem>>, source: &str, key: &str, message: String) {
    let problem = ConfigProblem { source: source.to_owned(), key: key.to_owned(), message };
    let mut problems = problems.borrow_mut();
    if !problems.contains(&problem) {
        problems.push(problem);
    }
}
