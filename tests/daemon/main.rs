//! The real binary against the simulated provider and a scripted mail server: the daemon and the commands beside it.
#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "../common/mod.rs"]
mod common;

mod care;
mod commands_doctor;
mod commands_forecast;
mod commands_rehearse;
mod commands_status;
mod crash;
mod faults;
mod main_job;
mod many;
mod smtp_faults;
mod store_faults;
mod web;
mod years;
