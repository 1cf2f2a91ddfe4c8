//! Sending of bodies: whole, piece by piece, or broken on purpose; and a socket that can be reset. The contents
//! are decided before.

use super::world::report::Report;
use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// The size of the piece of a report that is rendered at a time.
const PIECE: usize = 64 * 1024;

/// A response body.
pub(super) enum SimBody {
    /// a part of the announced body, then silence (`reset` is none) or a reset
    Part { part: Option<Bytes>, announced: u64, reset: Option<Arc<AtomicBool>> },
    /// this number of blanks, then all of the rest
    Whole { blanks: u64, rest: Bytes },
    /// a report, rendered while it is sent
    Report(Option<Box<Report>>),
}

impl Body for SimBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        match self.get_mut() {
            SimBody::Part { part, reset, .. } => match (part.take(), reset) {
                (Some(bytes), _) => Poll::Ready(Some(Ok(Frame::data(bytes)))),
                // Nobody is woken: the client's time-out ends it, or the server's stop.
                (None, None) => Poll::Pending,
                (None, Some(flag)) => {
                    flag.store(true, Ordering::Relaxed);
                    Poll::Ready(Some(Err(io::ErrorKind::ConnectionReset.into())))
                }
            },
            SimBody::Whole { blanks: 0, rest } => {
                let rest = std::mem::take(rest);
                Poll::Ready((!rest.is_empty()).then(|| Ok(Frame::data(rest))))
            }
            SimBody::Whole { blanks, .. } => {
                let size = usize::try_from(*blanks).unwrap_or(usize::MAX).min(PIECE);
                *blanks -= size as u64;
                Poll::Ready(Some(Ok(Frame::data(vec![b' '; size].into()))))
            }
            SimBody::Report(slot) => {
                let Some(report) = slot else { return Poll::Ready(None) };
                let mut piece = Vec::with_capacity(PIECE + 1024);
                if !report.render(&mut piece, PIECE) {
                    *slot = None;
                }
                Poll::Ready(Some(Ok(Frame::data(piece.into()))))
            }
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            SimBody::Part { announced, .. } => SizeHint::with_exact(*announced),
            SimBody::Whole { blanks, rest } => SizeHint::with_exact(blanks + rest.len() as u64),
            SimBody::Report(_) => SizeHint::default(),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, SimBody::Whole { blanks: 0, rest } if rest.is_empty())
    }
}

/// A socket that resets its connection when it is dropped with the flag set.
pub(super) struct Socket {
    pub stream: TcpStream,
    pub reset: Arc<AtomicBool>,
}

impl Drop for Socket {
    fn drop(&mut self) {
        if self.reset.load(Ordering::Relaxed) {
            // Without linger, closing sends RST, which the other end sees as a reset.
            let _ = self.stream.set_zero_linger();
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // An orderly end before the reset would hide it.
        if self.reset.load(Ordering::Relaxed) {
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
