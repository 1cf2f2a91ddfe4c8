//! Posts to a webhook: one POST of JSON to an address that is a secret. The sender repeats and logs.

use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use secrecy::ExposeSecret as _;

use super::delivery::{Fault, SendFailure};
use super::post::{NoAnswer, Poster, WHOLE};
use crate::mail::WebhookSettings;

/// Posts to one address.
pub(crate) struct Webhook {
    name: String,
    poster: Poster,
    url: Url,
}

impl Webhook {
    /// # Errors
    /// If TLS cannot be set up.
    pub(crate) fn new(settings: &WebhookSettings) -> Result<Self, SendFailure> {
        let name = settings.name.clone();
        let url =
            Url::parse(settings.url.expose_secret()).map_err(|error| setup(&name, &error.to_string()))?;
        let poster = Poster::new(settings.proxy.as_ref()).map_err(|reason| setup(&name, &reason))?;
        Ok(Self { name, poster, url })
    }

    /// Makes one POST. A 2xx answer means that it was taken. No error holds the address.
    pub(crate) async fn post(&self, key: &str, body: Vec<u8>) -> Result<(), SendFailure> {
        let name = &self.name;
        let fail = |fault, error| Err(SendFailure { fault, error });
        let Ok(key) = HeaderValue::from_str(key) else { return Err(setup(name, "its key is no header")) };
        let headers = HeaderMap::from_iter([(HeaderName::from_static("idempotency-key"), key)]);
        let status = match self.poster.post(&self.url, headers, body, WHOLE).await {
            Ok(answer) => answer.status(),
            Err(NoAnswer::Setup(reason)) => return Err(setup(name, &reason)),
            Err(NoAnswer::Connection(reason)) => {
                return fail(Fault::Away, format!("no working connection to webhook {name}: {reason}"));
            }
            Err(NoAnswer::Lost(reason)) => {
                let error =
                    format!("the answer of webhook {name} was lost, so it may have taken it: {reason}");
                return fail(Fault::ReplyLost, error);
            }
        };
        match status.as_u16() {
            200..=299 => Ok(()),
            400 | 413 | 422 => {
                fail(Fault::MailRefused, format!("webhook {name} does not take this: it answered {status}"))
            }
            // The answer is about the address, and not about the post.
            401 | 403 | 404 | 410 => {
                fail(Fault::Refuses, format!("webhook {name} answered {status}; check webhooks.{name}.url"))
            }
            _ => fail(Fault::Deferred, format!("webhook {name} answered {status}")),
        }
    }
}

fn setup(name: &str, reason: &str) -> SendFailure {
    let error = format!("webhooks.{name}: no request can be made: {reason}");
    SendFailure { fault: Fault::Away, error }
}
