//! The door to HTTP: the only place that holds a `reqwest::Client`, and its only verb is GET.
//! Knows nothing of retries, limits or JSON.

use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use chrono::{DateTime, TimeDelta, Utc};
use reqwest::header::{ACCEPT, AGE, AUTHORIZATION, DATE, HeaderValue, LOCATION, RETRY_AFTER};
use reqwest::{Client, ClientBuilder, Response, Url, redirect};
use secrecy::{ExposeSecret, SecretString};

use crate::failpoint;
use crate::model::Group;

use super::address::shown;
use super::error::ErrorKind;
use super::limits::Hosts;
use super::limits::Permit;
use super::observe::{Code, Observer};
use super::retry;
use super::settings::ProviderSettings;

/// How long things may take and how large they may be; other values in tests only.
#[derive(Clone, Debug)]
pub(super) struct RequestTiming {
    pub connect: Duration,
    /// From the send to the end of the body.
    pub whole: Duration,
    pub backoff: [Duration; 2],
    pub page_bytes: u64,
    pub report_bytes: u64,
    pub report_moments: u64,
    pub pages: u32,
    /// Of memory for the records of one poll, or the orders of one report.
    pub kept_bytes: u64,
}

impl Default for RequestTiming {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            whole: Duration::from_secs(30) / failpoint::time_out_haste(),
            backoff: retry::BACKOFF.map(|pause| pause / failpoint::haste()),
            page_bytes: 32 << 20,
            report_bytes: 1 << 30,
            report_moments: 2_000_000,
            pages: 10_000,
            kept_bytes: 128 << 20,
        }
    }
}

/// How anybody is asked over HTTP: under our name, within `whole`; no redirect is followed, no address is told to the
/// next, and no proxy of the environment hears what is said.
pub(crate) fn http_client(whole: Duration) -> ClientBuilder {
    Client::builder()
        .user_agent(concat!("hostwatch/", env!("CARGO_PKG_VERSION")))
        .timeout(whole)
        .redirect(redirect::Policy::none())
        .referer(false)
        .no_proxy()
}

/// The connection to the provider.
pub(super) fn http(timing: &RequestTiming) -> ClientBuilder {
    http_client(timing.whole)
        .connect_timeout(timing.connect)
        // Shorter than servers keep idle connections, so that one is seldom closed as it is used.
        .pool_idle_timeout(Duration::from_secs(30))
}

/// Sends GET requests with the credentials of one account.
pub(super) struct ApiTransport {
    http: Client,
    whole: Duration,
    /// `Authorization` of each group that has credentials.
    authorization: [Option<HeaderValue>; 3],
}

impl ApiTransport {
    pub(super) fn new(
        settings: &ProviderSettings,
        timing: &RequestTiming,
        hosts: &Hosts,
    ) -> Result<Self, (Group, ErrorKind)> {
        let http = hosts.http((timing.connect, timing.whole), || http(timing).build());
        let http = http.map_err(|error| (Group::Hosting, ErrorKind::Setup(cause(&error))))?;
        let mut all = [const { None }; 3];
        for group in Group::ALL {
            if let Some((name, secret)) = settings.access(group).1 {
                let bad = || ErrorKind::Setup("the credentials hold a character that no header can".into());
                all[group as usize] = Some(authorization(group, name, secret).ok_or_else(|| (group, bad()))?);
            }
        }
        Ok(Self { http, whole: timing.whole, authorization: all })
    }

    /// One attempt, up to the head of the answer.
    pub(super) async fn get(&self, group: Group, url: Url) -> Result<Response, ErrorKind> {
        let authorization = self.authorization[group as usize].clone().ok_or(ErrorKind::Off)?;
        let request = self.http.get(url).header(ACCEPT, HeaderValue::from_static("application/json"));
        request.header(AUTHORIZATION, authorization).send().await.map_err(|error| self.failed(error))
    }

    /// What an error of the connection or of the body means.
    pub(super) fn failed(&self, error: reqwest::Error) -> ErrorKind {
        let error = error.without_url();
        if error.is_timeout() {
            ErrorKind::Timeout(self.whole)
        } else if error.is_connect() {
            ErrorKind::Connect(cause(&error))
        } else {
            ErrorKind::Closed(cause(&error))
        }
    }
}

