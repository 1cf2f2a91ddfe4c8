//! The stream under an SMTP conversation, made safe for its reader: `lettre` reads ahead, takes only UTF-8, and
//! replies of one form only. Knows nothing of commands.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use lettre::transport::smtp::client::AsyncTokioStream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::lenient::Replies;
use crate::failpoint;

/// A stream to the server, open or encrypted.
#[derive(Debug)]
pub(super) struct SmtpStream<S> {
    stream: S,
    peer: SocketAddr,
    replies: Replies,
    /// Never more than one octet at a read.
    octetwise: bool,
    over: bool,
}

impl<S> SmtpStream<S> {
    /// A conversation from its greeting to its end.
    pub(super) fn new(stream: S, peer: SocketAddr) -> Self {
        Self { stream, peer, replies: Replies::default(), octetwise: false, over: false }
    }

    /// The open part of a conversation, up to STARTTLS. Read octet by octet, so that nothing past the reply to
    /// STARTTLS is taken from the socket: what someone slips in behind it then breaks the handshake instead of
    /// passing for an encrypted reply.
    pub(super) fn before_tls(stream: S, peer: SocketAddr) -> Self {
        Self { octetwise: true, ..Self::new(stream, peer) }
    }

    /// The encrypted part after STARTTLS. There the server waits for EHLO without a greeting of its own
    /// (RFC 3207, section 4.2), while the client reads one first.
    pub(super) fn after_starttls(stream: S, peer: SocketAddr) -> Self {
        let mut wire = Self::new(stream, peer);
        wire.replies.ready().extend_from_slice(b"220 encrypted\r\n");
        wire
    }

    /// Octets just read, in any character set: the code counts, so the text must not make it unreadable.
    fn take_in(&mut self, octets: &mut [u8]) -> io::Result<()> {
        for octet in octets.iter_mut().filter(|octet| !octet.is_ascii()) {
            *octet = b'?';
        }
        if self.replies.take_in(octets) {
            return Ok(());
        }
        Err(io::Error::new(io::ErrorKind::InvalidData, "a reply over 64 KiB"))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for SmtpStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        while this.replies.ready().is_empty() && !this.over {
            let mut octets = [0; 4096];
            let most = if this.octetwise { 1 } else { octets.len() };
            let mut read = ReadBuf::new(&mut octets[..most]);
            ready!(Pin::new(&mut this.stream).poll_read(cx, &mut read))?;
            if read.filled().is_empty() {
                this.over = true;
                this.replies.end();
            } else {
                this.take_in(read.filled_mut())?;
            }
        }
        let ready = this.replies.ready();
        let now = ready.len().min(buf.remaining());
        buf.put_slice(&ready[..now]);
        ready.drain(..now);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for SmtpStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, data);
        if data == b"\r\n.\r\n" && written.is_ready() {
            failpoint::reach("dot-written");
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

impl<S> AsyncTokioStream for SmtpStream<S>
where
    S: AsyncRead + AsyncWrite + Send + Sync + Unpin + std::fmt::Debug,
{
    fn peer_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.peer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt;

    fn peer() -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], 25))
    }

    #[tokio::test]
    async fn octets_beyond_ascii_become_question_marks() {
        let mut wire = SmtpStream::new(&b"550 \xcf\xee\xf7\xf2\xe0\r\n"[..], peer());
        let mut text = String::new();
        wire.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "550 ?????\r\n");
    }

    #[tokio::test]
    async fn before_tls_nothing_is_read_ahead() {
        let mut wire = SmtpStream::before_tls(&b"220 go\r\n250 slipped in\r\n"[..], peer());
        let mut buffer = [0; 64];
        assert_eq!(wire.read(&mut buffer).await.unwrap(), 8);
        assert_eq!(&buffer[..8], b"220 go\r\n");
        assert_eq!(wire.stream, b"250 slipped in\r\n");
    }

    #[tokio::test]
    async fn a_line_without_end_is_an_error() {
        let endless = [b'2'; 70_000];
        let error = SmtpStream::new(&endless[..], peer()).read_to_end(&mut Vec::new()).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }

    #[tokio::test]
    async fn after_starttls_a_greeting_comes_first() {
        let mut wire = SmtpStream::after_starttls(&b"250 ok\r\n"[..], peer());
        let mut small = [0; 5];
        wire.read_exact(&mut small).await.unwrap();
        assert_eq!(&small, b"220 e");
        let mut rest = String::new();
        wire.read_to_string(&mut rest).await.unwrap();
        assert_eq!(rest, "ncrypted\r\n250 ok\r\n");
    }
}
