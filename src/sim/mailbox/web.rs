//! The HTTP side of the mail catcher: the addresses of its pages, and their permissions. view.rs makes the
//! pages.

use super::super::accept;
use super::{Mailbox, view};
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue, X_CONTENT_TYPE_OPTIONS};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// Our own pages: no scripts, and nothing from other origins.
const OURS: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; \
                    frame-ancestors 'none'";
/// A mail's HTML: inline styles and the pictures in it, in a sandbox.
const THEIRS: &str = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

impl Mailbox {
    /// Shows the mail over HTTP until `stop`.
    pub async fn serve_web(self: Arc<Self>, listener: TcpListener, stop: CancellationToken) {
        accept::each(listener, stop, |stream, stop| {
            let mailbox = Arc::clone(&self);
            async move {
                let service = service_fn(|request| answer(&mailbox, request));
                let connection = hyper::server::conn::http1::Builder::new()
                    .timer(TokioTimer::new())
                    .serve_connection(TokioIo::new(stream), service);
                tokio::pin!(connection);
                tokio::select! {
                    _ = connection.as_mut() => return,
                    () = stop.cancelled() => connection.as_mut().graceful_shutdown(),
                }
                let _ = tokio::time::timeout(Duration::from_secs(2), connection).await;
            }
        })
        .await;
    }
}

async fn answer(mailbox: &Mailbox, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    const HTML: &str = "text/html; charset=utf-8";
    const TEXT: &str = "text/plain; charset=utf-8";
    let path = request.uri().path().trim_matches('/').to_owned();
    let parts: Vec<&str> = path.split('/').collect();
    let mail = parts.get(1).and_then(|n| n.parse().ok()).and_then(|n| mailbox.mail(n));
    let found: Option<(&str, &str, Vec<u8>)> = match (parts.as_slice(), &mail) {
        ([""], _) => Some((HTML, OURS, view::index(&mailbox.caught()).into_bytes())),
        (["mail", _], Some(mail)) => Some(match view::html(mail) {
            Some(html) => (HTML, THEIRS, html.into_bytes()),
            None => (TEXT, OURS, mail.raw.to_vec()),
        }),
        (["mail", _, "raw"], Some(mail)) => Some((TEXT, OURS, mail.raw.to_vec())),
        _ => None,
    };
    let allowed = request.method() == Method::GET;
    let (status, (kind, policy, body)) = match found {
        _ if !allowed => (StatusCode::METHOD_NOT_ALLOWED, (HTML, OURS, b"only GET".to_vec())),
        Some(found) => (StatusCode::OK, found),
        None => (StatusCode::NOT_FOUND, (HTML, OURS, b"no such page".to_vec())),
    };
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    for (name, value) in
        [(CONTENT_TYPE, kind), (CONTENT_SECURITY_POLICY, policy), (X_CONTENT_TYPE_OPTIONS, "nosniff")]
    {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(name, value);
        }
    }
    Ok(response)
}
