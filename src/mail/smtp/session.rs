//! One conversation with an SMTP server: login, one mail to one recipient, the end. Each stage has an error of
//! its own, since it decides what becomes of the mail. Knows nothing of queues and retries.

use std::iter;
use std::sync::atomic::{AtomicBool, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use lettre::Address;
use lettre::transport::smtp::authentication::{Credentials, Mechanism};
use lettre::transport::smtp::client::AsyncSmtpConnection;
use lettre::transport::smtp::commands::{Data, Mail, Rcpt, Rset};
use lettre::transport::smtp::extension::{Extension, MailBodyParameter, MailParameter};
use lettre::transport::smtp::response::Severity::{PositiveCompletion, PositiveIntermediate};
use secrecy::{ExposeSecret, SecretString};
use tokio::time::timeout;

use super::connect::{Greeted, Route, connect};
use super::error::SendError;
use super::reply::{ReplyError, TimeLimits, of_kind};
use super::{Capabilities, Timing};
use crate::failpoint;

/// A user at the server.
pub(super) struct Login {
    pub username: String,
    pub password: SecretString,
}

/// A conversation ready for MAIL.
pub(super) struct Session {
    chat: AsyncSmtpConnection,
    /// Host and port, for errors.
    server: String,
    limits: TimeLimits,
    tls_version: Option<&'static str>,
    mechanism: Option<Mechanism>,
}

impl Session {
    /// Connects, greets, encrypts as the route demands, logs in.
    pub(super) async fn open(
        route: &Route,
        login: Option<&Login>,
        timing: Timing,
    ) -> Result<Self, SendError> {
        let limits = TimeLimits::start(timing);
        let server = format!("{}:{}", route.host, route.port);
        let Greeted { chat, tls_version } =
            connect(route, &limits).await.map_err(|reason| connection(&server, &reason))?;
        let mut session = Self { chat, server, limits, tls_version, mechanism: None };
        // A route with a login has TLS; a second look costs nothing, a password in the open does.
        if let (Some(login), Some(_)) = (login, tls_version) {
            let logged_in = session.log_in(login).await;
            logged_in.map_err(|failure| {
                failure.at(
                    |reason, permanent| SendError::Login { reason, permanent },
                    |reason| connection(&session.server, &reason),
                )
            })?;
        }
        Ok(session)
    }

    async fn log_in(&mut self, login: &Login) -> Result<(), ReplyError> {
        let known = [Mechanism::Plain, Mechanism::Login];
        let Some(mechanism) = self.chat.server_info().get_auth_mechanism(&known) else {
            let reason = "it offers neither AUTH PLAIN nor AUTH LOGIN".to_owned();
            return Err(ReplyError::Refused { reason, permanent: true });
        };
        let password = login.password.expose_secret();
        let credentials = Credentials::new(login.username.clone(), password.to_owned());
        let known = [mechanism];
        let limit = self.limits.timing().reply;
        let replied = self.limits.reply("AUTH", limit, self.chat.auth(&known, &credentials)).await;
        let replied = replied.and_then(|response| of_kind(response, "AUTH", PositiveCompletion));
        self.mechanism = Some(mechanism);
        // Some servers repeat the command that they refuse.
        replied.map(drop).map_err(|failure| failure.without(&secrets(&login.username, password)))
    }

    /// One mail to one recipient, up to its 250. `raw` arrives as it is, line ends made CRLF.
    pub(super) async fn deliver(&mut self, from: &str, to: &str, raw: &[u8]) -> Result<(), SendError> {
        let from = address(from).map_err(|reason| sender(reason, true))?;
        let to = address(to).map_err(|reason| recipient(reason, true))?;
        let mut parameters = self.mail_parameters(&from, Some(&to))?;
        if !raw.is_ascii() && self.chat.server_info().supports_feature(Extension::EightBitMime) {
            parameters.push(MailParameter::Body(MailBodyParameter::EightBitMime));
        }
        let Self { chat, limits, .. } = self;
        let mail = Mail::new(Some(from), parameters);
        limits
            .ask(chat, "MAIL FROM", mail, PositiveCompletion)
            .await
            .map_err(|f| f.at(sender, interrupted))?;
        failpoint::reach("sender-taken");
        let rcpt = Rcpt::new(to, Vec::new());
        limits
            .ask(chat, "RCPT TO", rcpt, PositiveCompletion)
            .await
            .map_err(|f| f.at(recipient, interrupted))?;
        failpoint::reach("recipient-taken");
        limits.ask(chat, "DATA", Data, PositiveIntermediate).await.map_err(|f| f.at(message, interrupted))?;
        self.content(&lines(raw)).await
    }

    async fn content(&mut self, lines: &[u8]) -> Result<(), SendError> {
        // `lettre` asks for what comes next once the lines are written, and then writes the dot: from there
        // on, the server may have the whole mail.
        let dot = AtomicBool::new(false);
        let parts = iter::once(lines).chain(iter::from_fn(|| {
            failpoint::reach("before-dot");
            dot.store(true, Ordering::Relaxed);
            None
        }));
        let sending = self.chat.message_iter(parts);
        let replied = self.limits.reply("the mail", self.limits.timing().content, sending).await;
        let replied = replied.and_then(|response| of_kind(response, "the mail", PositiveCompletion));
        let broken = if dot.load(Ordering::Relaxed) { reply_lost } else { interrupted };
        replied.map(drop).map_err(|failure| failure.at(message, broken))
    }

    /// Whether the server would take mail from this sender; no mail begins.
    pub(super) async fn try_sender(&mut self, from: &str) -> Result<(), SendError> {
        let from = address(from).map_err(|reason| sender(reason, true))?;
        let mail = Mail::new(Some(from.clone()), self.mail_parameters(&from, None)?);
        let Self { chat, limits, server, .. } = self;
        limits
            .ask(chat, "MAIL FROM", mail, PositiveCompletion)
            .await
            .map_err(|f| f.at(sender, |reason| connection(server, &reason)))?;
        let reset = limits.ask(chat, "RSET", Rset, PositiveCompletion).await;
        reset.map(drop).map_err(|failure| connection(server, &failure.into_reason()))
    }

    /// What is known of the server by now.
    pub(super) fn capabilities(&self) -> Capabilities {
        Capabilities {
            tls_version: self.tls_version,
            login: self.mechanism.map(|mechanism| mechanism.to_string()),
        }
    }

    /// QUIT, within bounds. Nothing depends on its reply.
    pub(super) async fn close(mut self) {
        let _ = timeout(self.limits.timing().quit, self.chat.quit()).await;
    }

    fn mail_parameters(&self, from: &Address, to: Option<&Address>) -> Result<Vec<MailParameter>, SendError> {
        let beyond_ascii = |address: &Address| !AsRef::<str>::as_ref(address).is_ascii();
        let (from_beyond, to_beyond) = (beyond_ascii(from), to.is_some_and(beyond_ascii));
        if !from_beyond && !to_beyond {
            return Ok(Vec::new());
        }
        if self.chat.server_info().supports_feature(Extension::SmtpUtfEight) {
            return Ok(vec![MailParameter::SmtpUtfEight]);
        }
        let reason = "the address is not ASCII, and the server has no SMTPUTF8".to_owned();
        Err(if from_beyond { sender(reason, true) } else { recipient(reason, true) })
    }
}

fn sender(reason: String, permanent: bool) -> SendError {
    SendError::Sender { reason, permanent }
}

fn recipient(reason: String, permanent: bool) -> SendError {
    SendError::Recipient { reason, permanent }
}

fn message(reason: String, permanent: bool) -> SendError {
    SendError::Message { reason, permanent }
}

fn connection(server: &str, reason: &str) -> SendError {
    SendError::Connection { reason: format!("{server}: {reason}") }
}

fn interrupted(reason: String) -> SendError {
    SendError::Interrupted { reason }
}

fn reply_lost(reason: String) -> SendError {
    SendError::ReplyLost { reason }
}

fn address(text: &str) -> Result<Address, String> {
    text.parse().map_err(|error| format!("{text:?} is no mail address ({error})"))
}

/// A password in every form in which it goes over the wire.
fn secrets(username: &str, password: &str) -> Vec<String> {
    vec![BASE64.encode(format!("\0{username}\0{password}")), BASE64.encode(password), password.to_owned()]
}

/// The mail with every line end CRLF, and none after its last line, since `lettre` puts one before the dot. A
/// bare CR or LF would pass unstuffed, and some servers take it for a line end: a mail could end, and another
/// begin, inside the first.
fn lines(raw: &[u8]) -> Vec<u8> {
    let mut whole = Vec::with_capacity(raw.len() + 64);
    let mut octets = raw.iter().copied().peekable();
    while let Some(octet) = octets.next() {
        match octet {
            b'\r' => {
                octets.next_if_eq(&b'\n');
                whole.extend_from_slice(b"\r\n");
            }
            b'\n' => whole.extend_from_slice(b"\r\n"),
            other => whole.push(other),
        }
    }
    if whole.ends_with(b"\r\n") {
        whole.truncate(whole.len() - 2);
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_end_is_crlf_and_the_last_is_left_to_the_dot() {
        let table: [(&[u8], &[u8]); 12] = [
            (b"", b""),
            (b"a", b"a"),
            (b"a\r\n", b"a"),
            (b"a\r\n\r\n", b"a\r\n"),
            (b"\r\n", b""),
            (b"a\r\n.\r\nb\r\n", b"a\r\n.\r\nb"),
            (b"a\nb\n", b"a\r\nb"),
            (b"a\rb\r", b"a\r\nb"),
            (b"a\n.\nMAIL FROM:<x@y>\n", b"a\r\n.\r\nMAIL FROM:<x@y>"),
            (b"a\r\r\n", b"a\r\n"),
            (b"\na", b"\r\na"),
            (b"a\n\r\n", b"a\r\n"),
        ];
        for (raw, want) in table {
            assert_eq!(lines(raw), want, "{:?}", String::from_utf8_lossy(raw));
        }
    }
}
