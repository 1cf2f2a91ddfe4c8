//! What is wrong with a configuration, all of it at once: a line each with file, key and remedy. Never holds
//! a secret: messages name keys and files, and quote values of harmless keys only.

use std::fmt;

pub(crate) use crate::http::web_config::Problem;

/// Everything that is wrong, in the order it was found; never empty in an `Err`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Errors(pub Vec<Problem>);

impl std::error::Error for Errors {}

impl fmt::Display for Errors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            write!(f, "{separator}{problem}")?;
        }
        Ok(())
    }
}

/// Errors and warnings as they are found; each is kept once, however many accounts share its cause.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub errors: Errors,
    pub warnings: Vec<Problem>,
}

impl Findings {
    pub(super) fn error(&mut self, source: &str, key: &str, message: impl Into<String>) {
        push_once(&mut self.errors.0, source, key, message.into());
    }

    pub(super) fn warn(&mut self, source: &str, key: &str, message: impl Into<String>) {
        push_once(&mut self.warnings, source, key, message.into());
    }
}

fn push_once(problems: &mut Vec<Problem>, source: &str, key: &str, message: String) {
    let problem = Problem { source: source.to_owned(), key: key.to_owned(), message };
    if !problems.contains(&problem) {
        problems.push(problem);
    }
}
