//! One conversation with an SMTP server: login, one mail after the other to one recipient each, the end. Each
//! stage has an error of its own, since it decides what happens with the mail. Queues and repeats are
//! elsewhere.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use lettre::Address;
use secrecy::ExposeSecret as _;
use tokio::time::{Duration, timeout};

use super::blame::{Blame, Past, Stage};
use super::chat::Chat;
use super::error::{End, SendError};
use super::{Capabilities, Timing};
use crate::failpoint;
use crate::mail::Login;
use crate::model::hide::hidden;

/// The limit of the reply to QUIT.
const QUIT_LIMIT: Duration = Duration::from_secs(5);

/// A conversation after EHLO.
pub(crate) struct Session {
    pub(super) chat: Chat,
    /// The name that this machine greeted with.
    pub(super) greeting: String,
    /// The server's extensions, as its reply to EHLO lists them, in capital letters.
    pub(super) extensions: Vec<String>,
    pub(super) tls_version: Option<&'static str>,
    /// The way of the last login.
    pub(super) mechanism: Option<&'static str>,
    pub(super) timing: Timing,
    /// Whether a mail was sent, or half sent, over it.
    pub(super) is_used: bool,
}

/// Whether a server has an extension.
pub(super) fn has(extensions: &[String], name: &str) -> bool {
    extensions.iter().any(|line| line.split_whitespace().next() == Some(name))
}

impl Session {
    pub(super) async fn log_in(&mut self, login: &Login) -> Result<(), SendError> {
        let (user, password) = (login.username.as_str(), login.password.expose_secret());
        let both = BASE64.encode(format!("\0{user}\0{password}"));
        // A password in all forms in which it is sent.
        let secrets = [both.clone(), BASE64.encode(password), password.to_owned()];
        // Some servers ask once more for what came with AUTH PLAIN.
        let ways = [
            ("PLAIN", format!("AUTH PLAIN {both}"), vec![both]),
            ("LOGIN", "AUTH LOGIN".to_owned(), vec![BASE64.encode(user), BASE64.encode(password)]),
        ];
        let offered = self.logins();
        let mut failed = None;
        for (mechanism, said, answers) in ways {
            if !offered.iter().any(|one| one == mechanism) {
                continue;
            }
            self.mechanism = Some(mechanism);
            match self.answer_challenges(said, answers).await {
                Ok(()) => return Ok(()),
                // Some servers offer PLAIN and take LOGIN alone. A break after a refusal says less than the refusal.
                Err(failure) if failure.is_refusal() && !self.chat.is_left => failed = Some(failure),
                Err(failure) => {
                    failed.get_or_insert(failure);
                    break;
                }
            }
        }
        let offered =
            if offered.is_empty() { "no login".to_owned() } else { format!("AUTH {}", offered.join(" ")) };
        let none = || no_login(format!("it offers {offered}; hostwatch can log in by PLAIN and LOGIN"));
        // Some servers quote the command that they refuse.
        let secrets = secrets.iter().map(String::as_str);
        Err(failed.unwrap_or_else(none).map(|reason| hidden(&reason, secrets, 1)))
    }

    /// The ways to log in that the server offers. Old servers write AUTH=LOGIN.
    fn logins(&self) -> Vec<String> {
        let lines = self.extensions.iter();
        let offered = lines.filter_map(|line| line.strip_prefix("AUTH")?.strip_prefix([' ', '=']));
        offered.flat_map(str::split_whitespace).map(str::to_owned).collect()
    }

