//! The way to HTTP for all reads. Its only verb is GET. It knows no retries, limits or JSON.

use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use chrono::{DateTime, TimeDelta, Utc};
use reqwest::header::{
    ACCEPT, AGE, AUTHORIZATION, CACHE_CONTROL, DATE, HeaderMap, HeaderValue, LOCATION, RETRY_AFTER,
};
use reqwest::{Client, Response, Url};
use secrecy::{ExposeSecret, SecretString};

use crate::model::Group;
use crate::trust;

use super::address::shown;
use super::error::{ErrorKind, innermost};
use super::hosts::Hosts;
use super::limits::Permit;
use super::observe::Observer;
use super::retry::wait_of;
use super::said;
use super::settings::ProviderSettings;

/// How long the words of an answer without success are waited for.
const BEGINNING_WITHIN: Duration = Duration::from_secs(5);

/// Sends GET requests with the credentials of one account.
pub(super) struct ApiTransport {
    http: Arc<Client>,
    whole: Duration,
    has_proxy: bool,
    /// `Authorization` of each group that has credentials.
    authorization: [Option<HeaderValue>; 3],
}

impl ApiTransport {
    pub(super) fn new(settings: &ProviderSettings, hosts: &Hosts) -> Result<Self, (Group, ErrorKind)> {
        let http = hosts.http(&settings.via).map_err(|kind| (Group::Hosting, kind))?;
        let mut all = [const { None }; 3];
        for group in Group::ALL {
            // A bought token comes with the request.
            let is_given = group != Group::Hosting || settings.offer().is_none();
            if let Some((name, secret)) = settings.access(group).1.filter(|_| is_given) {
                let bad = || ErrorKind::Setup("the credentials hold a character that no header can".into());
                all[group as usize] = Some(authorization(group, name, secret).ok_or_else(|| (group, bad()))?);
            }
        }
        let has_proxy = settings.via.proxy.is_some();
        Ok(Self { http, whole: hosts.timing.whole, has_proxy, authorization: all })
    }

