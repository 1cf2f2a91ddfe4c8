//! What one step of the engine decides: incidents as they change, with a reason each, and what mails
//! say of them. Knows no rule and no phase. Pure.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};

use super::incident::{Incident, Span};
use super::key::{Key, Target};
use super::kind::{Event, Kind, Severity};
use super::ladder::Ladder;
use super::notice::Item;
use super::reason::{Cause, Reason, Silenced, Typed, Withheld};
use super::remembered::{CHANGES_COUNT, Remembered};
use super::settings::{Watcher, zone_of};
use super::silence::Muted;
use crate::model::{AccountName, AccountState};

/// Whether an incident's change is mailed.
pub(super) enum Decision {
    /// A mail of this event, unless somebody silenced the incident.
    Tell(Event),
    /// No mail.
    Withhold(Withheld),
    /// No mail of its own: the mail of this incident covers it.
    FoldInto(Key),
}

/// What a step has touched so far.
pub(super) struct StepDraft<'a> {
    remembered: &'a Remembered,
    pub(super) muted: &'a Muted,
    watchers: &'a BTreeMap<AccountName, Watcher>,
    /// The first-start mail is out.
    pub(super) started: bool,
    pub(super) now: DateTime<Utc>,
    /// From when to when nobody watched before this start, and how often what is observed was looked at since.
    pub(super) unwatched: Option<Span>,
    pub(super) looks: u32,
    /// The same time, where what is decided next changed in it.
    pub(super) unseen: Option<Span>,
    parts: Parts,
}

/// What comes out of a step.
#[derive(Default)]
pub(super) struct Parts {
    pub(super) changed: BTreeMap<Key, Incident>,
    pub(super) items: Vec<Item>,
    /// For these recipients alone.
    pub(super) items_for: Vec<(Item, Vec<String>)>,
    pub(super) decisions: Vec<(Key, Reason)>,
    pub(super) goes_on: BTreeSet<Key>,
}

impl<'a> StepDraft<'a> {
    pub(super) fn new(
        remembered: &'a Remembered,
        muted: &'a Muted,
        watchers: &'a BTreeMap<AccountName, Watcher>,
        started: bool,
        now: DateTime<Utc>,
    ) -> Self {
        Self {
            remembered,
            muted,
            watchers,
            started,
            now,
            unwatched: None,
            looks: 0,
            unseen: None,
            parts: Parts::default(),
        }
    }

