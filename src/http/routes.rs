//! The endpoints. Other modules make their contents.

use std::borrow::Cow;
use std::pin::Pin;
use std::time::Duration;

use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use hyper::header;
use hyper::{Method, Request, Response, StatusCode};
use percent_encoding::percent_decode_str;
use serde::Serialize;
use tokio::sync::{mpsc, oneshot};

use super::body::Body;
use super::query::Asked;
use super::response::{PLAIN, html, text, typed, with};
use super::{Context, Reload, accounts, head, language, negotiate, page, past, query};
use crate::metrics::{Page, TargetKind, target_document};
use crate::model::freshness::{state_collectors, was_tried};
use crate::model::{AccountState, Collector, Language, Snapshot};
use crate::view::calendar::{self, Deadline};
use crate::view::{Cards, Payer, Reader, Status};

/// The path for commands; see [`super::Control`].
const CONTROL: &str = "/control/v1";

/// An endpoint: its path, its parameters, and its answer.
struct Route {
    path: &'static str,
    /// HEAD is accepted wherever GET is.
    method: Method,
    /// Whether `account=` limits the answer to one account, which must be configured: an empty page would look
    /// healthy.
    takes_account: bool,
    answer: Answer,
}

#[derive(Clone, Copy)]
enum Answer {
    /// Answers at once, from memory.
    Made(fn(&Asked<'_>) -> Response<Body>),
    /// Waits for the store, for another task, or for the request's body.
    Awaited(for<'a> fn(Asked<'a>) -> Awaited<'a>),
}

type Awaited<'a> = Pin<Box<dyn Future<Output = Response<Body>> + Send + 'a>>;

impl Route {
    const fn get(path: &'static str, answer: Answer) -> Self {
        Self { path, method: Method::GET, takes_account: false, answer }
    }

    const fn of_accounts(path: &'static str, answer: Answer) -> Self {
        Self { path, method: Method::GET, takes_account: true, answer }
    }

    const fn post(path: &'static str, answer: Answer) -> Self {
        Self { path, method: Method::POST, takes_account: false, answer }
    }
}

const HEALTHY: &str = "/-/healthy";
const READY: &str = "/-/ready";

/// The path of the metrics is configured.
static METRICS: Route = Route::get("", Answer::Made(metrics));

/// All other endpoints.
static ROUTES: [Route; 12] = {
    use Answer::{Awaited, Made};
    [
        Route::of_accounts("/", Made(status_page)),
        Route::of_accounts("/resource", Awaited(|asked| Box::pin(past::resource(asked)))),
        Route::of_accounts("/incidents", Awaited(|asked| Box::pin(past::incidents(asked)))),
        Route::of_accounts("/calendar.ics", Made(feed)),
        Route::of_accounts("/api/v1/status", Made(status)),
        Route::of_accounts("/sd/sites", Awaited(|asked| Box::pin(targets(asked, TargetKind::Sites)))),
        Route::of_accounts("/sd/vms", Awaited(|asked| Box::pin(targets(asked, TargetKind::Vms)))),
        Route::get(HEALTHY, Made(|_| text(StatusCode::OK, "hostwatch is healthy.\n"))),
        Route::get(READY, Made(ready)),
        Route::get("/-/style.css", Made(style)),
        Route::post("/-/reload", Awaited(|asked| Box::pin(asked_to_reload(asked.context)))),
        Route::post(CONTROL, Awaited(|asked| Box::pin(control(asked.body, asked.context)))),
    ]
};

/// Whether a path belongs to another endpoint.
pub(crate) fn is_taken(path: &str) -> bool {
    ROUTES.iter().any(|route| route.path == path)
}

/// Whether a path is for health checks, which may use any host name.
pub(super) fn is_health(path: &str) -> bool {
    matches!(&*folded(path), HEALTHY | READY)
}

/// Several `account=` parameters are ambiguous: one account alone, or all of them, would be a wrong answer.
const SEVERAL_ACCOUNTS: &str = "400: account= is there several times; name one account, or none for all\n";

/// The time for a reload, which makes no network requests.
pub(crate) const RELOAD_AT_MOST: Duration = Duration::from_secs(30);
/// The longest request of a command. An argument of a command has at most 128 KiB on Linux, and JSON needs at
/// most six bytes for one of them.
const MAX_CONTROL_BYTES: usize = 1 << 20;
/// The time for a command's request to arrive, which normally takes no time.
const CONTROL_TIMEOUT: Duration = Duration::from_secs(10);

/// The path without needless escapes and with one slash for several: proxies make `//metrics` of `/hw/` before
/// `/metrics`.
fn folded(path: &str) -> Cow<'_, str> {
    if !path.contains("//") && !path.contains('%') {
        return path.into();
    }
    let decoded = percent_decode_str(path).decode_utf8_lossy();
    let mut folded = String::with_capacity(decoded.len());
    for c in decoded.chars() {
        if c != '/' || !folded.ends_with('/') {
            folded.push(c);
        }
    }
    folded.into()
}

/// Answers a request that was admitted. Only one endpoint reads the request's body. `is_guarded` is false on the
/// daemon's own socket.
pub(super) async fn answer(
    request: &Request<()>,
    body: Incoming,
    context: &Context,
    is_guarded: bool,
) -> Response<Body> {
    let path = &*folded(request.uri().path());
    let is_metrics = path == context.telemetry_path;
    let found = if is_metrics { Some(&METRICS) } else { ROUTES.iter().find(|route| route.path == path) };
    // Commands that change something are only answered on the daemon's own socket.
    let Some(route) = found.filter(|route| route.path != CONTROL || !is_guarded) else {
        return text(StatusCode::NOT_FOUND, "404: nothing is served here\n");
    };
    let is_get = route.method == Method::GET;
    let allowed = [(header::ALLOW, if is_get { "GET, HEAD, OPTIONS" } else { "OPTIONS, POST" })];
    // HAProxy checks by OPTIONS whether a server lives.
    if *request.method() == Method::OPTIONS {
        return with(text(StatusCode::NO_CONTENT, ""), allowed);
    }
    if *request.method() != route.method && !(is_get && request.method() == Method::HEAD) {
        let refusal = text(StatusCode::METHOD_NOT_ALLOWED, "405: not with this method\n");
        return with(refusal, allowed);
    }
    let page = query::parse(request.uri().query().unwrap_or_default());
    let asked = Asked { request, page, body, context };
    if route.takes_account {
        if asked.page.accounts > 1 {
            return text(StatusCode::BAD_REQUEST, SEVERAL_ACCOUNTS);
        }
        if let Some(refusal) = accounts::refused(&asked.page, context) {
            return refusal;
        }
    }
    match route.answer {
        Answer::Made(make) => make(&asked),
        Answer::Awaited(make) => make(asked).await,
    }
}

/// The metrics of the provider's data as last encoded, and the daemon's own with their present values.
fn metrics(asked: &Asked<'_>) -> Response<Body> {
    let context = asked.context;
    let (format, escaping) = negotiate::format(asked.request.headers());
    let own = context.own.encode(format == negotiate::PageFormat::OpenMetrics);
    let mut response = compressed(asked.request, &context.page.get(), own, PLAIN);
    let content_type = format.content_type(escaping).try_into().expect("a media type is ASCII");
    response.headers_mut().insert(header::CONTENT_TYPE, content_type);
    with(response, [(header::VARY, "Accept, Accept-Encoding")])
}

/// The targets for service discovery. After an error Prometheus keeps the targets that it had.
async fn targets(asked: Asked<'_>, kind: TargetKind) -> Response<Body> {
    let (snapshot, account) = (asked.context.snapshot.get(), asked.page.query.account);
    // The document of 20,000 sites takes longer than other requests may wait.
    let made =
        tokio::task::spawn_blocking(move || target_document(&snapshot, kind, account.as_deref())).await;
    match made.expect("writing a document neither panics nor is aborted") {
        Ok(page) => {
            let response = compressed(asked.request, &page, Vec::new(), "application/json");
            with(response, [(header::VARY, "Accept-Encoding"), (header::CACHE_CONTROL, "no-store")])
        }
        Err(why) => typed(StatusCode::SERVICE_UNAVAILABLE, PLAIN, format!("503: {why}\n")),
    }
}

/// A page and an addition to it, in the requested compression.
fn compressed(
    request: &Request<()>,
    page: &Page,
    tail: Vec<u8>,
    content_type: &'static str,
) -> Response<Body> {
    if !negotiate::is_gzip(request.headers()) {
        return typed(StatusCode::OK, content_type, Body::Inflated(Box::new(page.identity(tail))));
    }
    let response = typed(StatusCode::OK, content_type, Body::pieces(page.gzip(&tail)));
    with(response, [(header::CONTENT_ENCODING, "gzip")])
}

fn status_page(asked: &Asked<'_>) -> Response<Body> {
    let (context, headers, asked) = (asked.context, asked.request.headers(), &asked.page);
    let (snapshot, alerting, now) = (context.snapshot.get(), context.alerting.get(), context.clock.now());
    let (accounts, rows) = (asked.query.accounts(&snapshot), asked.query.incidents(&alerting));
    let reader = Reader::new(language::of(headers, &accounts), now);
    let status = Status::new(&snapshot, &alerting, &context.about, &asked.query, reader);
    let cards = Cards::of(&accounts, &rows, asked.all, reader);
    html(page::render(&status, &cards, asked, &context.telemetry_path, reader))
}

/// The cut-offs of all accounts, or one, as a calendar feed. After an error a calendar keeps the events that it
/// had.
fn feed(asked: &Asked<'_>) -> Response<Body> {
    let (context, query) = (asked.context, &asked.page.query);
    let (snapshot, alerting, now) = (context.snapshot.get(), context.alerting.get(), context.clock.now());
    let accounts = query.accounts(&snapshot);
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
        let payer = Payer::of(state, Reader::new(state.profile.language, now));
        Some(Deadline { account: &state.profile.name, entry: entry(state)?, payer })
    });
    let body = calendar::feed(entries, &context.calendar_domain.get());
    let tag = format!("\"{:08x}\"", crc32fast::hash(body.as_bytes()));
    let known = asked.request.headers().get_all(header::IF_NONE_MATCH).into_iter();
    let is_known = known.filter_map(|tags| tags.to_str().ok()).any(|tags| tags.contains(&tag));
    let mut response = match is_known {
        true => text(StatusCode::NOT_MODIFIED, ""),
        false => typed(StatusCode::OK, calendar::MEDIA_TYPE, body),
    };
    let tag = tag.try_into().expect("a number is ASCII");
    response.headers_mut().insert(header::ETAG, tag);
    with(response, [(header::CACHE_CONTROL, "no-cache")])
}

