//! The errors between a mail and its 250, by the stage of the conversation. The sender decides whether and when
//! to try again. Reasons hold no password.

use std::io;

use super::blame::{Blame, Past, Stage, blame, enhanced, speaks_of_sender};
use crate::model::sanitize;

/// The longest text of a server that is kept, in characters.
pub(crate) const LONGEST_SAID: usize = 400;

/// How a stage ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    /// A reply of 4xx or 5xx. Before the recipient it concerns us, for a while or for good.
    Refused(Blame),
    /// No readable reply came in time. The mail was not taken.
    Broken,
    /// The whole mail was sent and no reply came: it may have been taken.
    ReplyLost,
}

/// The reason why a mail was not sent, as far as it is known.
#[derive(thiserror::Error, Debug, Clone, PartialEq, Eq)]
#[error("{}: {reason}{}", self.what(), self.remedy())]
pub(crate) struct SendError {
    pub(crate) stage: Stage,
    pub(crate) end: End,
    /// The server's reply, behind its code, or what happened.
    pub(crate) reason: String,
}

impl From<String> for SendError {
    /// There is no connection.
    fn from(reason: String) -> Self {
        Self { stage: Stage::Connection, end: End::Broken, reason }
    }
}

impl SendError {
    /// No readable reply to `what` came.
    pub(super) fn broken(stage: Stage, what: &str, error: &io::Error) -> Self {
        let how = if error.kind() == io::ErrorKind::InvalidData {
            "no readable reply to"
        } else if error.kind() == io::ErrorKind::TimedOut {
            "waiting for the reply to"
        } else {
            "connection lost at"
        };
        let reason = sanitize::one_line(&format!("{how} {what} ({error})"), LONGEST_SAID);
        Self { stage, end: End::Broken, reason }
    }

    /// The same with more words around its reason.
    pub(super) fn map(self, words: impl FnOnce(String) -> String) -> Self {
        Self { reason: words(self.reason), ..self }
    }

    pub(super) fn is_refusal(&self) -> bool {
        matches!(self.end, End::Refused(_))
    }

    /// The same with the blame for a refusal of one mail.
    pub(super) fn judged(self, from: &str, past: Past) -> Self {
        let end = match self.end {
            End::Refused(_) => End::Refused(blame(self.stage, &self.reason, from, past)),
            End::Broken | End::ReplyLost => self.end,
        };
        Self { end, ..self }
    }

    fn what(&self) -> &'static str {
        match (self.end, self.stage) {
            (End::ReplyLost, _) => "the reply to the whole mail was lost, so it may have been accepted",
            (_, Stage::Connection) => "no working connection to the SMTP server",
            (End::Broken, Stage::Content) => "the mail was not sent whole",
            (End::Broken, _) => "the conversation ended before the mail",
            (End::Refused(_), Stage::Login) => "the SMTP server refused the login",
            (End::Refused(_), Stage::Sender) => "the SMTP server refused the sender",
            (End::Refused(_), Stage::Recipient) => "the SMTP server refused the recipient",
            (End::Refused(_), Stage::Content) => "the SMTP server refused the mail",
        }
    }

    fn remedy(&self) -> &'static str {
        let End::Refused(blame) = self.end else { return "" };
        match self.stage {
            Stage::Connection => "",
            Stage::Login if blame == Blame::Later => "; it may be for a while",
            Stage::Login => "; check the user in email.smtp_url and email.password",
            Stage::Sender => remedy(&self.reason).unwrap_or(OF_US),
            Stage::Recipient => remedy_of_recipient(blame, &self.reason),
            Stage::Content => remedy_of_content(blame, &self.reason),
        }
    }
}

/// The remedy for a refusal of us whose cause the reply names.
fn remedy(reason: &str) -> Option<&'static str> {
    let wants_login = reason.starts_with("530") || enhanced(reason) == Some((7, 0));
    if wants_login {
        Some("; it wants a login or TLS: set a user in email.smtp_url and email.password, or write smtps://")
    } else if speaks_of_sender(&reason.to_lowercase()) || matches!(enhanced(reason), Some((1, 7 | 8))) {
        Some("; check email.from, and whether the login may send as it")
    } else if enhanced(reason) == Some((5, 2)) || reason.starts_with("504") {
        Some("; it refuses the greeting: set email.helo_name to a full host name that it accepts")
    } else {
        None
    }
}

/// The remedy for a refusal of us without a cause.
const OF_US: &str = "; check email.from, the login, and whether the server takes mail from this machine";

/// Without a code for its cause, the contents may be refused, or we are.
fn remedy_of_content(blame: Blame, reason: &str) -> &'static str {
    match blame {
        Blame::Server => remedy(reason).unwrap_or(
            "; it may be what the mail holds, so that plain text is tried next, or this machine or email.from",
        ),
        Blame::Later | Blame::Address | Blame::Mail => "",
    }
}

/// Without a code for its cause, a refused recipient may be wrong, or we are.
fn remedy_of_recipient(blame: Blame, reason: &str) -> &'static str {
    match (blame, enhanced(reason)) {
        (Blame::Address, Some((2, _))) => "; its owner must mend the mailbox, or name another recipient",
        (Blame::Address, _) => "; check that this address is right and exists",
        (Blame::Server, None) if reason.starts_with("550") && !speaks_of_sender(&reason.to_lowercase()) => {
            "; check that this address is right and exists, and whether the server takes mail from this machine"
        }
        (Blame::Server, _) => remedy(reason).unwrap_or(OF_US),
        (Blame::Later | Blame::Mail, _) => "",
    }
}
