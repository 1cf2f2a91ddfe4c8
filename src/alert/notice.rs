//! The facts of one mail to one recipient. `mail` puts them into words.

use chrono::{DateTime, NaiveDate, Utc};
use serde::{Deserialize, Serialize};

use super::cut_off::CutOff;
use super::incident::Incident;
use super::key::Key;
use super::kind::{Event, Kind, Severity};
use super::notified::Told;
use super::reason::Cause;
use super::silence::Decided;
use crate::model::{AccountName, WEBHOOK};

/// One mail to be written.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Notice {
    pub form: Form,
    /// The worst first. Empty if a first mail or a digest has nothing wrong to list.
    pub items: Vec<Item>,
    pub to: String,
    /// The accounts that it is about, in order.
    pub accounts: Vec<AccountName>,
}

/// The problems that have an alert in the post of the first start. Each of the others has a post of its own behind it.
const POSTED_TOGETHER: usize = 49;

impl Notice {
    /// The items that its recipient is told by it: all but those that the post of the first start only counts. Once the
    /// receiver refused that post, it counts all of them, since it may be too long.
    pub(crate) fn told(&self, is_light: bool) -> &[Item] {
        let is_post = self.to.starts_with(WEBHOOK) && matches!(self.form, Form::Started(_));
        let most = match is_light {
            _ if !is_post => usize::MAX,
            true => 0,
            false => POSTED_TOGETHER,
        };
        &self.items[..self.items.len().min(most)]
    }
}

/// The sort of a mail.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    /// The mail at the first start.
    Started(Started),
    /// News of incidents: beginnings, ends, reminders. An item that stands alone has no other beside it.
    News,
    /// Events that an hourly limit held back.
    Summary(Summary),
    /// All incidents that are open or ended lately, once a week.
    Digest(Digest),
    /// A sample for one recipient.
    Test,
}

/// The facts of a first mail apart from its items.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Started {
    pub resources: usize,
    /// The number of cut-offs that have a mail of their own beside this one.
    pub cut_offs: usize,
    /// The worst severity of the cut-offs.
    pub severity: Option<Severity>,
    /// Whether an account is cut off already, or about to be.
    pub overdue: bool,
}

/// The hourly limit that held the items of a summary back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Summary {
    pub max_per_hour: usize,
    /// The time since when the oldest item was owed.
    pub since: DateTime<Utc>,
}

/// The facts of a digest apart from its items.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Digest {
    /// The digest's day in the accounts' time zone; its events have this day.
    pub date: NaiveDate,
    /// The beginning of the time it covers, which is the end of the digest before.
    pub from: DateTime<Utc>,
    pub to: DateTime<Utc>,
    pub accounts: Vec<AccountName>,
}

impl Digest {
    /// The digest that also covers what an older one would have covered, which did not leave.
    pub(super) fn instead_of(mut self, older: Option<Self>) -> Self {
        let Some(older) = older else { return self };
        self.from = self.from.min(older.from);
        let lacks = |one: &AccountName| !self.accounts.contains(one);
        let more: Vec<AccountName> = older.accounts.into_iter().filter(lacks).collect();
        self.accounts.extend(more);
        self
    }
}

/// One incident in a mail.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Item {
    pub key: Key,
    pub event: Event,
    pub severity: Severity,
    pub why: Cause,
    /// The beginning of the incident. For `was-down`: of the first episode that the recipient was not told of.
    pub began: DateTime<Utc>,
    /// The number of such episodes.
    pub episodes: u32,
    /// The recipient's knowledge before the mail.
    pub before: Told,
    /// The Message-ID of the mail that it answers.
    pub thread: Option<String>,
    /// The time of the report that the item rests on, if no newer report confirms it.
    pub as_of: Option<DateTime<Utc>>,
    pub incident: Incident,
    pub cut_off: Option<CutOff>,
    /// The incidents that this one explains.
    pub covers: Vec<Incident>,
    /// Of a cut-off: dearer orders and drops of the balance, which get no mail of their own beside this one.
    pub says: Vec<Incident>,
    pub at: DateTime<Utc>,
    /// Whether reminders follow unless somebody acknowledges the incident.
    pub is_reminded: bool,
    /// In a digest: people's decisions about it.
    pub muted: Decided,
    /// The time at which the provider deletes the data of a cut-off account, if it is known.
    pub deleted_at: Option<DateTime<Utc>>,
}

impl Item {
    /// Whether it is about a cut-off, and so stands alone in its mail.
    pub(crate) fn is_alone(&self) -> bool {
        self.key.kind == Kind::Disconnect && self.event != Event::Unwatched
    }

    /// The resource's name, as the subject shows it behind the noun.
    pub(crate) fn name(&self) -> &str {
        self.incident.name()
    }

    /// In a digest: the time at which the incident ended.
    pub(crate) fn ended(&self) -> Option<DateTime<Utc>> {
        let is_over = matches!(self.event, Event::Digest(_)) && !self.incident.phase.is_open();
        self.incident.ended.filter(|_| is_over)
    }
}
