//! Mails on their way, sent mails, and the number of debts.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// A mail as its server gets it; the bytes are the same at each attempt.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Rendered {
    /// Without angle brackets.
    pub message_id: String,
    /// The envelope's sender, a bare address; for a webhook the Idempotency-Key, for a chat empty.
    pub sender: String,
    pub subject: String,
    /// ASCII, with lines that end in CR LF. For a post: JSON.
    pub raw: Vec<u8>,
}

/// A mail that a server took, for one recipient.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct SentMail {
    pub message_id: String,
    pub recipient: String,
    pub subject: String,
    /// The keys of its events.
    pub told: Vec<String>,
    pub created_at: DateTime<Utc>,
    pub sent_at: DateTime<Utc>,
}

/// The number of debts that have not arrived yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct OutboxSummary {
    /// The number of recipients that are owed something that is not on its way.
    pub owed: u64,
    /// The number of mails on their way.
    pub in_flight: u64,
    /// The number of recipients among them that the server refuses.
    pub refused: u64,
    /// The number of recipients among the owed for whom the server refuses the address, the mail or us.
    pub held: u64,
    /// The number of recipients of a mail of the last week that may not have arrived: all replies to it were lost.
    pub unsure: u64,
    /// The time since when the oldest debt exists. Debts that the hourly limit holds back do not count.
    pub oldest: Option<DateTime<Utc>>,
}

impl OutboxSummary {
    /// The number of undelivered mails. All debts to one recipient count as one mail.
    pub(crate) fn waiting(&self) -> u64 {
        self.owed + self.in_flight
    }
}
