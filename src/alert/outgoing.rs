//! Mails on their way: at most one a recipient, and beside it one about money and one digest. A mail is made of
//! what is owed when it can leave.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};

use super::case::{Due, Evidence, Why};
use super::compose::is_webhook;
use super::due;
use super::facts::{Facts, is_money};
use super::flight::{Addressee, Flight, Flown, Lane, NotReached, Outgoing};
use super::incident::Incident;
use super::key::Key;
use super::kind::{Event, Severity};
use super::log::Log;
use super::notice::{Digest, Form, Notice};
use super::notified::{Notified, Told, What};
use super::reason::Cause;
use super::results::SAME_BYTES_AGAIN;
use super::settings::Watcher;
use crate::model::AccountName;

/// Whether a mail that may have arrived still says what is true. The greatest answer of its items counts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Still {
    So,
    /// A reading is needed first, after a start or a sleep.
    NotKnown,
    Over,
}

impl Log {
    /// The next mail to a recipient, if one is owed and can leave now. The caller stores its bytes and this log
    /// before the server gets the mail.
    ///
    /// # Errors
    /// The lane of a mail that is owed, and is made once the sender of that lane `is_ready` for it.
    pub(crate) fn claim(
        &mut self,
        to: &str,
        id: &str,
        facts: &Facts<'_>,
        is_ready: impl Fn(Lane) -> bool,
    ) -> Result<Option<Outgoing>, Lane> {
        for lane in [Lane::Money, Lane::Other, Lane::Digest] {
            // A mail about money goes first: no other leaves while the server has it and did not reply yet.
            let money = self.flights.get(&(to.to_owned(), Lane::Money));
            if lane != Lane::Money && money.is_some_and(|flight| flight.again.is_none()) {
                break;
            }
            let mail = self.claim_of(lane, to, id, facts, is_ready(lane))?;
            if mail.is_some() {
                return Ok(mail);
            }
        }
        Ok(None)
    }

    fn claim_of(
        &mut self,
        lane: Lane,
        to: &str,
        id: &str,
        facts: &Facts<'_>,
        is_ready: bool,
    ) -> Result<Option<Outgoing>, Lane> {
        let place = (to.to_owned(), lane);
        if let Some(flight) = self.flights.get(&place) {
            // A mail without an answer yet.
            let Some(again) = flight.again else { return Ok(None) };
            let still = self.still(flight, to, facts);
            // A mail about money says the sum and the days left of the day on which it leaves.
            let is_of_today =
                lane != Lane::Money || flight.items.iter().all(|item| is_today(item, flight, facts));
            if still != Still::Over && is_of_today && flight.lost_replies <= SAME_BYTES_AGAIN {
                let id = flight.id.clone();
                if still == Still::NotKnown || facts.now < again {
                    return Ok(None);
                }
                if !is_ready {
                    return Err(lane);
                }
                self.flights.change(&place, |flight| flight.again = None);
                let same = Outgoing { lane, id, notice: None, unreached: Vec::new(), is_light: false };
                return Ok(Some(same));
            }
            if still == Still::Over && lane != Lane::Money && facts.now < again {
                return Ok(None);
            }
            let keys: BTreeSet<Key> = flight.undo.keys().cloned().collect();
            let is_given_up = flight.lost_replies > SAME_BYTES_AGAIN;
            // Of a mail that is outdated in part, or of yesterday, the rest is owed again.
            let is_so = |item: &Flown| self.still_of(item, flight, to, facts) != Still::Over;
            let items = flight.items.iter().map(|item| (item.key.clone(), is_so(item)));
            // The words of a mail that perhaps did not arrive go into the next one.
            let said = flight.says().map(|key| (key.clone(), true));
            let unsure = items.chain(said).filter(|_| !is_given_up).collect();
            self.forget_bytes(&place, unsure, facts);
            self.note(&keys, facts);
        }
        let notice = match lane {
            Lane::Digest => self.digest(to, facts, is_ready)?,
            Lane::Money | Lane::Other => {
                let mut owed = Vec::new();
                for (key, due) in self.due_to(lane, to, facts) {
                    if let Due::Tell(event, why) = due {
                        owed.push((key, event, why));
                        continue;
                    }
                    // The next walk that finds it due counts it as news.
                    self.candidates.entry(to.to_owned()).or_default().remove(&key);
                    self.awaiting.insert(key);
                }
                let owed = self.may_leave_now(lane, to, owed, facts);
                self.notice(lane, to, owed, facts, is_ready)?
            }
        };
        Ok(notice.map(|notice| self.launch(place, id, notice, facts)))
    }

