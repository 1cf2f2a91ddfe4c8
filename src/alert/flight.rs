//! A mail on its way, its result, and the state of deliveries to one recipient.

use std::collections::BTreeMap;

use chrono::{DateTime, Duration, Utc};
use serde::{Deserialize, Serialize};

use super::key::Key;
use super::kind::Event;
use super::notice::{Digest, Notice};
use super::notified::{Hold, Notified};
use crate::failpoint;

/// Mails of different lanes do not wait for each other, but while one about money waits for its reply.
#[derive(
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Debug,
    Hash,
    Serialize,
    Deserialize,
    strum::IntoStaticStr,
    strum::EnumString,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub(crate) enum Lane {
    Money,
    Other,
    Digest,
}

/// A mail that was handed to the server, or is about to be.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Flight {
    pub id: String,
    pub items: Vec<Flown>,
    /// The log's entries as they were before this mail.
    pub undo: BTreeMap<Key, Notified>,
    /// In a first mail: the time since when it is owed.
    pub first: Option<DateTime<Utc>>,
    /// The digest in this mail; it is owed again if the mail does not arrive.
    pub digest: Option<Digest>,
    pub first_try: DateTime<Utc>,
    /// The reply was lost: the time at which the same bytes are sent again.
    pub again: Option<DateTime<Utc>>,
    pub tries: u32,
    /// The number of replies that were lost, and of deferrals since.
    #[serde(default)]
    pub lost_replies: u32,
}

/// One incident in a mail on its way.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Flown {
    pub key: Key,
    pub event: Event,
    /// The incident, its episode and the event.
    pub event_key: String,
}

/// A recipient that the server refuses for good, since when and why. Mails to other recipients of its accounts name it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct NotReached {
    pub recipient: String,
    pub since: DateTime<Utc>,
    pub error: String,
}

/// The state of deliveries to one recipient: a row of the store.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Addressee {
    /// The server refuses the recipient.
    pub(super) refused: Option<Hold>,
    /// The time at which the server refused us with a mail to this recipient.
    pub(super) held: Option<DateTime<Utc>>,
    /// Temporary failures of the last attempts, by lane.
    pub(super) backoff: BTreeMap<Lane, Hold>,
    /// The server refused the contents of the first mail (of the lane for others) or of the digest: it is owed again after
    /// the hold, in its light form. Other mails do not wait for it.
    pub(super) unfit: BTreeMap<Lane, Hold>,
    /// Times of the mails of the last hour. Mails about money do not count.
    pub(super) sent: Vec<DateTime<Utc>>,
    /// Whether the hourly limit held something back, so that the next mail is a summary.
    pub(super) limited: bool,
    /// The last error, until a mail arrives.
    pub(super) error: Option<String>,
    pub(super) unreached: Option<NotReached>,
    /// The time of the last mail that may not have arrived, since all replies to it were lost.
    pub(super) unsure_since: Option<DateTime<Utc>>,
    /// The time since when the first mail is owed.
    pub first: Option<DateTime<Utc>>,
    /// The digest that is owed to this recipient.
    pub digest: Option<Digest>,
}

/// The result of an attempt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Attempt {
    Sent,
    /// A temporary failure: 4xx, network, TLS.
    Deferred,
    /// The server could not be used. This counts against the server, and not against the mail.
    Away,
    RecipientRefused,
    MailRefused,
    /// The server refuses us where it hears of this recipient.
    Held,
    /// The server refuses us, or the contents of this mail: it does not say which.
    InDoubt,
    ReplyLost,
}

/// Hourly limits count mails of this time.
pub(super) const HOUR: Duration = Duration::hours(1);

/// A mail to be handed to the server now.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Outgoing {
    pub lane: Lane,
    pub id: String,
    /// `None`: send the same bytes as before.
    pub notice: Option<Notice>,
    /// Other recipients of its accounts that are not reached; the mail names them.
    pub unreached: Vec<NotReached>,
    /// The server refused the contents of a mail about the same: this one is as plain and short as it can be.
    pub is_light: bool,
}

/// A recipient's first mail finds out this often whether the server takes mail from us again.
const PROBED_EVERY: Duration = Duration::minutes(5);

impl Flight {
    /// Dearer orders and drops of the balance that a mail about a cut-off has words about.
    pub(super) fn says(&self) -> impl Iterator<Item = &Key> {
        let is_said = |key: &Key| key.kind.is_momentary() && self.items.iter().all(|item| item.key != *key);
        self.undo.keys().filter(move |key| is_said(key))
    }

    /// The time at which the oldest item was first owed.
    pub(super) fn owed_since(&self) -> DateTime<Utc> {
        let owed = self.undo.values().filter_map(|before| before.owed.as_ref());
        owed.map(|owed| owed.since).fold(self.first_try, DateTime::min)
    }

    pub(super) fn retry(&mut self, now: DateTime<Utc>) {
        self.again = self.again.map(|again| again.min(now));
    }

    pub(super) fn moments(&mut self) -> impl Iterator<Item = &mut DateTime<Utc>> {
        let undo = self.undo.values_mut().flat_map(Notified::moments);
        [&mut self.first_try].into_iter().chain(&mut self.again).chain(undo)
    }
}

impl Addressee {
    pub(super) fn retry(&mut self) {
        (self.refused, self.held) = (None, None);
        self.backoff.clear();
        self.unfit.clear();
    }

    /// The pause after the server refused us is over. Whether the server takes mail is not known before the next one.
    pub(super) fn probe(&mut self, now: DateTime<Utc>) {
        self.held = self.held.map(|since| since.min(now - failpoint::hasten(PROBED_EVERY)));
    }

    /// Whether the first mail or the digest of this lane may leave, as far as its contents go.
    pub(super) fn is_fit(&self, lane: Lane, now: DateTime<Utc>) -> bool {
        self.unfit.get(&lane).is_none_or(|hold| hold.until() <= now)
    }

    /// The first mail is owed no longer.
    pub(super) fn forget_first(&mut self) {
        self.first = None;
        self.unfit.remove(&Lane::Other);
    }

    /// The end of the pause after the server refused us.
    pub(super) fn held_until(&self) -> Option<DateTime<Utc>> {
        self.held.map(|since| since + failpoint::hasten(PROBED_EVERY))
    }

    /// The moments from which on a mail may leave again, or the hourly limit allows the next one.
    pub(super) fn holds(&self) -> impl Iterator<Item = DateTime<Utc>> {
        let backoff = self.backoff.values().map(Hold::soon);
        let unfit = self.unfit.values().map(Hold::until);
        let limits = self.sent.iter().filter(move |_| self.limited).map(|at| *at + HOUR);
        self.refused
            .iter()
            .map(Hold::until)
            .chain(backoff)
            .chain(unfit)
            .chain(self.held_until())
            .chain(limits)
    }

    pub(super) fn moments(&mut self) -> impl Iterator<Item = &mut DateTime<Utc>> {
        let refused = self.refused.iter_mut().map(|hold| &mut hold.since);
        let holds = self.backoff.values_mut().chain(self.unfit.values_mut()).map(|one| &mut one.since);
        let unreached = self.unreached.iter_mut().map(|one| &mut one.since);
        refused
            .chain(&mut self.held)
            .chain(holds)
            .chain(&mut self.sent)
            .chain(&mut self.unsure_since)
            .chain(unreached)
            .chain(&mut self.first)
    }
}
