//! The true events, noted by the code that caused them: the other side of the comparison.

use std::collections::BTreeMap;
use std::time::Instant;

use chrono::{DateTime, Utc};

use super::ladder::Fact;

pub type Moment = DateTime<Utc>;

/// The true state of one incident over time. It begins well.
#[derive(Clone, Default, Debug)]
pub struct Line {
    /// Wrong or right from this moment on.
    pub changes: Vec<(Moment, bool)>,
    /// The moments at which the daemon had surely processed a reading of this state. Only for states that must
    /// be mailed.
    pub seen: Vec<(Moment, bool)>,
    /// Spans in which another mail covers it.
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

    /// The time since when it has the state that it has at `at`.
    pub fn since(&self, at: Moment) -> Moment {
        self.changes.iter().rev().find(|change| change.0 <= at).map_or(Moment::UNIX_EPOCH, |change| change.0)
    }
}

/// A span of time with an obstacle.
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
    /// The lines by incident key.
    pub lines: BTreeMap<String, Line>,
    /// Spans in which a fault could look like the incident of a key, so that mails about it are allowed.
    pub may: BTreeMap<String, Vec<Span>>,
    /// Moments at which no mail waited and none of these incidents was shown: its end, if one was due, had been mailed.
    pub over: BTreeMap<String, Vec<Moment>>,
    /// The facts about the cut-off in reports, by account.
    pub ladder: BTreeMap<&'static str, Vec<Fact>>,
    /// The number of reports with much less money than the one before, by account.
    pub drops: BTreeMap<&'static str, usize>,
    /// Spans in which mail could not leave at once: faults of the server and absences of the daemon, each until
    /// no mail waited.
    pub trouble: Vec<Span>,
    /// Spans in which mails may have been on their way with an unknown result.
    pub doubts: Vec<Span>,
    /// The times at which an account left the configuration.
    pub away: Vec<Moment>,
    /// The times at which the daemon was killed, by both clocks.
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

    pub fn doubted(&self, from: Moment, to: Moment) -> bool {
        self.doubts.iter().any(|span| span.meets(from, to))
    }
}
