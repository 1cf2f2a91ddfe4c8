//! One conversation with an SMTP server: login, one mail after the other to one recipient each, the end. Each
//! stage has an error of its own, since it decides what happens with the mail. Queues and repeats are
//! elsewhere.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use lettre::Address;
use secrecy::ExposeSecret as _;
use tokio::time::timeout;

use super::blame::{Blame, Past, Stage, blame};
use super::chat::Reply;
use super::connect::{Greeted, Route, connect};
use super::error::SendError;
use super::reply::ReplyError;
use super::{Capabilities, Timing};
use crate::failpoint;
use crate::mail::Login;

/// A conversation ready for MAIL.
pub(super) struct Session {
    greeted: Greeted,
    /// Host and port, for errors.
    server: String,
    limits: Timing,
    mechanism: Option<&'static str>,
    /// Whether the server announced that it closes the connection.
    is_left: bool,
}

impl Session {
    /// Connects, greets, encrypts as the route demands, and logs in.
    pub(super) async fn open(
        route: &Route,
        login: Option<&Login>,
        limits: Timing,
    ) -> Result<Self, SendError> {
        let server = format!("{}:{}", route.host, route.port);
        let greeted = connect(route, &limits).await.map_err(|failure| failure.connecting(&server))?;
        let mut session = Self { greeted, server, limits, mechanism: None, is_left: false };
        // A route with a login has TLS. The check is repeated here because a password in the open would be
        // costly.
        if let (Some(login), Some(_)) = (login, session.greeted.tls_version) {
            let logged_in = session.log_in(login).await;
            logged_in.map_err(|failure| {
                failure.at(
                    |reason, permanent| SendError::Login { reason, permanent },
                    |reason| broken(&session.server, reason),
                )
            })?;
        }
        Ok(session)
    }

    async fn log_in(&mut self, login: &Login) -> Result<(), ReplyError> {
        let (user, password) = (login.username.as_str(), login.password.expose_secret());
        let both = BASE64.encode(format!("\0{user}\0{password}"));
        // Some servers ask once more for what came with AUTH PLAIN.
        let ways = [
            ("PLAIN", format!("AUTH PLAIN {both}"), vec![both]),
            ("LOGIN", "AUTH LOGIN".to_owned(), vec![BASE64.encode(user), BASE64.encode(password)]),
        ];
        let mut failed = None;
        for (mechanism, said, answers) in ways {
            if !self.greeted.extensions.has_login(mechanism) {
                continue;
            }
            self.mechanism = Some(mechanism);
            match self.answer_challenges(said, answers).await {
                Ok(_) => return Ok(()),
                // Some servers offer PLAIN and take LOGIN alone. A break after a refusal says less than the refusal.
                Err(failure @ ReplyError::Refused { leaves: false, .. }) => failed = Some(failure),
                Err(failure) => {
                    failed.get_or_insert(failure);
                    break;
                }
            }
        }
        let offered = self.greeted.extensions.logins();
        let none =
            || refused_for_good(&format!("it offers {offered}; hostwatch can log in by PLAIN and LOGIN"));
        // Some servers quote the command that they refuse.
        Err(failed.unwrap_or_else(none).without(&secrets(user, password)))
    }

    async fn answer_challenges(&mut self, said: String, answers: Vec<String>) -> Result<Reply, ReplyError> {
        let (mut said, mut answers) = (said, answers.into_iter());
        loop {
            let reply = self.limits.answer("AUTH", self.limits.reply, self.greeted.chat.ask(&said)).await?;
            if reply.code != *b"334" {
                return reply.of_kind("AUTH", 2);
            }
            said =
                answers.next().ok_or_else(|| refused_for_good("it asks for more than user and password"))?;
        }
    }

    /// Sends one mail to one recipient, up to its 250. `raw` is sent as it is, with CRLF line ends. `past`: what the
    /// server did with other mails.
    pub(super) async fn deliver(
        &mut self,
        from: &str,
        to: &str,
        raw: &[u8],
        past: Past,
    ) -> Result<(), SendError> {
        let from = address(from).map_err(|reason| sender(reason, true))?;
        let to = address(to).map_err(unusable)?;
        let recipient = |reason: String, _| {
            let blame = blame(Stage::Recipient, &reason, from.as_ref(), past);
            SendError::Recipient { reason, blame }
        };
        let message = |reason: String, _| {
            let blame = blame(Stage::Content, &reason, from.as_ref(), past);
            SendError::Message { reason, blame }
        };
        let mut mail = self.mail(&from, Some(&to))?;
        if !raw.is_ascii() && self.greeted.extensions.has("8BITMIME") {
            mail.push_str(" BODY=8BITMIME");
        }
        self.step("MAIL FROM", &mail, 2, sender).await?;
        failpoint::reach("sender-taken");
        self.step("RCPT TO", &format!("RCPT TO:<{to}>"), 2, recipient).await?;
        failpoint::reach("recipient-taken");
        self.step("DATA", "DATA", 3, message).await?;
        self.content(&lines(raw), message).await
    }

