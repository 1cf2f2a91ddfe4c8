//! The simulated provider, by itself: an outsider that speaks HTTP to it.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

mod behaviour;
mod faults;
mod fixtures;
mod mailbox;
mod other_client;
mod walk;
mod walk_hosting;
