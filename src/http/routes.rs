//! The endpoints. What they show is made elsewhere.

use std::sync::Arc;
use std::time::Duration;

use hyper::header;
use hyper::{Method, Request, Response, StatusCode};
use percent_encoding::percent_decode_str;
use serde::Serialize;
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::body::Body;
use super::guard::Guard;
use super::negotiate::Coding;
use super::query::PageQuery;
use super::response::{PLAIN, html, text, typed, with};
use super::{BuildInfo, Context, accounts, head, negotiate, page, past, query};
use crate::metrics::{Page, TargetKind};
use crate::model::freshness::{state_collectors, was_tried};
use crate::model::{AccountName, AccountState, Collector, Snapshot};
use crate::view::calendar::{self, Deadline};
use crate::view::cut_off::Payer;
use crate::view::{About, Cards, DaemonTime, IncidentRow, LastReading, Query, Status};

/// Where commands ask; see [`super::Control`].
const CONTROL: &str = "/control/v1";

/// Every endpoint but the metrics, whose path is configured.
const ROUTES: &[(&str, Endpoint)] = &[
    ("/", Endpoint::StatusPage),
    ("/resource", Endpoint::ResourcePage),
    ("/incidents", Endpoint::IncidentsPage),
    ("/calendar.ics", Endpoint::Calendar),
    ("/api/v1/status", Endpoint::StatusJson),
    ("/api/v1/report", Endpoint::ReportJson),
    ("/api/v1/time", Endpoint::TimeJson),
    ("/sd/sites", Endpoint::Targets(TargetKind::Sites)),
    ("/sd/vms", Endpoint::Targets(TargetKind::Vms)),
    ("/-/healthy", Endpoint::Healthy),
    ("/-/ready", Endpoint::Ready),
    ("/-/reload", Endpoint::Reload),
    ("/-/style.css", Endpoint::Style),
    (CONTROL, Endpoint::Control),
];

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Endpoint {
    Metrics,
    Targets(TargetKind),
    StatusPage,
    ResourcePage,
    IncidentsPage,
    Calendar,
    StatusJson,
    ReportJson,
    TimeJson,
    Healthy,
    Ready,
    Reload,
    Style,
    Control,
}

impl Endpoint {
    /// The method that it accepts; HEAD is accepted where GET is.
    fn method(self) -> Method {
        if matches!(self, Self::Reload | Self::Control) { Method::POST } else { Method::GET }
    }

    /// Does it show an account as it is now? What was is known of one that is not configured any more, too.
    fn is_of_present(self) -> bool {
        self.is_by_account() && self != Self::IncidentsPage
    }

    /// Does `account=` narrow what it shows?
    fn is_by_account(self) -> bool {
        matches!(
            self,
            Self::Targets(_)
                | Self::StatusPage
                | Self::ResourcePage
                | Self::IncidentsPage
                | Self::Calendar
                | Self::StatusJson
                | Self::ReportJson
        )
    }
}

/// A path that has something of its own to show.
pub(crate) fn is_taken(path: &str) -> bool {
    ROUTES.iter().any(|(known, _)| *known == path)
}

/// Is asked by whoever watches the daemon, under whatever name.
pub(super) fn is_health(path: &str) -> bool {
    let endpoint = ROUTES.iter().find(|(known, _)| *known == path).map(|(_, endpoint)| endpoint);
    matches!(endpoint, Some(Endpoint::Healthy | Endpoint::Ready))
}

/// To show one of them, or all, would be to leave out what somebody asked for, or to show what nobody did.
const SEVERAL_ACCOUNTS: &str = "400: account= is there several times; name one account, or none for all\n";

/// Time for a reload; it makes no network requests.
const RELOAD_TIMEOUT: Duration = Duration::from_secs(30);

/// Answers a request that was admitted.
pub(super) async fn answer<B>(
    request: &Request<B>,
    context: &Context,
    guard: Option<&Arc<Guard>>,
) -> Response<Body> {
    let found = find(request.uri().path(), context);
    // What changes something is for who may open the daemon's own socket.
    let Some(endpoint) = found.filter(|&endpoint| endpoint != Endpoint::Control || guard.is_none()) else {
        return text(StatusCode::NOT_FOUND, "404: nothing is served here\n");
    };
    let known = endpoint.method();
    let head = request.method() == Method::HEAD && known == Method::GET;
    if *request.method() == known || head {
        if endpoint.is_by_account() && query::names_several_accounts(query_of(request)) {
            return text(StatusCode::BAD_REQUEST, SEVERAL_ACCOUNTS);
        }
        if endpoint.is_of_present()
            && let Some(refusal) = accounts::refused(query_of(request), context)
        {
            return refusal;
        }
        return respond(endpoint, request, context, guard).await;
    }
    let allow = if known == Method::GET { "GET, HEAD" } else { "POST" };
    let refusal = text(StatusCode::METHOD_NOT_ALLOWED, "405: not with this method\n");
    with(refusal, [(header::ALLOW, allow)])
}