    /// One command of a mail's conversation; `refused` makes the error for a refusal.
    async fn step(
        &mut self,
        what: &str,
        command: &str,
        wanted: u8,
        refused: impl FnOnce(String, bool) -> SendError,
    ) -> Result<(), SendError> {
        let replied = self.limits.ask(&mut self.greeted.chat, what, command, wanted).await;
        replied.map(drop).map_err(|failure| self.failed(failure, refused, interrupted))
    }

    fn failed(
        &mut self,
        failure: ReplyError,
        refused: impl FnOnce(String, bool) -> SendError,
        broken: fn(String) -> SendError,
    ) -> SendError {
        self.is_left |= matches!(failure, ReplyError::Refused { leaves: true, .. });
        failure.at(refused, broken)
    }

    /// Prepares the conversation for another mail. A refusal may have left the last mail half sent.
    pub(super) async fn again(mut self) -> Option<Self> {
        let reset = self.limits.ask(&mut self.greeted.chat, "RSET", "RSET", 2).await;
        reset.is_ok().then_some(self)
    }

    /// Whether another mail may follow this result. In the middle of a mail the server would read RSET and QUIT
    /// as a part of it.
    pub(super) fn goes_on(&self, outcome: &Result<(), SendError>) -> bool {
        use SendError::{Connection, Interrupted, ReplyLost};
        !self.is_left && !matches!(outcome, Err(Connection { .. } | Interrupted { .. } | ReplyLost { .. }))
    }

    /// Whether the connection ended before the server can have had the mail; another connection may succeed.
    pub(super) fn ended_before_the_mail(&self, outcome: &Result<(), SendError>) -> bool {
        self.is_left || matches!(outcome, Err(SendError::Interrupted { .. }))
    }

    async fn content(
        &mut self,
        lines: &[u8],
        message: impl FnOnce(String, bool) -> SendError,
    ) -> Result<(), SendError> {
        // From the dot on the server may have the whole mail.
        let mut is_whole = false;
        let (chat, limits) = (&mut self.greeted.chat, self.limits);
        let sending = async {
            chat.write(lines).await?;
            failpoint::reach("before-dot");
            is_whole = true;
            chat.write(b".\r\n").await?;
            failpoint::reach("dot-written");
            chat.reply().await
        };
        let replied = limits.answer("the mail", limits.content, sending).await;
        let replied = replied.and_then(|reply| reply.of_kind("the mail", 2));
        let broken: fn(String) -> SendError = if is_whole { reply_lost } else { interrupted };
        replied.map(drop).map_err(|failure| self.failed(failure, message, broken))
    }

    /// Asks whether the server would take mail from this sender for these recipients, without sending one. Returns
    /// the refusals of recipients.
    pub(super) async fn try_envelope(
        &mut self,
        from: &str,
        recipients: &[String],
    ) -> Result<Vec<(String, SendError)>, SendError> {
        let from = address(from).map_err(|reason| sender(reason, true))?;
        let mail = self.mail(&from, None)?;
        let Self { greeted: Greeted { chat, .. }, limits, server, .. } = self;
        let broken = |reason: String| broken(server, reason);
        limits.ask(chat, "MAIL FROM", &mail, 2).await.map_err(|failure| failure.at(sender, broken))?;
        let (mut refused, mut takes_others) = (Vec::new(), false);
        for to in recipients {
            match limits.ask(chat, "RCPT TO", &format!("RCPT TO:<{to}>"), 2).await {
                Ok(_) => takes_others = true,
                Err(failure @ ReplyError::Refused { leaves: false, .. }) => {
                    let past = Past { takes_others, took_since: false };
                    let recipient = |reason: String, _| {
                        let blame = blame(Stage::Recipient, &reason, from.as_ref(), past);
                        SendError::Recipient { reason, blame }
                    };
                    refused.push((to.clone(), failure.at(recipient, broken)));
                }
                Err(failure) => return Err(broken(failure.into_reason())),
            }
        }
        let reset = limits.ask(chat, "RSET", "RSET", 2).await;
        reset.map(|_| refused).map_err(|failure| broken(failure.into_reason()))
    }

