//! The client of one account. It takes each request through the standing of its group, the limits and the retries. `reads`
//! has the typed reads.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use parking_lot::Mutex;
use reqwest::header::HeaderValue;
use reqwest::{Response, Url};
use secrecy::ExposeSecret as _;
use tokio::time::{Instant, sleep};

use crate::model::{Collector, Group};

use super::address::Endpoint;
use super::error::{ApiError, ErrorKind, Why};
use super::hosts::Hosts;
use super::limits::{Permit, Throttle};
use super::observe::Observer;
use super::redact::Redactor;
use super::retry::{self, AttemptEnd, Retry};
use super::said;
use super::settings::{HostingToken, ProviderSettings};
use super::standing::{PollCount, Standing};
use super::token::TokenDesk;
use super::transport::{
    AnswerBody, ApiTransport, AttemptReport, asked_pause, beginning, code_of, date, location,
};
use super::web_token;
use super::wire::{DecodeContext, Diagnostics};

/// Reads one account. Clones share connections, limits and standing with the provider.
#[derive(Clone)]
pub(crate) struct Client {
    pub(super) shared: Arc<Inner>,
    poll: Option<Arc<Poll>>,
}

/// The parts that all clones of a client share.
pub(super) struct Inner {
    redactor: Arc<Redactor>,
    settings: ProviderSettings,
    pub context: Arc<DecodeContext>,
    observer: Arc<dyn Observer>,
    transport: ApiTransport,
    /// Buys the hosting token.
    tokens: Option<Arc<TokenDesk>>,
    throttle: Arc<Throttle>,
    pub hosts: Hosts,
    standings: [Arc<Mutex<Standing>>; 3],
}

impl Client {
    /// A client that shares its places in flight with the other accounts. Fails if TLS cannot be set up, or if
    /// a credential holds a character that no header can hold.
    pub(crate) fn new(
        settings: ProviderSettings,
        observer: Arc<dyn Observer>,
        hosts: Hosts,
    ) -> Result<Self, ApiError> {
        Self::assemble(settings, observer, hosts, None)
    }

    /// The client for changed settings of the same account. Calls that were made still count against the
    /// limits. A group's standing is forgotten if its address or credentials changed.
    pub(crate) fn renewed(&self, settings: ProviderSettings) -> Result<Self, ApiError> {
        let old = &self.shared;
        Self::assemble(settings, Arc::clone(&old.observer), old.hosts.clone(), Some(old))
    }

    fn assemble(
        settings: ProviderSettings,
        observer: Arc<dyn Observer>,
        hosts: Hosts,
        old: Option<&Inner>,
    ) -> Result<Self, ApiError> {
        let kept = |group| old.filter(|old| old.settings.has_same_access(&settings, group));
        let failed = |(group, kind)| {
            let collector = Collector::first_of(group);
            ApiError::new(collector, collector.row().path, kind)
        };
        let transport = ApiTransport::new(&settings, &hosts).map_err(failed)?;
        // A token is bought by the account's way to the provider.
        let tokens = kept(Group::Hosting).filter(|old| old.settings.via == settings.via);
        let tokens = tokens.and_then(|old| old.tokens.clone());
        let tokens = match (tokens, settings.offer(), &settings.hosting) {
            (None, Some(offer), Some(hosting)) => {
                let (offer, scheme) = (offer.clone(), hosting.scheme.clone());
                let desk = TokenDesk::new(offer, scheme, &settings.via, &hosts, Arc::clone(&observer));
                Some(Arc::new(desk.map_err(|kind| failed((Group::Hosting, kind)))?))
            }
            (tokens, _, _) => tokens,
        };
        let standings = Group::ALL.map(|group| {
            kept(group).map(|old| Arc::clone(&old.standings[group as usize])).unwrap_or_default()
        });
        let throttle =
            old.map_or_else(|| Arc::new(Throttle::new(&settings.limits)), |old| Arc::clone(&old.throttle));
        throttle.set_limits(&settings.limits);
        let bought = tokens.as_ref().map(|desk| desk.bought.clone()).unwrap_or_default();
        let context =
            DecodeContext { zone: settings.time_zone, container_states: settings.container_states.clone() };
        let shared = Inner {
            redactor: Arc::new(Redactor::new(&settings, bought)),
            settings,
            context: Arc::new(context),
            observer,
            transport,
            tokens,
            throttle,
            hosts,
            standings,
        };
        Ok(Self { shared: Arc::new(shared), poll: None })
    }

