//! Posts to a webhook: one POST of JSON to an address that is a secret. No redirect is followed. Tries nothing twice and
//! logs nothing: the sender does.

use std::error::Error;
use std::time::Duration;

use reqwest::header::CONTENT_TYPE;
use reqwest::{Client, StatusCode, Url};
use secrecy::ExposeSecret as _;

use crate::mail::WebhookSettings;
use crate::provider::http_client;

/// How long a connection may take, and all of it.
const CONNECT: Duration = Duration::from_secs(5);
const WHOLE: Duration = Duration::from_secs(30);

/// Why a post did not get through. None holds the address.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PostError {
    #[error("webhooks.{name}: no request can be made: {reason}")]
    Setup { name: String, reason: String },
    /// Name look-up, TCP, TLS: nothing was sent.
    #[error("no working connection to webhook {name}: {reason}")]
    Connection { name: String, reason: String },
    /// What it says of the address, not of what is sent there.
    #[error("webhook {name} answered {status}; check webhooks.{name}.url")]
    Refused { name: String, status: StatusCode },
    #[error("webhook {name} does not take this: it answered {status}")]
    Rejected { name: String, status: StatusCode },
    #[error("webhook {name} answered {status}")]
    Failed { name: String, status: StatusCode },
    #[error("the answer of webhook {name} was lost, so it may have taken it: {reason}")]
    ReplyLost { name: String, reason: String },
}

/// Posts to one address.
pub(crate) struct Webhook {
    name: String,
    client: Client,
    url: Url,
}

impl Webhook {
    /// # Errors
    /// Where no TLS can be set up.
    pub(crate) fn new(settings: &WebhookSettings) -> Result<Self, PostError> {
        let name = settings.name.clone();
        let setup = |reason: String| PostError::Setup { name: settings.name.clone(), reason };
        let url = Url::parse(settings.url.expose_secret()).map_err(|error| setup(error.to_string()))?;
        let client = http_client(WHOLE).connect_timeout(CONNECT).pool_max_idle_per_host(0).build();
        let client = client.map_err(|error| setup(error.without_url().to_string()))?;
        Ok(Self { name, client, url })
    }

    /// One POST; taken where the answer is 2xx.
    #[allow(clippy::disallowed_methods)] // to whoever is mailed, not to the provider
    pub(crate) async fn post(&self, key: &str, body: Vec<u8>) -> Result<(), PostError> {
        let request = self.client.post(self.url.clone()).header(CONTENT_TYPE, "application/json");
        let answer = request.header("Idempotency-Key", key).body(body).send().await;
        let name = self.name.clone();
        let status = match answer {
            Ok(answer) => answer.status(),
            Err(error) if error.is_builder() => {
                return Err(PostError::Setup { name, reason: self.reason(error) });
            }
            Err(error) if error.is_connect() => {
                return Err(PostError::Connection { name, reason: self.reason(error) });
            }
            Err(error) => return Err(PostError::ReplyLost { name, reason: self.reason(error) }),
        };
        match status.as_u16() {
            200..=299 => Ok(()),
            400 | 413 | 422 => Err(PostError::Rejected { name, status }),
            401 | 403 | 404 | 410 => Err(PostError::Refused { name, status }),
            _ => Err(PostError::Failed { name, status }),
        }
    }

    /// The innermost cause, without the address.
    fn reason(&self, error: reqwest::Error) -> String {
        if error.is_timeout() {
            return "it took too long".to_owned();
        }
        without_host(&innermost(&error.without_url()).to_string(), &self.url)
    }
}

/// The innermost cause, which says what a person can act on.
pub(crate) fn innermost<'a>(error: &'a (dyn Error + 'static)) -> &'a (dyn Error + 'static) {
    std::iter::successors(Some(error), |&error| error.source()).last().unwrap_or(error)
}

/// The text of an error; a certificate's complaint names the host.
pub(crate) fn without_host(text: &str, url: &Url) -> String {
    url.host_str().map_or_else(|| text.to_owned(), |host| text.replace(host, "its host"))
}
