//! The loop of each collector. It polls at the start and at the ticks of its schedule. It polls sooner if a
//! poll failed, if its next reading decides something, or if somebody asks, as the pipeline does after a sleep. A poll
//! that still runs at its next tick skips that tick.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use super::collectors;
use super::poller::{AccountPlan, Poller, Update};
use super::span;
use crate::model::Collector;
use crate::model::freshness::{sees_states, was_tried};
use crate::provider::cron::{Schedule, offset};

/// The longest sleep, so that a change of the clock or a sleep of the machine is noticed.
const LONGEST_SLEEP: Duration = Duration::from_secs(60);
/// How often a collector that needs the sites looks whether they were read.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// A failed poll is repeated twice after this time, or sooner if mails about failures come sooner; then after
/// `RETRY_LATER`.
const RETRY_AFTER: Duration = Duration::from_secs(5 * 60);
const RETRY_LATER: Duration = Duration::from_secs(30 * 60);
const LEAST_RETRY: Duration = Duration::from_secs(5);
/// A collector with longer gaps between its ticks is polled sooner if its next reading decides something: after
/// `AWAITED_AFTER`, then after two and three times that.
const LONG_GAP: Duration = Duration::from_secs(5 * 60);
const AWAITED_AFTER: Duration = Duration::from_secs(90);

/// Runs the collectors of one account until stopped. Returns when all have ended.
pub(crate) async fn run(plan: Arc<AccountPlan>, updates: mpsc::Sender<Box<Update>>, stop: CancellationToken) {
    let mut tasks = JoinSet::new();
    for (&collector, schedule) in plan.schedules.iter() {
        let poller = Poller {
            plan: Arc::clone(&plan),
            updates: updates.clone(),
            stop: stop.clone(),
            failed: AtomicBool::new(false),
        };
        tasks.spawn(follow(poller, collector, schedule.clone()));
    }
    while let Some(ended) = tasks.join_next().await {
        if let Err(error) = ended
            && let Ok(panic) = error.try_into_panic()
        {
            // A dead collector must not look like an idle one.
            std::panic::resume_unwind(panic);
        }
    }
}

async fn follow(poller: Poller, collector: Collector, schedule: Schedule) {
    let stop = poller.stop.clone();
    let work = async {
        if matches!(collector, Collector::Databases | Collector::CronJobs) {
            wait_for_sites(&poller).await;
        }
        let mut memory = collectors::PollMemory::new(poller.plan.horizon_days);
        let mut asked = poller.plan.asked.clone();
        let mut awaited =
            Awaited { by: poller.plan.awaited.clone(), collector, schedule: &schedule, polls: 0 };
        let mut failures = 0;
        loop {
            awaited.count();
            let began = Instant::now();
            asked.mark_unchanged();
            poller.failed.store(false, Ordering::Relaxed);
            let poll = async {
                collectors::poll(&poller, collector, &mut memory).await;
                tracing::debug!(duration_seconds = began.elapsed().as_secs_f64(), "polled");
            };
            // The poll is boxed, so that it takes memory only while it runs, and not while thousands wait for
            // their tick.
            Box::pin(poll.instrument(span(&poller.plan.profile.name, collector))).await;
            let failed = poller.failed.load(Ordering::Relaxed);
            failures = if failed { failures + 1 } else { 0 };
            let took = began.elapsed();
            let again = failed.then(|| again_after(failures, poller.plan.retry_after, took));
            tokio::select! {
                () = wait_for_tick(&poller, &schedule, again) => {}
                () = awaited.comes(took), if !failed => {}
                Ok(()) = asked.changed(), if sees_states(collector) => {
                    poller.plan.client.ask_anew(collector.group());
                }
            }
        }
    };
    tokio::select! {
        () = stop.cancelled() => {}
        () = work => {}
    }
}

/// The pause before a failed poll is repeated, after this many failures in a row, the last of which took
/// `took`. Two repeats come before a mail is due; later ones come at leisure.
fn again_after(failures: u32, retry_after: Duration, took: Duration) -> Duration {
    let pause = if failures <= 2 { retry_after.min(RETRY_AFTER) } else { RETRY_LATER };
    pause.max(took).max(LEAST_RETRY)
}

