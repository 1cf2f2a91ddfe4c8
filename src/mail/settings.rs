//! `[email]` and `[webhooks]`, as the transports and the renderer need them, and who is told. No I/O.

use std::fmt;
use std::path::PathBuf;

use lettre::message::Mailbox;
use secrecy::SecretString;

use crate::model::WEBHOOK;

/// Where mail goes out, and as whom.
#[derive(Clone, Debug)]
pub(crate) struct MailSettings {
    pub server: MailServer,
    pub from: Mailbox,
}

/// The SMTP server of `smtp_url`.
#[derive(Clone, Debug)]
pub(crate) struct MailServer {
    pub host: String,
    pub port: u16,
    pub security: Security,
    pub username: Option<String>,
    pub password: Option<SecretString>,
    /// A private CA to trust beside the system's.
    pub ca_file: Option<PathBuf>,
}

/// How the connection is protected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Security {
    /// TLS from the first byte (`smtps://`).
    Tls,
    /// STARTTLS, required (`smtp://`).
    StartTls,
    /// None; only to a loopback address.
    Plain,
}

/// One of `[webhooks]`.
#[derive(Clone, Debug)]
pub(crate) struct WebhookSettings {
    pub name: String,
    /// A secret: whoever has it can write there.
    pub url: SecretString,
}

/// One who is told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Recipient {
    Mail(Mailbox),
    /// By its name in the configuration.
    Webhook(String),
}

impl Recipient {
    /// The bare address; of a webhook `webhook:NAME`.
    pub(crate) fn address(&self) -> String {
        match self {
            Self::Mail(mailbox) => mailbox.email.to_string(),
            Self::Webhook(_) => self.to_string(),
        }
    }

    /// Is it a webhook?
    pub(crate) fn is_webhook(&self) -> bool {
        matches!(self, Self::Webhook(_))
    }
}

impl fmt::Display for Recipient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mail(mailbox) => mailbox.fmt(f),
            Self::Webhook(name) => write!(f, "{WEBHOOK}{name}"),
        }
    }
}

/// The webhook that a recipient's text names; `None` for a mail address.
pub(crate) fn webhook_name(recipient: &str) -> Option<&str> {
    recipient.strip_prefix(WEBHOOK)
}
