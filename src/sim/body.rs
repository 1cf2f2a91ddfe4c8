//! Sending of bodies: whole, piece by piece, or broken on purpose. The contents are decided before.

use super::world::report::Report;
use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

/// The size of the piece of a report that is rendered at a time.
const PIECE: usize = 64 * 1024;

/// A response body.
pub(super) enum SimBody {
    /// a part of the announced body, then silence, or the end of the connection if it `breaks`
    Part { part: Option<Bytes>, announced: u64, breaks: bool },
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
            SimBody::Part { part, breaks, .. } => match (part.take(), breaks) {
                (Some(bytes), _) => Poll::Ready(Some(Ok(Frame::data(bytes)))),
                // Nobody is woken: the client's time-out ends it, or the server's stop.
                (None, false) => Poll::Pending,
                // After an error hyper closes the connection.
                (None, true) => Poll::Ready(Some(Err(io::ErrorKind::ConnectionReset.into()))),
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
