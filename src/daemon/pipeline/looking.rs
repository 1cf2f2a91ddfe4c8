//! Handles the times at which the known state may be out of date: after a start, after the machine slept, after
//! its clock was set. Then all collectors that see states poll again, and time alone causes no mail until they
//! have, for two minutes at most. This module also reports clocks that differ.

use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};

use super::Pipeline;
use crate::model::freshness::{AWAITED_FOR, all_looked};
use crate::model::{Language, PollEnd};
use crate::view::words;

/// The loop is woken twice a second. If it did not run for this long, the machine slept.
const SLEPT: Duration = Duration::from_secs(60);
/// A smaller step back of the clock changes nothing that is shown.
const SET_BACK: TimeDelta = TimeDelta::seconds(5);

/// The last run of the pipeline, and the clocks.
#[derive(Debug)]
pub(in crate::daemon) struct Looking {
    wall: DateTime<Utc>,
    steady: Instant,
    /// The time since when collectors are polling again.
    since: Option<Instant>,
    /// The time was certain once.
    sure: bool,
}

impl Looking {
    /// The state at the start.
    pub(in crate::daemon) fn new(wall: DateTime<Utc>, steady: Instant) -> Self {
        Self { wall, steady, since: Some(steady), sure: false }
    }

    /// Whether this loop did not run for a while, or the wall clock was set, since the last call.
    fn slept(&mut self, wall: DateTime<Utc>, steady: Instant) -> bool {
        let ran = steady.saturating_duration_since(self.steady);
        let went = TimeDelta::from_std(ran).map(|ran| wall - self.wall - ran).unwrap_or_default();
        (self.wall, self.steady) = (wall, steady);
        ran > SLEPT || went.abs().to_std().unwrap_or_default() > SLEPT
    }

    /// Whether a poll that ended then, after so long, began before the machine slept. It shows nothing of the present,
    /// however long it waited for the pipeline.
    fn slept_since(&self, ended: Instant, took: Duration) -> bool {
        self.since.is_some_and(|since| ended < since + took)
    }
}

impl Pipeline {
    /// Reads the time at the beginning of a turn, and notices that the known state may be out of date. The
    /// whole turn uses this time, since a machine may fall asleep between two readings of a clock.
    pub(super) fn notice_sleep(&mut self) {
        // The time comes first: all comparisons below use it.
        let before = std::mem::replace(&mut self.now, self.common.clock.now());
        let steady = Instant::now();
        if self.looking.slept(self.common.clock.wall(), steady) {
            tracing::info!("the machine slept or its clock was set: everything is looked at again");
            // A wall clock that was set is doubted from now on, until all collectors have polled.
            self.now = self.common.clock.now();
            self.looking.since = Some(Instant::now());
            self.wake();
            let now = self.now;
            self.for_all_accounts(|known| known.look_again(now));
            self.known.keys().for_each(|account| self.common.polls.ask(account));
        } else if (self.now - before).abs().to_std().unwrap_or_default() > SLEPT {
            // A clock that was set is followed only now. A failure meanwhile counts from now on.
            self.wake();
        }
        if self.looking.since.is_some_and(|since| steady.saturating_duration_since(since) >= AWAITED_FOR) {
            // Mails wait no longer. Only a clock that is sure corrects moments ahead of it.
            self.senders.quiet.clear();
            self.for_all_accounts(|known| known.stop_looking());
            self.have_looked();
        }
        if self.now < before - SET_BACK {
            // The age of readings from ahead of the clock is not known.
            self.encode_again();
        }
        if !self.looking.sure && self.common.clock.is_sure() {
            self.looking.sure = true;
            self.follow_clock();
            let noted = self.note_watching();
            self.note_store_result(noted);
        }
    }

    /// Whether some collector has not polled since the start, or since the machine slept.
    pub(super) fn is_looking(&self) -> bool {
        self.looking.since.is_some()
    }

    fn wake(&mut self) {
        self.engine.wake(self.now);
        self.senders.quiet.clear();
        if self.common.clock.is_sure() {
            self.follow_clock();
        }
    }

    /// The time is certain: moments that lie ahead of it are corrected. Before that, the clock of a machine without a
    /// battery would set all stored moments back.
    fn follow_clock(&mut self) {
        self.engine.is_sure_of(self.now);
        self.log.wake(self.now);
        self.senders.quiet.clear();
    }

    /// All collectors have polled again: everything that time alone makes due is sent at once.
    pub(super) fn have_looked(&mut self) {
        let all = || self.common.snapshot.get().accounts.values().all(|state| all_looked(state));
        if self.is_looking() && all() {
            self.looking.since = None;
            // First mails waited for these polls.
            self.senders.quiet.clear();
            self.look_at_time();
        }
    }

    /// Whether a poll that ended then shows nothing of the present: it began before the machine slept, or it failed while
    /// the clock is doubted. That failure would have a wrong time.
    pub(super) fn has_not_looked(&self, end: &PollEnd, ended: Instant) -> bool {
        let is_of_no_time = || self.is_looking() && end.failure.is_some() && self.common.clock.is_doubted();
        self.looking.slept_since(ended, end.duration) || is_of_no_time()
    }

    fn for_all_accounts(&mut self, change: impl Fn(&mut crate::model::KnownAccount)) {
        let mut snapshot = (*self.common.snapshot.get()).clone();
        for (name, known) in &mut self.known {
            change(known);
            snapshot.accounts.insert(name.clone(), known.publish());
        }
        self.common.snapshot.set(snapshot);
    }

    /// Reports once, in log and page, that the clocks differ, and once that they agree again.
    pub(super) fn say_difference(&mut self) {
        let (difference, shown) = (self.common.clock.difference(), self.common.alerting.get().clock);
        let kind = |said: Option<(TimeDelta, bool)>| said.map(|(_, decides)| decides);
        if kind(difference) != kind(shown) {
            match difference {
                Some((ahead, decides)) => {
                    let words = words::clock(ahead, decides, Language::En);
                    tracing::warn!("{words}: set it right, timedatectl set-ntp true");
                }
                None => tracing::info!("this machine's clock agrees with the provider's again"),
            }
        }
        if difference != shown {
            self.common.show(|shown| shown.clock = difference);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wall(seconds: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000 + seconds, 0).unwrap()
    }

    #[test]
    fn a_loop_that_did_not_run_and_a_clock_that_was_set_are_noticed_once() {
        let start = Instant::now();
        // Seconds passed by the wall clock and by the steady clock, and whether the machine slept.
        let table =
            [(1, 1, false), (59, 59, false), (61, 61, true), (61, 0, true), (-61, 0, true), (30, 0, false)];
        for (went, ran, want) in table {
            let mut looking = Looking::new(wall(0), start);
            let steady = start + Duration::from_secs(ran);
            assert_eq!(looking.slept(wall(went), steady), want, "{went} {ran}");
            assert!(!looking.slept(wall(went), steady));
        }
    }

    #[test]
    fn a_poll_from_before_a_sleep_is_too_old_however_late_it_is_taken_in() {
        let second = Duration::from_secs(1);
        let woke = Instant::now();
        let looking = Looking::new(wall(0), woke);
        assert!(looking.slept_since(woke - second, Duration::ZERO), "it ended before");
        assert!(looking.slept_since(woke + second, 2 * second), "it began before");
        assert!(!looking.slept_since(woke + 2 * second, second));
        let awake = Looking { since: None, ..looking };
        assert!(!awake.slept_since(woke - second, second));
    }
}
