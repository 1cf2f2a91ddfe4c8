//! Who is told: a mail address, or a webhook by its name.

use std::fmt;

use lettre::message::Mailbox;

use crate::model::WEBHOOK;

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
