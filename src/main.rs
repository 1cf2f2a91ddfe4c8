//! The process: parses the command line and hands over to `app`.

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    hostwatch::app::main(hostwatch::cli::Cli::parse())
}
