//! What happens to every request around its endpoint: malformed ones are refused, access is checked, common headers
//! are set, the request is logged.

use std::sync::Arc;
use std::time::Instant;

use hyper::header::{self, HeaderValue};
use hyper::{Request, Response, StatusCode, Version};

use super::Context;
use super::body::Body;
use super::guard::Guard;
use super::response::{text, with};
use super::routes;
use super::web_config::WebConfig;

/// Answers one request, which came over a network or from this machine. Logs its path, never its headers.
pub(super) async fn answer<B>(
    request: &Request<B>,
    context: &Context,
    guard: Option<&Arc<Guard>>,
    over_network: bool,
) -> Response<Body> {
    let start = Instant::now();
    let config = match guard {
        Some(guard) => guard.config().await,
        None => None,
    };
    let refusal = misframed(request).or_else(|| {
        // No browser opens a Unix socket, and what is not guarded is for the daemon's own commands.
        let authenticates = config.as_deref().is_some_and(WebConfig::authenticates);
        let checked = guard.is_some() && over_network;
        checked.then(|| context.hosts.get().refuse(request, authenticates)).flatten()
    });
    let mut response = match (refusal, guard.zip(config.as_deref())) {
        (Some(refusal), _) => refusal,
        (None, Some((guard, config))) => match guard.admit(config, request.headers()).await {
            Ok(()) => routes::answer(request, context, Some(guard)).await,
            Err(refusal) => refusal.into(),
        },
        (None, None) => routes::answer(request, context, guard).await,
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

/// Refuses what a proxy in between may read otherwise than this server does, and closes the connection. No endpoint
/// takes a body, so a chunked one is refused, with a length beside it or without; hyper refuses the rest.
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
