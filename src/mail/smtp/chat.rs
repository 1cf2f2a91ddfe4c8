//! The words of a conversation with an SMTP server: commands out, replies in. Servers deviate from RFC 5321:
//! they send codes such as 571, a code without text, bare line feeds and any character set. Some repeat no code
//! on the inner lines of a reply. A reply counts if its code is clear. This module knows nothing of mails.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use crate::model::sanitize;

/// The longest reply that is read.
const MOST_REPLY: usize = 64 * 1024;

/// The longest text of a server that is kept, in characters.
pub(crate) const LONGEST_SAID: usize = 400;

/// A stream to the server, open or encrypted.
pub(super) trait Wire: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Wire for S {}

/// A conversation over a stream.
pub(super) struct Chat {
    stream: Box<dyn Wire>,
    /// Octets that were read and are not part of a reply yet.
    ahead: Vec<u8>,
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
    pub(super) fn new(stream: impl Wire + 'static) -> Self {
        Self { stream: Box::new(stream), ahead: Vec::new() }
    }

    /// The stream, on which TLS is to begin.
    ///
    /// # Errors
    /// If more octets came than were asked for, from the server or from somebody in its place: they would pass
    /// for encrypted.
    pub(super) fn into_stream(self) -> io::Result<Box<dyn Wire>> {
        match self.ahead.is_empty() {
            true => Ok(self.stream),
            false => Err(unreadable("more than one reply")),
        }
    }

    /// Sends a line and reads the reply.
    pub(super) async fn ask(&mut self, line: &str) -> io::Result<Reply> {
        self.write(format!("{line}\r\n").as_bytes()).await?;
        self.reply().await
    }

    /// Sends octets. All of them are on their way when this returns.
    pub(super) async fn write(&mut self, octets: &[u8]) -> io::Result<()> {
        self.stream.write_all(octets).await?;
        self.stream.flush().await
    }

    /// The next whole reply.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidData`] if the octets are no reply.
    pub(super) async fn reply(&mut self) -> io::Result<Reply> {
        let (mut code, mut lines, mut length) = (None, Vec::new(), 0);
        loop {
            let line = self.line().await?;
            length += line.len() + 2;
            if length > MOST_REPLY {
                return Err(too_long());
            }
            let (text, last) = match (read(&line), code) {
                (Some((now, _, _)), Some(before)) if first(now) != first(before) => {
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
    /// 2: done; 3: go on; 4: temporary refusal; 5: refusal.
    pub(super) fn kind(&self) -> u8 {
        first(self.code)
    }

    /// Code and text in one line.
    pub(super) fn said(&self) -> String {
        let code = String::from_utf8_lossy(&self.code);
        sanitize::one_line(&format!("{code} {}", self.lines.join(" ")), LONGEST_SAID)
    }
}

fn first(code: [u8; 3]) -> u8 {
    code[0] - b'0'
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

    /// The replies in the octets of a server, and the error at the first that is none.
    async fn replies(sent: &[u8]) -> (Vec<String>, String) {
        let mut chat = Chat::new(tokio::io::join(io::Cursor::new(sent.to_vec()), tokio::io::sink()));
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
                let mut chat = Chat::new(tokio::io::join(io::Cursor::new(sent.into_bytes()), tokio::io::sink()));
                while let Ok(reply) = chat.reply().await {
                    assert!((2..=5).contains(&reply.kind()) && !reply.said().contains(char::is_control));
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
            let mut chat = Chat::new(tokio::io::join(io::Cursor::new(sent.to_vec()), tokio::io::sink()));
            chat.reply().await.unwrap();
            assert_eq!(chat.into_stream().is_ok(), is_clean);
        }
    }
}
