//! Maps that note which of their entries changed since they were stored.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;

use chrono::{DateTime, Utc};

use super::key::Key;
use super::notified::Notified;

/// A map that notes which values changed since they were stored.
#[derive(Clone, Debug)]
pub(crate) struct Noting<K, V> {
    pub(super) all: BTreeMap<K, V>,
    pub(super) unsaved: BTreeSet<K>,
}

impl<K: Ord + Clone, V: PartialEq + Clone> Noting<K, V> {
    pub(super) fn of(all: BTreeMap<K, V>) -> Self {
        Self { all, unsaved: BTreeSet::new() }
    }

    pub(super) fn insert(&mut self, key: K, value: V) {
        if self.all.get(&key) != Some(&value) {
            self.unsaved.insert(key.clone());
            self.all.insert(key, value);
        }
    }

    pub(super) fn remove(&mut self, key: &K) -> Option<V> {
        let removed = self.all.remove(key)?;
        self.unsaved.insert(key.clone());
        Some(removed)
    }

    /// Removes the values of these keys.
    pub(super) fn remove_all(&mut self, which: impl Fn(&K) -> bool) {
        let removed = self.all.extract_if(.., |key, _| which(key));
        self.unsaved.extend(removed.map(|(key, _)| key));
    }

    /// Changes a value, if there is one.
    pub(super) fn change(&mut self, key: &K, change: impl FnOnce(&mut V)) {
        let Some(value) = self.all.get_mut(key) else { return };
        let before = value.clone();
        change(value);
        if *value != before {
            self.unsaved.insert(key.clone());
        }
    }

    /// Changes the values of these keys.
    pub(super) fn change_all(&mut self, which: impl Fn(&K) -> bool, mut change: impl FnMut(&mut V)) {
        for (key, value) in self.all.iter_mut().filter(|(key, _)| which(key)) {
            let before = value.clone();
            change(value);
            if *value != before {
                self.unsaved.insert(key.clone());
            }
        }
    }

    /// The next commit writes everything.
    pub(super) fn write_all(&mut self) {
        self.unsaved.extend(self.all.keys().cloned());
    }

    /// The entries that changed since they were stored; `None` for those that were removed.
    pub(crate) fn unsaved(&self) -> impl Iterator<Item = (&K, Option<&V>)> {
        self.unsaved.iter().map(|key| (key, self.all.get(key)))
    }
}

/// The entries of the notification log, by incident and recipient.
pub(super) type Entries = Noting<(Key, String), Notified>;

impl Entries {
    /// The entries of all recipients of one incident.
    pub(super) fn of_incident<'a>(
        &'a self,
        key: &'a Key,
    ) -> impl Iterator<Item = (&'a String, &'a Notified)> {
        let from_first = self.all.range((key.clone(), String::new())..);
        from_first.take_while(move |((one, _), _)| one == key).map(|((_, to), entry)| (to, entry))
    }
}

impl<K, V> Default for Noting<K, V> {
    fn default() -> Self {
        Self { all: BTreeMap::new(), unsaved: BTreeSet::new() }
    }
}

impl<K, V> Deref for Noting<K, V> {
    type Target = BTreeMap<K, V>;

    fn deref(&self) -> &Self::Target {
        &self.all
    }
}

/// Sets moments that lie ahead of the clock to now.
pub(super) fn pull_back<'a>(moments: impl Iterator<Item = &'a mut DateTime<Utc>>, now: DateTime<Utc>) {
    moments.filter(|at| **at > now).for_each(|at| *at = now);
}

/// A mail that the server took.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Arrived {
    pub message_id: String,
    pub to: String,
    /// The event keys of its items.
    pub told: Vec<String>,
    pub made_at: DateTime<Utc>,
    pub at: DateTime<Utc>,
}

/// News for the caller of the log. They are no part of its state.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tidings {
    /// Mails that the server took since the last commit.
    pub arrived: Vec<Arrived>,
    /// Something is owed that was not owed at the last dispatch.
    pub has_news: bool,
}
