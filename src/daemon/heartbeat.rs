//! The dead man's switch: one GET of an address that an outside service watches.

use std::time::Duration;

use anyhow::{Result, anyhow, ensure};
use reqwest::{Client, Url, redirect};
use secrecy::ExposeSecret as _;

use super::post::{SHORTEST_SECRET, reason, secrets_of, start_of};
use super::webhook::refusal_in;
use crate::config::Settings;
use crate::mail::smtp;
use crate::model::hide::hidden;
use crate::model::sanitize;
use crate::provider::http_client_via;

/// The longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// The part of an answer that is read.
const MOST_SAID: usize = 1 << 10;

/// Pings one address.
#[derive(Clone, Debug)]
pub(super) struct Heartbeat {
    client: Client,
    url: Url,
}

impl Heartbeat {
    /// The pinger of `heartbeat.url`, if that is set. No error holds the address, since its path is a password.
    ///
    /// # Errors
    /// If TLS cannot be set up.
    pub(super) fn of(settings: &Settings) -> Result<Option<Self>> {
        let Some(url) = &settings.heartbeat_url else { return Ok(None) };
        let setup = |reason: String| anyhow!("preparing the heartbeat: {reason}");
        let url = Url::parse(url.expose_secret()).map_err(|error| setup(error.to_string()))?;
        let client = http_client_via(PATIENCE, &settings.heartbeat_via).map_err(setup)?;
        let client = client.redirect(redirect::Policy::limited(3)).build();
        let client = client.map_err(|error| setup(error.without_url().to_string()))?;
        Ok(Some(Self { client, url }))
    }

    /// One ping.
    ///
    /// # Errors
    /// If the answer was no 2xx, or came too late.
    pub(super) async fn ping(&self) -> Result<()> {
        let answer = self.client.get(self.url.clone()).send().await;
        let answer = answer
            .map_err(|error| anyhow!("the heartbeat did not get through: {}", reason(error, &self.url)))?;
        let status = answer.status().as_u16();
        ensure!(
            answer.status().is_success(),
            "the heartbeat was answered with {status}; is heartbeat.url right?"
        );
        let said = start_of(answer, MOST_SAID).await;
        let words = hidden(&String::from_utf8_lossy(&said), secrets_of(&self.url), SHORTEST_SECRET);
        ensure!(
            has_counted(&said),
            "the heartbeat was answered with {status} and \"{}\", so it did not count; is heartbeat.url right?",
            sanitize::one_line(&words, smtp::LONGEST_SAID)
        );
        Ok(())
    }
}

/// Whether the words of an answer with a good status mean that the ping counted.
fn has_counted(said: &[u8]) -> bool {
    let words = String::from_utf8_lossy(said).to_lowercase();
    !refusal_in(said) && !["(not found)", "(rate limited)"].iter().any(|refusal| words.contains(refusal))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_good_status_is_not_enough() {
        for (said, want) in [
            ("OK", true),
            ("", true),
            (r#"{"ok": true}"#, true),
            ("OK (not found)", false),
            ("OK (Not Found)", false),
            ("OK (RATE LIMITED)", false),
            (r#"{"ok": false}"#, false),
            (r#"{"ok": false, "msg": "no such monitor"}"#, false),
        ] {
            assert_eq!(has_counted(said.as_bytes()), want, "{said}");
        }
    }
}
