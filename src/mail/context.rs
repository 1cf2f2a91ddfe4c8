//! The context that every mail is written from, beside its notice, and the errors of writing one. Pure.

use chrono::{DateTime, TimeDelta, Utc};
use lettre::message::Mailbox;

use crate::alert::NotReached;
use crate::model::{AccountName, AccountState, Language, OwnVm, Snapshot};
use crate::view::{Payer, Reader};

/// The number of names, of incidents, of rows in one mail. A person reads fewer.
pub(super) const MOST_LISTED: usize = 50;
/// The number of names in the mail of the first start.
pub(super) const MOST_STARTED: usize = 20;
/// The days that a payment takes, if the account is not known.
const LEAD_DAYS: u32 = 3;

/// The context that a mail is written from, beside its notice.
#[derive(Clone)]
pub(crate) struct Context<'a> {
    pub from: &'a Mailbox,
    pub snapshot: &'a Snapshot,
    /// The time at which the mail is made: its `Date`.
    pub now: DateTime<Utc>,
    /// The longest time between two digests, in days.
    pub digest_days: usize,
    /// The watched VM that hostwatch itself runs on, if there is one. If its account is cut off, hostwatch stops.
    pub lives_on: Option<OwnVm>,
    /// The time by which this machine's clock is ahead of the provider's, if the provider's decides.
    pub clock: Option<TimeDelta>,
    /// Other recipients of its accounts that mails cannot reach.
    pub unreached: &'a [NotReached],
    /// The address of the status page, if it is known.
    pub page: Option<&'a str>,
    /// The language of its recipient.
    pub language: Language,
    /// Text alone, without picture and files: the server refused more.
    pub is_light: bool,
}

/// The reason why a mail could not be made. Another attempt does not help.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RenderError {
    #[error("'{text}' is no mail address; correct it in the recipients")]
    Recipient { text: String, source: lettre::address::AddressError },
    #[error("'{0}' cannot stand in a header")]
    Header(String),
    #[error("putting the mail together failed")]
    Message(#[source] lettre::error::Error),
    #[error("writing the JSON failed")]
    Json(#[source] serde_json::Error),
    #[error("writing the HTML part failed")]
    Template(#[source] askama::Error),
}

impl<'a> Context<'a> {
    /// A context without thresholds, page and the VM that hostwatch runs on.
    pub(crate) fn new(from: &'a Mailbox, snapshot: &'a Snapshot, now: DateTime<Utc>) -> Self {
        Self {
            from,
            snapshot,
            now,
            digest_days: 7,
            lives_on: None,
            clock: None,
            unreached: &[],
            page: None,
            language: Language::En,
            is_light: false,
        }
    }
}

impl Context<'_> {
    pub(super) fn account(&self, name: &AccountName) -> Option<&AccountState> {
        self.snapshot.accounts.get(name).map(AsRef::as_ref)
    }

    /// The reader of words about no single account.
    pub(super) fn reader(&self) -> Reader {
        Reader::new(self.language, self.now)
    }

    /// The reader of words about an account.
    pub(super) fn of(&self, account: &AccountName) -> Reader {
        self.reader().of(self.account(account))
    }

    /// The reader of words about the first of these accounts.
    pub(super) fn of_first(&self, accounts: &[AccountName]) -> Reader {
        accounts.first().map_or_else(|| self.reader(), |first| self.of(first))
    }

    /// The facts of the account that its cut-off depends on.
    pub(super) fn payer(&self, name: &AccountName) -> Payer<'_> {
        let reader = self.reader();
        let unknown = Payer { report: None, unread_since: None, currency: "", lead_days: LEAD_DAYS, reader };
        self.account(name).map_or(unknown, |state| Payer::of(state, reader))
    }
}
