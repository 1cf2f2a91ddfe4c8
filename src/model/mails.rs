//! Mails of the outbox as people are told of them: each to one recipient, and what became of it.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::AccountName;

/// A mail to one recipient.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct MailRecord {
    pub id: i64,
    pub state: MailState,
    pub recipient: String,
    pub subject: String,
    /// Whose it is; absent where it is about no account.
    pub account: Option<AccountName>,
    pub created_at: DateTime<Utc>,
    /// When it was sent, given up or withdrawn.
    pub ended_at: Option<DateTime<Utc>>,
    pub attempts: u32,
    /// What the mail server last said.
    pub error: Option<String>,
}

/// What became of it.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, strum::EnumString, strum::VariantNames,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub(crate) enum MailState {
    Queued,
    Sending,
    Sent,
    Dead,
    Withdrawn,
}

impl MailState {
    /// Each as the store and the metrics have it.
    pub(crate) const NAMES: &[&str] = <Self as strum::VariantNames>::VARIANTS;

    /// The word of mails and page.
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::Queued => "waiting",
            Self::Sending => "sending",
            Self::Sent => "sent",
            Self::Dead => "given up",
            Self::Withdrawn => "withdrawn",
        }
    }
}

/// Mails that were given up and of which no mail that arrived tells.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct GivenUpMails {
    pub count: u64,
    /// Of the last of them.
    pub recipient: String,
    pub error: String,
    pub at: DateTime<Utc>,
}
