//! The simulated provider alone, seen by an outsider that speaks HTTP to it.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

mod behaviour;
mod faults;
mod fixtures;
mod mailbox;
mod walk;
mod walk_hosting;