    /// Whether a mail that may have arrived still says what is true.
    fn still(&self, flight: &Flight, to: &str, facts: &Facts<'_>) -> Still {
        // A recipient that left is told of no start.
        if flight.first.is_some() && !facts.recipients().any(|one| one == to) {
            return Still::Over;
        }
        if let Some(digest) = &flight.digest {
            // The comparison takes long, and counts only once the digest may leave.
            return if facts.is_looking() {
                Still::NotKnown
            } else if flight.again.is_some_and(|again| again <= facts.now)
                && self.has_news_since(flight, digest, to)
            {
                Still::Over
            } else {
                Still::So
            };
        }
        flight.items.iter().map(|item| self.still_of(item, flight, to, facts)).max().unwrap_or(Still::So)
    }

    /// Whether the recipient was told, or is owed, anything about these accounts that is newer than its digest.
    fn has_news_since(&self, flight: &Flight, digest: &Digest, to: &str) -> bool {
        let is_newer = |at: DateTime<Utc>| at > flight.first_try;
        let is_mine = |key: &Key, one: &String| one == to && digest.accounts.contains(&key.account);
        self.entries.iter().filter(|((key, one), _)| is_mine(key, one)).any(|(_, entry)| {
            is_newer(entry.told.at) || entry.owed.as_ref().is_some_and(|owed| is_newer(owed.event_since))
        })
    }

    fn still_of(&self, item: &Flown, flight: &Flight, to: &str, facts: &Facts<'_>) -> Still {
        let Some((incident, entry)) = facts.incident(&item.key).zip(flight.undo.get(&item.key)) else {
            return Still::Over;
        };
        // A mail that was decided before its collector failed goes.
        let unless_awaited = match facts.evidence(incident) {
            Evidence::Awaited(_) => Still::NotKnown,
            Evidence::Sound | Evidence::Unread => Still::So,
        };
        if item.event == Event::Started {
            return if incident.phase.is_open() { unless_awaited } else { Still::Over };
        }
        // A newer fact about money does not wait for the reply to an older one.
        let known = self.entry(&item.key, to).filter(|_| is_money(&item.key));
        let is_behind = known.is_some_and(|known| {
            let due = due::due(&self.case(incident, known, to, facts));
            matches!(due, Due::Tell(event, _) if due::is_news(&event))
        });
        if is_behind {
            return Still::Over;
        }
        match due::due(&self.case(incident, entry, to, facts)) {
            Due::Tell(event, _) if event == item.event => Still::So,
            Due::Nothing(Why::NotRead | Why::Unread | Why::SameReport, _) => unless_awaited,
            Due::Tell(..) | Due::Nothing(..) => Still::Over,
        }
    }

    /// The store lost the bytes of mails on their way. All that they said is owed again, but for mails whose bytes
    /// the caller has.
    pub(crate) fn lose_bytes(&mut self, has_bytes: impl Fn(&(String, Lane)) -> bool) {
        let lost: Vec<_> = self.flights.keys().filter(|place| !has_bytes(place)).cloned().collect();
        lost.iter().for_each(|place| self.take_back(place));
    }

    /// A mail whose reply was lost is not sent again. It counts as told; of the incidents in `unsure` only perhaps, and
    /// what it said of them is owed again if it still holds.
    fn forget_bytes(&mut self, place: &(String, Lane), unsure: Vec<(Key, bool)>, facts: &Facts<'_>) {
        let Some(mut flight) = self.flights.remove(place) else { return };
        for (key, holds) in unsure {
            if let Some(before) = flight.undo.remove(&key) {
                let owed = before.owed.clone().filter(|_| holds);
                self.put_back(&key, &place.0, Notified { owed, ..before }, true);
            }
        }
        if facts.everybody().any(|one| *one == place.0) {
            self.change_addressee(&place.0, |one| one.unsure_since = Some(flight.first_try));
        }
    }

