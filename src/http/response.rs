//! Building blocks of responses, for endpoints and middleware: status, headers, body.

use bytes::Bytes;
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};

use super::body::Body;

pub(super) const PLAIN: &str = "text/plain; charset=utf-8";

/// Plain text.
pub(super) fn text(status: StatusCode, text: &'static str) -> Response<Body> {
    typed(status, PLAIN, Body::pieces([Bytes::from_static(text.as_bytes())]))
}

/// A body of some type.
pub(super) fn typed(status: StatusCode, content_type: &'static str, body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    with(response, [(header::CONTENT_TYPE, content_type)])
}

/// The response with further headers.
pub(super) fn with<const N: usize>(
    mut response: Response<Body>,
    headers: [(HeaderName, &'static str); N],
) -> Response<Body> {
    for (name, value) in headers {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

/// An HTML page of our own.
pub(super) fn html(page: String) -> Response<Body> {
    // Scripts, frames and content of other origins are forbidden.
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
