//! What the engine remembers of incidents: those that go on whole; of those that are over the latest of each account,
//! which people are shown, and of all others how often they opened. The rest of these lives in the store. Pure.

use std::collections::BTreeMap;

use chrono::{DateTime, Duration, Utc};

use super::incident::{COMES_BACK_WITHIN, Incident, Phase};
use super::key::Key;
use super::kind::{Kind, Severity};
use crate::model::AccountName;

/// So many of what is over lately are shown, of each account.
pub(crate) const SHOWN: usize = 20;
/// For so long.
const SHOWN_FOR: Duration = Duration::days(7);
/// Openings and closings count towards flapping for so long.
pub(super) const CHANGES_COUNT: Duration = Duration::hours(1);
const FORGETS_EVERY: Duration = Duration::minutes(1);

/// Incidents by key.
#[derive(Debug, Default)]
pub(crate) struct Remembered {
    incidents: BTreeMap<Key, Incident>,
    /// The episode of what is over and not among these: the next opening counts on.
    episodes: BTreeMap<Key, u32>,
    /// When it last forgot.
    forgot: Option<DateTime<Utc>>,
}

impl Remembered {
    /// What a store holds, the latest first.
    pub(crate) fn of<E>(
        stored: impl IntoIterator<Item = Result<Incident, E>>,
        now: DateTime<Utc>,
    ) -> Result<Self, E> {
        let mut memory = Self::default();
        let mut shown: BTreeMap<AccountName, usize> = BTreeMap::new();
        for incident in stored {
            let incident = incident?.flaps_openly();
            let mut is_shown = incident.is_shown(now);
            if is_shown {
                let count = shown.entry(incident.key.account.clone()).or_default();
                *count += 1;
                is_shown = *count <= SHOWN;
            }
            // All of a year at once would take the room that is saved later.
            if is_shown || incident.goes_on(now) {
                memory.put(incident);
            } else {
                memory.episodes.insert(incident.key, incident.episode);
            }
        }
        Ok(memory)
    }

    /// Those that are remembered whole.
    pub(super) fn incidents(&self) -> &BTreeMap<Key, Incident> {
        &self.incidents
    }

    /// Those of one account.
    pub(super) fn of_account(&self, account: &AccountName) -> impl Iterator<Item = &Incident> {
        let first = Key::first_of(account);
        let account = account.clone();
        let its = self.incidents.range(first..).take_while(move |(key, _)| key.account == account);
        its.map(|(_, incident)| incident)
    }

    pub(super) fn get_mut(&mut self, key: &Key) -> Option<&mut Incident> {
        self.incidents.get_mut(key)
    }

    pub(super) fn put(&mut self, incident: Incident) {
        self.episodes.remove(&incident.key);
        self.incidents.insert(incident.key.clone(), incident);
    }

    /// An incident that is not remembered whole, before its next opening.
    pub(super) fn begin(&self, key: Key, severity: Severity, now: DateTime<Utc>) -> Incident {
        let episode = self.episodes.get(&key).copied().unwrap_or(0);
        Incident { episode, ..Incident::new(key, severity, now) }
    }

    /// Forgets what is over, but for what people are shown and what the store does not have as it is.
    pub(super) fn forget(&mut self, now: DateTime<Utc>, is_unwritten: impl Fn(&Key) -> bool) {
        if self.forgot.is_some_and(|last| now >= last && now - last < FORGETS_EVERY) {
            return;
        }
        self.forgot = Some(now);
        let over = self.incidents.values().filter(|one| !one.goes_on(now) && !is_unwritten(&one.key));
        let mut over: Vec<_> = over
            .map(|one| {
                (one.key.account.clone(), one.resolved_at.filter(|_| one.is_shown(now)), one.key.clone())
            })
            .collect();
        over.sort_by(|a, b| a.0.cmp(&b.0).then_with(|| b.1.cmp(&a.1)));
        let mut account: Option<(&AccountName, usize)> = None;
        for (name, shown, key) in &over {
            let before = account.filter(|(same, _)| *same == name).map_or(0, |(_, count)| count);
            account = Some((name, before + 1));
            if (shown.is_none() || before >= SHOWN)
                && let Some(incident) = self.incidents.remove(key)
            {
                self.episodes.insert(incident.key, incident.episode);
            }
        }
    }
}

impl Incident {
    /// Nothing of it goes on: it is over, and no date is watched.
    pub(crate) fn is_forgotten(&self) -> bool {
        matches!(self.phase, Phase::Watching | Phase::Resolved | Phase::Unwatched) && self.ladder.is_none()
    }

    /// More than its number may still matter: its next opening may be flapping, its account may come back, the next report
    /// goes on from what the last one said.
    fn goes_on(&self, now: DateTime<Utc>) -> bool {
        let lately = |at: &DateTime<Utc>, span| now - *at <= span;
        !self.is_forgotten()
            || self.key.kind == Kind::Disconnect
            || self.changes.last().is_some_and(|last| lately(last, CHANGES_COUNT))
            || self.before_unwatched.as_ref().is_some_and(|(since, _)| lately(since, COMES_BACK_WITHIN))
    }

    /// It is over, people knew of it, and it was not long ago.
    pub(crate) fn is_shown(&self, now: DateTime<Utc>) -> bool {
        let lately = self.resolved_at.is_some_and(|at| at > now - SHOWN_FOR);
        self.phase == Phase::Resolved && self.announced && lately
    }
}
