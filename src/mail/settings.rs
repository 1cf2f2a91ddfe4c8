//! `[email]` and `[webhooks]`, as the transports and the renderer need them. No I/O.

use std::path::PathBuf;

use lettre::message::Mailbox;
use secrecy::SecretString;

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
