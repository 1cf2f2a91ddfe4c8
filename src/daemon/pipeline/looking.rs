//! When what is known may be out of date: after a start, after the machine slept, after somebody set its clock. Then
//! whoever sees states looks again, and time alone is no reason for a mail until they have, for two minutes at most.
//! Also what is said of clocks that differ, and of collectors that do not run.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};

use super::Pipeline;
use crate::model::freshness::all_looked;
use crate::model::snapshot::PollEnd;
use crate::model::{AccountName, Collector, Failure, FailureKind};
use crate::provider::poll::Update;

/// A loop that is woken twice a second and did not run for this long was not running at all.
const SLEPT: Duration = Duration::from_secs(60);
/// Nothing is held back for longer.
const LOOKING_FOR: Duration = Duration::from_secs(120);
/// A collector is late after this many of its gaps, but no sooner than `LATE_AT_LEAST`: one poll may take that long.
const LATE_GAPS: u32 = 3;
const LATE_AT_LEAST: Duration = Duration::from_secs(15 * 60);

/// The longest gap between the ticks of each collector.
pub(in crate::daemon) type Gaps = BTreeMap<AccountName, BTreeMap<Collector, Duration>>;

/// What the pipeline remembers of when it ran, and who else did.
#[derive(Debug)]
pub(in crate::daemon) struct Looking {
    wall: DateTime<Utc>,
    steady: Instant,
    /// Since when it is being looked again.
    since: Option<Instant>,
    /// Then the wall clock had moved by itself: for so long nobody asked, as nothing ran.
    asleep: bool,
    /// The time was beyond doubt once.
    sure: bool,
    /// What was last said of the clocks.
    clock_said: Option<(String, bool)>,
    pub(super) gaps: Gaps,
    /// When each collector last sent something.
    heard_of: BTreeMap<(AccountName, Collector), Instant>,
    /// Polls that failed while the clock was doubted, and were not made again since.
    of_no_time: BTreeMap<(AccountName, Collector), Update>,
}

impl Looking {
    /// From the start on.
    pub(in crate::daemon) fn new(wall: DateTime<Utc>, steady: Instant, gaps: Gaps) -> Self {
        Self {
            wall,
            steady,
            since: Some(steady),
            asleep: false,
            sure: false,
            clock_said: None,
            gaps,
            heard_of: BTreeMap::new(),
            of_no_time: BTreeMap::new(),
        }
    }

    /// Did this loop not run for a while, or was the wall clock set, since it was last asked?
    fn slept(&mut self, wall: DateTime<Utc>, steady: Instant) -> bool {
        let ran = steady.saturating_duration_since(self.steady);
        let went = TimeDelta::from_std(ran).map(|ran| wall - self.wall - ran).unwrap_or_default();
        (self.wall, self.steady) = (wall, steady);
        let asleep = went.abs().to_std().unwrap_or_default() > SLEPT;
        self.asleep |= asleep;
        ran > SLEPT || asleep
    }

    /// Takes in that a collector runs; sites are read by that of the containers.
    pub(super) fn hear_of(&mut self, account: &AccountName, collector: Collector) {
        let now = Instant::now();
        self.heard_of.insert((account.clone(), collector.follows().unwrap_or(collector)), now);
    }

    /// Collectors that did not run for long, and how long; each once in that time.
    fn late(&mut self, now: Instant) -> Vec<(AccountName, Collector, Duration)> {
        let mut late = Vec::new();
        for (account, gaps) in &self.gaps {
            for (&collector, &gap) in gaps {
                let last = self.heard_of.entry((account.clone(), collector)).or_insert(now);
                let quiet = now.saturating_duration_since(*last);
                if quiet > gap.saturating_mul(LATE_GAPS).max(LATE_AT_LEAST) {
                    *last = now;
                    late.push((account.clone(), collector, quiet));
                }
            }
        }
        late
    }
}

impl Pipeline {
    /// Before anything else is done: what time is it, and may what is known be out of date? All that follows is of that time:
    /// a machine may fall asleep between two readings of a clock.
    pub(super) fn notice_sleep(&mut self) {
        // The time first: what it shows by then is what is looked at.
        self.now = self.clock.now();
        let steady = Instant::now();
        if self.looking.slept(self.clock.wall(), steady) {
            tracing::info!("the machine slept or its clock was set: everything is looked at again");
            // A wall clock that was set is doubted from here on, and no longer than is looked.
            self.now = self.clock.now();
            self.looking.since = Some(Instant::now());
            self.wake();
            self.for_all_accounts(|known| known.look_again());
            self.clock.look_again();
        }
        if self.looking.since.is_some_and(|since| steady.saturating_duration_since(since) >= LOOKING_FOR) {
            // By now a clock that was set is followed.
            self.wake();
            for update in std::mem::take(&mut self.looking.of_no_time).into_values() {
                self.take_in(Update { at: self.now, ..update });
            }
            self.for_all_accounts(|known| known.stop_looking());
            self.have_looked();
        }
        if !self.looking.sure && self.clock.is_sure() {
            self.looking.sure = true;
            self.engine.watches_since(self.now);
            let noted = self.note_watching(self.now);
            self.note_store_result(noted);
        }
    }

