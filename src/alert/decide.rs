//! What one step of the engine decides: incidents as they change, with a reason each, and what mails
//! say of them. Knows no rule and no phase. Pure.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};

use super::incident::Incident;
use super::key::{Key, Target};
use super::kind::{Event, Kind};
use super::notice::{Item, Unsent};
use super::reason::{Cause, Reason, Silenced, Typed, Withheld};
use super::silence::Overlays;
use crate::model::AccountState;

/// What follows for people from what happened to an incident.
pub(super) enum Decision {
    /// A mail of this event, unless somebody silenced the incident.
    Tell(Event),
    /// No mail.
    Withhold(Withheld),
    /// No mail of its own: that of this incident tells of it too.
    FoldInto(Key),
}

/// What a step has touched so far.
pub(super) struct Step<'a> {
    incidents: &'a BTreeMap<Key, Incident>,
    unsent: &'a Unsent,
    pub(super) overlays: &'a Overlays,
    /// The first-start mail is out.
    pub(super) started: bool,
    pub(super) now: DateTime<Utc>,
    /// Set while what is observed may have changed while nobody watched.
    pub(super) unwatched: Option<(DateTime<Utc>, DateTime<Utc>)>,
    parts: Parts,
}

/// What comes out of a step.
#[derive(Default)]
pub(super) struct Parts {
    pub(super) changed: BTreeMap<Key, Incident>,
    pub(super) items: Vec<Item>,
    pub(super) withdraw: Vec<String>,
    pub(super) decisions: Vec<(Key, Reason)>,
}

impl<'a> Step<'a> {
    pub(super) fn new(
        incidents: &'a BTreeMap<Key, Incident>,
        unsent: &'a Unsent,
        overlays: &'a Overlays,
        started: bool,
        now: DateTime<Utc>,
    ) -> Self {
        Self { incidents, unsent, overlays, started, now, unwatched: None, parts: Parts::default() }
    }

    /// Puts right what was noted before the clock was set back.
    pub(super) fn heed_clock(&mut self) {
        let now = self.now;
        for incident in self.incidents.values().filter(|incident| incident.is_ahead(now)) {
            let mut incident = incident.clone();
            incident.pull_back(now);
            self.put(incident);
        }
    }

    /// Why no mail of this incident goes out now, where somebody silenced it.
    pub(super) fn silenced(&self, incident: &Incident) -> Option<Silenced> {
        self.overlays.silenced(incident, self.now)
    }

    /// The incident as this step has it.
    pub(super) fn get(&self, key: &Key) -> Option<&Incident> {
        self.parts.changed.get(key).or_else(|| self.incidents.get(key))
    }

    pub(super) fn put(&mut self, incident: Incident) {
        self.parts.changed.insert(incident.key.clone(), incident);
    }

    pub(super) fn keys(&self) -> BTreeSet<Key> {
        self.incidents.keys().chain(self.parts.changed.keys()).cloned().collect()
    }

    /// Incidents of one kind of an account as this step has them.
    pub(super) fn of_kind(&self, state: &AccountState, kind: Kind) -> impl Iterator<Item = &Incident> {
        let first = Key::new(&state.profile.name, kind, Target::FIRST);
        let start = first.clone();
        let is_it = move |key: &Key| key.kind == kind && key.account == first.account;
        let is_too = is_it.clone();
        let old = self.incidents.range(start.clone()..).take_while(move |(key, _)| is_it(key));
        let old = old.filter(|(key, _)| !self.parts.changed.contains_key(key));
        let new = self.parts.changed.range(start..).take_while(move |(key, _)| is_too(key));
        old.chain(new).map(|(_, incident)| incident)
    }

    /// This step already tells of the account's disconnect.
    pub(super) fn tells_disconnect(&self, state: &AccountState) -> bool {
        let key = Key::account_wide(&state.profile.name, Kind::Disconnect);
        self.parts.items.iter().any(|item| item.key == key)
    }

