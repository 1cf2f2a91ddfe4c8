//! Access control for listeners that others can reach: TLS, passwords, the limit of concurrent scrapes, the
//! rate limit. All listeners of a daemon share one guard.

use std::path::Path;
use std::sync::Arc;

use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{HeaderMap, Response, StatusCode};
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use super::body::Body;
use super::response::{text, with};
use super::web_config::{Admission, Checks, Rate, ReloadingConfig, WebConfig};

/// Access control; see the module.
#[derive(Debug)]
pub(crate) struct Guard {
    config: Option<ReloadingConfig>,
    checks: Checks,
    bucket: Mutex<Bucket>,
    scrapes: Option<Arc<Semaphore>>,
}

impl Guard {
    /// A guard with `config` and its path. The file is read again when it or a file that it names changes.
    /// `max_requests` scrapes are served at a time (0: any number); others are refused.
    pub(crate) fn new(config: Option<(&Path, WebConfig)>, max_requests: usize) -> Self {
        let scrapes = max_requests.min(Semaphore::MAX_PERMITS);
        Self {
            config: config.map(|(path, config)| ReloadingConfig::new(path, config)),
            checks: Checks::new(),
            bucket: Mutex::new(Bucket { tokens: f64::INFINITY, at: Instant::now() }),
            scrapes: (scrapes > 0).then(|| Arc::new(Semaphore::new(scrapes))),
        }
    }

    /// The web configuration in force.
    pub(super) async fn config(&self) -> Option<Arc<WebConfig>> {
        Some(self.config.as_ref()?.get().await)
    }

    /// Whether a request is admitted.
    pub(super) async fn admit(&self, config: &WebConfig, headers: &HeaderMap) -> Result<(), Refusal> {
        if config.rate.is_some_and(|rate| !self.bucket.lock().take(rate, Instant::now())) {
            return Err(Refusal::Rate);
        }
        let authorization = headers.get(header::AUTHORIZATION).map(HeaderValue::as_bytes);
        match config.users.check(authorization, &self.checks).await {
            Admission::Allowed => Ok(()),
            Admission::Denied => Err(Refusal::Credentials),
            Admission::Busy => Err(Refusal::Passwords),
        }
    }

    /// A permit for one scrape, held until the page is sent; `None` without a limit.
    pub(super) fn scrape(&self) -> Result<Option<OwnedSemaphorePermit>, Refusal> {
        let Some(scrapes) = &self.scrapes else { return Ok(None) };
        Arc::clone(scrapes).try_acquire_owned().map(Some).map_err(|_| Refusal::Scrapes)
    }
}

/// The reason why a request is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Refusal {
    Rate,
    Credentials,
    /// Too many password checks are queued.
    Passwords,
    Scrapes,
}

impl From<Refusal> for Response<Body> {
    fn from(refusal: Refusal) -> Self {
        const LATER: (HeaderName, &str) = (header::RETRY_AFTER, "1");
        const CHALLENGE: &str = "Basic realm=\"hostwatch\", charset=\"UTF-8\"";
        let (status, words, header) = match refusal {
            Refusal::Rate => {
                (StatusCode::TOO_MANY_REQUESTS, "429: too many requests; try again later\n", LATER)
            }
            Refusal::Credentials => (
                StatusCode::UNAUTHORIZED,
                "401: name and password, please\n",
                (header::WWW_AUTHENTICATE, CHALLENGE),
            ),
            Refusal::Passwords => (
                StatusCode::SERVICE_UNAVAILABLE,
                "503: too many passwords are being checked; try again later\n",
                LATER,
            ),
            Refusal::Scrapes => (
                StatusCode::SERVICE_UNAVAILABLE,
                "503: too many scrapes at one time (--web.max-requests)\n",
                LATER,
            ),
        };
        with(text(status, words), [header])
    }
}

/// The tokens in the bucket at a moment.
#[derive(Debug)]
struct Bucket {
    tokens: f64,
    at: Instant,
}

impl Bucket {
    fn take(&mut self, rate: Rate, now: Instant) -> bool {
        let gained = now.duration_since(self.at).as_secs_f64() / rate.interval.as_secs_f64();
        self.tokens = (self.tokens + gained).min(f64::from(rate.burst));
        self.at = now;
        let taken = self.tokens >= 1.0;
        if taken {
            self.tokens -= 1.0;
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_bucket_gives_a_burst_and_then_one_an_interval() {
        let rate = Rate { interval: Duration::from_millis(100), burst: 3 };
        let start = Instant::now();
        let mut bucket = Bucket { tokens: f64::INFINITY, at: start };
        let at = |millis| start + Duration::from_millis(millis);
        let asked = [0, 0, 0, 0, 50, 101, 102, 202, 10_000, 10_000, 10_000, 10_000];
        let taken: Vec<bool> = asked.map(|millis| bucket.take(rate, at(millis))).to_vec();
        let want = [true, true, true, false, false, true, false, true, true, true, true, false];
        assert_eq!(taken, want);
    }
}
