//! hostwatch: watches an account at a hosting provider. See ARCHITECTURE.md for the layers.

pub mod alert;
pub mod api;
pub mod cli;
pub mod clock;
pub mod config;
pub mod mail;
pub mod metrics;
pub mod model;
pub mod schedule;
pub mod sim;
pub mod telemetry;
