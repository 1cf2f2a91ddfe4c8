//! The provider's interface as typed reads. Sends GET and nothing else.

pub mod settings;

pub use settings::{BillingCredentials, HostingCredentials, Limits, Settings};
