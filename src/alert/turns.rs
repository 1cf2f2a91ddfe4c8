//! Which changes of incidents are worth a write to the disk. What alternates at every poll would write at every
//! poll: after a few such turns within an hour, the further ones are kept in memory alone. Pure.
//!
//! What the store then lacks is never what a start would go wrong by: it has the incident as open and not yet
//! recovering, or as not begun.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Duration, Utc};

use super::incident::{Incident, Phase};
use super::key::Key;
use super::kind::Kind;

/// So many turns of an incident are written within an hour.
const WRITTEN_AN_HOUR: usize = 4;
/// While it flaps, the time of its last change is written this often: the end of flapping counts from there.
const FLAPPING_EVERY_MINUTES: i64 = 10;

/// The turns of each incident that were written lately.
#[derive(Debug, Default)]
pub(super) struct Turns {
    written: BTreeMap<Key, Vec<DateTime<Utc>>>,
    /// In memory these have turned, in the store they have not.
    unwritten: BTreeSet<Key>,
}

/// What turned in one step.
#[derive(Clone, Debug, Default)]
pub(super) struct Turned {
    /// Not to be written.
    pub(super) in_memory: Vec<Incident>,
    /// Those and others.
    keys: BTreeSet<Key>,
    pub(super) at: DateTime<Utc>,
}

impl Turns {
    /// What of these changes has to be written, and what turned. `told`: mails go out about these.
    pub(super) fn split(
        &self,
        changed: impl Iterator<Item = Incident>,
        old: &BTreeMap<Key, Incident>,
        told: &BTreeSet<&Key>,
        now: DateTime<Utc>,
    ) -> (Vec<Incident>, Turned) {
        let mut write = Vec::new();
        let mut all = Turned { at: now, ..Turned::default() };
        for incident in changed {
            let turned = !told.contains(&incident.key) && is_turn(old.get(&incident.key), &incident);
            if turned {
                all.keys.insert(incident.key.clone());
            }
            if turned && self.is_enough(&incident, now) {
                all.in_memory.push(incident);
            } else {
                write.push(incident);
            }
        }
        (write, all)
    }

    /// Takes in what became of a step's changes, now that it is done.
    pub(super) fn commit(&mut self, wrote: &[Incident], turned: &Turned) {
        for incident in wrote {
            let key = &incident.key;
            self.unwritten.remove(key);
            if turned.keys.contains(key) {
                let written = self.written.entry(key.clone()).or_default();
                written.retain(|&at| is_within(at, turned.at, Duration::hours(1)));
                written.push(turned.at);
            } else if !incident.phase.is_open() {
                self.written.remove(key);
            }
        }
        for incident in &turned.in_memory {
            if !self.unwritten.remove(&incident.key) {
                self.unwritten.insert(incident.key.clone());
            }
        }
    }

    /// Does memory know better than the store?
    pub(super) fn has_unwritten(&self, key: &Key) -> bool {
        self.unwritten.contains(key)
    }

    fn is_enough(&self, incident: &Incident, now: DateTime<Utc>) -> bool {
        let none = Vec::new();
        let written = self.written.get(&incident.key).unwrap_or(&none);
        let since = |span| written.iter().filter(|&&at| is_within(at, now, span)).count();
        if incident.flapping {
            return since(Duration::minutes(FLAPPING_EVERY_MINUTES)) > 0;
        }
        // Turned back: the store has it so.
        self.unwritten.contains(&incident.key) || since(Duration::hours(1)) >= WRITTEN_AN_HOUR
    }
}

/// A clock that was set back makes none of them longer ago.
fn is_within(at: DateTime<Utc>, now: DateTime<Utc>, span: Duration) -> bool {
    (now - at).abs() < span
}

/// From open to recovering and back, from nothing to not yet confirmed and back, to and fro while it flaps.
fn is_turn(old: Option<&Incident>, new: &Incident) -> bool {
    if new.key.kind == Kind::Disconnect {
        return false;
    }
    let old = old.map_or((Phase::Watching, false), |old| (old.phase, old.flapping));
    let begins = !old.0.is_open() && old.0 != Phase::Pending;
    match (old, (new.phase, new.flapping)) {
        ((_, true), (_, true))
        | ((Phase::Firing, false), (Phase::Recovering, false))
        | ((Phase::Recovering, false), (Phase::Firing, false))
        | ((Phase::Pending, false), (Phase::Resolved, false)) => true,
        ((_, false), (Phase::Pending, false)) => begins,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alert::Severity;

    fn start() -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000, 0).unwrap()
    }

    /// How many of these phases, a minute apart, are written.
    fn written(phases: &[Phase], flapping: bool) -> (usize, Phase) {
        let key = Key::new(&"main".parse().unwrap(), Kind::VmError, 7);
        let (mut turns, mut known, mut stored) = (Turns::default(), BTreeMap::new(), Phase::Watching);
        let mut count = 0;
        for (&phase, minute) in phases.iter().zip(0..) {
            let now = start() + Duration::minutes(minute);
            let mut incident = Incident::new(key.clone(), Severity::Critical, now);
            (incident.phase, incident.flapping) = (phase, flapping);
            let (write, turned) = turns.split([incident.clone()].into_iter(), &known, &BTreeSet::new(), now);
            for one in &write {
                count += 1;
                stored = one.phase;
            }
            turns.commit(&write, &turned);
            known.insert(key.clone(), incident);
        }
        (count, stored)
    }

    #[test]
    fn what_alternates_is_written_a_few_times_an_hour() {
        use Phase::{Firing, Pending, Recovering, Resolved, Watching};
        let again = |phases: &[Phase], times: usize| phases.repeat(times);
        assert_eq!(
            written(&again(&[Firing, Recovering], 20), false),
            (5, Firing),
            "the opening, and four turns"
        );
        assert_eq!(written(&again(&[Firing, Recovering], 35), false).0, 9, "an hour later some more");
        assert_eq!(written(&again(&[Pending, Resolved], 20), false), (4, Resolved));
        assert_eq!(
            written(&again(&[Resolved, Firing], 30), true).0,
            7,
            "one in ten minutes, and its opening"
        );
        // What goes on is written, however often it turned before.
        let mut phases = again(&[Firing, Recovering], 4);
        phases.push(Resolved);
        assert_eq!(written(&phases, false).1, Resolved);
        let mut phases = again(&[Pending, Resolved], 4);
        phases.extend([Pending, Pending]);
        assert_eq!(written(&phases, false).1, Pending);
        assert_eq!(written(&[Watching], false).0, 1);
    }
}
