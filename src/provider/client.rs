//! The client of one account: takes each request through the breaker, the limits and the retries.
//! The typed reads are in `reads`.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use chrono::{DateTime, Utc};
use parking_lot::Mutex;
use reqwest::{Response, Url};
use tokio::time::{Instant, sleep};

use crate::model::Group;

use super::address::Endpoint;
use super::breaker::{Breaker, LeftAlone, PollCount};
use super::endpoints::Operation;
use super::error::{ApiError, ErrorKind};
use super::limits::{Hosts, Permit, Throttle};
use super::observe::{Code, Observer};
use super::redact::Redactor;
use super::retry::{self, AttemptEnd, Retry, Stop};
use super::settings::ProviderSettings;
use super::transport::{
    AnswerBody, ApiTransport, AttemptReport, RequestTiming, code_of, date, location, retry_after,
};
use super::wire::{DecodeContext, Diagnostics};

/// Reads one account. Clones share connections, limits and standing with the provider.
#[derive(Clone)]
pub(crate) struct Client {
    pub(super) shared: Arc<Inner>,
    poll: Option<Arc<Poll>>,
}

/// What all clones of a client have in common.
pub(super) struct Inner {
    redactor: Arc<Redactor>,
    settings: ProviderSettings,
    pub context: Arc<DecodeContext>,
    observer: Arc<dyn Observer>,
    transport: Arc<ApiTransport>,
    pub timing: RequestTiming,
    throttle: Arc<Throttle>,
    pub hosts: Hosts,
    breakers: [Arc<Mutex<Breaker>>; 3],
}

impl Client {
    /// A client that shares its places in flight with the other accounts'. Fails where TLS can't be set up
    /// or a credential holds a character that no header can.
    pub(crate) fn with_hosts(
        settings: ProviderSettings,
        observer: Arc<dyn Observer>,
        hosts: Hosts,
    ) -> Result<Self, ApiError> {
        Self::build(settings, observer, hosts, RequestTiming::default())
    }

    pub(super) fn build(
        settings: ProviderSettings,
        observer: Arc<dyn Observer>,
        hosts: Hosts,
        timing: RequestTiming,
    ) -> Result<Self, ApiError> {
        let throttle = Arc::new(Throttle::new(&settings.limits));
        Self::assemble(settings, observer, hosts, timing, throttle, Default::default())
    }

    /// The client for changed settings of the same account: calls made still count against the
    /// limits, and a group's standing is forgotten where its address or credentials changed.
    pub(crate) fn renewed(&self, settings: ProviderSettings) -> Result<Self, ApiError> {
        let old = &self.shared;
        let breakers = Group::ALL.map(|group| {
            if old.settings.has_same_access(&settings, group) {
                Arc::clone(&old.breakers[group as usize])
            } else {
                Arc::default()
            }
        });
        old.throttle.set_limits(&settings.limits);
        Self::assemble(
            settings,
            Arc::clone(&old.observer),
            old.hosts.clone(),
            old.timing.clone(),
            Arc::clone(&old.throttle),
            breakers,
        )
    }

    fn assemble(
        settings: ProviderSettings,
        observer: Arc<dyn Observer>,
        hosts: Hosts,
        timing: RequestTiming,
        throttle: Arc<Throttle>,
        breakers: [Arc<Mutex<Breaker>>; 3],
    ) -> Result<Self, ApiError> {
        let transport = ApiTransport::new(&settings, &timing, &hosts).map_err(|(group, kind)| {
            let operation = Operation::first_of(group);
            ApiError::new(operation, operation.row().path, kind)
        })?;
        let context =
            DecodeContext { zone: settings.time_zone, container_states: settings.container_states.clone() };
        let shared = Inner {
            redactor: Arc::new(Redactor::new(&settings)),
            settings,
            context: Arc::new(context),
            observer,
            transport: Arc::new(transport),
            timing,
            throttle,
            hosts,
            breakers,
        };
        Ok(Self { shared: Arc::new(shared), poll: None })
    }

