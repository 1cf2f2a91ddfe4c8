//! hostwatch: watches an account at a hosting provider. See ARCHITECTURE.md for the layers.
//!
//! Only `main` is public, so that the compiler finds unused code. The provider's simulator is a crate of its own,
//! `src/sim`.
#![warn(unreachable_pub)]
#![cfg_attr(not(test), warn(clippy::too_many_lines))]

mod alert;
mod cli;
mod clock;
mod commands;
mod config;
mod config_error;
mod daemon;
mod failpoint;
mod file_stamp;
mod http;
mod mail;
mod metrics;
mod model;
mod provider;
mod read_file;
mod state;
mod store;
mod telemetry;
mod terminal;
mod trust;
mod view;

#[cfg(test)]
#[allow(unreachable_pub, reason = "support is written for tests outside of the library too")]
#[path = "../tests/unit/mod.rs"]
mod unit;

use std::process::ExitCode;

use clap::Parser as _;

/// The program, from its arguments to its exit code.
pub fn main() -> ExitCode {
    commands::block_signals();
    commands::main(cli::Cli::parse())
}
