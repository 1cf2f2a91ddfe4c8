//! The simulator over HTTP/1.1: connections, each request's way through faults, credentials, limits and routes,
//! and the end. `routes` has the operations.

use super::accept;
use super::answer::{Answer, Payload, Refusal};
use super::auth::Group;
use super::body::SimBody;
use super::faults::apply::{self, Sending};
use super::faults::{Fault, Kind};
use super::limits::Limited;
use super::routes::{Request, route};
use super::tokens;
use super::{Entry, Simulator};
use bytes::Bytes;
use http_body_util::{BodyExt, Limited as LimitedBody};
use hyper::body::Incoming;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST};
use hyper::http::request::Parts;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// The largest request body.
const MOST_BODY: usize = 1 << 20;
/// The time that open requests have to end after a stop.
const DRAIN: Duration = Duration::from_secs(2);

impl Simulator {
    /// Serves until `stop`. Open requests then have two seconds.
    pub async fn serve(self: Arc<Self>, listener: TcpListener, stop: CancellationToken) {
        accept::each(listener, stop, |stream, stop| Arc::clone(&self).connection(stream, stop)).await;
    }

    async fn connection(self: Arc<Self>, stream: tokio::net::TcpStream, stop: CancellationToken) {
        let _ = stream.set_nodelay(true);
        let service = service_fn(move |request| Arc::clone(&self).respond(request));
        let connection = hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(Duration::from_secs(75))
            .serve_connection(TokioIo::new(stream), service);
        tokio::pin!(connection);
        tokio::select! {
            // An error here means that the client left, or that a fault acted. Both are fine.
            _ = connection.as_mut() => return,
            () = stop.cancelled() => connection.as_mut().graceful_shutdown(),
        }
        let _ = tokio::time::timeout(DRAIN, connection).await;
    }

