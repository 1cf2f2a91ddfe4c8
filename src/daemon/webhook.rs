//! Posts to a webhook: one POST of JSON to an address that is a secret. The sender repeats and logs.

use std::collections::BTreeMap;
use std::time::Duration;

use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use secrecy::ExposeSecret as _;
use serde_json::value::RawValue;

use super::delivery::{Fault, SendFailure};
use super::post::{Poster, Receiver, SHORTEST_SECRET, secrets_of, start_of};
use crate::alert::Attempt;
use crate::clock;
use crate::mail::WebhookSettings;
use crate::mail::smtp;
use crate::model::hide::hidden;
use crate::model::sanitize;
use crate::provider::{asked_pause, error_text};

/// Posts to one address.
pub(crate) struct Webhook {
    name: String,
    poster: Poster,
    url: Url,
    headers: HeaderMap,
}

impl Webhook {
    /// # Errors
    /// If TLS cannot be set up.
    pub(crate) fn new(settings: &WebhookSettings) -> Result<Self, SendFailure> {
        let name = settings.name.clone();
        let words = format!("webhook {name}");
        let receiver = Receiver { table: format!("webhooks.{name}"), to: words.clone(), of: words };
        let poster = Poster::new(receiver, &settings.via)?;
        let setup = |reason: &str| poster.receiver.setup(reason);
        let url = Url::parse(settings.url.expose_secret()).map_err(|error| setup(&error.to_string()))?;
        let mut headers = HeaderMap::new();
        for (header, value) in &settings.headers {
            let header = header.parse::<HeaderName>().map_err(|error| setup(&error.to_string()))?;
            let value = HeaderValue::from_str(value.expose_secret());
            headers.append(header, value.map_err(|_| setup("a header's value is none"))?);
        }
        Ok(Self { name, poster, url, headers })
    }

    /// Makes one POST. A 2xx answer means that it was taken. No error holds the address.
    pub(crate) async fn post(&self, key: &str, body: Vec<u8>) -> Result<(), SendFailure> {
        let name = &self.name;
        let fail = |fault, error| Err(SendFailure { fault, error });
        let key = HeaderValue::from_str(key);
        let key = key.map_err(|_| self.poster.receiver.setup("its key is no header"))?;
        let mut headers = self.headers.clone();
        headers.insert(HeaderName::from_static("idempotency-key"), key);
        let answer = self.poster.post(&self.url, headers, body, PATIENCE).await?;
        let (status, wait) = (answer.status(), asked_pause(answer.headers(), clock::now()));
        let said = start_of(answer, MOST_READ).await;
        let refusal = refusal_in(&said);
        // A secret that the cut would split is hidden before.
        let said = self.without_secrets(&String::from_utf8_lossy(&said));
        let said = sanitize::seen_line(&said, smtp::LONGEST_SAID);
        let said = said.map_or_else(String::new, |said| format!(": {said}"));
        let answered = format!("webhook {name} answered {status}{said}");
        match status.as_u16() {
            200..=299 if !refusal => Ok(()),
            // The answer is about the address or the receiver behind it, and not about the post.
            200..=399 | 401 | 403 | 404 | 410 => {
                fail(Fault::Login, format!("{answered}; check webhooks.{name}.url"))
            }
            400 | 413 | 422 => {
                fail(Fault::Of(Attempt::MailRefused), format!("it does not take this: {answered}"))
            }
            _ => fail(wait.map_or(Fault::Of(Attempt::Deferred), Fault::Busy), answered),
        }
    }

    /// The words without the parts of the address and of headers that are secrets.
    fn without_secrets(&self, said: &str) -> String {
        let headers = self.headers.values().filter_map(|value| value.to_str().ok());
        let words = headers.flat_map(str::split_whitespace);
        hidden(said, secrets_of(&self.url).chain(words), SHORTEST_SECRET)
    }
}

/// How long a receiver may take to answer: some post to a chat first.
const PATIENCE: Duration = Duration::from_secs(300);
/// The part of an answer that is looked at.
const MOST_READ: usize = 1 << 20;

/// Whether an answer says in JSON that the post was not taken, whatever its status.
pub(super) fn refusal_in(said: &[u8]) -> bool {
    let Ok(fields) = serde_json::from_slice::<BTreeMap<String, Box<RawValue>>>(said) else { return false };
    let error = fields.get("error").and_then(|error| error_text(error));
    fields.get("ok").is_some_and(|ok| ok.get() == "false") || error.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Via;

    #[test]
    fn a_secret_without_a_name_is_hidden() {
        let url = "https://user-key@chat.example/hook?only-a-token".into();
        let settings = WebhookSettings { name: "team".to_owned(), url, via: Via::default(), headers: vec![] };
        let webhook = Webhook::new(&settings).unwrap();
        let said = webhook.without_secrets("no hook only-a-token of user-key");
        assert_eq!(said, "no hook [hidden] of [hidden]");
    }

    #[test]
    fn an_answer_that_says_no_in_json_is_a_refusal() {
        for (said, want) in [
            (r#"{"ok": false}"#, true),
            (r#"{"error": "no such channel"}"#, true),
            (r#"{"ok": true, "error": {"code": 3}}"#, true),
            (r#"{"ok": true, "error": null}"#, false),
            (r#"{"error": ""}"#, false),
            (r#"{"error": 0, "errors": [1]}"#, false),
            (r#"{"error": []}"#, false),
            ("ok", false),
            ("", false),
        ] {
            assert_eq!(refusal_in(said.as_bytes()), want, "{said}");
        }
    }
}
