//! What truly happened, as those who made it happen note it: the other side of the comparison.

use std::collections::BTreeMap;
use std::time::Instant;

use chrono::{DateTime, Utc};

use super::ladder::Expected;

pub type Moment = DateTime<Utc>;

/// What is true of one incident's condition, in time. It begins well.
#[derive(Clone, Default, Debug)]
pub struct Line {
    /// Wrong from then on, or right.
    pub changes: Vec<(Moment, bool)>,
    /// When the daemon had demonstrably taken in a reading that shows this. Only where it has to be told.
    pub seen: Vec<(Moment, bool)>,
    /// Spans within which another mail speaks for it.
    pub folded: Vec<(Moment, Moment)>,
}

impl Line {
    /// The first moment in `from..=until` at which it is wrong, or right.
    pub fn next(&self, wrong: bool, from: Moment, until: Moment) -> Option<Moment> {
        let mut state = (Moment::UNIX_EPOCH, false);
        let ends = self.changes.iter().copied().chain([(Moment::MAX_UTC, false)]);
        for change in ends {
            let at = state.0.max(from);
            if state.1 == wrong && at < change.0 && at <= until {
                return Some(at);
            }
            state = change;
        }
        None
    }

    /// Since when it has been as it is at `at`.
    pub fn since(&self, at: Moment) -> Moment {
        self.changes.iter().rev().find(|change| change.0 <= at).map_or(Moment::UNIX_EPOCH, |change| change.0)
    }

    pub fn changes_until(&self, until: Moment) -> usize {
        self.changes.iter().filter(|change| change.0 <= until).count()
    }
}

/// A span of time with something in the way.
#[derive(Clone, Debug)]
pub struct Span {
    pub from: Moment,
    pub to: Option<Moment>,
}

impl Span {
    pub fn meets(&self, from: Moment, to: Moment) -> bool {
        self.from <= to && self.to.is_none_or(|end| end >= from)
    }
}

#[derive(Default, Debug)]
pub struct History {
    /// By incident key.
    pub lines: BTreeMap<String, Line>,
    /// What may be told of a key and need not be: spans in which a fault could be taken for it.
    pub may: BTreeMap<String, Vec<Span>>,
    /// The disconnect's story, by account.
    pub ladder: BTreeMap<&'static str, Vec<Expected>>,
    /// Reports that showed much less money than the one before, by account.
    pub drops: BTreeMap<&'static str, usize>,
    /// Mail could not go out at once: the server's faults, and the daemon's absence, each until nothing waited.
    pub trouble: Vec<Span>,
    /// When an account was taken out of the configuration.
    pub away: Vec<Moment>,
    /// When the daemon was killed, by either clock.
    pub kills: Vec<(Moment, Instant)>,
}

impl History {
    pub fn change(&mut self, key: &str, at: Moment, wrong: bool) {
        self.lines.entry(key.to_owned()).or_default().changes.push((at, wrong));
    }

    pub fn seen(&mut self, key: &str, at: Moment, wrong: bool) {
        self.lines.entry(key.to_owned()).or_default().seen.push((at, wrong));
    }

    pub fn troubled(&self, from: Moment, to: Moment) -> bool {
        self.trouble.iter().any(|span| span.meets(from, to))
    }
}
