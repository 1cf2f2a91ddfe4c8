//! The hosting token if it ends: it is bought with a key, and used until shortly before its end or until it is
//! refused. This is the only request to a provider that is no GET: one POST of a form to one configured
//! address.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use parking_lot::Mutex;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use reqwest::{Client, Response};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;
use tokio::time::{Instant, sleep_until};

use crate::failpoint;
use crate::model::{Group, Via};

use super::address::shown;
use super::error::ErrorKind;
use super::hosts::Hosts;
use super::observe::Observer;
use super::redact::BoughtTokens;
use super::said::{complaint, said, web_page};
use super::settings::TokenOffer;
use super::transport::{
    AnswerBody, AttemptReport, asked_pause, authorization, beginning, code_of, date, failure_of, location,
};
use super::web_token;
use super::wire::tolerant;

/// A longer `Retry-After` is cut to this.
const LONGEST_WAIT: Duration = Duration::from_secs(60 * 60);
/// The next token is bought this long before the end of the present one, or a tenth of its life before, if that
/// is less.
const MARGIN: Duration = Duration::from_secs(60);
const ANSWER_BYTES: u64 = 64 << 10;
/// The number of field names in the answer that an error lists.
const NAMES: usize = 10;

/// Buys the tokens of one account, one after the other.
pub(super) struct TokenDesk {
    http: Arc<Client>,
    has_proxy: bool,
    offer: TokenOffer,
    scheme: String,
    observer: Arc<dyn Observer>,
    hosts: Hosts,
    pub(super) bought: BoughtTokens,
    held: Mutex<Held>,
    /// The holder of this lock buys, or waits until a purchase is allowed.
    turn: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Held {
    token: Option<Token>,
    /// Whether a token was ever bought with this key: then 403 is no matter of credentials.
    sold: bool,
    /// The earliest time of the next purchase.
    not_before: Option<Instant>,
    /// The reason why the last purchase failed.
    failed: Option<ErrorKind>,
}

struct Token {
    /// The token in the form that a request carries.
    header: HeaderValue,
    until: Option<DateTime<Utc>>,
    renew_at: Option<Instant>,
    /// Whether a request with it was answered.
    accepted: bool,
    /// Whether it was refused: it has ended if it was accepted before, otherwise another may be no better.
    refused: bool,
}

impl TokenDesk {
    pub(super) fn new(
        offer: TokenOffer,
        scheme: String,
        via: &Via,
        hosts: &Hosts,
        observer: Arc<dyn Observer>,
    ) -> Result<Self, ErrorKind> {
        Ok(Self {
            http: hosts.http(via)?,
            has_proxy: via.proxy.is_some(),
            offer,
            scheme,
            observer,
            hosts: hosts.clone(),
            bought: BoughtTokens::default(),
            held: Mutex::default(),
            turn: tokio::sync::Mutex::default(),
        })
    }

    /// A token that is good as far as known. If one was bought a moment ago and has ended already, this waits,
    /// which is no failure. A failed purchase counts for all callers until the next purchase is allowed.
    pub(super) async fn token(&self) -> Result<HeaderValue, ErrorKind> {
        if let Some(bought) = self.usable() {
            return Ok(bought);
        }
        let _turn = self.turn.lock().await;
        if let Some(bought) = self.usable() {
            return Ok(bought);
        }
        let started = Instant::now();
        let (not_before, failed) = {
            let held = self.held.lock();
            (held.not_before.filter(|&at| at > started), held.failed.clone())
        };
        match (not_before, failed) {
            (Some(_), Some(failed)) => return Err(failed),
            (Some(at), None) => {
                sleep_until(at).await;
                self.observer.throttled(Group::Hosting, started.elapsed());
            }
            (None, _) => {}
        }
        let result = self.buy().await;
        self.held.lock().failed = result.clone().err();
        match self.usable() {
            Some(bought) => Ok(bought),
            // A token that was bought a moment ago is usable.
            None => Err(result.err().unwrap_or(ErrorKind::Off)),
        }
    }

    fn usable(&self) -> Option<HeaderValue> {
        let (held, now) = (self.held.lock(), Instant::now());
        let token = held.token.as_ref()?;
        let may_buy = held.not_before.is_none_or(|at| at <= now);
        let is_due = token.refused || token.renew_at.is_some_and(|at| at <= now);
        let has_ended = token.refused && token.accepted;
        (!has_ended && (!is_due || !may_buy)).then(|| token.header.clone())
    }

