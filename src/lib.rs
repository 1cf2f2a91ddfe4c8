//! hostwatch: watches an account at a hosting provider. See ARCHITECTURE.md for the layers.

pub mod addresses;
pub mod alert;
pub mod api;
pub mod app;
pub mod ask;
pub mod chart;
pub mod cli;
pub mod clock;
pub mod collect;
pub mod config;
pub mod failpoint;
pub mod heartbeat;
pub mod http;
pub mod mail;
pub mod metrics;
pub mod model;
pub mod schedule;
pub mod sim;
pub mod state;
pub mod store;
pub mod telemetry;
pub mod terminal;
pub mod view;