fn status(asked: &Asked<'_>) -> Response<Body> {
    let context = asked.context;
    let (snapshot, alerting) = (context.snapshot.get(), context.alerting.get());
    let reader = Reader::new(Language::En, context.clock.now());
    json(&Status::new(&snapshot, &alerting, &context.about, &asked.page.query, reader))
}

/// Whether each collector that sees states has ended a poll, successful or not.
fn is_ready(snapshot: &Snapshot) -> bool {
    snapshot.accounts.values().all(|account| {
        // Sites are not waited for, since those of a thousand containers take long.
        let mut needed = state_collectors(&account.profile).filter(|collector| collector.follows().is_none());
        needed.all(|collector| was_tried(account, collector))
    })
}

fn ready(asked: &Asked<'_>) -> Response<Body> {
    match is_ready(&asked.context.snapshot.get()) {
        true => text(StatusCode::OK, "hostwatch is ready.\n"),
        false => text(StatusCode::SERVICE_UNAVAILABLE, "hostwatch has not polled everything once yet.\n"),
    }
}

/// A reload that is asked for over the network has to be allowed.
async fn asked_to_reload(context: &Context) -> Response<Body> {
    if !context.lifecycle {
        return text(StatusCode::FORBIDDEN, "Lifecycle API is not enabled (--web.enable-lifecycle).\n");
    }
    let (status, said) = match reload(&context.reload).await {
        Ok(said) => (StatusCode::OK, said.to_owned()),
        Err(refused) => refused,
    };
    typed(status, PLAIN, said + "\n")
}

