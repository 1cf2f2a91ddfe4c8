//! The life of incidents, as the contract tells it (section 6): what is told, when, and what is not.
#![allow(clippy::unwrap_used)]

#[path = "../alert_support/mod.rs"]
mod alert_support;
mod balance;
mod causes;
mod collectors;
mod disconnect;
mod flapping;
mod lifecycle;
mod start;
mod states;