/// The incidents that await a collector's next reading.
struct Awaited<'a> {
    by: watch::Receiver<BTreeSet<Collector>>,
    collector: Collector,
    schedule: &'a Schedule,
    /// The number of polls in a row that decided nothing.
    polls: u32,
}

impl Awaited<'_> {
    fn is_so(&self) -> bool {
        let awaited = self.by.borrow();
        let sites = self.collector == Collector::Containers && awaited.contains(&Collector::Sites);
        sites || awaited.contains(&self.collector)
    }

    /// Counts a poll that begins.
    fn count(&mut self) {
        self.polls = if self.is_so() { self.polls.saturating_add(1) } else { 0 };
    }

    /// Waits for the time of the awaited poll, after one that took `took`. Never ends if the next tick is soon.
    async fn comes(&mut self, took: Duration) {
        if self.schedule.longest_gap() <= LONG_GAP {
            return std::future::pending().await;
        }
        tokio::time::sleep(awaited_after(self.polls, took)).await;
        while !self.is_so() {
            if self.by.changed().await.is_err() {
                return std::future::pending().await;
            }
        }
    }
}

/// The pause before an awaited poll, after a number of polls that decided nothing.
fn awaited_after(polls: u32, took: Duration) -> Duration {
    AWAITED_AFTER.saturating_mul(polls.saturating_add(1)).max(took)
}

/// Waits for the first sweep, since databases and cron jobs are read site by site.
async fn wait_for_sites(poller: &Poller) {
    while (poller.plan.known)().is_none_or(|state| !was_tried(&state, Collector::Sites)) {
        (poller.plan.awake)();
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// Waits for the next tick or the repeat of a failed poll, whichever is first. It never waits longer than the
/// longest gap of the schedule, even if the clock is set.
async fn wait_for_tick(poller: &Poller, schedule: &Schedule, again: Option<Duration>) {
    let zone = poller.plan.profile.zone();
    let shift = offset(poller.plan.profile.name.as_str(), schedule.shortest_gap());
    let longest = schedule.longest_gap() + shift;
    let shift = chrono::Duration::from_std(shift).unwrap_or_default();
    let (start, began) = (poller.now(), Instant::now());
    let due = schedule.next_after(start - shift, zone).map(|tick| tick + shift);
    let most = again.map_or(longest, |again| again.min(longest));
    loop {
        (poller.plan.awake)();
        let now = poller.now();
        // A clock that was set back must not silence a collector.
        if due.is_some_and(|due| now >= due) || now < start || began.elapsed() >= most {
            return;
        }
        let left = due.and_then(|due| (due - now).to_std().ok()).unwrap_or(LONGEST_SLEEP);
        tokio::time::sleep(left.min(most.saturating_sub(began.elapsed())).min(LONGEST_SLEEP)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::freshness::AWAITED_FOR;

    #[test]
    fn a_failed_poll_is_made_again_twice_before_anybody_is_told() {
        let seconds = Duration::from_secs;
        let table = [
            (1, 300, 1, 300),
            (2, 300, 1, 300),
            (3, 300, 1, 1800),
            (1, 3600, 1, 300),
            (1, 20, 1, 20),
            (1, 0, 1, 5),
            // After a long sweep comes a pause of the same length.
            (1, 300, 4000, 4000),
        ];
        for (failures, retry_after, took, want) in table {
            let after = again_after(failures, seconds(retry_after), seconds(took));
            assert_eq!(after, seconds(want), "{failures} {retry_after} {took}");
        }
    }

    #[test]
    fn an_awaited_collector_is_asked_a_few_minutes_apart() {
        let seconds = Duration::from_secs;
        let table = [(0, 0, 90), (1, 0, 180), (9, 0, 900), (0, 3000, 3000)];
        for (polls, took, want) in table {
            assert_eq!(awaited_after(polls, seconds(took)), seconds(want), "{polls} {took}");
        }
        assert!(AWAITED_AFTER < AWAITED_FOR, "a cause is read before its effect is told without it");
    }
}
