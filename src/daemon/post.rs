//! One POST to a recipient's service: the address is a secret, and a proxy of its own may be set. It follows no
//! redirect, and it neither repeats nor logs.

use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Client, Response, Url};

use super::delivery::{Fault, SendFailure};
use crate::alert::Attempt;
use crate::model::Via;
use crate::provider::{cause, http_client_via};

/// The time limits for a connection and for the whole request.
const CONNECT: Duration = Duration::from_secs(5);
pub(super) const WHOLE: Duration = Duration::from_secs(30);

/// The limit of an answer's size.
const MOST_BYTES: usize = 4 << 20;

/// A receiver in the words of errors, which hold no address.
pub(super) struct Receiver {
    /// Its table in the configuration: `webhooks.team`.
    pub(super) table: String,
    /// The end of "connection to", and of "the answer of".
    pub(super) to: String,
    pub(super) of: String,
}

impl Receiver {
    /// The request cannot be made.
    pub(super) fn setup(&self, reason: &str) -> SendFailure {
        SendFailure { fault: Fault::Away, error: format!("{}: no request can be made: {reason}", self.table) }
    }

    /// The request may have arrived.
    pub(super) fn lost(&self, reason: &str) -> SendFailure {
        let error = format!("the answer of {} was lost, so it may have taken it: {reason}", self.of);
        SendFailure { fault: Fault::Of(Attempt::ReplyLost), error }
    }
}

/// Posts JSON.
pub(super) struct Poster {
    client: Client,
    pub(super) receiver: Receiver,
}

impl Poster {
    /// # Errors
    /// If TLS cannot be set up, or the proxy's address is invalid.
    pub(super) fn new(receiver: Receiver, via: &Via) -> Result<Self, SendFailure> {
        let builder = http_client_via(WHOLE, via).map_err(|reason| receiver.setup(&reason))?;
        let client = builder.connect_timeout(CONNECT).pool_max_idle_per_host(0).build();
        let client = client.map_err(|error| receiver.setup(&error.without_url().to_string()))?;
        Ok(Self { client, receiver })
    }

    /// Posts within `patience`, and reads the head of the answer.
    #[allow(clippy::disallowed_methods)] // to whoever is told, not to the provider
    pub(super) async fn post(
        &self,
        url: &Url,
        headers: HeaderMap,
        body: Vec<u8>,
        patience: Duration,
    ) -> Result<Response, SendFailure> {
        let request = self.client.post(url.clone()).timeout(patience).headers(headers);
        let request = request.header(CONTENT_TYPE, HeaderValue::from_static("application/json")).body(body);
        request.send().await.map_err(|error| {
            let (is_setup, is_connect) = (error.is_builder(), error.is_connect());
            let reason = reason(error, url);
            if is_setup {
                self.receiver.setup(&reason)
            } else if is_connect {
                // Name look-up, proxy, TCP or TLS failed before anything was sent.
                let error = format!("no working connection to {}: {reason}", self.receiver.to);
                SendFailure { fault: Fault::Away, error }
            } else {
                self.receiver.lost(&reason)
            }
        })
    }
}

/// Shorter parts of an address are words: `api`, `hook`.
pub(super) const SHORTEST_SECRET: usize = 6;

/// The parts of an address that may be secrets.
pub(super) fn secrets_of(url: &Url) -> impl Iterator<Item = &str> {
    let parts = url.path_segments().into_iter().flatten();
    let query = url.query().into_iter().flat_map(|query| query.split('&'));
    // A token may stand alone: `?TOKEN`, `TOKEN@host`.
    let query = query.map(|pair| {
        let pair = pair.trim_end_matches('=');
        pair.split_once('=').map_or(pair, |(_, value)| value)
    });
    parts.chain(query).chain([url.username()]).chain(url.password())
}

/// The first bytes of an answer's body; fewer where it breaks off.
pub(super) async fn start_of(mut answer: Response, most: usize) -> Vec<u8> {
    let mut start = Vec::new();
    while let Ok(Some(part)) = answer.chunk().await {
        start.extend_from_slice(&part);
        if start.len() >= most {
            break;
        }
    }
    start.truncate(most);
    start
}

/// The body of an answer.
///
/// # Errors
/// If it breaks off, or is larger than any expected one.
pub(super) async fn body(mut answer: Response, url: &Url) -> Result<Vec<u8>, String> {
    let mut all = Vec::new();
    while let Some(part) = answer.chunk().await.map_err(|error| reason(error, url))? {
        all.extend_from_slice(&part);
        if all.len() > MOST_BYTES {
            return Err("it is too large".to_owned());
        }
    }
    Ok(all)
}

/// The innermost cause, without the address.
pub(super) fn reason(error: reqwest::Error, url: &Url) -> String {
    if error.is_timeout() {
        return "it took too long".to_owned();
    }
    without_host(&cause(&error.without_url()), url)
}

/// The text of an error without the host; complaints about certificates name it.
pub(crate) fn without_host(text: &str, url: &Url) -> String {
    url.host_str().map_or_else(|| text.to_owned(), |host| text.replace(host, "its host"))
}
