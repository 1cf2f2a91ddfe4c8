//! Connections: accepting, TLS, limits, time-outs, and the end. Knows no endpoint.

use std::convert::Infallible;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_io_timeout::TimeoutStream;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use super::Context;
use super::guard::Guard;
use super::listener::{Listener, Stream};
use super::middleware;

/// The limit for connections of listeners without a guard. It is separate, so that the daemon's own commands
/// get through if the others are full.
const MAX_UNGUARDED: usize = 64;
/// The maximum bytes of a request's head.
const MAX_HEAD_BYTES: usize = 16 * 1024;
/// The maximum number of headers.
const MAX_HEADERS: usize = 100;
/// The time that running requests have to end after a stop.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(3);
/// The pause after accepting failed, as it does if file descriptors run out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Limits for clients.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConnectionLimits {
    /// The number of connections at a time; others wait to be accepted.
    pub connections: usize,
    /// The time for a TLS handshake and for a request's head. An idle connection is kept for as long.
    pub head_timeout: Duration,
    /// The time for a client to take the next piece of a response.
    pub write_timeout: Duration,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self {
            connections: 512,
            head_timeout: Duration::from_secs(10),
            write_timeout: Duration::from_secs(30),
        }
    }
}

/// Serves on all listeners until `stop`. Then it takes no more connections, and returns once running requests
/// have ended, after three seconds at most.
pub(crate) async fn serve(
    listeners: Vec<Listener>,
    limits: ConnectionLimits,
    context: Arc<Context>,
    stop: CancellationToken,
) {
    let guarded = Arc::new(Semaphore::new(limits.connections));
    let unguarded = Arc::new(Semaphore::new(limits.connections.min(MAX_UNGUARDED)));
    let mut accepting = JoinSet::new();
    for listener in listeners {
        let slots = if listener.guard().is_some() { &guarded } else { &unguarded };
        let visit = Visit {
            guard: listener.guard().cloned(),
            limits,
            context: Arc::clone(&context),
            stop: stop.clone(),
        };
        accepting.spawn(listen(listener, Arc::clone(slots), visit));
    }
    while let Some(ended) = accepting.join_next().await {
        if let Err(error) = ended
            && let Ok(panic) = error.try_into_panic()
        {
            // A listener that panicked must not look like one that was stopped.
            std::panic::resume_unwind(panic);
        }
    }
}

async fn listen(listener: Listener, slots: Arc<Semaphore>, visit: Visit) {
    let mut connections = JoinSet::new();
    loop {
        let accept = async {
            let slot = Arc::clone(&slots).acquire_owned().await.expect("the semaphore is never closed");
            (slot, listener.accept().await)
        };
        let (slot, accepted) = tokio::select! {
            () = visit.stop.cancelled() => break,
            accepted = accept => accepted,
        };
        while connections.try_join_next().is_some() {}
        match accepted {
            Ok((stream, client)) => {
                let visit = visit.clone();
                connections.spawn(async move {
                    visit.connection(stream, client).await;
                    drop(slot);
                });
            }
            Err(error) => {
                tracing::warn!(%error, "accepting an HTTP connection failed");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    // New connections are refused from now on, and do not wait in the backlog.
    drop(listener);
    let drained = async { while connections.join_next().await.is_some() {} };
    if timeout(DRAIN_TIMEOUT, drained).await.is_err() {
        tracing::warn!(open = connections.len(), "HTTP connections cut off at the end");
    }
}

/// The state that each connection of one listener needs.
#[derive(Clone)]
struct Visit {
    guard: Option<Arc<Guard>>,
    limits: ConnectionLimits,
    context: Arc<Context>,
    stop: CancellationToken,
}

impl Visit {
    async fn connection(self, stream: Box<dyn Stream>, client: Option<IpAddr>) {
        let config = self.guard.as_ref().and_then(|guard| guard.config());
        // A client that stalls must hold neither a connection nor a page.
        let mut stream = TimeoutStream::new(stream);
        stream.set_write_timeout(Some(self.limits.write_timeout));
        let stream = Box::pin(stream);
        let stream: Box<dyn Stream> = match config.as_ref().and_then(|config| config.tls.clone()) {
            None => Box::new(stream),
            Some(tls) => {
                let handshake = timeout(self.limits.head_timeout, TlsAcceptor::from(tls).accept(stream));
                let shaken = tokio::select! {
                    () = self.stop.cancelled() => return,
                    shaken = handshake => shaken,
                };
                match shaken {
                    Ok(Ok(stream)) => Box::new(stream),
                    Ok(Err(error)) => return tracing::debug!(%error, "a TLS handshake failed"),
                    Err(_) => return tracing::debug!("a TLS handshake took too long"),
                }
            }
        };
        // A client that was admitted under another configuration (another CA, for example) has to connect
        // again.
        let replaced = config.map_or_else(CancellationToken::new, |config| config.replaced.clone());
        self.requests(stream, client.is_some(), replaced).await;
    }

    async fn requests(self, stream: Box<dyn Stream>, over_network: bool, replaced: CancellationToken) {
        let Self { guard, limits, context, stop } = self;
        let service = service_fn(move |request| {
            let (context, guard) = (Arc::clone(&context), guard.clone());
            async move {
                Ok::<_, Infallible>(middleware::answer(request, &context, guard.as_ref(), over_network).await)
            }
        });
        let mut builder = http1::Builder::new();
        builder
            .timer(TokioTimer::new())
            .header_read_timeout(limits.head_timeout)
            .max_headers(MAX_HEADERS)
            .max_buf_size(MAX_HEAD_BYTES);
        let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            () = async {
                tokio::select! {
                    () = stop.cancelled() => {}
                    () = replaced.cancelled() => {}
                }
            } => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            // Clients disconnect for many reasons, and an operator can do nothing about it.
            tracing::debug!(%error, "an HTTP connection ended early");
        }
    }
}