    /// Notes that tokens were bought before the start.
    pub(super) fn was_accepted(&self) {
        self.held.lock().sold = true;
    }

    /// Notes that a request with this token was answered.
    pub(super) fn accepted(&self, given: &HeaderValue) {
        if let Some(token) = self.held.lock().token.as_mut().filter(|token| token.header == given) {
            (token.accepted, token.refused) = (true, false);
        }
    }

    /// Notes that a request with this token was answered 401. Returns whether another token is worth a
    /// purchase: it is if this one was ever accepted.
    pub(super) fn refused(&self, given: &HeaderValue) -> bool {
        let mut held = self.held.lock();
        let Some(token) = held.token.as_mut().filter(|token| token.header == given) else { return true };
        token.refused = true;
        token.accepted
    }

    /// The end of the token that was bought last; `Some(None)` if it names none.
    pub(super) fn until(&self) -> Option<Option<DateTime<Utc>>> {
        self.held.lock().token.as_ref().map(|token| token.until)
    }

    async fn buy(&self) -> Result<(), ErrorKind> {
        self.held.lock().not_before = Some(Instant::now() + self.hosts.timing.purchases_apart);
        let mut report = AttemptReport::open(&self.observer, Group::Hosting);
        let answer = self.post().await.map_err(|kind| {
            report.code = code_of(&kind).to_owned();
            self.without_token(kind)
        })?;
        let status = answer.status();
        report.code = status.as_str().to_owned();
        let now = date(&answer).unwrap_or_else(|| self.hosts.clock.now());
        if !status.is_success() {
            let wait = asked_pause(answer.headers(), now).unwrap_or_default();
            let wait = self.hosts.timing.purchases_apart.max(wait.min(LONGEST_WAIT) / failpoint::haste());
            self.held.lock().not_before = Some(Instant::now() + wait);
            return Err(self.without_token(self.refusal(answer).await));
        }
        let token = self.token_in(answer, report).await?;
        self.keep(token, now)
    }

    async fn post(&self) -> Result<Response, ErrorKind> {
        let fields = [(&self.offer.key_field, self.offer.api_key.expose_secret())];
        let form = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        #[allow(clippy::disallowed_methods, reason = "the one request to a provider that is not a GET")]
        let request = self.http.post(self.offer.url.clone());
        let request = request
            .header(ACCEPT, HeaderValue::from_static("application/json"))
            .header(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
        request
            .body(form)
            .send()
            .await
            .map_err(|error| failure_of(error, self.hosts.timing.whole, self.has_proxy))
    }

    /// The meaning of an answer without success.
    async fn refusal(&self, answer: Response) -> ErrorKind {
        let status = answer.status().as_u16();
        if answer.status().is_redirection() {
            return ErrorKind::Redirect { status, to: location(&answer) };
        }
        let said = said(status, &beginning(answer).await);
        match status {
            400 | 401 | 422 => ErrorKind::Rejected(status, said),
            403 if !self.held.lock().sold => ErrorKind::Rejected(status, said),
            _ => ErrorKind::Status(status, said),
        }
    }

    async fn token_in(&self, response: Response, report: AttemptReport) -> Result<SecretString, ErrorKind> {
        let (whole, limit) = (self.hosts.timing.whole, ANSWER_BYTES);
        let body = AnswerBody { response, whole, came: 0, limit, _place: None, report };
        let body = body.whole().await.map_err(|kind| self.without_token(kind))?;
        let field = &self.offer.token_field;
        let Ok(fields) = tolerant::<BTreeMap<String, Value>>(&body) else {
            let no_object = || ErrorKind::WrongShape("it is no JSON object".into());
            return Err(self.without_token(web_page(&body).map_or_else(no_object, ErrorKind::NotJson)));
        };
        let token = fields.get(field).and_then(Value::as_str).map(str::trim);
        if let Some(token) = token.filter(|token| !token.is_empty()) {
            return Ok(SecretString::from(token));
        }
        let mut why = format!("it has no text in '{field}'");
        if !fields.contains_key(field) {
            let names: Vec<&str> = fields.keys().map(String::as_str).take(NAMES).collect();
            let has = if names.is_empty() { "nothing".to_owned() } else { names.join(", ") };
            why += &format!(", but {has}: set hosting_token_fields");
        }
        Err(self.without_token(ErrorKind::WrongShape(why + &complaint(&fields))))
    }

    fn keep(&self, token: SecretString, now: DateTime<Utc>) -> Result<(), ErrorKind> {
        let until = web_token::end(token.expose_secret());
        // An end that is past by the clock of its own answer means nothing.
        let life = until.and_then(|until| (until - now).to_std().ok()).filter(|life| !life.is_zero());
        let header = authorization(Group::Hosting, &self.scheme, token.expose_secret());
        let why = || ErrorKind::WrongShape("the token holds a character that no header can".into());
        let header = header.ok_or_else(|| self.without_token(why()))?;
        let mut bought = self.bought.lock();
        bought.insert(0, token);
        // The previous token may still be quoted.
        bought.truncate(2);
        let mut held = self.held.lock();
        let began = Instant::now();
        held.sold = true;
        held.token = Some(Token {
            header,
            until,
            renew_at: life.map(|life| began + (life - MARGIN.min(life / 10))),
            accepted: false,
            refused: false,
        });
        tracing::debug!(until = until.map(|until| until.to_rfc3339()), "fetched a hosting token");
        Ok(())
    }

    fn without_token(&self, why: ErrorKind) -> ErrorKind {
        ErrorKind::NoToken { place: shown(&self.offer.url), why: Box::new(why) }
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;

    use super::*;
    use crate::provider::tests::Log;

    fn now() -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000, 0).unwrap()
    }

