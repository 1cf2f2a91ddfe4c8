//! hostwatch: watches an account at a hosting provider. See ARCHITECTURE.md for the layers.

pub mod alert;
pub mod api;
pub mod chart;
pub mod clock;
pub mod http;
pub mod mail;
pub mod metrics;
pub mod model;
pub mod sim;
pub mod state;