/// Asks for a reload, and waits. An error has the status of its answer over HTTP.
pub(crate) async fn reload(reloads: &mpsc::Sender<Reload>) -> Result<&'static str, (StatusCode, String)> {
    let (answer, answered) = oneshot::channel();
    let asked = async {
        reloads.send(answer).await.ok()?;
        answered.await.ok()
    };
    let unavailable = |why: &str| Err((StatusCode::SERVICE_UNAVAILABLE, why.to_owned()));
    match tokio::time::timeout(RELOAD_AT_MOST, asked).await {
        Ok(Some(Ok(()))) => Ok("The configuration was reloaded."),
        Ok(Some(Err(reason))) => {
            let why = format!("The old configuration stays in use: {reason}");
            Err((StatusCode::INTERNAL_SERVER_ERROR, why))
        }
        Ok(None) => unavailable("hostwatch is stopping."),
        Err(_) => unavailable("The reload takes long; see the log."),
    }
}

/// Reads a command's request, which is the body, and answers it.
async fn control(body: Incoming, context: &Context) -> Response<Body> {
    let read = tokio::time::timeout(CONTROL_TIMEOUT, Limited::new(body, MAX_CONTROL_BYTES).collect()).await;
    let Ok(Ok(asked)) = read else {
        return text(
            StatusCode::BAD_REQUEST,
            "400: the request did not arrive whole, or has more than 1 MiB\n",
        );
    };
    let answer = match std::str::from_utf8(&asked.to_bytes()) {
        Ok(request) => context.control.answer(request).await,
        Err(_) => None,
    };
    match answer {
        Some(answer) => typed(StatusCode::OK, "application/json", answer),
        None => text(StatusCode::NOT_IMPLEMENTED, "501: this daemon does not know what that asks\n"),
    }
}

fn json(value: &impl Serialize) -> Response<Body> {
    let mut text = serde_json::to_string(value).expect("each value that is shown has a form in JSON");
    text.push('\n');
    with(typed(StatusCode::OK, "application/json", text), [(header::CACHE_CONTROL, "no-store")])
}

fn style(_: &Asked<'_>) -> Response<Body> {
    let headers = [(header::CONTENT_TYPE, "text/css; charset=utf-8"), (header::CACHE_CONTROL, "max-age=300")];
    with(text(StatusCode::OK, head::STYLE), headers)
}