    fn desk() -> TokenDesk {
        let offer = TokenOffer {
            url: "https://panel.example/token/".parse().unwrap(),
            api_key: "the-key".into(),
            key_field: "api_key".to_owned(),
            token_field: "token".to_owned(),
        };
        let observer = Arc::new(Log::default());
        TokenDesk::new(offer, "Bearer".to_owned(), &Via::default(), &Hosts::default(), observer).unwrap()
    }

    fn web_token(seconds: i64) -> SecretString {
        let claims = format!("{{\"exp\": {}}}", now().timestamp() + seconds);
        format!("e30.{}.c2ln", BASE64.encode(claims)).into()
    }

    async fn pass(seconds: u64) {
        tokio::time::advance(Duration::from_secs(seconds)).await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_token_is_renewed_before_its_end_and_used_until_it_is_refused() {
        for (life, margin) in [(300, 30), (3600, 60), (10, 1)] {
            let desk = desk();
            assert!(desk.usable().is_none());
            desk.keep(web_token(life as i64), now()).unwrap();
            assert_eq!(desk.until(), Some(Some(now() + Duration::from_secs(life))));
            pass(life - margin - 1).await;
            assert!(desk.usable().is_some(), "{life}");
            pass(1).await;
            assert!(desk.usable().is_none(), "{life}: the next is to be bought");
            desk.held.lock().not_before = Some(Instant::now() + Duration::from_secs(60));
            assert!(desk.usable().is_some(), "{life}: none can be had yet");
        }
        // A token without a plausible end is used until it is refused.
        for token in [web_token(0), web_token(-5), "opaque".into()] {
            let desk = desk();
            desk.keep(token, now()).unwrap();
            pass(100_000).await;
            assert!(desk.usable().is_some());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_refusal_ends_a_token_that_was_accepted_and_puts_any_other_in_doubt() {
        let desk = desk();
        desk.keep("first".into(), now()).unwrap();
        desk.held.lock().not_before = Some(Instant::now() + Duration::from_secs(60));
        let first = desk.usable().unwrap();
        assert!(!desk.refused(&first), "no other is worth a try");
        assert!(desk.usable().is_some(), "nothing better can be had yet");
        pass(60).await;
        assert!(desk.usable().is_none(), "but now");
        desk.accepted(&first);
        assert!(desk.usable().is_some(), "it was good after all");
        assert!(desk.refused(&first) && desk.usable().is_none());
        desk.keep("second".into(), now()).unwrap();
        assert!(desk.refused(&first) && desk.usable().is_some(), "the refusal of an old one says nothing");
    }
}