    /// Keeps an incident, with what happened to it, and what follows for people. The opening of one that
    /// is silenced is mailed at the silence's end, if it is still wrong.
    pub(super) fn decide(&mut self, mut incident: Incident, reason: impl Into<Typed>, decision: Decision) {
        let reason: Typed = reason.into();
        match decision {
            Decision::Tell(event) => match self.silenced(&incident) {
                None => self.tell(incident, reason, event),
                Some(silenced) => {
                    // Also where the mail that told of it is over: now nobody knows of it.
                    incident.announced &= event != Event::Opened;
                    self.note(incident, reason.withheld(Withheld::Silenced(silenced)));
                }
            },
            Decision::Withhold(why) => self.note(incident, reason.withheld(why)),
            Decision::FoldInto(root) => {
                incident.folded_into = Some(root.clone());
                incident.announced = true;
                self.keep(incident, Withheld::Folded(root));
            }
        }
    }

    fn tell(&mut self, mut incident: Incident, reason: Typed, event: Event) {
        incident.reason = reason.into();
        if matches!(event, Event::Opened | Event::Flapping) {
            incident.announced = true;
        }
        if event == Event::Flapping {
            incident.flapping = true;
            incident.reason = Cause::Flapping { changes: incident.changes.len() }.into();
        }
        incident.last_mailed = Some(self.now);
        let mut item = Item::new(&incident, event, self.now);
        item.unwatched = self.unwatched;
        self.parts.items.push(item);
        self.record(incident);
    }

    /// Keeps an incident and a reason that no mail is due to.
    pub(super) fn note(&mut self, mut incident: Incident, reason: impl Into<Reason>) {
        incident.reason = reason.into();
        self.record(incident);
    }

    /// Keeps an incident; its reason is a decision where it is a new one.
    pub(super) fn keep(&mut self, mut incident: Incident, reason: impl Into<Reason>) {
        incident.reason = reason.into();
        if self.get(&incident.key).is_some_and(|old| old.reason == incident.reason) {
            self.put(incident);
        } else {
            self.record(incident);
        }
    }

    fn record(&mut self, incident: Incident) {
        self.parts.decisions.push((incident.key.clone(), incident.reason.clone()));
        self.put(incident);
    }

    /// Unsent rungs of this incident, withdrawn for a newer one.
    pub(super) fn withdraw_older(&mut self, incident: &mut Incident) {
        let rung = |(key, event): &(Key, Event)| {
            *key == incident.key && matches!(event, Event::Rung(_) | Event::Extended(_))
        };
        let older = self.unsent.iter().filter(|(_, told)| !told.is_empty() && told.iter().all(rung));
        let older: Vec<String> = older.map(|(id, _)| id.clone()).collect();
        incident.threads.retain(|_, id| !older.contains(id));
        self.parts.withdraw.extend(older);
    }

    /// Ends the step. That an incident was seen once more as it is known is no change worth a commit.
    pub(super) fn into_parts(mut self) -> Parts {
        self.withdraw_ended();
        let incidents = self.incidents;
        let same = |old: &Incident, new: &Incident| {
            let last_observed = new.last_observed;
            *new == Incident { last_observed, ..old.clone() }
        };
        self.parts.changed.retain(|key, incident| !incidents.get(key).is_some_and(|old| same(old, incident)));
        self.parts
    }

    /// An incident that ends before its first mail went out is told once, as having been: the unsent
    /// mail is withdrawn if everything it tells of has ended now.
    fn withdraw_ended(&mut self) {
        let ended = |item: &Item| matches!(item.event, Event::Resolved | Event::Removed);
        let closing: BTreeSet<Key> =
            self.parts.items.iter().filter(|item| ended(item)).map(|item| item.key.clone()).collect();
        let opening = |(_, event): &(Key, Event)| {
            matches!(event, Event::Opened | Event::Rung(_) | Event::Extended(_) | Event::Reminder(_))
        };
        let whole = self.unsent.iter().filter(|(_, told)| {
            !told.is_empty() && told.iter().all(opening) && told.iter().all(|(key, _)| closing.contains(key))
        });
        let ids: BTreeSet<String> = whole.map(|(id, _)| id.clone()).collect();
        for item in self.parts.items.iter_mut().filter(|item| ended(item)) {
            if item.threads.values().any(|id| ids.contains(id)) {
                item.event = Event::WasDown;
                item.threads.clear();
            }
        }
        self.parts.withdraw.extend(ids);
    }
}