    /// Begins a poll, one run of a collector: the client it returns reads as this one does, and the
    /// poll ends when the last clone of it is dropped. `Err` ([`ErrorKind::Held`]) while the group is
    /// left alone because five polls in a row were answered 401 or 403; one poll in 5 min is let
    /// through; and ([`ErrorKind::Paused`]) while the provider asked not to be asked. Within a poll that was only ever refused, later requests are not sent either.
    pub(crate) fn begin_poll(&self, group: Group) -> Result<Self, ApiError> {
        let breaker = &self.shared.breakers[group as usize];
        let count = breaker.lock().begin(Instant::now()).map_err(|why| {
            let operation = Operation::first_of(group);
            let kind = match why {
                LeftAlone::Refused(retry_in) => ErrorKind::Held { retry_in },
                LeftAlone::AskedToWait(retry_in) => ErrorKind::Paused { retry_in },
            };
            match self.endpoint(operation, "1") {
                Ok(endpoint) => endpoint.error(kind),
                Err(_) => ApiError::new(operation, operation.row().path, kind),
            }
        })?;
        let poll =
            Poll { group, count: Mutex::new(count), breaker: Arc::clone(breaker), kept: Arc::default() };
        Ok(Self { shared: Arc::clone(&self.shared), poll: Some(Arc::new(poll)) })
    }

    pub(super) fn endpoint(&self, operation: Operation, id: &str) -> Result<Endpoint, ApiError> {
        Endpoint::new(&self.shared.settings, &self.shared.redactor, operation, id)
    }

    /// A text of the provider's without the credentials.
    pub(super) fn hide(&self, text: Box<str>) -> Box<str> {
        self.shared.redactor.hide(text.into()).into()
    }

    /// How much memory the records of this poll take, or of this listing outside of any poll.
    pub(super) fn kept(&self) -> Arc<AtomicU64> {
        self.poll.as_ref().map_or_else(Arc::default, |poll| Arc::clone(&poll.kept))
    }

    /// Reports counts of odd fields.
    pub(super) fn report_odd_fields(&self, notes: &Diagnostics) {
        for (&field, &count) in &notes.fields {
            self.shared.observer.field_problem(field, count);
        }
    }

    /// One page or record, whole.
    pub(super) async fn fetch(&self, endpoint: &Endpoint, url: Url) -> Result<Vec<u8>, ApiError> {
        let body = self.open(endpoint, url, self.shared.timing.page_bytes).await?;
        body.whole().await.map_err(|kind| endpoint.error(kind))
    }

    /// Asks until there is a successful answer or no reason to ask again; the body is still to come.
    pub(super) async fn open(
        &self,
        endpoint: &Endpoint,
        url: Url,
        limit: u64,
    ) -> Result<AnswerBody, ApiError> {
        let operation = endpoint.operation;
        let mut attempt = 0;
        loop {
            attempt += 1;
            self.may_ask(endpoint)?;
            let (call, place) = self.admitted(endpoint, &url).await;
            // Others may have been refused while this one waited.
            self.may_ask(endpoint)?;
            let mut report = AttemptReport::open(&self.shared.observer, operation.group());
            let answer = self.shared.transport.get(operation.group(), url.clone()).await;
            drop(call);
            report.code = match &answer {
                Ok(response) => Code::Status(response.status().as_u16()),
                Err(kind) => code_of(kind),
            };
            tracing::debug!(
                account = %self.shared.settings.account,
                path = endpoint.url.path(),
                attempt,
                code = %report.code,
                "asked the provider"
            );
            let end = match &answer {
                Ok(response) => self.heard(operation.group(), &url, response),
                Err(ErrorKind::Timeout(_)) => AttemptEnd::Timeout,
                Err(_) => AttemptEnd::NoAnswer,
            };
            let now = answer.as_ref().ok().and_then(date).unwrap_or_else(|| self.shared.hosts.now());
            let decision = decide(attempt, end, &self.shared.timing.backoff, now);
            let answer = match answer {
                Ok(response) if response.status().is_success() => {
                    let transport = Arc::clone(&self.shared.transport);
                    return Ok(AnswerBody { response, transport, left: limit, limit, _place: place, report });
                }
                answer => answer,
            };
            drop((report, place));
            match decision {
                Retry::Again { after, asked } => {
                    if asked && matches!(&answer, Ok(response) if response.status() == 429) {
                        self.shared.throttle.hold(operation, Instant::now() + after);
                    }
                    drop(answer);
                    sleep(after).await;
                }
                Retry::Stop(stop) => {
                    if let Stop::AskedToWait(wait) = stop {
                        self.shared.breakers[operation.group() as usize].lock().pause(wait, Instant::now());
                    }
                    return Err(endpoint.error(failed(answer, stop)));
                }
            }
        }
    }

