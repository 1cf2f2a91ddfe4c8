//! The clients of a listener, one after the other.

use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

/// The next that connects; `None` once stopped.
pub(super) async fn next(listener: &TcpListener, stop: &CancellationToken) -> Option<TcpStream> {
    loop {
        match stop.run_until_cancelled(listener.accept()).await? {
            Ok((stream, _)) => return Some(stream),
            Err(error) => {
                // Out of descriptors, most likely: let some connections end first.
                tracing::warn!(%error, "simulator cannot accept a connection");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}