    fn incidents(&self) -> &'a BTreeMap<Key, Incident> {
        self.remembered.incidents()
    }

    /// An incident before its first opening, or that was over so long ago that no more is known of it than its number.
    pub(super) fn begin(&self, key: Key, severity: Severity) -> Incident {
        self.remembered.begin(key, severity, self.now)
    }

    /// Puts right what was noted before the clock was set back, or by one that did not know the time.
    /// A poll heeds its account's alone, the next tick all.
    pub(super) fn heed_clock(&mut self, account: Option<&AccountName>) {
        let (now, remembered) = (self.now, self.remembered);
        let of_account = account.into_iter().flat_map(|account| remembered.of_account(account));
        let all = remembered.incidents().values().filter(|_| account.is_none());
        for incident in of_account.chain(all).filter(|one| one.is_ahead(now) || one.is_of_no_time(now)) {
            let mut incident = incident.clone();
            incident.pull_back(now);
            self.put(incident);
        }
    }

    /// Why no mail of this incident goes out now, where somebody silenced it.
    pub(super) fn silenced(&self, incident: &Incident) -> Option<Silenced> {
        self.muted.silenced(incident, zone_of(self.watchers, &incident.key.account), self.now)
    }

    /// The incident as this step has it.
    pub(super) fn get(&self, key: &Key) -> Option<&Incident> {
        self.parts.changed.get(key).or_else(|| self.incidents().get(key))
    }

    pub(super) fn put(&mut self, mut incident: Incident) {
        incident.enter_in_calendar(self.now);
        self.parts.changed.insert(incident.key.clone(), incident);
    }

    pub(super) fn keys(&self) -> BTreeSet<Key> {
        self.incidents().keys().chain(self.parts.changed.keys()).cloned().collect()
    }

    /// Incidents of one kind of an account as this step has them.
    pub(super) fn of_kind(&self, state: &AccountState, kind: Kind) -> impl Iterator<Item = &Incident> {
        let first = Key::new(&state.profile.name, kind, Target::FIRST);
        let start = first.clone();
        let is_it = move |key: &Key| key.kind == kind && key.account == first.account;
        let is_too = is_it.clone();
        let old = self.incidents().range(start.clone()..).take_while(move |(key, _)| is_it(key));
        let old = old.filter(|(key, _)| !self.parts.changed.contains_key(key));
        let new = self.parts.changed.range(start..).take_while(move |(key, _)| is_too(key));
        old.chain(new).map(|(_, incident)| incident)
    }

    /// This step already mails about this incident.
    pub(super) fn tells(&self, key: &Key) -> bool {
        self.parts.items.iter().any(|item| item.key == *key)
    }

    /// Keeps an incident, with what happened to it, and what follows for people. The opening of one that
    /// is silenced is mailed at the silence's end, if it is still wrong.
    pub(super) fn decide(&mut self, mut incident: Incident, reason: impl Into<Typed>, decision: Decision) {
        let reason: Typed = reason.into();
        let unseen = self.unseen.take();
        incident.waits = None;
        match decision {
            // The end of what was mailed is always told.
            Decision::Tell(event @ (Event::Resolved | Event::Removed)) => {
                self.tell(incident, reason, event, unseen);
            }
            Decision::Tell(event) => match self.silenced(&incident) {
                None => self.tell(incident, reason, event, unseen),
                Some(silenced) => {
                    // Also where the incident whose mail covered it is over: nobody else tells of it now.
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

    fn tell(&mut self, mut incident: Incident, reason: Typed, event: Event, unseen: Option<Span>) {
        incident.reason = reason.into();
        if matches!(event, Event::Opened | Event::Flapping) {
            incident.announced = true;
        }
        if event == Event::Flapping {
            incident.flapping = true;
            incident.changes.retain(|&at| at > self.now - CHANGES_COUNT);
            incident.reason = Cause::Flapping { changes: incident.changes.len() }.into();
        }
        incident.told_unwatched = false;
        incident.last_mailed = Some(self.now);
        let critical = incident.severity == Severity::Critical;
        incident.critical_mailed = incident.critical_mailed.or(Some(self.now)).filter(|_| critical);
        incident.enter_in_calendar(self.now);
        // What kept changing was over before that is told.
        let at = incident.resolved_at.filter(|_| event.is_end()).unwrap_or(self.now);
        let mut item = Item::new(&incident, event, at);
        item.unwatched = unseen;
        self.parts.items.push(item);
        self.record(incident);
    }

    /// Tells of an incident as it stood `before`, and keeps it as it is now.
    pub(super) fn tell_as(&mut self, before: &Incident, mut incident: Incident, why: Cause, event: Event) {
        incident.reason = why.into();
        incident.enter_in_calendar(self.now);
        let mut item = Item::new(before, event, self.now);
        item.calendar = incident.calendar;
        item.reason = incident.reason.clone();
        self.parts.items.push(item);
        self.record(incident);
    }

    /// The mail of a cut-off's end says how that stood; the incident knows no more of it.
    pub(super) fn add_ladder(&mut self, key: &Key, was: Option<Ladder>) {
        if let Some(item) = self.parts.items.iter_mut().rfind(|item| item.key == *key) {
            item.ladder = was;
        }
    }

    /// Tells what else follows from an incident, which itself stays as it is.
    pub(super) fn tell_beside(&mut self, incident: Incident, why: Cause, event: Event, covers: Vec<String>) {
        let mut item = Item::new(&incident, event, self.now);
        item.reason = why.into();
        item.covers = covers;
        self.parts.decisions.push((incident.key.clone(), item.reason.clone()));
        self.parts.items.push(item);
        self.put(incident);
    }

    /// Tells some of an incident that stays as it is.
    pub(super) fn tell_only(&mut self, item: Item, to: Vec<String>) {
        self.parts.decisions.push((item.key.clone(), item.reason.clone()));
        self.parts.items_for.push((item, to));
    }

    /// Watched again before anybody heard that it no longer is.
    pub(super) fn goes_on(&mut self, key: &Key) {
        self.parts.goes_on.insert(key.clone());
    }

    /// Notes a decision that changes nothing of an incident.
    pub(super) fn note_beside(&mut self, key: &Key, why: Cause) {
        self.parts.decisions.push((key.clone(), why.into()));
    }

    /// From when to when nobody watched, where what was seen `streak` times in a row was seen at every look since.
    pub(super) fn unseen_since(&self, streak: u32) -> Option<Span> {
        self.unwatched.filter(|_| streak == self.looks)
    }

    /// Keeps an incident and a reason; no mail is due.
    pub(super) fn note(&mut self, mut incident: Incident, reason: impl Into<Reason>) {
        self.unseen = None;
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

    /// Ends the step. That an incident was seen once more as it is known is no change worth a commit.
    pub(super) fn into_parts(mut self) -> Parts {
        let incidents = self.incidents();
        let same = |old: &Incident, new: &Incident| {
            let last_observed = new.last_observed;
            *new == Incident { last_observed, ..old.clone() }
        };
        self.parts.changed.retain(|key, incident| !incidents.get(key).is_some_and(|old| same(old, incident)));
        self.parts
    }
}