/// An `Authorization` value (interface 5); an empty scheme leaves the credential alone.
fn authorization(group: Group, name: &str, secret: &str) -> Option<HeaderValue> {
    let text = SecretString::from(match (group, name.trim()) {
        (Group::Billing, _) => format!("Basic {}", BASE64.encode(format!("{name}:{secret}"))),
        (Group::Hosting | Group::Vm, "") => secret.to_owned(),
        (Group::Hosting | Group::Vm, scheme) => format!("{scheme} {secret}"),
    });
    let mut value = HeaderValue::from_str(text.expose_secret()).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// The innermost cause, which a person can act on.
pub(super) fn cause(error: &reqwest::Error) -> String {
    let mut innermost: &dyn std::error::Error = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

/// The `Retry-After` of an answer.
pub(super) fn retry_after(response: &Response) -> Option<&str> {
    response.headers().get(RETRY_AFTER)?.to_str().ok()
}

/// The provider's time when it sent this: its `Date`, and how long a cache has kept the answer since.
pub(super) fn date(response: &Response) -> Option<DateTime<Utc>> {
    let header = |name| response.headers().get(name)?.to_str().ok();
    let date = DateTime::parse_from_rfc2822(header(DATE)?).ok()?.to_utc();
    let age = header(AGE).and_then(|age| age.trim().parse().ok()).unwrap_or(0);
    date.checked_add_signed(TimeDelta::try_seconds(age)?)
}

/// Where a redirect points, as far as it is fit to be shown.
pub(super) fn location(response: &Response) -> String {
    let target = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
    match target.and_then(|target| response.url().join(target).ok()) {
        Some(url) => shown(&url),
        None => "nowhere".into(),
    }
}

/// The body of a successful answer, piece by piece. Reports to the observer when it ends.
pub(super) struct AnswerBody {
    pub response: Response,
    pub transport: Arc<ApiTransport>,
    /// Of decompressed bytes.
    pub left: u64,
    pub limit: u64,
    /// In flight until the end.
    pub _place: Permit,
    pub report: AttemptReport,
}

impl AnswerBody {
    /// The next piece; `None` at the end.
    pub(super) async fn chunk(&mut self) -> Result<Option<Bytes>, ErrorKind> {
        let chunk = match self.response.chunk().await {
            Ok(chunk) => chunk,
            Err(error) => {
                let kind = self.transport.failed(error);
                self.report.code = code_of(&kind);
                return Err(kind);
            }
        };
        let size = chunk.as_ref().map_or(0, |chunk| chunk.len() as u64);
        if size > self.left {
            self.report.code = Code::Error("too_large");
            return Err(ErrorKind::TooLarge { limit: self.limit, unit: "bytes" });
        }
        self.left -= size;
        Ok(chunk)
    }

    /// All of it.
    pub(super) async fn whole(mut self) -> Result<Vec<u8>, ErrorKind> {
        let mut whole = Vec::new();
        while let Some(chunk) = self.chunk().await? {
            whole.extend_from_slice(&chunk);
        }
        Ok(whole)
    }
}

/// One attempt, reported to the observer when dropped.
pub(super) struct AttemptReport {
    observer: Arc<dyn Observer>,
    group: Group,
    started: Instant,
    pub code: Code,
}

impl AttemptReport {
    pub(super) fn open(observer: &Arc<dyn Observer>, group: Group) -> Self {
        // Until something happens: the caller may give up the attempt.
        let code = Code::Error("cancelled");
        Self { observer: Arc::clone(observer), group, started: Instant::now(), code }
    }
}

impl Drop for AttemptReport {
    fn drop(&mut self) {
        self.observer.request(self.group, self.code, self.started.elapsed());
    }
}

/// The label of a transport's error.
pub(super) fn code_of(kind: &ErrorKind) -> Code {
    Code::Error(if matches!(kind, ErrorKind::Timeout(_)) {
        "timeout"
    } else if matches!(kind, ErrorKind::Connect(_)) {
        "connect"
    } else {
        "closed"
    })
}
