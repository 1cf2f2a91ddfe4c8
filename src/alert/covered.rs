//! What follows from an incident after the mail about it: told in one more mail, at most one an hour. Pure.

use std::collections::{BTreeMap, BTreeSet};

use chrono::Duration;

use super::decide::StepDraft;
use super::incident::{Incident, Phase};
use super::key::Key;
use super::kind::{Event, Kind};
use super::reason::Cause;
use crate::model::AccountState;

/// What follows from one cause seldom shows all at once.
const GATHER: Duration = Duration::minutes(2);
const AT_MOST_EVERY: Duration = Duration::hours(1);
/// The kinds that have causes which others see.
const KINDS: [Kind; 6] = [
    Kind::VmBlocked,
    Kind::VmStopped,
    Kind::ContainerDisabled,
    Kind::SiteBlocked,
    Kind::SiteError,
    Kind::SiteStuck,
];

impl StepDraft<'_> {
    /// Tells what went wrong since the last mail of the incident that covers it.
    pub(super) fn follow_up(&mut self, state: &AccountState) {
        if !self.started {
            return;
        }
        self.note_sites_told(state);
        for (cause, new) in self.uncovered(state) {
            let Some(cause) = self.get(&cause).cloned() else { continue };
            let gathered = new.iter().any(|one| self.now - one.last_change >= GATHER);
            let allowed = cause.covered_at.is_none_or(|last| self.now - last >= AT_MOST_EVERY);
            if gathered && allowed && self.silenced(&cause).is_none() {
                self.tell_covered(cause, new);
            }
        }
    }

    /// Of containers that the first mail told of, or a daemon that kept no list: those that are in it now.
    fn note_sites_told(&mut self, state: &AccountState) {
        let told = |incident: &&Incident| {
            incident.explains() && incident.last_mailed.is_some() && incident.sites_told.is_none()
        };
        let told: Vec<Incident> =
            self.of_kind(state, Kind::ContainerDisabled).filter(told).cloned().collect();
        for incident in told {
            let sites_told = sites_of(&incident.key, state);
            self.put(Incident { sites_told, ..incident });
        }
    }

    /// By cause, what is wrong and in no mail of it.
    fn uncovered(&self, state: &AccountState) -> BTreeMap<Key, Vec<Incident>> {
        let mut by_cause: BTreeMap<Key, Vec<Incident>> = BTreeMap::new();
        for incident in KINDS.iter().flat_map(|&kind| self.of_kind(state, kind)) {
            let Some(cause) = incident.folded_into.as_ref().and_then(|cause| self.get(cause)) else {
                continue;
            };
            let is_new =
                !incident.followed_up && cause.last_mailed.is_some_and(|told| incident.last_change > told);
            let goes_on = incident.phase == Phase::Firing && cause.explains();
            if is_new
                && goes_on
                && !lists(cause, &incident.key, state)
                && incident.is_listed(state)
                && self.silenced(incident).is_none()
            {
                by_cause.entry(cause.key.clone()).or_default().push(incident.clone());
            }
        }
        by_cause
    }

    fn tell_covered(&mut self, mut cause: Incident, new: Vec<Incident>) {
        let (covers, count) = (new.iter().map(Incident::words_now).collect(), new.len());
        for incident in new {
            self.put(Incident { followed_up: true, ..incident });
        }
        cause.covered += 1;
        cause.covered_at = Some(self.now);
        let event = Event::Covered(cause.covered);
        self.tell_beside(cause, Cause::CoversMore { count }, event, covers);
    }
}

/// The mail about a container has the sites in it that were known then; that about a resource tells of it in whatever
/// state.
fn lists(cause: &Incident, other: &Key, state: &AccountState) -> bool {
    let Key { kind, resource, .. } = &cause.key;
    if kind.seen_by() == other.kind.seen_by() && *resource == other.resource {
        return true;
    }
    let site = other.id().filter(|_| other.kind.seen_by() == Some(crate::model::Collector::Sites));
    let Some(site) = site.and_then(|id| state.site(id.into())) else { return false };
    *kind == Kind::ContainerDisabled
        && cause.key.id() == Some(site.container.get())
        && cause.sites_told.as_ref().is_none_or(|told| told.contains(&site.id.get()))
}

/// The sites in the container that an incident is about.
pub(super) fn sites_of(key: &Key, state: &AccountState) -> Option<BTreeSet<u64>> {
    let container = key.id().filter(|_| key.kind == Kind::ContainerDisabled)?;
    let sites = state.sites.get(&container.into()).into_iter().flat_map(|listing| listing.rows.iter());
    Some(sites.map(|site| site.id.get()).collect())
}
