//! Mails: how they read and how they leave.

pub mod settings;
pub mod transport;

pub use settings::{Security, Server, Settings};
