//! Which mails leave by which way: each has a queue, and a sender, of its own.

/// The envelopes that leave by one way.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Queue {
    /// To mail addresses.
    Mail,
    /// To the webhook of this name.
    Webhook(String),
}

/// An envelope of the queue that the parameter `:queue` names.
pub(super) const IN_QUEUE: &str = "(recipient = :queue OR (:queue = '' AND recipient NOT LIKE 'webhook:%'))";

impl Queue {
    /// The value of `:queue`: the one recipient, or nothing.
    pub(super) fn parameter(&self) -> String {
        match self {
            Self::Mail => String::new(),
            Self::Webhook(name) => format!("webhook:{name}"),
        }
    }
}
