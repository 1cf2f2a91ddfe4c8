//! The provider's interface as typed reads (interface 4.1–4.8, 5). Sends GET and nothing else: the
//! one `reqwest::Client` is private to `transport`, whose only verb is GET.
//!
//! Does not poll by itself, keep what it read, or count anything: collectors call it, and an
//! [`Observer`] is told what happened.

mod address;
#[allow(dead_code, reason = "for benches/scale.rs and tests/unit/properties")]
pub mod bench;
mod breaker;
mod charges;
mod client;
pub mod cron;
mod endpoints;
mod error;
mod limits;
mod observe;
mod paging;
pub mod poll;
mod probe;
mod reads;
mod redact;
mod report;
mod retry;
pub mod settings;
mod transport;
mod wire;

#[cfg(test)]
mod tests;

pub use charges::ChargesRead;
pub use client::Client;
pub use error::ApiError;
pub use limits::Hosts;
pub use observe::{Code, Observer};
pub use paging::Listed;
pub use probe::probe;
pub use report::ReportRead;
pub use settings::{BillingCredentials, HostingCredentials, Limits, Settings};
pub use transport::http_client;
pub use wire::{FIELDS, Problem};
