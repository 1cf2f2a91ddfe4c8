//! The output of commands: answers go to standard output in its width and colours, errors and warnings to
//! standard error.

use std::io::{IsTerminal as _, Write as _};

use anyhow::{Context as _, Result};
use clap::ColorChoice;
use serde::Serialize;
use terminal_size::{Width, terminal_size_of};

use super::ask::AskError;
use crate::cli::Screen;
use crate::config_error::ConfigErrors;
use crate::telemetry;
use crate::terminal::{Style, harmless_json, in_columns};

/// Prints the reason why a command failed. Each error of the configuration has a line of its own.
pub(super) fn complain(error: &anyhow::Error) {
    let is_of_configuration = error.is::<ConfigErrors>()
        || error.downcast_ref().is_some_and(|error| matches!(error, AskError::Configuration(_)));
    let text = if is_of_configuration { error.to_string() } else { format!("hostwatch: {}", whole(error)) };
    let prefix = telemetry::error_prefix();
    let lines: Vec<String> = text.lines().map(|line| format!("{prefix}{line}")).collect();
    say(&lines.join("\n"));
}

/// An error with its causes, without those that it quotes.
fn whole(error: &anyhow::Error) -> String {
    error.chain().fold(String::new(), |text, cause| match cause.to_string() {
        cause if text.contains(&cause) => text,
        cause if text.is_empty() => cause,
        cause => format!("{text}: {cause}"),
    })
}

/// Prints to standard error. Lines are wrapped only if a person reads them. The exit status says the same if nothing can
/// be printed.
fn say(text: &str) {
    let mut out = std::io::stderr().lock();
    let is_read = out.is_terminal();
    let _ = writeln!(out, "{}", if is_read { in_columns(text) } else { text.to_owned() });
}

/// Prints to standard output. A closed pipe is no error.
pub(super) fn print(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => other.context("printing"),
    }
}

/// Prints a warning about something that is allowed.
pub(super) fn warn(text: &str) {
    say(&format!("warning: {text}"));
}

/// The width if the terminal's is not known.
const WIDTH: usize = 80;

/// The value as JSON if that was asked for, otherwise as text.
pub(super) fn laid_out<T: Serialize>(
    json: bool,
    screen: Screen,
    value: &T,
    text: fn(&T, Style) -> String,
) -> Result<String> {
    if !json {
        return Ok(text(value, style(screen)));
    }
    let json = serde_json::to_string_pretty(value).context("writing it as JSON")?;
    Ok(format!("{}\n", harmless_json(&json)))
}

/// The style for standard output.
pub(super) fn style(screen: Screen) -> Style {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let out = std::io::stdout();
    let colour = match screen.colour {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => {
            // https://no-color.org
            let dumb = set("TERM").is_some_and(|terminal| terminal == "dumb");
            out.is_terminal() && set("NO_COLOR").is_none() && !dumb
        }
    };
    let told =
        set("COLUMNS").and_then(|columns| columns.to_str()?.parse().ok()).filter(|&columns| columns > 0);
    let seen = || terminal_size_of(&out).map(|(Width(columns), _)| usize::from(columns));
    Style { width: told.or_else(seen).filter(|&columns| columns > 0).unwrap_or(WIDTH), colour }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_each_of_its_causes_once() {
        let table: [(&[&str], &str); 3] = [
            (&["no space"], "no space"),
            (&["no space", "writing x"], "writing x: no space"),
            (
                &["no space", "writing x: no space", "keeping the store"],
                "keeping the store: writing x: no space",
            ),
        ];
        for (causes, want) in table {
            let first = anyhow::anyhow!("{}", causes[0]);
            let error = causes[1..].iter().fold(first, |error, &cause| error.context(cause.to_owned()));
            assert_eq!(whole(&error), want);
        }
    }
}
