//! What every mail is written from, beside its notice, and how writing one fails. Pure.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use lettre::message::Mailbox;

use crate::alert::Item;
use crate::model::{AccountName, AccountState, Snapshot};
use crate::view::cut_off::Payer;
use crate::view::words;

/// Names in one mail: more than a person reads.
pub(super) const MOST_LISTED: usize = 50;
/// The same in a first-start mail.
pub(super) const MOST_STARTED: usize = 20;
/// How many days a payment takes where the account is not known.
const LEAD_DAYS: u32 = 3;

/// What a mail is written from, beside its notice.
#[derive(Clone)]
pub(crate) struct Context<'a> {
    pub from: &'a Mailbox,
    pub snapshot: &'a Snapshot,
    /// When the mail is made: its `Date`.
    pub now: DateTime<Utc>,
    /// The last rung before overdue, in days; 1 where the account is not in it.
    pub tightest_rungs: BTreeMap<AccountName, u32>,
    /// Where hostwatch itself runs on what it watches.
    pub lives_on: Option<LivesOn>,
    /// Lines that go into this mail beside its notice: for example mails that were given up, and to whom.
    pub notes: &'a [String],
    /// How people reach the status page, where that is known.
    pub page: Option<&'a str>,
}

/// The watched VM on which hostwatch itself runs: it goes dark with its account.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct LivesOn {
    pub account: AccountName,
    /// Its name, or its id.
    pub vm: String,
}

/// Why a mail could not be made. Trying again does not help.
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
    /// Without rungs, notes, a page and the VM that hostwatch runs on.
    pub(crate) fn new(from: &'a Mailbox, snapshot: &'a Snapshot, now: DateTime<Utc>) -> Self {
        Self { from, snapshot, now, tightest_rungs: BTreeMap::new(), lives_on: None, notes: &[], page: None }
    }
}

impl Context<'_> {
    pub(super) fn account(&self, name: &AccountName) -> Option<&AccountState> {
        self.snapshot.accounts.get(name).map(AsRef::as_ref)
    }

    /// The zone of an account's times.
    pub(super) fn zone(&self, name: &AccountName) -> Tz {
        self.account(name).map_or(Tz::UTC, |state| state.profile.zone())
    }

    /// Of the first of these.
    pub(super) fn first_zone(&self, accounts: &[AccountName]) -> Tz {
        accounts.first().map_or(Tz::UTC, |name| self.zone(name))
    }

    /// A moment of an incident, in its account's zone.
    pub(super) fn moment(&self, at: DateTime<Utc>, item: &Item) -> String {
        words::sentence_moment(at, self.zone(&item.key.account), self.now)
    }

    /// The account as far as its cut-off is concerned.
    pub(super) fn payer(&self, name: &AccountName) -> Payer<'_> {
        let unknown = Payer { report: None, currency: "", lead_days: LEAD_DAYS, zone: Tz::UTC };
        self.account(name).map_or(unknown, Payer::of)
    }

    pub(super) fn tightest_rung(&self, name: &AccountName) -> u32 {
        self.tightest_rungs.get(name).copied().unwrap_or(1)
    }
}
