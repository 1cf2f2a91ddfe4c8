//! One conversation with an SMTP server: login, one mail after the other to one recipient each, the end. Each
//! stage has an error of its own, since it decides what happens with the mail. Queues and repeats are
//! elsewhere.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use lettre::Address;
use secrecy::ExposeSecret as _;
use tokio::time::timeout;

use super::blame::{Blame, Past, Stage};
use super::chat::Reply;
use super::connect::{Greeted, Route, connect};
use super::error::{End, SendError};
use super::{Capabilities, Timing};
use crate::failpoint;
use crate::mail::Login;

/// A conversation ready for MAIL.
pub(super) struct Session {
    greeted: Greeted,
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
        let named = |failure: SendError| match failure.end {
            End::Refused(_) if failure.stage == Stage::Login => failure,
            End::Refused(_) | End::Broken | End::ReplyLost => {
                SendError { stage: Stage::Connection, ..failure }
                    .map(|reason| format!("{}:{}: {reason}", route.host, route.port))
            }
        };
        let greeted = connect(route, &limits).await.map_err(named)?;
        let mut session = Self { greeted, limits, mechanism: None, is_left: false };
        // A route with a login has TLS. The check is repeated here because a password in the open would be
        // costly.
        if let (Some(login), Some(_)) = (login, session.greeted.tls_version) {
            session.log_in(login).await.map_err(named)?;
        }
        Ok(session)
    }

    async fn log_in(&mut self, login: &Login) -> Result<(), SendError> {
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
                Err(failure) if failure.is_refusal() && !failure.is_farewell() => failed = Some(failure),
                Err(failure) => {
                    failed.get_or_insert(failure);
                    break;
                }
            }
        }
        let offered = self.greeted.extensions.logins();
        let none = || no_login(format!("it offers {offered}; hostwatch can log in by PLAIN and LOGIN"));
        // Some servers quote the command that they refuse.
        Err(failed.unwrap_or_else(none).map(|reason| {
            let secrets = secrets(user, password).into_iter().filter(|secret| !secret.is_empty());
            secrets.fold(reason, |text, secret| text.replace(&secret, "[hidden]"))
        }))
    }

    async fn answer_challenges(
        &mut self,
        mut said: String,
        answers: Vec<String>,
    ) -> Result<Reply, SendError> {
        let mut answers = answers.into_iter();
        loop {
            let asked = self.greeted.chat.ask(&said);
            let reply = self.limits.answer(Stage::Login, "AUTH", self.limits.reply, asked).await?;
            if reply.code != *b"334" {
                return reply.of_kind(Stage::Login, "AUTH", 2);
            }
            let too_much = || no_login("it asks for more than user and password".to_owned());
            said = answers.next().ok_or_else(too_much)?;
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
        let from = address(Stage::Sender, from)?;
        let to = address(Stage::Recipient, to)?;
        let mut mail = self.mail(&from, Some(&to))?;
        if !raw.is_ascii() && self.greeted.extensions.has("8BITMIME") {
            mail.push_str(" BODY=8BITMIME");
        }
        let sent = async {
            self.step(Stage::Sender, &mail, 2).await?;
            failpoint::reach("sender-taken");
            self.step(Stage::Recipient, &format!("RCPT TO:<{to}>"), 2).await?;
            failpoint::reach("recipient-taken");
            self.step(Stage::Content, "DATA", 3).await?;
            self.content(&lines(raw)).await
        };
        sent.await.map_err(|failure| failure.judged(from.as_ref(), past))
    }

    /// One command of a mail's conversation.
    async fn step(&mut self, stage: Stage, command: &str, wanted: u8) -> Result<(), SendError> {
        let replied = self.limits.ask(&mut self.greeted.chat, stage, command, wanted).await;
        self.is_left |= replied.as_ref().is_err_and(SendError::is_farewell);
        replied.map(drop)
    }

    /// Prepares the conversation for another mail. A refusal may have left the last mail half sent.
    pub(super) async fn again(mut self) -> Option<Self> {
        self.step(Stage::Sender, "RSET", 2).await.is_ok().then_some(self)
    }

    /// Whether another mail may follow this result. In the middle of a mail the server would read RSET and QUIT
    /// as a part of it.
    pub(super) fn goes_on(&self, outcome: &Result<(), SendError>) -> bool {
        !self.is_left && outcome.as_ref().err().is_none_or(SendError::is_refusal)
    }

    /// Whether another connection may take the mail: this one ended before the server can have had it, or the
    /// server refused it at MAIL.
    pub(super) fn another_may_take_it(&self, outcome: &Result<(), SendError>) -> bool {
        let is_open_to_another =
            |failure: &SendError| failure.stage == Stage::Sender || failure.end == End::Broken;
        self.is_left || outcome.as_ref().is_err_and(is_open_to_another)
    }

    async fn content(&mut self, lines: &[u8]) -> Result<(), SendError> {
        let (stage, what) = (Stage::Content, "the mail");
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
        let replied = limits.answer(stage, what, limits.content, sending).await;
        let replied = replied.and_then(|reply| reply.of_kind(stage, what, 2));
        self.is_left |= replied.as_ref().is_err_and(SendError::is_farewell);
        replied.map(drop).map_err(|failure| match failure.end {
            End::Broken if is_whole => SendError { end: End::ReplyLost, ..failure },
            End::Broken | End::Refused(_) | End::ReplyLost => failure,
        })
    }

    /// Asks whether the server would take mail from this sender for these recipients, without sending one. Returns
    /// the refusals of recipients.
    pub(super) async fn try_envelope(
        &mut self,
        from: &str,
        recipients: &[String],
    ) -> Result<Vec<(String, SendError)>, SendError> {
        let from = address(Stage::Sender, from)?;
        self.step(Stage::Sender, &self.mail(&from, None)?, 2).await?;
        let (mut refused, mut takes_others) = (Vec::new(), false);
        for to in recipients {
            match self.step(Stage::Recipient, &format!("RCPT TO:<{to}>"), 2).await {
                Ok(()) => takes_others = true,
                Err(failure) if failure.is_refusal() && !self.is_left => {
                    let past = Past { takes_others, took_since: false };
                    refused.push((to.clone(), failure.judged(from.as_ref(), past)));
                }
                Err(failure) => return Err(failure),
            }
        }
        Ok(refused)
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
        Err(unusable(if from_beyond { Stage::Sender } else { Stage::Recipient }, reason))
    }
}

fn no_login(reason: String) -> SendError {
    SendError { stage: Stage::Login, end: End::Refused(Blame::Server), reason }
}

/// The error of an address that no server can be asked for.
fn unusable(stage: Stage, reason: String) -> SendError {
    let blame = if stage == Stage::Recipient { Blame::Address } else { Blame::Server };
    SendError { stage, end: End::Refused(blame), reason }
}

fn address(stage: Stage, text: &str) -> Result<Address, SendError> {
    text.parse().map_err(|error| unusable(stage, format!("{text:?} is no mail address ({error})")))
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
