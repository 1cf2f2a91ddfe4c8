//! The provider's interface as typed reads (interface 4.1–4.8, 5). Sends GET and nothing else: the
//! one `reqwest::Client` is private to `transport`, whose only verb is GET.
//!
//! Does not poll by itself, keep what it read, or count anything: collectors call it, and an
//! [`Observer`] gets what happened.

mod address;
#[allow(dead_code, reason = "for benches/scale.rs and tests/unit/properties")]
pub(crate) mod bench;
mod breaker;
mod charges;
mod client;
pub(crate) mod cron;
mod endpoints;
mod error;
mod limits;
mod observe;
mod paging;
pub(crate) mod poll;
mod probe;
mod reads;
mod redact;
mod report;
mod retry;
pub(crate) mod settings;
mod transport;
mod wire;

#[cfg(test)]
mod tests;

pub(crate) use charges::ChargesRead;
pub(crate) use client::Client;
pub(crate) use error::ApiError;
pub(crate) use limits::Hosts;
pub(crate) use observe::{Code, Observer};
pub(crate) use paging::Listed;
pub(crate) use probe::{Host, probe};
pub(crate) use report::ReportRead;
pub(crate) use settings::{BillingCredentials, HostingCredentials, Limits, ProviderSettings};
pub(crate) use transport::http_client;
pub(crate) use wire::FIELDS;
