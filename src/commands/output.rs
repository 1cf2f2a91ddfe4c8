//! What commands print, and where: answers to standard output, errors and warnings to standard error.
#![allow(clippy::print_stderr)] // printing is what they are for

use std::io::{IsTerminal as _, Write as _};

use anyhow::{Context as _, Result};

use crate::config_error::ConfigErrors;
use crate::terminal::in_columns;

/// Prints why a command failed. Errors of the configuration are lines of their own.
pub(super) fn complain(error: &anyhow::Error) {
    if error.downcast_ref::<ConfigErrors>().is_some() {
        say(&error.to_string());
    } else {
        say(&format!("hostwatch: {error:#}"));
    }
}

/// To standard error; as wide as it is where no person reads it.
fn say(text: &str) {
    let is_read = std::io::stderr().is_terminal();
    eprintln!("{}", if is_read { in_columns(text) } else { text.to_owned() });
}

/// Prints; a closed pipe is no error.
pub(super) fn print(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => other.context("printing"),
    }
}

/// What is allowed and yet should be looked at.
pub(super) fn warn(text: &str) {
    say(&format!("warning: {text}"));
}
