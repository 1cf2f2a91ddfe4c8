//! Everything that waits: the events owed to each recipient and since when, why they could not leave, and the
//! next attempt.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};

use super::flight::{First, Standing};
use super::key::Key;
use super::log::Log;
use super::notice::Digest;
use super::notified::{Hold, Owed};
use crate::model::AccountName;

/// Everything that is owed to one recipient.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Debts {
    pub recipient: String,
    pub owed: Vec<(Key, Owed)>,
    /// The time since when the first mail is owed.
    pub first: Option<DateTime<Utc>>,
    /// The time since when a digest is owed.
    pub digest: Option<DateTime<Utc>>,
    /// Mails that were handed to the server and have no result yet: since when, and of which incidents.
    pub in_flight: Vec<(DateTime<Utc>, Vec<Key>)>,
    /// The last error.
    pub error: Option<String>,
    /// The time since when the server refuses this recipient.
    pub refused_since: Option<DateTime<Utc>>,
    /// The server refuses this recipient, or refuses us.
    pub is_held: bool,
    pub next_try: Option<DateTime<Utc>>,
    /// The time of a mail that may not have arrived, since all replies to it were lost.
    pub unsure_since: Option<DateTime<Utc>>,
    /// The hourly limit holds back mails that are not about money, and no mail failed.
    pub limited: bool,
}

impl Debts {
    /// The time since when the oldest debt exists.
    pub(crate) fn since(&self) -> Option<DateTime<Utc>> {
        let owed = self.owed.iter().map(|(_, owed)| owed.since);
        let flying = self.in_flight.iter().map(|(since, _)| *since);
        owed.chain(flying).chain(self.first).chain(self.digest).min()
    }
}

impl Log {
    /// The next moment at which a mail to this recipient may leave if none can leave now and nothing changes.
    pub(crate) fn next_try(&self, to: &str, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let flights = self.flights.iter().filter(|((other, _), _)| other == to).map(|(_, flight)| flight);
        let again = flights
            // A mail that could leave by now waits for a reading.
            .filter_map(|flight| Some(flight.again?.max(now)));
        let standing = self.standing(to);
        let holds = standing.into_iter().flat_map(Standing::holds);
        let limits = standing.into_iter().flat_map(Standing::limit_ends);
        let candidates = self.candidates.get(to).into_iter().flatten();
        let entries = candidates.filter_map(|key| self.entry(key, to));
        let refused = entries.filter_map(|one| one.refused);
        let first = match self.first(to) {
            Some(First::Refused(hold)) => Some(hold.until()),
            Some(First::Owed(_) | First::Told) | None => None,
        };
        let all = again.chain(holds).chain(limits).chain(refused.map(|hold| hold.until())).chain(first);
        all.filter(|at| *at >= now).min()
    }

    /// The debts to each recipient, and the state of its deliveries.
    pub(crate) fn debts(&self, now: DateTime<Utc>) -> Vec<Debts> {
        let unsure = self.addressees.iter().filter(|(_, one)| one.standing.unsure_since.is_some());
        let all: BTreeSet<String> =
            self.recipients().into_iter().chain(unsure.map(|(to, _)| to.clone())).collect();
        all.into_iter().map(|to| self.debts_to(to, now)).collect()
    }

    fn debts_to(&self, recipient: String, now: DateTime<Utc>) -> Debts {
        let candidates = self.candidates.get(&recipient).into_iter().flatten();
        let owed =
            candidates.filter_map(|key| Some((key.clone(), self.entry(key, &recipient)?.owed.clone()?)));
        let standing = self.standing(&recipient);
        let first = match self.first(&recipient) {
            Some(First::Owed(since) | First::Refused(Hold { since, .. })) => Some(since),
            Some(First::Told) | None => None,
        };
        let flying =
            self.flights.iter().filter(|((other, _), _)| *other == recipient).map(|(_, flight)| flight);
        let keys =
            |flight: &super::flight::Flight| flight.items.iter().map(|item| item.key.clone()).collect();
        Debts {
            owed: owed.collect(),
            first,
            digest: self.addressees.get(&recipient).and_then(|one| one.digest.as_ref()).map(|one| one.to),
            in_flight: flying.map(|flight| (flight.owed_since(), keys(flight))).collect(),
            limited: standing.is_some_and(Standing::is_held_by_limit),
            error: standing.and_then(|one| one.error.clone()),
            refused_since: standing.and_then(|one| one.unreached.as_ref()).map(|one| one.since),
            is_held: standing.is_some_and(Standing::is_held),
            next_try: self.next_try(&recipient, now),
            unsure_since: standing.and_then(|one| one.unsure_since),
            recipient,
        }
    }

    /// Owes a digest to a recipient, once a date for each account, in place of an older one that did not leave.
    pub(crate) fn owe_digest(&mut self, to: &str, mut digest: Digest) {
        let last = self.standing(to).map(|one| &one.digests);
        let is_new = |account: &AccountName| last.and_then(|last| last.get(account)) != Some(&digest.date);
        digest.accounts.retain(|account| is_new(&account.name));
        if digest.accounts.is_empty() {
            return;
        }
        let dates = digest.accounts.iter().map(|account| (account.name.clone(), digest.date));
        let dates: Vec<_> = dates.collect();
        self.change_addressee(to, |one| {
            one.standing.digests.extend(dates);
            one.digest = Some(digest.instead_of(one.digest.take()));
        });
        self.tidings.has_news = true;
    }

    /// Forgets a recipient that no server reaches any more: nothing is owed to it, and nothing was sent.
    pub(crate) fn forget(&mut self, to: &str) {
        self.entries.remove_all(|(_, one)| one == to);
        self.flights.remove_all(|(one, _)| one == to);
        self.addressees.remove_all(|one| one == to);
        self.candidates.remove(to);
    }
}
