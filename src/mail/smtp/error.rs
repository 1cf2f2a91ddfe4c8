//! What can go wrong between a mail and its 250, by the stage that the SMTP server was at. Whether and when
//! to try again is the sender's to decide; no reason holds a password.

use std::path::PathBuf;

/// Settings no connection can be made with.
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
    #[error("email.smtp_url: a login needs TLS; use smtps://, or smtp:// with STARTTLS, or remove the user")]
    LoginWithoutTls,
    #[error("email.smtp_url names a user without a password; set email.password_file, or remove the user")]
    NoPassword,
    #[error("TLS cannot be set up: {reason}")]
    Tls { reason: String },
}

/// Why a mail was not sent, as far as is known. `permanent` is a 5xx reply, transient a 4xx.
#[derive(thiserror::Error, Debug, Clone, PartialEq, Eq)]
pub(crate) enum SendError {
    /// Name look-up, TCP, TLS, greeting, EHLO, or a break before MAIL: the server's failure, not the mail's.
    #[error("no working connection to the SMTP server: {reason}")]
    Connection { reason: String },
    /// AUTH was refused, or none that hostwatch knows is offered.
    #[error(
        "the SMTP server refused the login: {reason}; check the user in email.smtp_url and email.password"
    )]
    Login { reason: String, permanent: bool },
    /// MAIL FROM was refused.
    #[error("the SMTP server refused the sender: {reason}; check email.from")]
    Sender { reason: String, permanent: bool },
    /// RCPT TO was refused.
    #[error("the SMTP server refused the recipient: {reason}")]
    Recipient { reason: String, permanent: bool },
    /// DATA or the final dot was refused.
    #[error("the SMTP server refused the mail: {reason}")]
    Message { reason: String, permanent: bool },
    /// The mail went out whole, its reply did not come: it may have been accepted.
    #[error("the reply to the whole mail was lost, so it may have been accepted: {reason}")]
    ReplyLost { reason: String },
    /// The connection broke between MAIL and the final dot: the mail was not accepted.
    #[error("the connection broke before the mail was whole: {reason}")]
    Interrupted { reason: String },
}

impl SendError {
    /// Whether the server said never to try again as it is (5xx).
    pub(crate) fn permanent(&self) -> bool {
        match self {
            Self::Login { permanent, .. }
            | Self::Sender { permanent, .. }
            | Self::Recipient { permanent, .. }
            | Self::Message { permanent, .. } => *permanent,
            Self::Connection { .. } | Self::ReplyLost { .. } | Self::Interrupted { .. } => false,
        }
    }
}
