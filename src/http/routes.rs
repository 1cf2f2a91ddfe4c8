//! The endpoints. What they show is made elsewhere.

use std::sync::Arc;
use std::time::Duration;

use hyper::header;
use hyper::{Method, Request, Response, StatusCode};
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::body::Body;
use super::guard::Guard;
use super::response::{PLAIN, text, typed, with};
use super::{Context, negotiate, page, query};
use crate::model::Snapshot;
use crate::model::freshness::{state_collectors, was_tried};
use crate::view::{About, Query, Status};

/// Every endpoint but the metrics, whose path is configured.
const ROUTES: &[(&str, Endpoint)] = &[
    ("/", Endpoint::StatusPage),
    ("/api/v1/status", Endpoint::StatusJson),
    ("/-/healthy", Endpoint::Healthy),
    ("/-/ready", Endpoint::Ready),
    ("/-/reload", Endpoint::Reload),
    ("/-/style.css", Endpoint::Style),
];

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Endpoint {
    Metrics,
    StatusPage,
    StatusJson,
    Healthy,
    Ready,
    Reload,
    Style,
}

impl Endpoint {
    /// The one method that it knows beside HEAD, which goes with GET.
    fn method(self) -> Method {
        match self {
            Self::Reload => Method::POST,
            Self::Metrics
            | Self::StatusPage
            | Self::StatusJson
            | Self::Healthy
            | Self::Ready
            | Self::Style => Method::GET,
        }
    }
}

/// For a new configuration to be taken over: it asks nobody outside.
const RELOAD_TIMEOUT: Duration = Duration::from_secs(30);

/// Answers a request that was let in.
pub(super) async fn answer<B>(
    request: &Request<B>,
    context: &Context,
    guard: Option<&Arc<Guard>>,
) -> Response<Body> {
    let Some(endpoint) = find(request.uri().path(), context) else {
        return text(StatusCode::NOT_FOUND, "404: nothing is served here\n");
    };
    let known = endpoint.method();
    let head = request.method() == Method::HEAD && known == Method::GET;
    if *request.method() == known || head {
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
        Endpoint::Metrics => match guard.map_or(Ok(None), |guard| guard.scrape()) {
            Ok(place) => metrics(request, context, place),
            Err(refusal) => refusal.into(),
        },
        Endpoint::StatusPage => {
            let query = query_of(request);
            html(page::render(&status(&query, context), &query, &context.telemetry_path))
        }
        Endpoint::StatusJson => json(&status(&query_of(request), context)),
        Endpoint::Healthy => text(StatusCode::OK, "hostwatch is healthy.\n"),
        Endpoint::Ready => match is_ready(&context.snapshot.get()) {
            true => text(StatusCode::OK, "hostwatch is ready.\n"),
            false => text(StatusCode::SERVICE_UNAVAILABLE, "hostwatch has not polled everything once yet.\n"),
        },
        Endpoint::Reload => reload(context).await,
        Endpoint::Style => style(),
    }
}

/// The provider's facts as they were last encoded, and the daemon's own as they are now.
fn metrics<B>(
    request: &Request<B>,
    context: &Context,
    place: Option<OwnedSemaphorePermit>,
) -> Response<Body> {
    let format = negotiate::format(request.headers());
    let page = context.page.get();
    let own = context.own.encode(format == negotiate::Format::OpenMetrics);
    let gzip = negotiate::gzip(request.headers());
    let body = if gzip { Body::pieces(page.gzip(&own)) } else { Body::inflated(page.identity(own)) };
    let response = typed(StatusCode::OK, format.content_type(), body.keeping(place));
    let response = with(response, [(header::VARY, "Accept, Accept-Encoding")]);
    if gzip { with(response, [(header::CONTENT_ENCODING, "gzip")]) } else { response }
}

fn query_of<B>(request: &Request<B>) -> Query {
    query::parse(request.uri().query().unwrap_or_default())
}

fn status(query: &Query, context: &Context) -> Status {
    let about = About {
        version: context.build.version,
        commit: context.build.commit,
        started_at: context.started_at,
    };
    Status::new(&context.snapshot.get(), &context.alerting.get(), &about, query, (context.clock)())
}

/// Everything that says whether all is well was asked for once, well or not.
fn is_ready(snapshot: &Snapshot) -> bool {
    snapshot.accounts.values().all(|account| {
        // The sites of a thousand containers take their time.
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

fn html(page: String) -> Response<Body> {
    // No script at all, no frame, nothing from elsewhere.
    const POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self' data:; \
                          form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
    let headers = [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    with(typed(StatusCode::OK, "text/html; charset=utf-8", page), headers)
}

fn json(status: &Status) -> Response<Body> {
    let mut text = serde_json::to_string(status).expect("the status holds nothing that JSON has no form for");
    text.push('\n');
    with(typed(StatusCode::OK, "application/json", text), [(header::CACHE_CONTROL, "no-store")])
}

fn style() -> Response<Body> {
    let headers = [(header::CONTENT_TYPE, "text/css; charset=utf-8"), (header::CACHE_CONTROL, "max-age=300")];
    with(text(StatusCode::OK, page::STYLE), headers)
}
