//! Connections: accepting, limits, time-outs, the drain at the end. Knows no endpoint.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::slow::WriteTimeout;
use super::{Context, routes};

/// Connections at one time; more wait to be accepted.
const MAX_CONNECTIONS: usize = 512;
/// For a request's head to arrive; also how long an idle connection is kept.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// For a client to take the next piece of a response.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);
/// A request's head, in bytes.
const MAX_HEAD_BYTES: usize = 16 * 1024;
/// For running requests to end once stopped.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(3);
/// After accepting failed, as it does when file descriptors run out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves on all listeners until `stop`; then takes no more connections, and returns once running
/// requests have ended, three seconds later at most.
pub async fn serve(listeners: Vec<TcpListener>, context: Arc<Context>, stop: CancellationToken) {
    let slots = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut accepting = JoinSet::new();
    for listener in listeners {
        accepting.spawn(listen(listener, Arc::clone(&slots), Arc::clone(&context), stop.clone()));
    }
    while accepting.join_next().await.is_some() {}
}

async fn listen(
    listener: TcpListener,
    slots: Arc<Semaphore>,
    context: Arc<Context>,
    stop: CancellationToken,
) {
    let mut connections = JoinSet::new();
    loop {
        let accept = async {
            let slot = Arc::clone(&slots).acquire_owned().await.expect("the semaphore is never closed");
            (slot, listener.accept().await)
        };
        let (slot, accepted) = tokio::select! {
            () = stop.cancelled() => break,
            accepted = accept => accepted,
        };
        while connections.try_join_next().is_some() {}
        match accepted {
            Ok((stream, _)) => {
                let (context, stop) = (Arc::clone(&context), stop.clone());
                connections.spawn(async move {
                    connection(stream, context, stop).await;
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
    if tokio::time::timeout(DRAIN_TIMEOUT, drained).await.is_err() {
        tracing::warn!(open = connections.len(), "HTTP connections cut off at the end");
    }
}

async fn connection(stream: TcpStream, context: Arc<Context>, stop: CancellationToken) {
    // Small responses are not held back to be sent with the next one.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| {
        let context = Arc::clone(&context);
        async move { routes::answer(&request, &context).await }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT).max_buf_size(MAX_HEAD_BYTES);
    let stream = TokioIo::new(WriteTimeout::new(stream, WRITE_TIMEOUT));
    let mut connection = pin!(builder.serve_connection(stream, service));
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        // Clients come and go as they please; nothing here is for an operator to act on.
        tracing::debug!(%error, "an HTTP connection ended early");
    }
}
