//! The process: parses the command line and hands over to its command.

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    hostwatch::commands::main(hostwatch::cli::Cli::parse())
}