    /// The facts about the server that are known by now.
    pub(super) fn capabilities(&self) -> Capabilities {
        Capabilities {
            tls_version: self.greeted.tls_version,
            login: self.mechanism.map(str::to_owned),
            greeting: self.greeted.greeting.clone(),
            refused: Vec::new(),
        }
    }

    /// Sends QUIT, within a time limit. Its reply does not matter.
    pub(super) async fn close(mut self) {
        let _ = timeout(self.limits.quit, self.greeted.chat.ask("QUIT")).await;
    }

    /// The command that names the sender, with SMTPUTF8 if an address needs it.
    fn mail(&self, from: &Address, to: Option<&Address>) -> Result<String, SendError> {
        let beyond_ascii = |address: &Address| !AsRef::<str>::as_ref(address).is_ascii();
        let (from_beyond, to_beyond) = (beyond_ascii(from), to.is_some_and(beyond_ascii));
        if !from_beyond && !to_beyond {
            return Ok(format!("MAIL FROM:<{from}>"));
        }
        if self.greeted.extensions.has("SMTPUTF8") {
            return Ok(format!("MAIL FROM:<{from}> SMTPUTF8"));
        }
        let reason = "the address is not ASCII, and the server has no SMTPUTF8".to_owned();
        Err(if from_beyond { sender(reason, true) } else { unusable(reason) })
    }
}

fn refused_for_good(reason: &str) -> ReplyError {
    ReplyError::Refused { reason: reason.to_owned(), permanent: true, leaves: false }
}

fn sender(reason: String, permanent: bool) -> SendError {
    SendError::Sender { reason, permanent }
}

/// The error of an address that no server can be asked for.
fn unusable(reason: String) -> SendError {
    SendError::Recipient { reason, blame: Blame::Address }
}

fn broken(server: &str, reason: String) -> SendError {
    ReplyError::Broken(reason).connecting(server)
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

/// A password in all forms in which it is sent.
fn secrets(username: &str, password: &str) -> Vec<String> {
    vec![BASE64.encode(format!("\0{username}\0{password}")), BASE64.encode(password), password.to_owned()]
}

/// The mail with CRLF at the end of every line, including the last, and with each dot doubled that begins a
/// line (RFC 5321, section 4.5.2). Some servers take a bare CR or LF for a line end. Without this a dot behind
/// it would stay single, and a mail could end, and another begin, inside the first.
fn lines(raw: &[u8]) -> Vec<u8> {
    let mut whole = Vec::with_capacity(raw.len() + raw.len() / 50 + 64);
    let (mut octets, mut begins) = (raw.iter().copied().peekable(), true);
    while let Some(octet) = octets.next() {
        if matches!(octet, b'\r' | b'\n') {
            let _: Option<u8> = octets.next_if(|&next| octet == b'\r' && next == b'\n');
            whole.extend_from_slice(b"\r\n");
            begins = true;
            continue;
        }
        if begins && octet == b'.' {
            whole.push(b'.');
        }
        whole.push(octet);
        begins = false;
    }
    if !begins {
        whole.extend_from_slice(b"\r\n");
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_end_is_crlf_and_dots_are_doubled() {
        let table: [(&[u8], &[u8]); 13] = [
            (b"", b""),
            (b"a", b"a\r\n"),
            (b"a\r\n", b"a\r\n"),
            (b"a\r\n\r\n", b"a\r\n\r\n"),
            (b"\r\n", b"\r\n"),
            (b"a\r\n.\r\nb\r\n", b"a\r\n..\r\nb\r\n"),
            (b"a\nb\n", b"a\r\nb\r\n"),
            (b"a\rb\r", b"a\r\nb\r\n"),
            (b"a\n.\nMAIL FROM:<x@y>\n", b"a\r\n..\r\nMAIL FROM:<x@y>\r\n"),
            (b".a.\n..b", b"..a.\r\n...b\r\n"),
            (b"a\r\r\n", b"a\r\n\r\n"),
            (b"\na", b"\r\na\r\n"),
            (b"a\n\r\n", b"a\r\n\r\n"),
        ];
        for (raw, want) in table {
            assert_eq!(lines(raw), want, "{:?}", String::from_utf8_lossy(raw));
        }
    }
}
