//! The results of mails: each goes back into the log. The events of a mail that did not arrive are owed as before.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};

use super::case::Role;
use super::facts::Facts;
use super::flight::{Attempt, Flight, Lane, NotReached};
use super::key::Key;
use super::kind::Event;
use super::log::Log;
use super::notified::{Hold, Notified, pause};
use super::noting::Arrived;

/// After a lost reply the same bytes are sent again this often.
pub(super) const SAME_BYTES_AGAIN: u32 = 5;

impl Log {
    /// Takes in the result of the mail of a lane.
    pub(crate) fn settle(&mut self, to: &str, lane: Lane, id: &str, attempt: Attempt, facts: &Facts<'_>) {
        let place = (to.to_owned(), lane);
        let Some(flight) = self.flights.get(&place).filter(|flight| flight.id == id).cloned() else { return };
        let keys: BTreeSet<Key> = flight.undo.keys().cloned().collect();
        let (is_repeated, now) = (flight.tries > 0, facts.now);
        let is_clear = attempt == Attempt::InDoubt && self.took_another(&place, &flight);
        let attempt = if is_clear { Attempt::MailRefused } else { attempt };
        match attempt {
            Attempt::Sent => self.arrived(&place, &flight, facts),
            Attempt::ReplyLost => self.try_again(&place, 1, now),
            Attempt::Away if is_repeated => self.try_again(&place, 0, now),
            // The same bytes once more: a receiver that has them knows them by their identity.
            Attempt::Deferred if is_repeated && flight.lost_replies < SAME_BYTES_AGAIN => {
                self.try_again(&place, 1, now);
            }
            Attempt::Held | Attempt::InDoubt => {
                self.change_addressee(to, |one| one.held = Some(now));
                self.take_back(&place);
                if attempt == Attempt::InDoubt {
                    // The next mail that finds out about the server is another one, or the light form of this one.
                    let light = Hold { since: now, times: 0 };
                    self.hold_contents(&place, &flight, |before| before.unwrap_or(light));
                }
            }
            Attempt::Away => self.take_back(&place),
            Attempt::Deferred => {
                self.change_addressee(to, |one| {
                    let backoff = Hold::after(one.backoff.get(&lane).copied(), now, Hold::soon);
                    one.backoff.insert(lane, backoff);
                });
                self.take_back(&place);
            }
            Attempt::RecipientRefused => {
                self.change_addressee(to, |one| {
                    one.refused = Some(Hold::after(one.refused, now, Hold::until));
                });
                self.take_back(&place);
                self.give_up_left(to, facts);
            }
            Attempt::MailRefused => {
                self.take_back(&place);
                self.hold_contents(&place, &flight, |before| Hold::after_light(before, now));
                self.give_up_left(to, facts);
            }
        }
        self.note(&keys, facts);
    }

    /// The server took the mail.
    fn arrived(&mut self, place: &(String, Lane), flight: &Flight, facts: &Facts<'_>) {
        let (to, lane) = (&place.0, place.1);
        self.change_addressee(to, |one| {
            (one.refused, one.held) = (None, None);
            one.backoff.clear();
            if flight.first.is_some() || flight.digest.is_some() {
                one.unfit.remove(&lane);
            }
        });
        let episode = |key: &Key| self.entry(key, to).map_or(0, |entry| entry.told.episode);
        let said = flight.says().map(|key| format!("{key}#{}#{}", episode(key), Event::Opened));
        let items = flight.items.iter().map(|item| item.event_key.clone());
        let told = items.chain(said).collect();
        self.tidings.arrived.push(Arrived {
            message_id: flight.id.clone(),
            to: to.clone(),
            told,
            made_at: flight.first_try,
            at: facts.now,
        });
        self.flights.remove(place);
        for key in flight.undo.keys() {
            self.change_entry(key, to, |entry| entry.refused = None);
        }
        if !self.has_failed(to) {
            self.change_addressee(to, |one| (one.error, one.unreached) = (None, None));
        }
        if flight.first.is_some() {
            // All else waited for the first mail.
            let mine = self.entries.keys().filter(|(key, one)| {
                one == to && self.entry(key, to).is_some_and(|entry| entry.owed.is_some())
            });
            let waiting: BTreeSet<Key> = mine.map(|(key, _)| key.clone()).collect();
            self.note(&waiting, facts);
        }
    }

    /// Whether a mail to this recipient was refused for its contents or had no reply, and still waits.
    fn has_failed(&self, to: &str) -> bool {
        let mut flying = self.flights.iter().filter(|((other, _), _)| other == to);
        let mut entries = self.candidates.get(to).into_iter().flatten().filter_map(|key| self.entry(key, to));
        let is_unfit = self.addressees.get(to).is_some_and(|one| !one.unfit.is_empty());
        is_unfit || flying.any(|(_, flight)| flight.tries > 0) || entries.any(|entry| entry.refused.is_some())
    }

