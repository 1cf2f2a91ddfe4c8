//! The dead man's switch: one GET of an address that an outside service watches.

use std::time::Duration;

use reqwest::{Client, Url, redirect};
use secrecy::ExposeSecret as _;

use super::post::start_of;
use crate::config::Settings;
use crate::mail::smtp::tidy;
use crate::provider::{cause, http_client_via};

/// The longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// The part of an answer that is read.
const MOST_SAID: usize = 1 << 10;

/// The ping could not be sent, or was not accepted. The error never holds the address, since its path is a
/// password.
#[derive(Debug, thiserror::Error)]
pub(super) enum HeartbeatError {
    #[error("preparing the heartbeat: {0}")]
    Setup(String),
    #[error("the heartbeat did not get through: {0}")]
    Unreachable(String),
    #[error("the heartbeat was answered with {0}; is heartbeat.url right?")]
    Refused(u16),
    #[error("the heartbeat was answered with 200 and \"{0}\", so it did not count; is heartbeat.url right?")]
    NotCounted(String),
}

/// Pings one address.
#[derive(Clone, Debug)]
pub(super) struct Heartbeat {
    client: Client,
    url: Url,
}

impl Heartbeat {
    /// The pinger of `heartbeat.url`, if that is set.
    ///
    /// # Errors
    /// If TLS cannot be set up.
    pub(super) fn of(settings: &Settings) -> Result<Option<Self>, HeartbeatError> {
        let Some(url) = &settings.heartbeat_url else { return Ok(None) };
        let url =
            Url::parse(url.expose_secret()).map_err(|error| HeartbeatError::Setup(error.to_string()))?;
        let client = http_client_via(PATIENCE, &settings.heartbeat_via).map_err(HeartbeatError::Setup)?;
        let client = client.redirect(redirect::Policy::limited(3)).build();
        let client = client.map_err(|error| HeartbeatError::Setup(error.without_url().to_string()))?;
        Ok(Some(Self { client, url }))
    }

    /// One ping.
    ///
    /// # Errors
    /// If the answer was no 2xx, or came too late.
    pub(super) async fn ping(&self) -> Result<(), HeartbeatError> {
        let answer = self.client.get(self.url.clone()).send().await;
        let answer = answer.map_err(|error| {
            let is_late = error.is_timeout();
            let reason = if is_late { "it took too long".to_owned() } else { cause(&error.without_url()) };
            HeartbeatError::Unreachable(reason)
        })?;
        let status = answer.status();
        if !status.is_success() {
            return Err(HeartbeatError::Refused(status.as_u16()));
        }
        let said = start_of(answer, MOST_SAID).await;
        let said = String::from_utf8_lossy(&said).into_owned();
        let is_counted = !["(not found)", "(rate limited)"].iter().any(|words| said.contains(words));
        if is_counted { Ok(()) } else { Err(HeartbeatError::NotCounted(tidy(&said))) }
    }
}