fn find(path: &str, context: &Context) -> Option<Endpoint> {
    if path == context.telemetry_path {
        return Some(Endpoint::Metrics);
    }
    ROUTES.iter().find(|(known, _)| *known == path).map(|&(_, endpoint)| endpoint)
}

async fn respond<B>(
    endpoint: Endpoint,
    request: &Request<B>,
    context: &Context,
    guard: Option<&Arc<Guard>>,
) -> Response<Body> {
    match endpoint {
        // Targets are as dear as a scrape where there are many.
        Endpoint::Metrics | Endpoint::Targets(_) => match guard.map_or(Ok(None), |guard| guard.scrape()) {
            Ok(place) if let Endpoint::Targets(kind) = endpoint => targets(request, context, kind, place),
            Ok(place) => metrics(request, context, place),
            Err(refusal) => refusal.into(),
        },
        Endpoint::StatusPage => {
            let asked = query::parse(query_of(request));
            html(status_page(&asked, context))
        }
        Endpoint::ResourcePage => past::resource(query_of(request), context).await,
        Endpoint::IncidentsPage => past::incidents(query_of(request), context).await,
        Endpoint::Calendar => feed(&query::parse(query_of(request)).query, context),
        Endpoint::StatusJson => json(&status(&query::parse(query_of(request)).query, context)),
        Endpoint::ReportJson => match report(&query::parse(query_of(request)).query, context) {
            Some(last) => json(&last),
            None => text(StatusCode::NOT_FOUND, "404: no report of this account was read yet\n"),
        },
        Endpoint::TimeJson => {
            json(&DaemonTime { now: context.clock.now(), store: Some(context.store.clone()) })
        }
        Endpoint::Healthy => text(StatusCode::OK, "hostwatch is healthy.\n"),
        Endpoint::Ready => match is_ready(&context.snapshot.get()) {
            true => text(StatusCode::OK, "hostwatch is ready.\n"),
            false => text(StatusCode::SERVICE_UNAVAILABLE, "hostwatch has not polled everything once yet.\n"),
        },
        Endpoint::Reload => reload(context).await,
        Endpoint::Style => style(),
        Endpoint::Control => control(query_of(request), context).await,
    }
}

/// The provider's facts as they were last encoded, and the daemon's own as they are now.
fn metrics<B>(
    request: &Request<B>,
    context: &Context,
    place: Option<OwnedSemaphorePermit>,
) -> Response<Body> {
    let (format, escaping) = negotiate::format(request.headers());
    let own = context.own.encode(format == negotiate::PageFormat::OpenMetrics);
    let mut response = compressed(request, &context.page.get(), own, PLAIN, place);
    let content_type = format.content_type(escaping).try_into().expect("a media type is ASCII");
    response.headers_mut().insert(header::CONTENT_TYPE, content_type);
    with(response, [(header::VARY, "Accept, Accept-Encoding")])
}

/// What is to be probed. Whoever gets an error keeps what it had.
fn targets<B>(
    request: &Request<B>,
    context: &Context,
    kind: TargetKind,
    place: Option<OwnedSemaphorePermit>,
) -> Response<Body> {
    let account = query::parse(query_of(request)).query.account;
    match context.targets.get().document(kind, account.as_deref()) {
        Some(Ok(page)) => {
            let response = compressed(request, &page, Vec::new(), "application/json", place);
            with(response, [(header::VARY, "Accept-Encoding"), (header::CACHE_CONTROL, "no-store")])
        }
        Some(Err(why)) => typed(StatusCode::SERVICE_UNAVAILABLE, PLAIN, format!("503: {why}\n")),
        None => text(StatusCode::NOT_FOUND, "404: no account of this name is configured\n"),
    }
}

/// A page and what comes after it, in the coding that is asked for.
fn compressed<B>(
    request: &Request<B>,
    page: &Page,
    tail: Vec<u8>,
    content_type: &'static str,
    place: Option<OwnedSemaphorePermit>,
) -> Response<Body> {
    let (body, coding) = match negotiate::coding(request.headers()) {
        Coding::Zstd => (Body::pieces(page.zstd(&tail)), Some("zstd")),
        Coding::Gzip => (Body::pieces(page.gzip(&tail)), Some("gzip")),
        Coding::Identity => (Body::inflated(page.identity(tail)), None),
    };
    let response = typed(StatusCode::OK, content_type, body.keeping(place));
    match coding {
        Some(coding) => with(response, [(header::CONTENT_ENCODING, coding)]),
        None => response,
    }
}

fn query_of<B>(request: &Request<B>) -> &str {
    request.uri().query().unwrap_or_default()
}