    /// Not everybody has looked since the start, or since the machine slept.
    pub(super) fn is_looking(&self) -> bool {
        self.looking.since.is_some()
    }

    fn wake(&mut self) {
        if self.looking.asleep {
            self.engine.wakes(self.now);
        }
    }

    /// Everybody has looked again: what time alone makes news of is said at once.
    pub(super) fn have_looked(&mut self) {
        let all = || self.snapshot.get().accounts.values().all(|state| all_looked(state));
        if self.is_looking() && all() {
            (self.looking.since, self.looking.asleep) = (None, false);
            self.look_at_time();
            let renewed = self.renew_yesterdays();
            self.note_store_result(renewed);
        }
    }

    /// A poll that began before the machine slept says nothing of now.
    pub(super) fn is_too_old(&self, end: &PollEnd) -> bool {
        self.looking.since.is_some_and(|since| end.duration > since.elapsed())
    }

    /// One that failed while the clock is doubted: nobody told how late it is, and the failure, with all that time alone
    /// makes news of, would be dated by the old clock. It is made again; where that does not help, it counts once the
    /// clock is followed.
    pub(super) fn keep_for_later(&mut self, update: Update) -> Option<Update> {
        let failed = update.end.as_ref().is_some_and(|end| end.failure.is_some());
        let place = (update.account.clone(), update.collector);
        if self.is_looking() && failed && update.reads.is_empty() && self.clock.is_doubted() {
            let _span = super::span(&update.account, update.collector).entered();
            tracing::info!("cannot read, and the clock was set: read again before that counts");
            self.looking.of_no_time.insert(place, update);
            return None;
        }
        self.looking.of_no_time.remove(&place);
        Some(update)
    }

    fn for_all_accounts(&mut self, change: impl Fn(&mut crate::model::KnownAccount)) {
        let mut snapshot = (*self.snapshot.get()).clone();
        for (name, known) in &mut self.known {
            change(known);
            snapshot.accounts.insert(name.clone(), known.publish());
        }
        self.snapshot.set(snapshot);
    }

    /// Says once, in log and page, that clocks differ, and that they agree again.
    pub(super) fn say_difference(&mut self) {
        let difference = self.clock.difference();
        let kind = |said: &Option<(String, bool)>| said.as_ref().map(|(_, decides)| *decides);
        if kind(&difference) != kind(&self.looking.clock_said) {
            match &difference {
                Some((words, _)) => tracing::warn!("{words}: set it right, timedatectl set-ntp true"),
                None => tracing::info!("this machine's clock agrees with the provider's again"),
            }
        }
        if difference != self.looking.clock_said {
            self.published.show_clock(difference.as_ref().map(|(words, _)| words.clone()));
            self.looking.clock_said = difference;
        }
    }

    /// A collector that does not run is failing, whatever keeps it from it.
    pub(super) fn miss_late_collectors(&mut self) {
        if self.is_looking() {
            return;
        }
        for (account, collector, quiet) in self.looking.late(Instant::now()) {
            let message = format!("not read for {} min: its polls do not run", quiet.as_secs() / 60);
            let failure = Some(Failure::new(FailureKind::Other, message));
            let end = Some(PollEnd { duration: Duration::ZERO, failure, complete: false });
            let at = self.now;
            self.update(Update {
                account,
                collector,
                at,
                reads: Vec::new(),
                end,
                rejected: 0,
                problems: Vec::new(),
            });
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
        // Seconds later by the wall clock and by the steady one.
        let table =
            [(1, 1, false), (59, 59, false), (61, 61, true), (61, 0, true), (-61, 0, true), (30, 0, false)];
        for (went, ran, want) in table {
            let mut looking = Looking::new(wall(0), start, Gaps::new());
            let steady = start + Duration::from_secs(ran);
            assert_eq!(looking.slept(wall(went), steady), want, "{went} {ran}");
            assert!(!looking.slept(wall(went), steady));
        }
    }

    #[test]
    fn a_collector_is_late_after_three_of_its_gaps() {
        let account: AccountName = "main".parse().unwrap();
        let hour = Duration::from_secs(3600);
        let gaps = [(Collector::Vms, Duration::from_secs(60)), (Collector::Containers, hour)].into();
        let start = Instant::now();
        let mut looking = Looking::new(wall(0), start, Gaps::from([(account.clone(), gaps)]));
        assert!(looking.late(start).is_empty());
        let late = |looking: &mut Looking, minutes: u64| -> Vec<Collector> {
            let late = looking.late(start + Duration::from_secs(60 * minutes));
            late.into_iter().map(|(_, collector, _)| collector).collect()
        };
        assert!(late(&mut looking, 15).is_empty());
        assert_eq!(late(&mut looking, 16), [Collector::Vms]);
        assert!(late(&mut looking, 30).is_empty(), "said once in that time");
        assert_eq!(late(&mut looking, 181), [Collector::Vms, Collector::Containers]);
        // Its sites are read all the time.
        looking.hear_of(&account, Collector::Sites);
        assert!(looking.heard_of[&(account, Collector::Containers)] < start + hour);
    }
}
