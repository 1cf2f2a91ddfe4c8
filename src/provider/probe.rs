//! Asks a host for its time, with one GET of its root and without credentials. Any answer suffices.

use chrono::{DateTime, Utc};
use reqwest::Url;

use super::error::cause;
use super::hosts::Hosts;
use super::transport::date;
use crate::model::Via;

/// The time of an address's host, to the second, if its answer has it.
///
/// # Errors
/// The reason, if it gives no answer.
pub(crate) async fn probe(address: &Url, via: &Via) -> Result<Option<DateTime<Utc>>, String> {
    let cause = |error: reqwest::Error| cause(&error.without_url());
    let client = Hosts::default().client(via)?.build().map_err(cause)?;
    let mut root = super::address::bare(address);
    root.set_path("/");
    let answer = client.get(root).send().await.map_err(cause)?;
    Ok(date(&answer))
}
