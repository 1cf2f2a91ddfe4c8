//! The real binary against the simulated provider and a scripted mail server: the daemon and the commands beside it.
#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "../common/mod.rs"]
mod common;

mod calendar;
mod calm;
mod care;
mod causes;
mod chaos;
mod collecting;
mod commands_doctor;
mod commands_forecast;
mod commands_rehearse;
mod commands_status;
mod crash;
mod discovery;
mod escalation;
mod faults;
mod mail_order;
mod main_job;
mod many;
mod money;
mod packaged;
mod robust;
mod robust_store;
mod security;
mod smtp_faults;
mod store_faults;
mod web;
mod webhooks;
mod years;