    /// One attempt, up to the head of the answer, with the credentials of the group or with the given ones.
    pub(super) async fn get(
        &self,
        group: Group,
        url: Url,
        given: Option<HeaderValue>,
    ) -> Result<Response, ErrorKind> {
        let authorization =
            given.or_else(|| self.authorization[group as usize].clone()).ok_or(ErrorKind::Off)?;
        let request = self.http.get(url).header(ACCEPT, HeaderValue::from_static("application/json"));
        let request = request.header(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        let request = request.header(AUTHORIZATION, authorization);
        request.send().await.map_err(|error| failure_of(error, self.whole, self.has_proxy))
    }
}

/// The meaning of an error of a connection or of a body. `whole` is the time limit of a request.
pub(super) fn failure_of(error: reqwest::Error, whole: Duration, has_proxy: bool) -> ErrorKind {
    let error = error.without_url();
    if error.is_timeout() {
        ErrorKind::Timeout(whole)
    } else if error.is_connect() {
        // A certificate is the provider's in spite of a proxy.
        match trust::in_words(&error, "the key ca_file", "the address") {
            Some(words) => ErrorKind::Connect(words),
            None if has_proxy => ErrorKind::Proxy(innermost(&error).to_string()),
            None => ErrorKind::Connect(innermost(&error).to_string()),
        }
    } else {
        ErrorKind::Closed(innermost(&error).to_string())
    }
}

/// An `Authorization` value (interface 5). With an empty scheme it is the credential alone.
pub(super) fn authorization(group: Group, name: &str, secret: &str) -> Option<HeaderValue> {
    let text = SecretString::from(match (group, name.trim()) {
        (Group::Billing, _) => format!("Basic {}", BASE64.encode(format!("{name}:{secret}"))),
        (Group::Hosting | Group::Vm, "") => secret.to_owned(),
        (Group::Hosting | Group::Vm, scheme) => format!("{scheme} {secret}"),
    });
    let mut value = HeaderValue::from_str(text.expose_secret()).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// The pause that an answer asks for: by a readable `Retry-After`, or until the end of its used-up limit of a rate.
pub(crate) fn asked_pause(headers: &HeaderMap, now: DateTime<Utc>) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok();
    let of_limit = |prefix: &str| {
        let is_used_up = text(&format!("{prefix}-remaining")).is_some_and(|left| left.trim() == "0");
        text(&format!("{prefix}-reset")).filter(|_| is_used_up).and_then(|end| wait_of(end, now))
    };
    let retry_after = text(RETRY_AFTER.as_str()).and_then(|text| wait_of(text, now));
    retry_after.or_else(|| of_limit("ratelimit")).or_else(|| of_limit("x-ratelimit"))
}

/// The provider's time when it sent this answer: its `Date`, plus the time that a cache has kept it.
pub(super) fn date(response: &Response) -> Option<DateTime<Utc>> {
    let header = |name| response.headers().get(name)?.to_str().ok();
    let date = DateTime::parse_from_rfc2822(header(DATE)?).ok()?.to_utc();
    let age = header(AGE).and_then(|age| age.trim().parse().ok()).unwrap_or(0);
    date.checked_add_signed(TimeDelta::try_seconds(age)?)
}

/// The target of a redirect, in a form that may be shown.
pub(super) fn location(response: &Response) -> String {
    let target = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
    match target.and_then(|target| response.url().join(target).ok()) {
        Some(url) => shown(&url),
        None => "nowhere".into(),
    }
}

/// The body of a successful answer, piece by piece. Its end is reported to the observer.
pub(super) struct AnswerBody {
    pub response: Response,
    /// The time limit of the request.
    pub whole: Duration,
    /// The number of decompressed bytes so far, and the highest.
    pub came: u64,
    pub limit: u64,
    /// The place in flight, kept until the end.
    pub _place: Option<Permit>,
    pub report: AttemptReport,
}

impl AnswerBody {
    /// The next piece; `None` at the end.
    pub(super) async fn chunk(&mut self) -> Result<Option<Bytes>, ErrorKind> {
        let chunk = self.response.chunk().await.map_err(|error| failure_of(error, self.whole, false));
        chunk
            .and_then(|chunk| {
                self.came += chunk.as_ref().map_or(0, |chunk| chunk.len() as u64);
                ErrorKind::within(self.came, self.limit, "bytes").map(|()| chunk)
            })
            .inspect_err(|kind| self.report.code = code_of(kind).to_owned())
    }

    /// The whole body.
    pub(super) async fn whole(mut self) -> Result<Vec<u8>, ErrorKind> {
        let mut whole = Vec::new();
        while let Some(chunk) = self.chunk().await? {
            whole.extend_from_slice(&chunk);
        }
        Ok(whole)
    }
}

/// The beginning of a body, as far as it comes soon.
pub(super) async fn beginning(mut response: Response) -> Vec<u8> {
    let mut body = Vec::new();
    let read = async {
        while let Ok(Some(chunk)) = response.chunk().await {
            body.extend_from_slice(&chunk);
            if body.len() >= said::MOST_BYTES {
                break;
            }
        }
    };
    // The bytes that came until then are quoted.
    let _ = tokio::time::timeout(BEGINNING_WITHIN, read).await;
    body.truncate(said::MOST_BYTES);
    body
}

/// One attempt, which is reported to the observer when it is dropped.
pub(super) struct AttemptReport {
    observer: Arc<dyn Observer>,
    group: Group,
    started: Instant,
    pub code: String,
}

impl AttemptReport {
    pub(super) fn open(observer: &Arc<dyn Observer>, group: Group) -> Self {
        // The code until a result is known: the caller may drop the attempt.
        let code = "cancelled".to_owned();
        Self { observer: Arc::clone(observer), group, started: Instant::now(), code }
    }
}

impl Drop for AttemptReport {
    fn drop(&mut self) {
        self.observer.request(self.group, &self.code, self.started.elapsed());
    }
}

/// The label of a transport error.
pub(super) fn code_of(kind: &ErrorKind) -> &'static str {
    if matches!(kind, ErrorKind::Timeout(_)) {
        "timeout"
    } else if matches!(kind, ErrorKind::Connect(_) | ErrorKind::Proxy(_)) {
        "connect"
    } else if matches!(kind, ErrorKind::TooLarge { .. }) {
        "too_large"
    } else {
        "closed"
    }
}
