//! Connections: accepting, TLS, limits, time-outs, the drain at the end. Knows no endpoint.

use std::convert::Infallible;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use super::Context;
use super::guard::Guard;
use super::idle::{Idle, IdleConnections};
use super::listener::{Listener, Stream};
use super::middleware;
use super::write_timeout::WriteTimeout;

/// Connections of listeners without a guard, counted apart: the daemon's own commands get through when the others
/// are full.
const MAX_UNGUARDED: usize = 64;
/// A request's head, in bytes.
const MAX_HEAD_BYTES: usize = 16 * 1024;
/// Headers of a request.
const MAX_HEADERS: usize = 100;
/// For running requests to end once stopped.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(3);
/// After accepting failed, as it does when file descriptors run out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Limits on what clients may use of the server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConnectionLimits {
    /// Connections at one time; more wait to be accepted.
    pub connections: usize,
    /// For a TLS handshake, and for a request's head to arrive; also how long an idle connection is kept.
    pub head_timeout: Duration,
    /// For a client to take the next piece of a response.
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

/// Serves on all listeners until `stop`; then takes no more connections, and returns once running
/// requests have ended, three seconds later at most.
pub(crate) async fn serve(
    listeners: Vec<Listener>,
    limits: ConnectionLimits,
    context: Arc<Context>,
    stop: CancellationToken,
) {
    let guarded = Arc::new(Semaphore::new(limits.connections));
    let unguarded = Arc::new(Semaphore::new(limits.connections.min(MAX_UNGUARDED)));
    let idle = Arc::new(IdleConnections::default());
    let mut accepting = JoinSet::new();
    for listener in listeners {
        let slots = if listener.guard().is_some() { &guarded } else { &unguarded };
        let visit = Visit {
            guard: listener.guard().cloned(),
            limits,
            context: Arc::clone(&context),
            idle: Arc::clone(&idle),
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
    // Refuses from here on, rather than let clients wait in the backlog.
    drop(listener);
    let drained = async { while connections.join_next().await.is_some() {} };
    if timeout(DRAIN_TIMEOUT, drained).await.is_err() {
        tracing::warn!(open = connections.len(), "HTTP connections cut off at the end");
    }
}

/// What a connection through one listener needs.
#[derive(Clone)]
struct Visit {
    guard: Option<Arc<Guard>>,
    limits: ConnectionLimits,
    context: Arc<Context>,
    idle: Arc<IdleConnections>,
    stop: CancellationToken,
}

impl Visit {
    async fn connection(self, stream: Box<dyn Stream>, client: Option<IpAddr>) {
        let connected = self.idle.connected(client);
        let config = match &self.guard {
            Some(guard) => guard.config().await,
            None => None,
        };
        let stream = WriteTimeout::new(stream, self.limits.write_timeout);
        let unsent = stream.unsent();
        let stream: Box<dyn Stream> = match config.as_ref().and_then(|config| config.tls()) {
            None => Box::new(stream),
            Some(tls) => {
                let handshake = timeout(self.limits.head_timeout, TlsAcceptor::from(tls).accept(stream));
                let shaken = tokio::select! {
                    () = self.stop.cancelled() => return,
                    () = connected.crowded_out.cancelled() => return,
                    shaken = handshake => shaken,
                };
                match shaken {
                    Ok(Ok(stream)) => Box::new(stream),
                    Ok(Err(error)) => return tracing::debug!(%error, "a TLS handshake failed"),
                    Err(_) => return tracing::debug!("a TLS handshake took too long"),
                }
            }
        };
        // A client admitted under another configuration (another CA, say) has to connect again.
        let replaced = config.map_or_else(CancellationToken::new, |config| config.replaced.clone());
        self.requests(stream, &connected, &unsent, replaced).await;
    }

    async fn requests(
        self,
        stream: Box<dyn Stream>,
        connected: &Arc<Idle>,
        unsent: &AtomicBool,
        replaced: CancellationToken,
    ) {
        let Self { guard, limits, context, stop, idle: _ } = self;
        let asked = Arc::clone(connected);
        let service = service_fn(move |request| {
            let (context, guard, asked) = (Arc::clone(&context), guard.clone(), Arc::clone(&asked));
            async move {
                let serving = asked.serve();
                let over_network = asked.is_over_network();
                let answer = middleware::answer(&request, &context, guard.as_ref(), over_network).await;
                Ok::<_, Infallible>(answer.map(|body| body.over(serving)))
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
                    () = connected.crowded_out.cancelled() => {}
                }
            } => {
                if connected.crowded_out.is_cancelled() && connected.is_idle() && !unsent.load(Ordering::Relaxed) {
                    return;
                }
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            // Clients disconnect for many reasons; an operator can do nothing about it.
            tracing::debug!(%error, "an HTTP connection ended early");
        }
    }
}
