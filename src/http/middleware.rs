//! The steps around every endpoint: malformed requests are refused, access is checked, common headers are set,
//! the request is logged.

use std::sync::Arc;
use std::time::Instant;

use hyper::body::Incoming;
use hyper::header::{self, HeaderValue};
use hyper::{Request, Response, StatusCode, Version};

use super::Context;
use super::body::Body;
use super::guard::Guard;
use super::response::{text, with};
use super::routes;
use super::web_config::WebConfig;

/// Answers one request from the network or from this machine. Its path is logged, but none of its headers.
pub(super) async fn answer(
    request: Request<Incoming>,
    context: &Context,
    guard: Option<&Arc<Guard>>,
    over_network: bool,
) -> Response<Body> {
    let start = Instant::now();
    let (head, body) = request.into_parts();
    let request = &Request::from_parts(head, ());
    let config = guard.and_then(|guard| guard.config());
    let refusal = misframed(request).or_else(|| {
        // No browser opens a Unix socket, and a listener without a guard is for the daemon's own commands.
        let authenticates = config.as_deref().is_some_and(WebConfig::authenticates);
        let checked = guard.is_some() && over_network;
        checked.then(|| context.hosts.get().refuse(request, authenticates)).flatten()
    });
    let refusal = match (refusal, guard.zip(config.as_deref())) {
        (None, Some((guard, config))) => guard.refuse(config, request.headers()).await,
        (refusal, _) => refusal,
    };
    let mut response = match refusal {
        Some(refusal) => refusal,
        None => routes::answer(request, body, context, guard.is_some()).await,
    };
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    for (name, value) in config.iter().flat_map(|config| &config.headers) {
        headers.insert(name, value.clone());
    }
    tracing::debug!(
        http.method = %request.method(),
        http.path = request.uri().path(),
        http.status = response.status().as_u16(),
        duration_seconds = start.elapsed().as_secs_f64(),
        "served"
    );
    response
}

/// Refuses requests that a proxy may read in another way than this server, and closes the connection. Chunked
/// bodies are refused too, with or without a length, since no client of ours sends them. hyper refuses the
/// rest.
fn misframed<B>(request: &Request<B>) -> Option<Response<Body>> {
    let headers = request.headers();
    let hosts = headers.get_all(header::HOST).iter().count();
    let refusal = if headers.contains_key(header::TRANSFER_ENCODING) {
        text(StatusCode::LENGTH_REQUIRED, "411: no chunked body is taken here\n")
    } else if hosts > 1 || (hosts == 0 && request.version() >= Version::HTTP_11) {
        text(StatusCode::BAD_REQUEST, "400: not one Host header\n")
    } else {
        return None;
    };
    Some(with(refusal, [(header::CONNECTION, "close")]))
}
