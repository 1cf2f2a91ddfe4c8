//! The body of a response: ready pieces, or a page that is decompressed while it is sent.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tokio::sync::OwnedSemaphorePermit;

use crate::metrics::Identity;

/// The bytes of a response; their number is always known.
#[derive(Debug)]
pub(super) struct Body {
    content: Content,
    /// The permit of a scrape. It is released once all bytes are sent or the client has disconnected.
    _place: Option<OwnedSemaphorePermit>,
}

#[derive(Debug)]
enum Content {
    Pieces(VecDeque<Bytes>),
    Inflated(Box<Identity>),
}

impl Body {
    pub(super) fn pieces(pieces: impl Into<VecDeque<Bytes>>) -> Self {
        Self { content: Content::Pieces(pieces.into()), _place: None }
    }

    pub(super) fn inflated(page: Identity) -> Self {
        Self { content: Content::Inflated(Box::new(page)), _place: None }
    }

    pub(super) fn keeping(self, place: Option<OwnedSemaphorePermit>) -> Self {
        Self { _place: place, ..self }
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
        let piece = match &mut self.get_mut().content {
            Content::Pieces(pieces) => pieces.pop_front(),
            Content::Inflated(page) => page.next(),
        };
        Poll::Ready(piece.map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.size_hint().exact() == Some(0)
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(match &self.content {
            Content::Pieces(pieces) => pieces.iter().map(|piece| piece.len() as u64).sum(),
            Content::Inflated(page) => page.left(),
        })
    }
}