    /// Compares each candidate of a lane. A candidate that is in a mail of another lane waits for the result of
    /// that mail.
    fn due_to(&self, lane: Lane, to: &str, facts: &Facts<'_>) -> Vec<(Key, Due)> {
        let flies = |key: &Key| {
            let mut flights = self.flights.iter().filter(|((other, _), _)| other == to);
            flights.any(|(_, flight)| flight.undo.contains_key(key))
        };
        let candidates = self.candidates.get(to).into_iter().flatten();
        let may_be = candidates.filter(|key| (lane == Lane::Other || is_money(key)) && !flies(key));
        let due = may_be.filter_map(|key| {
            let (incident, entry) = (facts.incident(key)?, self.entry(key, to)?);
            Some((key.clone(), due::due(&self.case(incident, entry, to, facts))))
        });
        // A reload that ends a cut-off together with other incidents makes one mail.
        let is_other = |key: &Key, event: &Event| !is_money(key) || *event == Event::Unwatched;
        let is_of_lane = |(key, due): &(Key, Due)| match due {
            Due::Tell(event, _) => is_other(key, event) == (lane == Lane::Other),
            Due::Nothing(..) => true,
        };
        due.filter(is_of_lane).collect()
    }

    /// The events that are owed and may leave.
    fn may_leave_now(
        &self,
        lane: Lane,
        to: &str,
        mut owed: Vec<(Key, Event, Cause)>,
        facts: &Facts<'_>,
    ) -> Vec<(Key, Event, Cause)> {
        // One mail finds out whether the server takes mail from us again; news does not.
        if self.addressees.get(to).and_then(Addressee::held_until).is_some_and(|until| facts.now < until) {
            return Vec::new();
        }
        // New critical facts and those about money are tried at once, even after a refusal or a failure.
        let is_news = |key: &Key, since: DateTime<Utc>| {
            let owed = self.entry(key, to).and_then(|entry| entry.owed.as_ref());
            let matters =
                is_money(key) || facts.incident(key).is_some_and(|one| one.severity == Severity::Critical);
            matters && owed.is_some_and(|owed| owed.event_since > since)
        };
        owed.retain(|(key, ..)| {
            let refused = self.entry(key, to).and_then(|entry| entry.refused);
            refused.is_none_or(|hold| hold.until() <= facts.now || is_news(key, hold.since))
        });
        // Events whose mail was refused because of its contents go apart from others.
        if owed.iter().any(|(key, ..)| !self.is_suspect(key, to)) {
            owed.retain(|(key, ..)| !self.is_suspect(key, to));
        }
        if let Some(since) = self.hold(lane, to, facts.now) {
            let has_news = owed.iter().any(|(key, ..)| is_news(key, since));
            owed.retain(|_| has_news);
        }
        owed
    }

    /// Whether the newest mail about it was refused because of its contents.
    fn is_suspect(&self, key: &Key, to: &str) -> bool {
        self.entry(key, to).is_some_and(|entry| entry.refused.is_some())
    }

    /// Whether the contents of the last mail of this form, or about one of these incidents, were refused.
    fn is_light(&self, notice: &Notice, to: &str) -> bool {
        let is_unfit = |lane| self.addressees.get(to).is_some_and(|one| one.unfit.contains_key(&lane));
        match notice.form {
            Form::Digest(_) => is_unfit(Lane::Digest),
            Form::Started(_) if is_unfit(Lane::Other) => true,
            Form::Started(_) | Form::News | Form::Summary(_) | Form::Test => {
                notice.items.iter().any(|item| self.is_suspect(&item.key, to))
            }
        }
    }

