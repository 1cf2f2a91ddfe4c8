//! The real binary against the simulated provider and a scripted mail server: the daemon and the commands beside it.
#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "../common/mod.rs"]
mod common;

mod calendar;
mod care;
mod chaos;
mod collecting;
mod commands_doctor;
mod commands_forecast;
mod commands_rehearse;
mod commands_status;
mod crash;
mod exporter;
mod faults;
mod init;
mod main_job;
mod many;
mod money;
mod operators;
mod packaged;
mod robust;
mod robust_store;
mod security;
mod smtp_faults;
mod store_faults;
mod telegram;
mod token;
mod web;
mod webhooks;
mod years;
