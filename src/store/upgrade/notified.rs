//! The notification log from a store of release 0.2: an entry for each recipient and incident, and the mails on
//! their way.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};

use super::collectors::{self, key_now};
use super::old::{Fate, OldIncident, OldItem, OldLane, OldMail, OldStore, is_of_collector};
use super::telling::Telling;
use super::told;
use super::truth::Written;
use crate::alert::Key;
use crate::alert::{Addressee, First, Flight, Flown, Incident, Lane, Notified, Stored, Told, What};

/// The place of a mail on its way: recipient and lane.
type Place = (String, Lane);

/// The old store and its converted incidents.
pub(super) struct Notifications<'a> {
    old: &'a OldStore,
    incidents: &'a BTreeMap<Key, Written>,
    now: DateTime<Utc>,
    /// The newest mail on its way for each recipient and lane.
    flying: BTreeMap<Place, &'a OldMail>,
    /// All mails to a recipient about an incident.
    mails: BTreeMap<(&'a Key, &'a str), Vec<(&'a OldMail, &'a OldItem)>>,
    /// The incidents that each incident explains.
    covered: BTreeMap<&'a Key, Vec<&'a Key>>,
}

impl<'a> Notifications<'a> {
    pub(super) fn new(old: &'a OldStore, incidents: &'a BTreeMap<Key, Written>, now: DateTime<Utc>) -> Self {
        let on_their_way = old.mails.iter().filter(|mail| mail.fate == Fate::OnItsWay);
        let flying = on_their_way.filter_map(|mail| Some(((mail.to.clone(), lane(mail)?), mail))).collect();
        let mut mails: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (mail, item) in old.mails.iter().flat_map(|mail| mail.items.iter().map(move |item| (mail, item)))
        {
            mails.entry((&item.key, mail.to.as_str())).or_default().push((mail, item));
        }
        let mut covered: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (cause, one) in old.incidents.values().filter_map(|one| Some((one.folded_into.as_ref()?, one))) {
            covered.entry(cause).or_default().push(&one.key);
        }
        Self { old, incidents, now, flying, mails, covered }
    }

    /// The log, and the mails whose bytes are kept.
    pub(super) fn log(&self, is_started: bool) -> (Stored, Vec<&'a OldMail>) {
        let pairs: BTreeSet<(Key, String)> =
            self.mails.keys().map(|(key, to)| (key_now(key), (*to).to_owned())).collect();
        let known = pairs.into_iter().filter(|(key, _)| self.incidents.contains_key(key));
        let mut entries: BTreeMap<(Key, String), Notified> =
            known.map(|(key, to)| ((key.clone(), to.clone()), self.entry(&key, &to, None))).collect();
        self.list_covered(&mut entries);
        entries.retain(|_, entry| *entry != Notified::default());
        let (mut flights, mut mails) = (BTreeMap::new(), Vec::new());
        for (place, mail) in &self.flying {
            if let Some(flight) = self.flight(place, mail) {
                flights.insert(place.clone(), flight);
                mails.push(*mail);
            }
        }
        (Stored { entries, addressees: self.addressees(), flights, is_started }, mails)
    }

    /// A recipient's knowledge of an incident. `without`: a mail that counts as waiting.
    fn entry(&self, key: &Key, to: &str, without: Option<&OldMail>) -> Notified {
        let of = |incident: &OldIncident| {
            let tellings = self.tellings(&incident.key, to, without);
            told::entry(incident, to, &tellings, self.now)
        };
        if let Some(incident) = self.old.incidents.get(key) {
            return of(incident);
        }
        let all = collectors::of_account(self.old, &key.account);
        let each: Vec<_> = all.into_iter().map(|one| (one, of(one))).collect();
        self.incident(key).map(|incident| collectors::told(incident, &each)).unwrap_or_default()
    }

