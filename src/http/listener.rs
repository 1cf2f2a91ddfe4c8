//! Listening sockets, TCP or Unix, with or without a guard.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};

use super::guard::Guard;

/// A listening socket. Without a guard it admits every connection, which is right for a socket that file
/// permissions protect.
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
    /// The socket with the guard's TLS, passwords and limits.
    pub(crate) fn guarded(self, guard: Arc<Guard>) -> Self {
        Self { guard: Some(guard), ..self }
    }

    pub(crate) fn guard(&self) -> Option<&Arc<Guard>> {
        self.guard.as_ref()
    }

    /// The next connection, with the client's address if it comes over a network.
    pub(super) async fn accept(&self) -> io::Result<(Box<dyn Stream>, Option<IpAddr>)> {
        Ok(match &self.socket {
            Socket::Tcp(listener) => {
                let (stream, client) = listener.accept().await?;
                // Small responses are sent at once, and not together with the next one.
                let _ = stream.set_nodelay(true);
                (Box::new(stream), Some(client.ip()))
            }
            Socket::Unix(listener) => (Box::new(listener.accept().await?.0), None),
        })
    }
}

/// Bytes in both directions.
pub(super) trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}
