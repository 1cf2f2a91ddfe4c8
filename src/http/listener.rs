//! Where connections come from: TCP or Unix sockets, with a guard before the endpoints or without.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};

use super::guard::Guard;

/// A listening socket. Without a guard it admits every connection: fit for a socket protected by file
/// permissions.
#[derive(Debug)]
pub(crate) struct Listener {
    socket: Socket,
    guard: Option<Arc<Guard>>,
}

#[derive(Debug)]
enum Socket {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl From<TcpListener> for Listener {
    fn from(socket: TcpListener) -> Self {
        Self { socket: Socket::Tcp(socket), guard: None }
    }
}

impl From<UnixListener> for Listener {
    fn from(socket: UnixListener) -> Self {
        Self { socket: Socket::Unix(socket), guard: None }
    }
}

impl Listener {
    /// With TLS, passwords and limits as the guard has them.
    pub(crate) fn guarded(self, guard: Arc<Guard>) -> Self {
        Self { guard: Some(guard), ..self }
    }

    pub(super) fn guard(&self) -> Option<&Arc<Guard>> {
        self.guard.as_ref()
    }

    /// The next connection, and its client's address where it comes over a network.
    pub(super) async fn accept(&self) -> io::Result<(Box<dyn Stream>, Option<IpAddr>)> {
        Ok(match &self.socket {
            Socket::Tcp(listener) => {
                let (stream, client) = listener.accept().await?;
                // Small responses are not held back to be sent with the next one.
                let _ = stream.set_nodelay(true);
                (Box::new(stream), Some(client.ip()))
            }
            Socket::Unix(listener) => (Box::new(listener.accept().await?.0), None),
        })
    }
}

/// Bytes both ways.
pub(super) trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}
