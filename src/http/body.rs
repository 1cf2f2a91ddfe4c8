//! The body of a response: ready pieces, or a page that is decompressed while it is sent.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, SizeHint};

use crate::metrics::Identity;

/// The bytes of a response; their number is always known.
#[derive(Debug)]
pub(super) enum Body {
    Pieces(VecDeque<Bytes>),
    Inflated(Box<Identity>),
}

impl Body {
    pub(super) fn pieces(pieces: impl Into<VecDeque<Bytes>>) -> Self {
        Self::Pieces(pieces.into())
    }
}

impl From<String> for Body {
    fn from(text: String) -> Self {
        Self::pieces([Bytes::from(text)])
    }
}

impl HttpBody for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let piece = match self.get_mut() {
            Self::Pieces(pieces) => pieces.pop_front(),
            Self::Inflated(page) => page.next(),
        };
        Poll::Ready(piece.map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.size_hint().exact() == Some(0)
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(match self {
            Self::Pieces(pieces) => pieces.iter().map(|piece| piece.len() as u64).sum(),
            Self::Inflated(page) => page.left(),
        })
    }
}