    /// Takes in what an answer says besides its body.
    fn heard<'a>(&self, group: Group, url: &Url, response: &'a Response) -> AttemptEnd<'a> {
        let status = response.status();
        if let Some(date) = date(response).filter(|_| status.is_success()) {
            self.shared.hosts.heard(url, date);
        }
        self.answered(group, status.as_u16());
        AttemptEnd::Status(status.as_u16(), retry_after(response))
    }

    /// Waits for a call within the limits and a place in flight, and reports how long that took.
    async fn admitted(&self, endpoint: &Endpoint, url: &Url) -> (Permit, Permit) {
        let started = Instant::now();
        let operation = endpoint.operation;
        let call = self.shared.throttle.call(operation).await;
        let place = self.shared.hosts.place(url, operation.row().priority).await;
        let waited = started.elapsed();
        if waited >= Duration::from_millis(1) {
            self.shared.observer.throttled(operation.group(), waited);
        }
        (call, place)
    }

    fn may_ask(&self, endpoint: &Endpoint) -> Result<(), ApiError> {
        let breaker = &self.shared.breakers[endpoint.operation.group() as usize];
        if let Some(retry_in) = breaker.lock().paused(Instant::now()) {
            return Err(endpoint.error(ErrorKind::Paused { retry_in }));
        }
        match self.poll_of(endpoint.operation.group()) {
            Some(poll) if poll.count.lock().is_given_up() => Err(endpoint.error(ErrorKind::GivenUp)),
            _ => Ok(()),
        }
    }

    fn answered(&self, group: Group, status: u16) {
        let success = match self.poll_of(group) {
            Some(poll) => poll.count.lock().answered(status),
            None => (200..300).contains(&status),
        };
        if success {
            self.shared.breakers[group as usize].lock().accepted();
        }
    }

    fn poll_of(&self, group: Group) -> Option<&Poll> {
        self.poll.as_deref().filter(|poll| poll.group == group)
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("account", &self.shared.settings.account).finish_non_exhaustive()
    }
}

fn decide(attempt: u32, end: AttemptEnd<'_>, backoff: &[Duration; 2], now: DateTime<Utc>) -> Retry {
    // Randomly keyed by the standard library: random enough to spread pauses.
    let jitter = RandomState::new().hash_one(attempt) as f64 / u64::MAX as f64;
    retry::decide(attempt, end, backoff, jitter, now)
}

fn failed(answer: Result<Response, ErrorKind>, stop: Stop) -> ErrorKind {
    match (answer, stop) {
        (Ok(_), Stop::AskedToWait(wait)) => ErrorKind::AskedToWait(wait),
        (Ok(response), _) => {
            let status = response.status();
            if status.is_redirection() {
                ErrorKind::Redirect { status: status.as_u16(), to: location(&response) }
            } else {
                ErrorKind::Status(status.as_u16())
            }
        }
        (Err(kind), _) => kind,
    }
}

/// A poll under way; judged when it is dropped.
struct Poll {
    group: Group,
    count: Mutex<PollCount>,
    breaker: Arc<Mutex<Breaker>>,
    /// Bytes.
    kept: Arc<AtomicU64>,
}

impl Drop for Poll {
    fn drop(&mut self) {
        self.breaker.lock().end(&self.count.lock());
    }
}
