//! Everything that waits: the events owed to each recipient and since when, why they could not leave, and the
//! next attempt.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::flight::{Addressee, Flight};
use super::incident::LAPSE;
use super::key::Key;
use super::kind::Event;
use super::log::Log;
use super::notice::Digest;

/// The debts to one recipient, and the state of its deliveries. `hostwatch outbox --json` prints them.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Debts {
    pub recipient: String,
    /// The time since when the oldest debt exists, otherwise `unsure_since`.
    pub since: Option<DateTime<Utc>>,
    #[serde(rename = "events")]
    pub owed: Vec<OwedEvent>,
    /// The time since when the first mail is owed.
    #[serde(rename = "first_mail_since")]
    pub first: Option<DateTime<Utc>>,
    /// The time since when a digest is owed.
    #[serde(rename = "digest_since")]
    pub digest: Option<DateTime<Utc>>,
    pub in_flight: Vec<MailOnItsWay>,
    /// The server's last answer, if it did not take the last mail.
    pub error: Option<String>,
    /// The time since when the server refuses this recipient.
    pub refused_since: Option<DateTime<Utc>>,
    /// The next attempt, if nothing changes before it.
    pub next_try: Option<DateTime<Utc>>,
    /// The time of a mail that may not have arrived, since all replies to it were lost.
    pub unsure_since: Option<DateTime<Utc>>,
    /// The hourly limit holds back mails that are not about money, and no mail failed.
    pub limited: bool,
    /// The server refuses this recipient, or refuses us.
    #[serde(skip)]
    pub is_held: bool,
    /// The mail server takes no mail at all.
    #[serde(skip)]
    pub is_server_down: bool,
    /// The server refuses the login or the token, or nothing is at its address: a person has to act.
    #[serde(skip)]
    pub is_login_refused: bool,
}

/// One event that is owed.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct OwedEvent {
    pub key: Key,
    pub event: Option<String>,
    pub since: DateTime<Utc>,
}

/// A mail that was handed to the server, and has no answer yet.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct MailOnItsWay {
    pub since: DateTime<Utc>,
    pub keys: Vec<Key>,
}

impl Debts {
    /// Whether anything waits.
    pub(crate) fn is_owed(&self) -> bool {
        !self.owed.is_empty() || !self.in_flight.is_empty() || self.first.or(self.digest).is_some()
    }
}

impl Addressee {
    /// The time of a mail of the last week that may not have arrived.
    fn unsure_since(&self, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        self.unsure_since.filter(|at| now - *at < LAPSE)
    }
}

impl Log {
    /// The next moment at which a mail to this recipient may leave if none can leave now and nothing changes.
    pub(crate) fn next_try(&self, to: &str, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let flights = self.flights.iter().filter(|((other, _), _)| other == to).map(|(_, flight)| flight);
        let again = flights
            // A mail that could leave by now waits for a reading.
            .filter_map(|flight| Some(flight.again?.max(now)));
        let addressee = self.addressees.get(to);
        let holds = addressee.into_iter().flat_map(Addressee::holds);
        let candidates = self.candidates.get(to).into_iter().flatten();
        let entries = candidates.filter_map(|key| self.entry(key, to));
        let refused = entries.filter_map(|one| one.refused);
        let all = again.chain(holds).chain(refused.map(|hold| hold.until()));
        all.filter(|at| *at >= now).min()
    }

    /// The debts to each recipient, and the state of its deliveries.
    pub(crate) fn debts(&self, now: DateTime<Utc>) -> Vec<Debts> {
        let unsure = self.addressees.iter().filter(|(_, one)| one.unsure_since(now).is_some());
        let all: BTreeSet<String> =
            self.recipients().into_iter().chain(unsure.map(|(to, _)| to.clone())).collect();
        all.into_iter().map(|to| self.debts_to(to, now)).collect()
    }

    fn debts_to(&self, recipient: String, now: DateTime<Utc>) -> Debts {
        let candidates = self.candidates.get(&recipient).into_iter().flatten();
        let event = |key: &Key| {
            let owed = self.entry(key, &recipient)?.owed.as_ref()?;
            let event = owed.event.as_ref().map(Event::to_string);
            Some(OwedEvent { key: key.clone(), event, since: owed.since })
        };
        let owed: Vec<OwedEvent> = candidates.filter_map(event).collect();
        let addressee = self.addressees.get(&recipient);
        let first = addressee.and_then(|one| one.first);
        let flying =
            self.flights.iter().filter(|((other, _), _)| *other == recipient).map(|(_, flight)| flight);
        let keys = |flight: &Flight| flight.items.iter().map(|item| item.key.clone()).collect();
        let mail = |flight: &Flight| MailOnItsWay { since: flight.owed_since(), keys: keys(flight) };
        let in_flight: Vec<MailOnItsWay> = flying.map(mail).collect();
        let digest = addressee.and_then(|one| one.digest.as_ref()).map(|one| one.to);
        let unsure_since = addressee.and_then(|one| one.unsure_since(now));
        let times = owed.iter().map(|one| one.since).chain(in_flight.iter().map(|one| one.since));
        Debts {
            since: times.chain(first).chain(digest).min().or(unsure_since),
            owed,
            first,
            digest,
            in_flight,
            limited: addressee.is_some_and(|one| one.limited && one.error.is_none()),
            error: addressee.and_then(|one| one.error.clone()),
            refused_since: addressee.and_then(|one| one.unreached.as_ref()).map(|one| one.since),
            is_held: addressee.is_some_and(|one| one.unreached.is_some() || one.held.is_some()),
            is_server_down: false,
            is_login_refused: false,
            next_try: self.next_try(&recipient, now),
            unsure_since,
            recipient,
        }
    }

    /// Owes a digest to a recipient, in place of an older one that did not leave.
    pub(crate) fn owe_digest(&mut self, to: &str, digest: Digest) {
        self.change_addressee(to, |one| one.digest = Some(digest.instead_of(one.digest.take())));
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
