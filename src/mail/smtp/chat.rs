//! The words of a conversation with an SMTP server: commands out, replies in, each within its limit. Servers
//! deviate from RFC 5321: they send codes such as 571, a code without text, bare line feeds and any character
//! set. Some repeat no code on the inner lines of a reply. A reply counts if its code is clear. This module
//! knows nothing of mails.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::time::{Duration, timeout};

use super::blame::{Blame, Stage};
use super::error::{End, LONGEST_SAID, SendError};
use crate::model::sanitize;

/// The longest reply that is read.
const MOST_REPLY: usize = 64 * 1024;

/// A stream to the server, open or encrypted.
pub(super) trait Wire: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Wire for S {}

/// A conversation over a stream.
pub(super) struct Chat {
    stream: Box<dyn Wire>,
    /// Octets that were read and are not part of a reply yet.
    ahead: Vec<u8>,
    /// The limit of each reply to a command.
    limit: Duration,
    /// Whether the server announced that it closes the connection.
    pub is_left: bool,
}

/// The server's reply to one command.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Reply {
    /// The code of its last line: three digits, the first from 2 to 5.
    pub code: [u8; 3],
    /// The lines without their codes; octets that are not UTF-8 become replacement characters.
    pub lines: Vec<String>,
}

impl Chat {
    pub(super) fn new(stream: impl Wire + 'static, limit: Duration) -> Self {
        Self { stream: Box::new(stream), ahead: Vec::new(), limit, is_left: false }
    }

    /// The stream, on which TLS is to begin.
    ///
    /// # Errors
    /// If more octets came than were asked for, from the server or from somebody in its place: they would pass
    /// for encrypted.
    pub(super) fn into_stream(self) -> Result<Box<dyn Wire>, String> {
        match self.ahead.is_empty() {
            true => Ok(self.stream),
            false => Err("STARTTLS: more than one reply".to_owned()),
        }
    }

    /// Sends a command and reads the reply. `wanted` has the first digits of the replies to go on after.
    pub(super) async fn ask(&mut self, stage: Stage, line: &str, wanted: &[u8]) -> Result<Reply, SendError> {
        // `MAIL FROM` of an address, `EHLO` of a name; no error holds a password.
        let named = line.split_once(":<").or_else(|| line.split_once(' '));
        let what = if stage == Stage::Login { "AUTH" } else { named.map_or(line, |(what, _)| what) };
        self.tell(stage, what, format!("{line}\r\n").as_bytes(), self.limit).await?;
        self.hear(stage, what, wanted, self.limit).await
    }

    /// Sends octets. All of them are on their way when this returns.
    pub(super) async fn tell(
        &mut self,
        stage: Stage,
        what: &str,
        octets: &[u8],
        limit: Duration,
    ) -> Result<(), SendError> {
        let sending = async {
            self.stream.write_all(octets).await?;
            self.stream.flush().await
        };
        bound(limit, sending).await.map_err(|error| SendError::broken(stage, what, &error))
    }

    /// Reads the reply to `what`. A server that is out of step counts as broken.
    pub(super) async fn hear(
        &mut self,
        stage: Stage,
        what: &str,
        wanted: &[u8],
        limit: Duration,
    ) -> Result<Reply, SendError> {
        let reply = bound(limit, self.reply()).await;
        let reply = reply.map_err(|error| SendError::broken(stage, what, &error))?;
        self.is_left |= reply.code == *b"421";
        let (end, reason) = match reply.code[0] {
            first if wanted.contains(&first) => return Ok(reply),
            b'4' => (End::Refused(Blame::Later), reply.said()),
            b'5' => (End::Refused(Blame::Server), reply.said()),
            _ => (End::Broken, format!("{} is no reply to {what}", reply.said())),
        };
        Err(SendError { stage, end, reason })
    }

    /// The next whole reply.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidData`] if the octets are no reply.
    async fn reply(&mut self) -> io::Result<Reply> {
        let mut code: Option<[u8; 3]> = None;
        let (mut lines, mut length) = (Vec::new(), 0);
        loop {
            let line = self.line().await?;
            length += line.len() + 2;
            if length > MOST_REPLY {
                return Err(too_long());
            }
            let (text, last) = match (read(&line), code) {
                (Some((now, _, _)), Some(before)) if now[0] != before[0] => {
                    return Err(unreadable("success and failure in one reply"));
                }
                (Some((now, text, last)), _) => {
                    code = Some(now);
                    (text, last)
                }
                // Some servers wrap a long text without repeating the code.
                (None, Some(_)) => (&line[..], false),
                (None, None) => return Err(unreadable(&format!("it said: {}", text_of(&line)))),
            };
            lines.push(text_of(text));
            if let Some(code) = code.filter(|_| last) {
                return Ok(Reply { code, lines });
            }
        }
    }

    /// The next line, without its end.
    async fn line(&mut self) -> io::Result<Vec<u8>> {
        let mut looked_at = 0;
        loop {
            if let Some(end) = self.ahead[looked_at..].iter().position(|&octet| octet == b'\n') {
                let mut line: Vec<u8> = self.ahead.drain(..=looked_at + end).collect();
                line.pop();
                line.pop_if(|last| *last == b'\r');
                return Ok(line);
            }
            looked_at = self.ahead.len();
            if looked_at > MOST_REPLY {
                return Err(too_long());
            }
            if self.stream.read_buf(&mut self.ahead).await? == 0 {
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the server closed it"));
            }
        }
    }
}