    /// Begins a poll, which is one run of a collector. The returned client reads like this one, and the poll
    /// ends when its last clone is dropped. `Err` with [`ErrorKind::NotAsked`] while the provider wants a
    /// pause, or if five polls in a row were refused (401, 402, 403); then one poll in 5 min is let through.
    /// Within a poll whose requests were all refused, later requests are not sent either.
    pub(crate) fn begin_poll(&self, group: Group) -> Result<Self, ApiError> {
        let endpoint = self.endpoint(Collector::first_of(group), "1")?;
        let standing = &self.shared.standings[group as usize];
        let count = standing.lock().begin(Instant::now()).map_err(|kind| endpoint.error(kind))?;
        let poll = Poll { count: Mutex::new(count), standing: Arc::clone(standing) };
        Ok(Self { shared: Arc::clone(&self.shared), poll: Some(Arc::new(poll)) })
    }

    /// Notes that each group was read before the start.
    pub(crate) fn was_accepted(&self) {
        self.shared.standings.iter().for_each(|standing| standing.lock().was_accepted());
        self.shared.tokens.iter().for_each(|desk| desk.was_accepted());
    }

    /// A person asks for a poll, perhaps after a payment, or the machine slept: the next poll begins although the last ones
    /// were refused.
    pub(super) fn ask_anew(&self, group: Group) {
        self.shared.standings[group as usize].lock().ask_anew(Instant::now());
    }

    pub(super) fn endpoint(&self, collector: Collector, id: &str) -> Result<Endpoint, ApiError> {
        Endpoint::new(&self.shared.settings, &self.shared.redactor, collector, id)
    }

    /// A text of the provider without the credentials.
    pub(super) fn hide(&self, text: &str) -> Box<str> {
        self.shared.redactor.hide(text).into()
    }

    /// Reports the counts of odd fields, and removes credentials from the values that the problems quote.
    pub(super) fn take_notes(&self, notes: &mut Diagnostics) {
        for problem in &mut notes.problems {
            *problem = self.shared.redactor.hide(problem);
        }
        for (field, count) in std::mem::take(&mut notes.fields) {
            self.shared.observer.field_problem(field, count);
        }
    }

    /// One whole page or record.
    pub(super) async fn fetch(&self, endpoint: &Endpoint, url: Url) -> Result<Vec<u8>, ApiError> {
        let body = self.open(endpoint, url, self.shared.hosts.timing.page_bytes).await?;
        body.whole().await.map_err(|kind| endpoint.error(kind))
    }

    /// Sends requests until one succeeds or there is no reason to repeat it. The body is read later.
    pub(super) async fn open(
        &self,
        endpoint: &Endpoint,
        url: Url,
        limit: u64,
    ) -> Result<AnswerBody, ApiError> {
        let (group, timing) = (endpoint.collector.group(), &self.shared.hosts.timing);
        let (mut attempt, mut is_renewed) = (0, false);
        loop {
            attempt += 1;
            self.may_ask(endpoint)?;
            // A wait for a token takes no place from other requests.
            self.bought_token(endpoint).await?;
            let (call, place) = self.admitted(endpoint, &url).await;
            // Other requests may have been refused while this one waited.
            self.may_ask(endpoint)?;
            let bought = self.bought_token(endpoint).await?;
            let mut report = AttemptReport::open(&self.shared.observer, group);
            let answer = self.shared.transport.get(group, url.clone(), bought.clone()).await;
            drop(call);
            report.code = match &answer {
                Ok(response) => response.status().as_str().to_owned(),
                Err(kind) => code_of(kind).to_owned(),
            };
            tracing::debug!(
                path = endpoint.url.path(),
                attempt,
                code = %report.code,
                "asked the provider"
            );
            if self.token_has_ended(bought.as_ref(), &answer) && !is_renewed {
                // The request is repeated once with a new token; the refusal is no verdict on the credentials.
                (attempt, is_renewed) = (attempt - 1, true);
                continue;
            }
            let end = match &answer {
                Ok(response) => self.heard(endpoint, &url, response),
                Err(ErrorKind::Timeout(_)) => AttemptEnd::Timeout,
                Err(_) => AttemptEnd::NoAnswer,
            };
            let retry_in = match retry::decide(attempt, end, &timing.backoff, fastrand::f64()) {
                Retry::Again(after) => {
                    drop((answer, report, place));
                    sleep(after).await;
                    continue;
                }
                Retry::LeaveAlone(wait) => Some(self.standing(group).lock().pause(wait, Instant::now())),
                Retry::Stop => None,
            };
            let failure = match answer {
                Ok(response) if response.status().is_success() => {
                    let (whole, _place) = (timing.whole, Some(place));
                    return Ok(AnswerBody { response, whole, came: 0, limit, _place, report });
                }
                Ok(response) if retry_in.is_none() || matches!(response.status().as_u16(), 401..=403) => {
                    self.refusal(group, response).await
                }
                Ok(response) => ErrorKind::Status(response.status().as_u16(), String::new()),
                Err(kind) => kind,
            };
            drop((report, place));
            let is_refused = matches!(failure, ErrorKind::Status(402 | 403, _) | ErrorKind::Rejected(..));
            let asked = |retry_in| ErrorKind::NotAsked { why: Why::AskedToWait, retry_in };
            let asked = retry_in.filter(|_| !is_refused).map(asked);
            return Err(endpoint.error(asked.unwrap_or(failure)));
        }
    }