    /// Notes the recipient's knowledge after the mail, and that the mail is on its way.
    fn launch(&mut self, place: (String, Lane), id: &str, notice: Notice, facts: &Facts<'_>) -> Outgoing {
        let (to, lane) = place.clone();
        let mut items = Vec::new();
        let is_light = self.is_light(&notice, &to);
        let (told, counted) = notice.items.split_at(notice.told(is_light).len());
        let mut undo = self.count(counted, &to, facts.now);
        for item in told {
            let Some(incident) = facts.incident(&item.key) else { continue };
            let before = self.entry(&item.key, &to).cloned().unwrap_or_default();
            let (key, event) = (item.key.clone(), item.event.clone());
            let event_key = format!("{key}#{}#{event}", incident.episode);
            items.push(Flown { key, event, event_key });
            if lane == Lane::Digest {
                continue;
            }
            let case = self.case(incident, &before, &to, facts);
            let told = due::told_after(&case, &item.before, &item.event, id);
            self.put_entry(&item.key, &to, Notified { told, if_lost: None, owed: None, ..before.clone() });
            undo.entry(item.key.clone()).or_insert(before);
            for one in &item.covers {
                let before = self.entry(&one.key, &to).cloned().unwrap_or_default();
                let Some(after) = listed_in(&item.key, one, &before, facts.now) else { continue };
                self.put_entry(&one.key, &to, after);
                undo.entry(one.key.clone()).or_insert(before);
            }
            for one in &item.says {
                let before = self.entry(&one.key, &to).cloned().unwrap_or_default();
                let case = self.case(one, &before, &to, facts);
                let told = due::told_after(&case, due::known(&case), &Event::Opened, id);
                self.put_entry(&one.key, &to, Notified { told, if_lost: None, owed: None, ..before.clone() });
                undo.entry(one.key.clone()).or_insert(before);
            }
        }
        let unreached = self.unreached_by(&to, &notice.accounts, facts);
        let is_first = matches!(notice.form, Form::Started(_));
        let (mut first, mut digest) = (None, None);
        self.change_addressee(&to, |one| {
            first = one.first.take_if(|_| is_first);
            digest = one.digest.take_if(|_| lane == Lane::Digest);
            if lane != Lane::Money && !is_webhook(&to) {
                one.sent.push(facts.now);
                one.limited = false;
            }
        });
        let flight = Flight {
            id: id.to_owned(),
            items,
            undo,
            first,
            digest,
            first_try: facts.now,
            again: None,
            tries: 0,
            lost_replies: 0,
        };
        self.flights.insert(place, flight);
        Outgoing { lane, id: id.to_owned(), notice: Some(notice), unreached, is_light }
    }

    /// Other recipients of these accounts that are not reached.
    fn unreached_by(&self, to: &str, accounts: &[AccountName], facts: &Facts<'_>) -> Vec<NotReached> {
        let watchers = accounts.iter().filter_map(|account| facts.watcher(account));
        let others: BTreeSet<&String> =
            watchers.flat_map(Watcher::everybody).filter(|other| *other != to).collect();
        others.into_iter().filter_map(|other| self.addressees.get(other)?.unreached.clone()).collect()
    }

    /// The incidents in a recipient's mail of this lane that is on its way, the worst first.
    pub(crate) fn in_mail(&self, to: &str, lane: Lane) -> impl Iterator<Item = &Key> {
        let flight = self.flights.get(&(to.to_owned(), lane));
        flight.into_iter().flat_map(|flight| &flight.items).map(|item| &item.key)
    }

    /// All recipients to whom something may have to leave.
    pub(crate) fn recipients(&self) -> Vec<String> {
        let owed = self.candidates.iter().filter(|(_, keys)| !keys.is_empty()).map(|(to, _)| to);
        let waits = |one: &Addressee| one.digest.is_some() || one.first.is_some();
        let waiting = self.addressees.iter().filter(|(_, one)| waits(one)).map(|(to, _)| to);
        let flying = self.flights.keys().map(|(to, _)| to);
        let all: BTreeSet<&String> = owed.chain(waiting).chain(flying).collect();
        all.into_iter().cloned().collect()
    }
}

/// Whether a mail was made on this day of the account.
fn is_today(item: &Flown, flight: &Flight, facts: &Facts<'_>) -> bool {
    let day = |at: DateTime<Utc>| facts.day_of(&item.key.account, at);
    day(flight.first_try) == day(facts.now)
}

/// The entry of a recipient after a mail about the cause listed the incident. A recipient that was told of the
/// beginning gets the end, too.
fn listed_in(cause: &Key, one: &Incident, before: &Notified, at: DateTime<Utc>) -> Option<Notified> {
    if before.told.is_open() {
        return None;
    }
    let told = Told { what: What::Listed(cause.clone()), episode: one.episode, at, ..before.told.clone() };
    Some(Notified { told, owed: None, ..before.clone() })
}