impl Reply {
    /// Code and text in one line.
    fn said(&self) -> String {
        let code = String::from_utf8_lossy(&self.code);
        sanitize::one_line(&format!("{code} {}", self.lines.join(" ")), LONGEST_SAID)
    }
}

/// The result of a step within its limit. The whole conversation has none: a slow server is no broken one.
pub(super) async fn bound<T>(limit: Duration, step: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    let late = || io::Error::new(io::ErrorKind::TimedOut, format!("nothing within {limit:?}"));
    timeout(limit, step).await.unwrap_or_else(|_| Err(late()))
}

fn unreadable(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

fn too_long() -> io::Error {
    unreadable("a reply over 64 KiB")
}

/// The code that a line begins with, its text, and whether the line ends its reply.
fn read(line: &[u8]) -> Option<([u8; 3], &[u8], bool)> {
    let (&code, rest) = line.split_first_chunk::<3>()?;
    if !(b'2'..=b'5').contains(&code[0]) || !code.iter().all(u8::is_ascii_digit) {
        return None;
    }
    match rest.split_first() {
        Some((b'0'..=b'9', _)) => None,
        Some((b'-', text)) => Some((code, text, false)),
        Some((b' ' | b'\t', text)) => Some((code, text, true)),
        _ => Some((code, rest, true)),
    }
}

fn text_of(octets: &[u8]) -> String {
    String::from_utf8_lossy(octets).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A conversation with a server that sends these octets.
    fn chat(sent: Vec<u8>) -> Chat {
        Chat::new(tokio::io::join(io::Cursor::new(sent), tokio::io::sink()), Duration::MAX)
    }

    /// The replies in the octets of a server, and the error at the first that is none.
    async fn replies(sent: &[u8]) -> (Vec<String>, String) {
        let mut chat = chat(sent.to_vec());
        let mut found = Vec::new();
        loop {
            match chat.reply().await {
                Ok(reply) => {
                    let code = String::from_utf8(reply.code.to_vec()).unwrap();
                    found.push(format!("{code} {}", reply.lines.join("|")));
                }
                Err(error) => return (found, error.to_string()),
            }
        }
    }

    proptest::proptest! {
        #[test]
        fn any_octets_are_replies_without_control_characters_or_an_error(
            sent in "(?s)([2-5][0-9]{2}[- ].{0,20}\r?\n|.{0,9}\n){0,6}",
        ) {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(async {
                let mut chat = chat(sent.into_bytes());
                while let Ok(reply) = chat.reply().await {
                    assert!((b'2'..=b'5').contains(&reply.code[0]) && !reply.said().contains(char::is_control));
                }
            });
        }
    }

    #[tokio::test]
    async fn replies_are_read_as_servers_write_them() {
        let table: [(&[u8], &[&str]); 15] = [
            (b"250 ok\r\n", &["250 ok"]),
            (b"250\r\n250\n", &["250 ", "250 "]),
            (b"250\tok\r\n", &["250 ok"]),
            (b"250ok\r\n", &["250 ok"]),
            (b"571 5.7.1 not you\r\n", &["571 5.7.1 not you"]),
            (b"469-busy\r\n469\r\n", &["469 busy|"]),
            (b"250-a\r\n250-\r\n250 SIZE\r\n", &["250 a||SIZE"]),
            (b"250-a\n250 b\n", &["250 a|b"]),
            (b"550-no\r\nbecause of this\r\n\r\n550 that\r\n", &["550 no|because of this||that"]),
            (b"550-5.1.1 no\r\n554 at all\r\n", &["554 5.1.1 no|at all"]),
            (b"250 one\r\n354 two\r\n", &["250 one", "354 two"]),
            (b"550 \xcf\xee\xf7\xf2\xe0\r\n", &["550 \u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}"]),
            ("550 Почтовый ящик\r\n".as_bytes(), &["550 Почтовый ящик"]),
            (b"250-and then nothing\r\n25", &[]),
            (b"250 no end", &[]),
        ];
        for (sent, want) in table {
            let (found, end) = replies(sent).await;
            assert_eq!(
                (found, end.as_str()),
                (want.iter().map(|&one| one.into()).collect(), "the server closed it")
            );
        }
    }

    #[tokio::test]
    async fn an_invalid_reply_is_refused() {
        let endless = [b'2'; 70_000];
        let endless_lines = b"250-more\r\n".repeat(MOST_REPLY / 8);
        let table: [(&[u8], &str); 7] = [
            (b"250-one\r\n550 other\r\n", "success and failure in one reply"),
            (b"HTTP/1.1 400 Bad Request\r\n\r\n", "it said: HTTP/1.1 400 Bad Request"),
            (b"999 what\r\n", "it said: 999 what"),
            (b"2500 what\r\n", "it said: 2500 what"),
            (b"25\r\n", "it said: 25"),
            (&endless, "a reply over 64 KiB"),
            (&endless_lines, "a reply over 64 KiB"),
        ];
        for (sent, want) in table {
            assert_eq!(replies(sent).await, (Vec::new(), want.to_owned()));
        }
    }

    #[tokio::test]
    async fn the_stream_is_given_back_only_if_no_extra_bytes_came() {
        for (sent, is_clean) in [(&b"220 go\r\n"[..], true), (b"220 go\r\n250 slipped in\r\n", false)] {
            let mut chat = chat(sent.to_vec());
            chat.reply().await.unwrap();
            assert_eq!(chat.into_stream().is_ok(), is_clean);
        }
    }
}