fn status_page(asked: &PageQuery, context: &Context) -> String {
    let (snapshot, alerting, now) = (context.snapshot.get(), context.alerting.get(), context.clock.now());
    let status = Status::new(&snapshot, &alerting, &about(context), &asked.query, now);
    let is_asked = |name: &AccountName| asked.query.is_of(name);
    let accounts = snapshot.accounts.values().map(|state| &**state);
    let accounts: Vec<&AccountState> = accounts.filter(|state| is_asked(&state.profile.name)).collect();
    let rows: Vec<&IncidentRow> = alerting.incidents.iter().filter(|row| is_asked(&row.account)).collect();
    let cards = Cards::of(&accounts, &rows, asked.all, now);
    page::render(&status, &cards, asked, &context.telemetry_path)
}

/// The cut-offs of all accounts, or one, for calendars that subscribe. Whoever gets an error keeps what it had.
fn feed(query: &Query, context: &Context) -> Response<Body> {
    let (snapshot, alerting, now) = (context.snapshot.get(), context.alerting.get(), context.clock.now());
    let accounts = snapshot.accounts.values().map(|state| &**state);
    let accounts = accounts.filter(|state| query.is_of(&state.profile.name));
    let accounts: Vec<&AccountState> = accounts.collect();
    let entry = |state: &AccountState| alerting.calendar.get(&state.profile.name).copied();
    let is_unread = |state: &&&AccountState| {
        let is_on = state.profile.collectors.contains(&Collector::ExpectedBalance);
        is_on && entry(state).is_none() && state.billing.last_known().is_none()
    };
    if let Some(unread) = accounts.iter().find(is_unread) {
        let why = format!("503: the balance of account {} was not read yet\n", unread.profile.name);
        return typed(StatusCode::SERVICE_UNAVAILABLE, PLAIN, why);
    }
    let entries = accounts.into_iter().filter_map(|state| {
        Some(Deadline { account: &state.profile.name, entry: entry(state)?, payer: Payer::of(state) })
    });
    let body = calendar::feed(entries, &context.calendar_domain.get(), now);
    with(typed(StatusCode::OK, calendar::MEDIA_TYPE, body), [(header::CACHE_CONTROL, "no-store")])
}

fn status(query: &Query, context: &Context) -> Status {
    let (snapshot, alerting) = (context.snapshot.get(), context.alerting.get());
    Status::new(&snapshot, &alerting, &about(context), query, context.clock.now())
}

fn about(context: &Context) -> About {
    let BuildInfo { version, commit } = context.build;
    About { version, commit, started_at: context.started_at }
}

/// The last report of the account that is named.
fn report(query: &Query, context: &Context) -> Option<LastReading> {
    let snapshot = context.snapshot.get();
    let account = query.account.as_deref()?;
    let mut accounts = snapshot.accounts.values();
    let state = accounts.find(|state| state.profile.name.as_str() == account)?;
    LastReading::of(state, context.alerting.get().incidents.iter())
}

/// Every collector that sees states was polled once, successfully or not.
fn is_ready(snapshot: &Snapshot) -> bool {
    snapshot.accounts.values().all(|account| {
        // Reading the sites of a thousand containers takes long.
        let mut needed = state_collectors(&account.profile).filter(|collector| collector.follows().is_none());
        needed.all(|collector| was_tried(account, collector))
    })
}

async fn reload(context: &Context) -> Response<Body> {
    if !context.lifecycle {
        return text(StatusCode::FORBIDDEN, "Lifecycle API is not enabled (--web.enable-lifecycle).\n");
    }
    let (answer, answered) = oneshot::channel();
    let asked = async {
        context.reload.send(answer).await.ok()?;
        answered.await.ok()
    };
    match tokio::time::timeout(RELOAD_TIMEOUT, asked).await {
        Ok(Some(Ok(()))) => text(StatusCode::OK, "The configuration was reloaded.\n"),
        Ok(Some(Err(reason))) => {
            let reason = format!("The old configuration stays in use: {reason}\n");
            typed(StatusCode::INTERNAL_SERVER_ERROR, PLAIN, reason)
        }
        Ok(None) => text(StatusCode::SERVICE_UNAVAILABLE, "hostwatch is stopping.\n"),
        Err(_) => text(StatusCode::SERVICE_UNAVAILABLE, "The reload takes long; see the log.\n"),
    }
}

/// What a command asks stands in the query, percent-encoded.
async fn control(asked: &str, context: &Context) -> Response<Body> {
    let answer = match percent_decode_str(asked).decode_utf8() {
        Ok(request) => context.control.answer(&request).await,
        Err(_) => None,
    };
    match answer {
        Some(answer) => typed(StatusCode::OK, "application/json", answer),
        None => text(StatusCode::NOT_IMPLEMENTED, "501: this daemon does not know what that asks\n"),
    }
}

fn json(value: &impl Serialize) -> Response<Body> {
    let mut text = serde_json::to_string(value).expect("no value shown holds what JSON has no form for");
    text.push('\n');
    with(typed(StatusCode::OK, "application/json", text), [(header::CACHE_CONTROL, "no-store")])
}

fn style() -> Response<Body> {
    let headers = [(header::CONTENT_TYPE, "text/css; charset=utf-8"), (header::CACHE_CONTROL, "max-age=300")];
    with(text(StatusCode::OK, head::STYLE), headers)
}
