//! Which mails leave by which way: each has a queue, and a sender, of its own.

use crate::model::WEBHOOK;

/// The envelopes that leave by one way.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Queue {
    /// To mail addresses.
    Mail,
    /// To the webhook of this name.
    Webhook(String),
}

/// An envelope of the queue that the parameter `:queue` names.
pub(super) fn in_queue() -> String {
    format!("(recipient = :queue OR (:queue = '' AND recipient NOT LIKE '{WEBHOOK}%'))")
}

/// The parameter of an envelope's queue.
pub(super) fn queue_of() -> String {
    format!("CASE WHEN recipient LIKE '{WEBHOOK}%' THEN recipient ELSE '' END")
}

impl Queue {
    /// The value of `:queue`: the one recipient, or nothing.
    pub(super) fn parameter(&self) -> String {
        match self {
            Self::Mail => String::new(),
            Self::Webhook(name) => format!("{WEBHOOK}{name}"),
        }
    }
}