    fn tellings(&self, key: &Key, to: &str, without: Option<&OldMail>) -> Vec<Telling<'a>> {
        let is_flying = |mail: &OldMail| self.flying.values().any(|one| std::ptr::eq(*one, mail));
        let telling = |&(mail, item): &(&'a OldMail, &'a OldItem)| {
            let is_left_out = without.is_some_and(|one| std::ptr::eq(one, mail));
            let fate = if mail.fate != Fate::OnItsWay {
                mail.fate
            } else if is_left_out {
                Fate::Waits
            } else if is_flying(mail) {
                Fate::OnItsWay
            } else {
                // Only the bytes of the newest mail are kept.
                Fate::Perhaps
            };
            Telling { mail, item, fate }
        };
        self.mails.get(&(key, to)).into_iter().flatten().map(telling).collect()
    }

    fn incident(&self, key: &Key) -> Option<&Incident> {
        self.incidents.get(key).map(|(incident, _)| incident)
    }

    /// Marks explained incidents as listed, for each recipient of the mail about the cause.
    fn list_covered(&self, entries: &mut BTreeMap<(Key, String), Notified>) {
        for (incident, cause, old_cause) in self.old.incidents.values().filter_map(|one| self.cause(one)) {
            let is_listed = incident.followed_up || old_cause.last_mailed >= Some(incident.last_change);
            let first = (cause.key.clone(), String::new());
            let of_cause = entries.range(first..).take_while(|((key, _), _)| *key == cause.key);
            let knows = of_cause.filter(|(_, entry)| is_listed && entry.told.knows(cause.episode));
            let told: Vec<(String, DateTime<Utc>)> =
                knows.map(|((_, to), entry)| (to.clone(), entry.told.at)).collect();
            for (to, at) in told {
                let entry = entries.entry((incident.key.clone(), to)).or_default();
                if !entry.told.knows(incident.episode) {
                    let (what, episode) = (What::Listed(cause.key.clone()), incident.episode);
                    entry.told = Told { what, episode, at, ..entry.told.clone() };
                    entry.owed = None;
                }
            }
        }
    }

    /// An open incident and its cause, converted and old.
    fn cause(&self, incident: &'a OldIncident) -> Option<(&'a OldIncident, &Incident, &'a OldIncident)> {
        let cause = incident.folded_into.as_ref()?;
        let is_it = incident.phase.is_open() && !is_of_collector(&incident.key);
        is_it.then_some((incident, self.incident(cause)?, self.old.incidents.get(cause)?))
    }

    /// A mail whose bytes are kept, with the recipient's knowledge before it.
    fn flight(&self, place: &Place, mail: &OldMail) -> Option<Flight> {
        let mut undo = BTreeMap::new();
        let mut items: Vec<Flown> = Vec::new();
        for old in &mail.items {
            let key = key_now(&old.key);
            let Some(incident) = self.incident(&key) else { continue };
            if undo.contains_key(&key) {
                continue;
            }
            let before = self.entry(&key, &place.0, Some(mail));
            let event_key = format!("{key}#{}#{}", incident.episode, old.event);
            items.push(Flown { key: key.clone(), event: old.event.clone(), event_key });
            if !before.told.knows(incident.episode) {
                let covered = self.covered.get(&key).into_iter().flatten();
                undo.extend(covered.map(|&one| (one.clone(), Notified::default())));
            }
            undo.insert(key, before);
        }
        if items.is_empty() && !mail.is_first {
            return None;
        }
        Some(Flight {
            id: mail.id.clone(),
            accounts: items.iter().map(|item| item.key.account.clone()).collect(),
            items,
            undo,
            first: mail.is_first.then_some(First::Owed(mail.made_at)),
            digest: None,
            first_try: self.now,
            again: Some(self.now),
            tries: 1,
            lost_replies: 1,
        })
    }

    /// The first mails. The mails of an hour are counted from now on.
    fn addressees(&self) -> BTreeMap<String, Addressee> {
        let firsts = self.old.mails.iter().filter(|mail| mail.is_first).map(|mail| {
            let is_owed = matches!(mail.fate, Fate::Waits | Fate::Refused);
            let first = if is_owed { First::Owed(mail.made_at) } else { First::Told };
            (mail.to.clone(), Addressee { first: Some(first), ..Addressee::default() })
        });
        firsts.collect()
    }
}

/// The lane of a mail. A digest has none: it is made again when the next is due.
const fn lane(mail: &OldMail) -> Option<Lane> {
    match mail.lane {
        OldLane::Disconnect => Some(Lane::Money),
        OldLane::Normal => Some(Lane::Other),
        OldLane::Digest => None,
    }
}
