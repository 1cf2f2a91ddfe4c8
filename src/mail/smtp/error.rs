//! The errors between a mail and its 250, by the stage of the conversation. The sender decides whether and when
//! to try again. Reasons hold no password.

use std::path::PathBuf;

use super::blame::{Blame, enhanced, speaks_of_sender};

/// Settings with which no connection can be made.
#[derive(thiserror::Error, Debug, Clone, PartialEq, Eq)]
pub(crate) enum TransportError {
    #[error("email.ca_file {}: {reason}; name a PEM file of CA certificates that hostwatch may read", path.display())]
    CaFile { path: PathBuf, reason: String },
    #[error(
        "this machine has no usable CA certificates ({reason}), so no SMTP server can be checked; \
         install the package ca-certificates, or name a PEM file in email.ca_file"
    )]
    NoRoots { reason: String },
    #[error("email.smtp_url: {host:?} is neither a host name nor an address; correct it")]
    Host { host: String },
    #[error("TLS cannot be set up: {reason}")]
    Tls { reason: String },
}

/// The reason why a mail was not sent, as far as it is known. `permanent` is a 5xx reply; otherwise it was a
/// 4xx.
#[derive(thiserror::Error, Debug, Clone, PartialEq, Eq)]
pub(crate) enum SendError {
    /// Name look-up, TCP, TLS, greeting or EHLO failed, or the connection broke before MAIL: the server fails,
    /// and not the mail.
    #[error("no working connection to the SMTP server: {reason}")]
    Connection { reason: String, permanent: bool },
    /// AUTH was refused, or the server offers no mechanism that hostwatch knows.
    #[error("the SMTP server refused the login: {reason}{}", remedy_of_login(*permanent))]
    Login { reason: String, permanent: bool },
    /// MAIL FROM was refused.
    #[error("the SMTP server refused the sender: {reason}{}", remedy(reason))]
    Sender { reason: String, permanent: bool },
    /// RCPT TO was refused.
    #[error("the SMTP server refused the recipient: {reason}{}", remedy_of_recipient(*blame, reason))]
    Recipient { reason: String, blame: Blame },
    /// DATA or the final dot was refused.
    #[error("the SMTP server refused the mail: {reason}{}", remedy_if(*blame, reason))]
    Message { reason: String, blame: Blame },
    /// The whole mail was sent and no reply came: it may have been accepted.
    #[error("the reply to the whole mail was lost, so it may have been accepted: {reason}")]
    ReplyLost { reason: String },
    /// The conversation ended between MAIL and the final dot: the mail was not accepted.
    #[error("the mail was not sent whole: {reason}")]
    Interrupted { reason: String },
}

fn remedy_of_login(is_permanent: bool) -> &'static str {
    if is_permanent {
        "; check the user in email.smtp_url and email.password"
    } else {
        "; it may be for a while"
    }
}

/// The remedy for a refusal of us.
fn remedy(reason: &str) -> &'static str {
    let wants_login = reason.starts_with("530") || enhanced(reason) == Some((7, 0));
    if wants_login {
        "; it wants a login or TLS: set a user in email.smtp_url and email.password, or write smtps://"
    } else if speaks_of_sender(&reason.to_lowercase()) || matches!(enhanced(reason), Some((1, 7 | 8))) {
        "; check email.from, and whether the login may send as it"
    } else if enhanced(reason) == Some((5, 2)) || reason.starts_with("504") {
        "; it refuses the greeting: set email.helo_name to a full host name that it accepts"
    } else {
        "; check email.from, the login, and whether the server takes mail from this machine"
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
        _ => remedy_if(blame, reason),
    }
}

fn remedy_if(blame: Blame, reason: &str) -> &'static str {
    if blame == Blame::Server { remedy(reason) } else { "" }
}
