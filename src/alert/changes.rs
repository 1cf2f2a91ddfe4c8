//! Changes that are not stored yet: maps note which entries changed, and one commit writes all of them. A
//! failed commit clears no notes, so the next one writes the same and more.

use std::collections::{BTreeMap, BTreeSet};

use super::engine::Engine;
use super::flight::{Addressee, Flight, Lane};
use super::history::Title;
use super::incident::Incident;
use super::key::Key;
use super::kind::Kind;
use super::log::Log;
use super::notified::Notified;
use super::noting::{Noting, Tidings};

impl Engine {
    /// The history's title of an episode.
    pub(crate) fn title(&self, incident: &Incident) -> Title {
        let key = &incident.key;
        let cut_off = self.cut_offs.get(&key.account).filter(|_| key.kind == Kind::Disconnect);
        let wrong = cut_off.map_or_else(|| incident.wrong(), |one| one.wrong(incident.read_at));
        Title { subject: incident.subject.clone(), wrong }
    }

    /// Whether the store has everything.
    pub(crate) fn is_saved(&self) -> bool {
        self.incidents.unsaved.is_empty() && self.cut_offs.unsaved.is_empty()
    }

    /// The store lost all of this: the next commit writes everything.
    pub(crate) fn write_all(&mut self) {
        self.incidents.write_all();
        self.cut_offs.write_all();
    }

    /// All changes were stored.
    pub(crate) fn saved(&mut self) {
        self.incidents.unsaved.clear();
        self.cut_offs.unsaved.clear();
    }
}

impl Log {
    /// The notification log as a store holds it. All debts are compared again before the next mail leaves and at the
    /// next walk.
    pub(crate) fn of(
        entries: BTreeMap<(Key, String), Notified>,
        flights: BTreeMap<(String, Lane), Flight>,
        addressees: BTreeMap<String, Addressee>,
        is_started: bool,
    ) -> Self {
        let mut candidates: BTreeMap<String, BTreeSet<Key>> = BTreeMap::new();
        for ((key, to), entry) in &entries {
            if entry.owed.as_ref().is_some_and(|owed| owed.event.is_some()) {
                candidates.entry(to.clone()).or_default().insert(key.clone());
            }
        }
        Self {
            awaiting: entries.keys().map(|(key, _)| key.clone()).collect(),
            entries: Noting::of(entries),
            candidates,
            flights: Noting::of(flights),
            addressees: Noting::of(addressees),
            tidings: Tidings::default(),
            is_started,
        }
    }

    /// Whether the store has everything.
    pub(crate) fn is_saved(&self) -> bool {
        self.entries.unsaved.is_empty()
            && self.flights.unsaved.is_empty()
            && self.addressees.unsaved.is_empty()
            && self.tidings.arrived.is_empty()
    }

    /// The store lost all of this: the next commit writes everything.
    pub(crate) fn write_all(&mut self) {
        self.entries.write_all();
        self.flights.write_all();
        self.addressees.write_all();
    }

    /// All changes were stored.
    pub(crate) fn saved(&mut self) {
        self.entries.unsaved.clear();
        self.flights.unsaved.clear();
        self.addressees.unsaved.clear();
        self.tidings.arrived.clear();
    }

    /// The stored part of the log. Candidates are left out, since they are found again.
    #[cfg(test)]
    pub(crate) fn stored_part(&self) -> impl PartialEq + std::fmt::Debug + use<> {
        let (entries, flights) = (self.entries.all.clone(), self.flights.all.clone());
        (entries, flights, self.addressees.all.clone(), self.is_started)
    }
}
