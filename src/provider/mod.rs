//! The provider's interface as typed reads (interface 4.1–4.8, 5). `transport` sends all of them, and its only
//! verb is GET. The one exception is `token`: a hosting token that ends is bought with a POST.
//!
//! This layer neither keeps nor counts what it reads, except in `poll`, which has the schedules. An
//! [`Observer`] is told of each request.

mod address;
mod client;
pub(crate) mod cron;
mod endpoints;
mod error;
mod hosts;
mod limits;
mod observe;
mod paging;
pub(crate) mod poll;
mod probe;
mod reads;
mod redact;
pub(crate) mod report;
mod retry;
mod said;
pub(crate) mod settings;
mod standing;
mod token;
mod transport;
mod web_token;
pub(crate) mod wire;

#[cfg(test)]
mod tests;

pub(crate) use client::{Client, TokenStanding};
pub(crate) use endpoints::CallLimit;
pub(crate) use error::{ApiError, cause, innermost};
pub(crate) use hosts::{Hosts, http_client, http_client_via};
pub(crate) use observe::Observer;
pub(crate) use paging::Listed;
pub(crate) use probe::probe;
pub(crate) use report::ReportRead;
pub(crate) use settings::{
    BillingCredentials, HostingCredentials, HostingToken, ProviderSettings, TokenOffer,
};
pub(crate) use transport::asked_pause;
pub(crate) use wire::{FIELDS, error_text};