    /// The token for a request, if it is bought.
    async fn bought_token(&self, endpoint: &Endpoint) -> Result<Option<HeaderValue>, ApiError> {
        match &self.shared.tokens {
            Some(desk) if endpoint.collector.group() == Group::Hosting => {
                desk.token().await.map(Some).map_err(|kind| endpoint.error(kind))
            }
            _ => Ok(None),
        }
    }

    /// Whether a bought token was good and has ended, so that the request is worth repeating.
    fn token_has_ended(&self, bought: Option<&HeaderValue>, answer: &Result<Response, ErrorKind>) -> bool {
        let (Some(desk), Some(bought), Ok(response)) = (&self.shared.tokens, bought, answer) else {
            return false;
        };
        if response.status().is_success() {
            desk.accepted(bought);
        }
        response.status() == 401 && desk.refused(bought)
    }

    /// The known facts about the hosting token. `None` without one, or before the first purchase.
    pub(crate) fn token_standing(&self) -> Option<TokenStanding> {
        match (&self.shared.tokens, &self.shared.settings.hosting.as_ref()?.token) {
            (Some(desk), _) => Some(TokenStanding { is_bought: true, until: desk.until()? }),
            (None, HostingToken::Given(token)) => {
                Some(TokenStanding { is_bought: false, until: web_token::end(token.expose_secret()) })
            }
            (None, HostingToken::Bought(_)) => None,
        }
    }

    /// The error of an answer without success.
    async fn refusal(&self, group: Group, response: Response) -> ErrorKind {
        let status = response.status().as_u16();
        if response.status().is_redirection() {
            return ErrorKind::Redirect { status, to: location(&response) };
        }
        let why = self.standing(group).lock().refusal(status);
        let body = beginning(response).await;
        let said = said::said(status, &body);
        if why == Some(Why::Rejected) {
            ErrorKind::Rejected(status, said)
        } else {
            ErrorKind::Status(status, said)
        }
    }

    /// Takes in the headers and the status of an answer.
    fn heard(&self, endpoint: &Endpoint, url: &Url, response: &Response) -> AttemptEnd {
        let (status, group, date) = (response.status(), endpoint.collector.group(), date(response));
        // The date of a refusal is right, too.
        if let Some(date) = date {
            self.shared.hosts.clock.heard(url.host_str().unwrap_or(""), date);
        }
        let mut count = self.poll.as_ref().map(|poll| poll.count.lock());
        self.standing(group).lock().answered(count.as_deref_mut(), status.as_u16());
        let asked = asked_pause(response.headers(), date.unwrap_or_else(|| self.shared.hosts.clock.now()));
        if status == 429 && asked.is_none() {
            self.shared.throttle.slow_down(group);
        }
        AttemptEnd::Status(status.as_u16(), asked)
    }

    /// Waits for a call within the limits and for a place in flight, and reports how long that took.
    async fn admitted(&self, endpoint: &Endpoint, url: &Url) -> (Permit, Permit) {
        let started = Instant::now();
        let collector = endpoint.collector;
        let call = self.shared.throttle.call(collector).await;
        let place = self.shared.hosts.place(url, collector.row().priority).await;
        let waited = started.elapsed();
        if waited >= Duration::from_millis(1) {
            self.shared.observer.throttled(collector.group(), waited);
        }
        (call, place)
    }

    fn may_ask(&self, endpoint: &Endpoint) -> Result<(), ApiError> {
        let group = endpoint.collector.group();
        let count = self.poll.as_ref().map(|poll| poll.count.lock());
        let asked = self.standing(group).lock().may_ask(count.as_deref(), Instant::now());
        asked.map_err(|kind| endpoint.error(kind))
    }

    fn standing(&self, group: Group) -> &Mutex<Standing> {
        &self.shared.standings[group as usize]
    }
}

/// The state of a hosting token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TokenStanding {
    pub is_bought: bool,
    /// The token's end, if the token names one.
    pub until: Option<DateTime<Utc>>,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("account", &self.shared.settings.account).finish_non_exhaustive()
    }
}

/// A running poll of one group. It is judged when it is dropped.
struct Poll {
    count: Mutex<PollCount>,
    standing: Arc<Mutex<Standing>>,
}

impl Drop for Poll {
    fn drop(&mut self) {
        let count = self.count.lock();
        self.standing.lock().end(&count);
    }
}
