//! The provider's interface as typed reads (interface 4.1–4.8, 5). Sends GET and nothing else: the
//! one `reqwest::Client` is private to `transport`, whose only verb is GET.
//!
//! Does not poll by itself, keep what it read, or count anything: collectors call it, and an
//! [`Observer`] is told what happened.

#[allow(dead_code, reason = "for benches/scale.rs and tests/unit/properties")]
pub mod bench;
mod blot;
mod breaker;
mod charges;
mod client;
mod endpoint;
mod error;
mod listing;
mod observe;
mod probe;
mod reads;
mod report;
mod retry;
pub mod settings;
mod throttle;
mod transport;
mod wire;

#[cfg(test)]
mod tests;

pub use charges::ChargesRead;
pub use client::Client;
pub use endpoint::Operation;
pub use error::{ApiError, ErrorKind};
pub use listing::Listed;
pub use observe::{Code, Observer};
pub use probe::{Host, probe};
pub use report::ReportRead;
pub use settings::{BillingCredentials, HostingCredentials, Limits, Settings};
pub use throttle::Hosts;
pub use wire::{FIELDS, Problem};
