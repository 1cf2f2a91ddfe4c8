//! hostwatch: watches an account at a hosting provider. See ARCHITECTURE.md for the layers.
//!
//! Public is what another crate needs: `main` for the program, `sim` for tests that drive it from outside. All else is
//! private to this crate, so that the compiler sees what nobody uses.

mod addresses;
mod alert;
mod api;
mod app;
mod ask;
mod chart;
mod cli;
mod clock;
mod collect;
mod config;
mod failpoint;
mod heartbeat;
mod http;
mod mail;
mod metrics;
mod model;
mod schedule;
pub mod sim;
mod state;
mod store;
mod telemetry;
mod terminal;
mod view;

#[cfg(test)]
#[path = "../tests/unit/mod.rs"]
mod unit;

use std::process::ExitCode;

use clap::Parser as _;

/// The program, from its arguments to its exit code.
pub fn main() -> ExitCode {
    app::main(cli::Cli::parse())
}