    /// Whether the server took another mail since it refused these contents: then it refuses them, and not us.
    fn took_another(&self, (to, lane): &(String, Lane), flight: &Flight) -> bool {
        let addressee = self.addressees.get(to);
        let is_unfit = addressee.is_some_and(|one| one.unfit.contains_key(lane));
        let was_refused = is_unfit && (flight.first.is_some() || flight.digest.is_some())
            || flight.undo.values().any(|before| before.refused.is_some());
        was_refused && addressee.is_none_or(|one| one.held.is_none())
    }

    /// The server refused the contents of a mail, which was taken back. Its incidents, the first mail and the digest are
    /// told in a light form, after the pause that follows the one `before`.
    fn hold_contents(
        &mut self,
        place: &(String, Lane),
        flight: &Flight,
        pause: impl Fn(Option<Hold>) -> Hold,
    ) {
        let (to, lane) = place;
        // The incidents that a digest lists are owed by other mails.
        for item in flight.items.iter().filter(|item| flight.undo.contains_key(&item.key)) {
            self.change_entry(&item.key, to, |one| one.refused = Some(pause(one.refused)));
        }
        if flight.first.is_some() || flight.digest.is_some() {
            self.change_addressee(to, |one| {
                let hold = pause(one.unfit.get(lane).copied());
                one.unfit.insert(*lane, hold);
            });
        }
    }

    /// A recipient that left the configuration and is refused for good is owed nothing, now or later.
    fn give_up_left(&mut self, to: &str, facts: &Facts<'_>) {
        let has_left =
            |key: &Key| facts.incident(key).is_some_and(|one| self.role(one, to, facts) == Role::Left);
        let mine = self.entries.keys().filter(|(_, one)| one == to).map(|(key, _)| key);
        let left: BTreeSet<Key> = mine.filter(|key| has_left(key)).cloned().collect();
        self.entries.remove_all(|(key, one)| one == to && left.contains(key));
        self.candidates.entry(to.to_owned()).or_default().retain(|key| !left.contains(key));
    }

    /// Sends the same bytes again later.
    fn try_again(&mut self, place: &(String, Lane), lost_replies: u32, now: DateTime<Utc>) {
        self.flights.change(place, |flight| {
            flight.tries += 1;
            flight.lost_replies += lost_replies;
            flight.again = Some(now + pause(flight.tries));
        });
    }

    pub(super) fn put_back(&mut self, key: &Key, to: &str, before: Notified, may_have_arrived: bool) {
        let entry = match self.entry(key, to) {
            Some(now) if may_have_arrived => now.owed_again(before),
            Some(_) | None => before,
        };
        self.put_entry(key, to, entry);
    }

    /// The server does not have the mail, but for one whose reply was lost: everything is owed as before.
    pub(super) fn take_back(&mut self, place: &(String, Lane)) {
        let Some(flight) = self.flights.remove(place) else { return };
        for (key, before) in flight.undo {
            self.put_back(&key, &place.0, before, flight.tries > 0);
        }
        self.change_addressee(&place.0, |one| {
            one.first = flight.first.or(one.first);
            one.digest = match one.digest.take() {
                Some(newer) => Some(newer.instead_of(flight.digest)),
                None => flight.digest,
            };
            if flight.tries == 0 && place.1 != Lane::Money {
                let sent = &mut one.sent;
                if let Some(index) = sent.iter().rposition(|at| *at == flight.first_try) {
                    sent.remove(index);
                }
            }
        });
    }

    /// Notes the error of a server that did not take the mail of a lane, before the mail is settled. `outbox`
    /// shows it; after a refusal other recipients of the accounts are told.
    pub(crate) fn failed(&mut self, to: &str, lane: Lane, error: &str, is_refusal: bool, now: DateTime<Utc>) {
        let flight = self.flights.get(&(to.to_owned(), lane));
        // The comparison is with the time at which the mail was made: another mail that arrived later shows
        // that the server works.
        let since = flight.map_or(now, |one| one.first_try);
        self.change_addressee(to, |one| {
            one.error = Some(error.to_owned());
            if is_refusal && one.unreached.is_none() {
                let (recipient, error) = (to.to_owned(), error.to_owned());
                one.unreached = Some(NotReached { recipient, since, error });
            }
        });
    }

    /// After a start nobody knows the results of the mails that were on their way.
    pub(crate) fn restart(&mut self, now: DateTime<Utc>) {
        let restart = |flight: &mut Flight| {
            flight.tries = flight.tries.max(1);
            flight.again = Some(flight.again.map_or(now, |again| again.min(now)));
        };
        self.flights.change_all(|_| true, restart);
    }
}