    async fn answer_challenges(&mut self, mut said: String, answers: Vec<String>) -> Result<(), SendError> {
        let mut answers = answers.into_iter();
        loop {
            let reply = self.chat.ask(Stage::Login, &said, b"23").await?;
            said = match (reply.code, answers.next()) {
                ([b'2', ..], _) => return Ok(()),
                ([b'3', b'3', b'4'], Some(answer)) => answer,
                _ => return Err(no_login("it asks for more than user and password".to_owned())),
            };
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
        if !raw.is_ascii() && has(&self.extensions, "8BITMIME") {
            mail.push_str(" BODY=8BITMIME");
        }
        let sent = async {
            // A refusal may have left the last mail half sent.
            if std::mem::replace(&mut self.is_used, true) {
                self.chat.ask(Stage::Sender, "RSET", b"2").await?;
            }
            self.chat.ask(Stage::Sender, &mail, b"2").await?;
            failpoint::reach("sender-taken");
            self.chat.ask(Stage::Recipient, &format!("RCPT TO:<{to}>"), b"2").await?;
            failpoint::reach("recipient-taken");
            self.chat.ask(Stage::Content, "DATA", b"3").await?;
            self.content(&lines(raw)).await
        };
        sent.await.map_err(|failure| failure.judged(from.as_ref(), past))
    }

    /// Whether another mail may follow this result. In the middle of a mail the server would read RSET and QUIT
    /// as a part of it.
    pub(super) fn goes_on(&self, outcome: &Result<(), SendError>) -> bool {
        !self.chat.is_left && outcome.as_ref().err().is_none_or(SendError::is_refusal)
    }

    /// Whether another connection may take the mail: this one ended before the server can have had it, or the
    /// server refused it at MAIL.
    pub(super) fn another_may_take_it(&self, outcome: &Result<(), SendError>) -> bool {
        let is_open_to_another =
            |failure: &SendError| failure.stage == Stage::Sender || failure.end == End::Broken;
        self.chat.is_left || outcome.as_ref().is_err_and(is_open_to_another)
    }

    async fn content(&mut self, lines: &[u8]) -> Result<(), SendError> {
        let (stage, what, limit) = (Stage::Content, "the mail", self.timing.content);
        self.chat.tell(stage, what, lines, limit).await?;
        failpoint::reach("before-dot");
        let replied = async {
            self.chat.tell(stage, what, b".\r\n", limit).await?;
            failpoint::reach("dot-written");
            self.chat.hear(stage, what, b"2", limit).await
        };
        // From the dot on the server may have the whole mail.
        replied.await.map(drop).map_err(|failure| match failure.end {
            End::Broken => SendError { end: End::ReplyLost, ..failure },
            End::Refused(_) | End::ReplyLost => failure,
        })
    }

    /// Asks whether the server would take mail from this sender for these recipients, without sending one, and
    /// leaves.
    pub(super) async fn probe(
        mut self,
        from: &str,
        recipients: &[String],
    ) -> Result<Capabilities, SendError> {
        let from = address(Stage::Sender, from)?;
        let mut mail = self.mail(&from, None)?;
        let (mut usable, mut refused, mut past) = (Vec::new(), Vec::new(), Past::default());
        for to in recipients {
            match address(Stage::Recipient, to).and_then(|to| self.mail(&from, Some(&to))) {
                // The longer command asks for SMTPUTF8.
                Ok(asked) => {
                    mail = mail.max(asked);
                    usable.push(to);
                }
                Err(failure) => refused.push((to.clone(), failure.to_string())),
            }
        }
        self.chat.ask(Stage::Sender, &mail, b"2").await?;
        let mut usable = usable.into_iter();
        for to in usable.by_ref() {
            match self.chat.ask(Stage::Recipient, &format!("RCPT TO:<{to}>"), b"2").await {
                Ok(_) => past.takes_others = true,
                Err(failure) => {
                    let goes_on = failure.is_refusal() && !self.chat.is_left;
                    refused.push((to.clone(), failure.judged(from.as_ref(), past).to_string()));
                    if !goes_on {
                        break;
                    }
                }
            }
        }
        let unasked = "not asked, since the conversation was over";
        refused.extend(usable.map(|to| (to.clone(), unasked.to_owned())));
        let (tls_version, login, greeting) = (self.tls_version, self.mechanism, self.greeting.clone());
        self.close().await;
        Ok(Capabilities { tls_version, login, greeting, refused })
    }

    /// Sends QUIT. Its reply does not matter, and some servers give none.
    pub(super) async fn close(mut self) {
        let _ = timeout(QUIT_LIMIT, self.chat.ask(Stage::Connection, "QUIT", b"2")).await;
    }

    /// The command that names the sender, with SMTPUTF8 if an address needs it.
    fn mail(&self, from: &Address, to: Option<&Address>) -> Result<String, SendError> {
        let beyond_ascii = |address: &Address| !AsRef::<str>::as_ref(address).is_ascii();
        let (from_beyond, to_beyond) = (beyond_ascii(from), to.is_some_and(beyond_ascii));
        if !from_beyond && !to_beyond {
            return Ok(format!("MAIL FROM:<{from}>"));
        }
        if has(&self.extensions, "SMTPUTF8") {
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
