//! The settings of `[email]`, `[webhooks]` and `[telegram]`, as transports and renderer need them, and the
//! ways to recipients. No I/O.

use std::sync::Arc;

use lettre::message::Mailbox;
use secrecy::SecretString;

use crate::model::{TELEGRAM, Via, WEBHOOK};

/// The mail server and the sender.
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
    /// Never beside [`Security::Plain`].
    pub login: Option<Login>,
    /// Certificates in PEM form that are trusted beside the system's.
    pub authorities: Option<Arc<[u8]>>,
    /// The name for the greeting; by default this machine's full name.
    pub helo_name: Option<String>,
}

/// A user at the server.
#[derive(Clone, Debug)]
pub(crate) struct Login {
    pub username: String,
    pub password: SecretString,
}

/// The protection of the connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Security {
    /// TLS from the first byte (`smtps://`).
    Tls,
    /// STARTTLS, required (`smtp://`).
    StartTls,
    /// None; only for a loopback address.
    Plain,
}

/// A table in `[webhooks]`.
#[derive(Clone, Debug)]
pub(crate) struct WebhookSettings {
    pub name: String,
    /// A secret: its holder can post there.
    pub url: SecretString,
    pub via: Via,
    /// Headers of each post; their values are secrets.
    pub headers: Vec<(String, SecretString)>,
}

/// A table in `[telegram]`: a bot, and the chat that it writes to.
#[derive(Clone, Debug)]
pub(crate) struct TelegramSettings {
    pub name: String,
    /// The bot's token. Its holder can write as the bot and read messages to the bot.
    pub token: SecretString,
    /// A number, or `@name` of a public group or channel.
    pub chat: String,
    /// The topic of a group that has topics.
    pub thread: Option<u32>,
    /// The Bot API, without a slash at the end.
    pub api_url: String,
    pub via: Via,
    /// Whether messages about problems have buttons to acknowledge and to silence them.
    pub buttons: bool,
}

/// A service with tables of its own in the configuration.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Service {
    Webhook,
    Telegram,
}

impl Service {
    const ALL: [Self; 2] = [Self::Webhook, Self::Telegram];

    /// The prefix of a table's name in a recipient.
    pub(crate) fn prefix(self) -> &'static str {
        match self {
            Self::Webhook => WEBHOOK,
            Self::Telegram => TELEGRAM,
        }
    }

    /// The table of tables in the configuration, and the keys that each of them needs.
    pub(crate) fn table(self) -> (&'static str, &'static str) {
        match self {
            Self::Webhook => ("webhooks", "url or url_file"),
            Self::Telegram => ("telegram", "token or token_file, and chat_id"),
        }
    }
}

/// The way to a recipient.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Way {
    /// The mail server.
    Smtp,
    /// A service, and the name of its table.
    Named(Service, String),
}

impl Way {
    /// The way to a recipient, read as the configuration or the notification log writes it.
    pub(crate) fn to(recipient: &str) -> Self {
        let named = |service: Service| {
            Some(Self::Named(service, recipient.strip_prefix(service.prefix())?.to_owned()))
        };
        Service::ALL.into_iter().find_map(named).unwrap_or(Self::Smtp)
    }

    /// The way in words.
    pub(crate) fn words(&self) -> String {
        match self {
            Self::Smtp => "the mail server".to_owned(),
            Self::Named(Service::Webhook, name) => format!("webhook {name}"),
            Self::Named(Service::Telegram, name) => format!("Telegram chat {name}"),
        }
    }
}

/// A recipient as the notification log names it: the bare address with its domain in lower case. Names of
/// webhooks and chats stay as they are.
pub(crate) fn address(to: &str) -> String {
    let bare = to.parse::<Mailbox>().map_or_else(|_| to.to_owned(), |mailbox| mailbox.email.to_string());
    match bare.rsplit_once('@') {
        Some((local, domain)) => format!("{local}@{}", domain.to_lowercase()),
        None => bare,
    }
}
