//! Tools that a developer may not have and CI must: promtool, systemd-analyze.
#![allow(clippy::print_stderr, clippy::unwrap_used, dead_code, reason = "tests")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The result of running a tool.
pub struct Run {
    pub ok: bool,
    /// Standard output and error.
    pub text: String,
}

/// Runs a tool in the repository's root. `None`, and a line that says so, if it is not installed. With `CI` set
/// that is a failure.
pub fn run(tool: &str, args: &[&str]) -> Option<Run> {
    let mut command = Command::new(tool);
    command.args(args).current_dir(root()).stdin(Stdio::null()).env("NO_COLOR", "1");
    // promtool is written in Go and spends a third of its time on memory that it could keep.
    command.env("GOGC", "400");
    match command.output() {
        Ok(output) => {
            let text = [output.stdout, output.stderr].concat();
            Some(Run { ok: output.status.success(), text: String::from_utf8_lossy(&text).into_owned() })
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            assert!(std::env::var_os("CI").is_none(), "{tool} is not installed, and CI must have it");
            eprintln!("skipped: {tool} is not installed");
            None
        }
        Err(error) => panic!("{tool} cannot be run: {error}"),
    }
}

/// Whether tests that have a sample run all of it: `HOSTWATCH_TESTS=all`, as `.ci/full` sets it.
pub fn runs_all() -> bool {
    std::env::var_os("HOSTWATCH_TESTS").is_some_and(|value| value == "all")
}

/// Compares a page of the repository with a text. With `UPDATE_DOCS` set it writes the text.
///
/// # Panics
/// If the page has another text.
pub fn hold(page: &str, want: &str, command: &str) {
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(root().join(page), want).unwrap();
    } else {
        assert!(read(page) == want, "{page} is old; UPDATE_DOCS=1 {command}");
    }
}

pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

pub fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The directory for files that a person may want to see: `tmp` in the build directory.
pub fn scratch() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.ancestors().nth(3).unwrap().join("tmp")
}
