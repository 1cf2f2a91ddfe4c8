//! The SMTP side of the mail catcher: enough of RFC 5321 to accept mail from any client. It has neither TLS nor
//! login, and is for loopback.

use super::super::accept;
use super::Mailbox;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

/// The longest accepted line (RFC 5321 requires 1000).
const MOST_LINE: u64 = 64 * 1024;
/// The longest accepted mail.
const MOST_MAIL: usize = 32 << 20;
/// The time that a client may be silent (RFC 5321, section 4.5.3.2, requires five minutes).
const PATIENCE: Duration = Duration::from_secs(300);

impl Mailbox {
    /// Takes mail over SMTP until `stop`.
    pub async fn serve_smtp(self: Arc<Self>, listener: TcpListener, stop: CancellationToken) {
        accept::each(listener, stop, |stream, stop| {
            let mailbox = Arc::clone(&self);
            // A mail that is not accepted yet still belongs to the client, so a stop may come at any point.
            async move { stop.run_until_cancelled(session(mailbox, stream)).await }
        })
        .await;
    }
}

/// A line without its end; `None` at the end of the stream.
async fn line(reader: &mut BufReader<TcpStream>) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    let mut limited = reader.take(MOST_LINE);
    let read = limited.read_until(b'\n', &mut line);
    tokio::time::timeout(PATIENCE, read).await.map_err(|_| io::ErrorKind::TimedOut)??;
    if line.pop() != Some(b'\n') {
        return if line.is_empty() { Ok(None) } else { Err(io::ErrorKind::InvalidData.into()) };
    }
    if line.last() == Some(&b'\r') {
        line.pop();
    }
    Ok(Some(line))
}

/// The address between < and >.
fn address(command: &str) -> Option<String> {
    let (_, rest) = command.split_once('<')?;
    rest.split_once('>').map(|(address, _)| address.to_owned())
}

async fn session(mailbox: Arc<Mailbox>, stream: TcpStream) -> io::Result<()> {
    let mut stream = BufReader::new(stream);
    let (mut from, mut to): (Option<String>, Vec<String>) = (None, Vec::new());
    stream.write_all(b"220 mailbox ESMTP, delivers nothing\r\n").await?;
    while let Some(command) = line(&mut stream).await? {
        let command = String::from_utf8_lossy(&command).into_owned();
        let word = command.split([' ', ':']).next().unwrap_or_default().to_ascii_uppercase();
        let reply: &[u8] = match word.as_str() {
            "EHLO" => {
                b"250-mailbox\r\n250-8BITMIME\r\n250-SMTPUTF8\r\n250-PIPELINING\r\n250 SIZE 33554432\r\n"
            }
            "HELO" | "NOOP" => b"250 mailbox\r\n",
            "MAIL" => {
                from = address(&command);
                to.clear();
                if from.is_some() { b"250 ok\r\n" } else { b"501 no address\r\n" }
            }
            "RCPT" => match (address(&command), &from) {
                (Some(address), Some(_)) => {
                    to.push(address);
                    b"250 ok\r\n"
                }
                (None, _) => b"501 no address\r\n",
                (_, None) => b"503 MAIL first\r\n",
            },
            "DATA" if to.is_empty() => b"503 RCPT first\r\n",
            "DATA" => {
                stream.write_all(b"354 go on, end with a dot\r\n").await?;
                match data(&mut stream).await? {
                    Some(raw) => {
                        mailbox.keep(from.take().unwrap_or_default(), std::mem::take(&mut to), raw);
                        b"250 caught\r\n"
                    }
                    None => b"552 longer than 32 MiB\r\n",
                }
            }
            "RSET" => {
                (from, to) = (None, Vec::new());
                b"250 ok\r\n"
            }
            "QUIT" => {
                stream.write_all(b"221 bye\r\n").await?;
                return Ok(());
            }
            _ => b"502 not known here\r\n",
        };
        stream.write_all(reply).await?;
    }
    Ok(())
}

/// A mail up to its dot, without dot stuffing. `None` if it is too long, after reading it to its end.
async fn data(stream: &mut BufReader<TcpStream>) -> io::Result<Option<Vec<u8>>> {
    let mut raw = Vec::new();
    loop {
        let Some(mut text) = line(stream).await? else { return Err(io::ErrorKind::UnexpectedEof.into()) };
        if text == b"." {
            return Ok((raw.len() <= MOST_MAIL).then_some(raw));
        }
        if text.first() == Some(&b'.') {
            text.remove(0);
        }
        if raw.len() <= MOST_MAIL {
            raw.extend_from_slice(&text);
            raw.extend_from_slice(b"\r\n");
        }
    }
}