    async fn respond(
        self: Arc<Self>,
        request: hyper::Request<Incoming>,
    ) -> Result<hyper::Response<SimBody>, io::Error> {
        let (head, body) = request.into_parts();
        let method = head.method.as_str().to_owned();
        let path = head.uri.path().to_owned();
        let header = |name| head.headers.get(name).and_then(|v| v.to_str().ok());
        let host = header(HOST).unwrap_or("localhost").to_owned();
        let body = match LimitedBody::new(body, MOST_BODY).collect().await {
            Ok(body) => body.to_bytes(),
            Err(_) => {
                let refusal = Refusal::new(413, "body", "is longer than 1 MiB");
                return respond(refusal.into_answer(), Sending::Whole).await;
            }
        };
        if path.starts_with("/_sim/") && self.args.control {
            let answer = self.control_request(&method, &path, &body).unwrap_or_else(Refusal::into_answer);
            return respond(answer, Sending::Whole).await;
        }
        let group = Group::of(&path);
        let faults = {
            let mut world = self.world();
            world.tick((self.now)());
            world.faults.meet(group, &path)
        };
        for fault in faults.iter().filter(|f| f.kind == Kind::Delay) {
            let seconds = fault.seconds.unwrap_or(1.0).clamp(0.0, 3600.0);
            tokio::time::sleep(Duration::from_secs_f64(seconds)).await;
        }
        let sending = faults.iter().find_map(apply::sending).unwrap_or(Sending::Whole);
        let mut entry = Entry {
            at: self.world().now(),
            method: method.clone(),
            path: head.uri.path_and_query().map(ToString::to_string).unwrap_or_else(|| path.clone()),
            group,
            authorization: head.headers.contains_key(AUTHORIZATION),
            status: 0,
        };
        if sending == Sending::Reset(0) {
            self.note(entry);
            // After an error hyper closes the connection.
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        let answer = self.answer_with(&head, &host, &body, &faults);
        entry.status = answer.status;
        let answer = spoil(answer, &faults);
        self.note(entry);
        respond(answer, sending).await
    }

    /// The answer of a fault that has its own, otherwise that of the world.
    fn answer_with(&self, head: &Parts, host: &str, body: &[u8], faults: &[Fault]) -> Answer {
        let path = head.uri.path();
        let instead = faults.iter().find_map(|f| apply::instead(f, host, path));
        if let Some(answer) = instead {
            return answer;
        }
        let query = form_urlencoded::parse(head.uri.query().unwrap_or_default().as_bytes());
        let query: Vec<(String, String)> = query.into_owned().collect();
        let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
        let request = Request {
            method: head.method.as_str(),
            path,
            parts: &parts,
            query: &query,
            body,
            host,
            args: &self.args,
            shift: apply::shift(faults),
        };
        self.answer(&request, head).unwrap_or_else(Refusal::into_answer)
    }

    fn answer(&self, rq: &Request<'_>, head: &Parts) -> super::answer::Outcome {
        let header = |name| head.headers.get(name).and_then(|v| v.to_str().ok());
        let group = Group::of(rq.path);
        let mut world = self.world();
        world.tick((self.now)());
        let now = world.now();
        if let (tokens::PATH, Some(lifetime)) = (rq.path, self.args.token_lifetime) {
            return world.tokens.sell(rq.method, rq.body, &self.args.hosting_api_key, lifetime.0, now);
        }
        if !group.admits(header(AUTHORIZATION), &self.args, |token| world.tokens.holds(token, now)) {
            let mut refusal = Refusal::new(401, "authorization", "missing or wrong credentials");
            refusal.headers.push(("www-authenticate", group.challenge().to_owned()));
            return Err(refusal);
        }
        if group == Group::Billing && !header(ACCEPT).is_some_and(|a| a.contains("application/json")) {
            return Err(Refusal::new(406, "accept", "must be application/json"));
        }
        if let Some(kind) = Limited::of(rq.method, rq.parts)
            && !self.args.unlimited
            && let Err(seconds) = world.limits.admit(kind, now)
        {
            let mut refusal = Refusal::new(429, "", "too many requests");
            refusal.headers.push(("retry-after", seconds.to_string()));
            return Err(refusal);
        }
        route(&mut world, rq)
    }
}

/// Applies the faults to the JSON of a successful answer.
fn spoil(mut answer: Answer, faults: &[Fault]) -> Answer {
    for fault in faults {
        if answer.status >= 300 {
            break;
        }
        answer.payload = match answer.payload {
            Payload::Report(mut report) => {
                let mut body = Vec::new();
                while report.render(&mut body, usize::MAX / 2) {}
                Payload::Json(apply::within(fault, body))
            }
            Payload::Json(body) => Payload::Json(apply::within(fault, body)),
            other @ (Payload::Empty | Payload::Text(..)) => other,
        };
    }
    answer
}

/// Makes a response from an answer.
async fn respond(answer: Answer, sending: Sending) -> Result<hyper::Response<SimBody>, io::Error> {
    let mut response = hyper::Response::builder().status(answer.status);
    for (name, value) in &answer.headers {
        response = response.header(*name, value);
    }
    let bytes = match answer.payload {
        Payload::Empty => Bytes::new(),
        Payload::Json(body) => {
            response = response.header(CONTENT_TYPE, "application/json");
            body.into()
        }
        Payload::Text(kind, text) => {
            response = response.header(CONTENT_TYPE, kind);
            text.into()
        }
        Payload::Report(mut report) => {
            response = response.header(CONTENT_TYPE, "application/json");
            if sending == Sending::Whole {
                // A million charges take a moment, so they are not computed on a thread that serves others.
                let prepared = tokio::task::spawn_blocking(move || {
                    report.prepare();
                    report
                });
                let report = prepared.await.map_err(io::Error::other)?;
                return response.body(SimBody::Report(Some(report))).map_err(io::Error::other);
            }
            let mut body = Vec::new();
            while report.render(&mut body, usize::MAX / 2) {}
            body.into()
        }
    };
    let announced = bytes.len() as u64;
    let body = match sending {
        Sending::Whole => SimBody::Whole { blanks: 0, rest: bytes },
        Sending::Stall => {
            SimBody::Part { part: Some(bytes.slice(..bytes.len() / 2)), announced, breaks: false }
        }
        Sending::Reset(after) => {
            let sent = usize::try_from(after).unwrap_or(usize::MAX).min(bytes.len() / 2);
            SimBody::Part { part: Some(bytes.slice(..sent)), announced, breaks: true }
        }
        Sending::Blanks(blanks) => SimBody::Whole { blanks, rest: bytes },
    };
    response.body(body).map_err(io::Error::other)
}
