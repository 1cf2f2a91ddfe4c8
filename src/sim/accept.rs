//! The clients of a listener, each in a task of its own.

use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Serves each client until stopped, and waits for those that are being served.
pub(super) async fn each<F: Future<Output: Send> + Send + 'static>(
    listener: TcpListener,
    stop: CancellationToken,
    serve: impl Fn(TcpStream, CancellationToken) -> F,
) {
    let connections = TaskTracker::new();
    while let Some(accepted) = stop.run_until_cancelled(listener.accept()).await {
        match accepted {
            Ok((stream, _)) => drop(connections.spawn(serve(stream, stop.clone()))),
            Err(error) => {
                // The likely reason is a lack of descriptors: let some connections end first.
                tracing::warn!(%error, "simulator cannot accept a connection");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
    connections.close();
    connections.wait().await;
}
