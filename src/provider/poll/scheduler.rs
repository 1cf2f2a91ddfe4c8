//! The loop of each collector: once at start, then at the ticks of its schedule, sooner where a poll failed, somebody
//! asks, or all are to look again. A poll that still runs at its next tick skips that tick.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use super::collectors;
use super::poller::{AccountPlan, Poller, Sites, Update};
use super::span;
use crate::model::Collector;
use crate::model::freshness::sees_states;
use crate::provider::cron::{Schedule, offset};

/// Sleeps are cut to this, so that a clock that was set or a machine that slept is noticed.
const LONGEST_SLEEP: Duration = Duration::from_secs(60);

/// A failed poll is made again after this, twice, where nobody is told of it sooner; then after `RETRY_LATER`.
const RETRY_AFTER: Duration = Duration::from_secs(5 * 60);
const RETRY_LATER: Duration = Duration::from_secs(30 * 60);
const LEAST_RETRY: Duration = Duration::from_secs(5);

/// Runs the collectors of one account until stopped. Returns when all have stopped.
pub(crate) async fn run(plan: Arc<AccountPlan>, updates: mpsc::Sender<Box<Update>>, stop: CancellationToken) {
    let sites = Sites::default();
    let mut tasks = JoinSet::new();
    for (&collector, schedule) in plan.schedules.iter() {
        let poller = Poller {
            plan: Arc::clone(&plan),
            updates: updates.clone(),
            sites: sites.clone(),
            stop: stop.clone(),
            failed: AtomicBool::new(false),
        };
        tasks.spawn(follow(poller, collector, schedule.clone()));
    }
    while let Some(ended) = tasks.join_next().await {
        if let Err(error) = ended
            && let Ok(panic) = error.try_into_panic()
        {
            // A collector that died must not be taken for one with nothing new.
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
        let (mut looks, mut asked) = (poller.plan.clock.looks(), poller.plan.asked.clone());
        let mut failures = 0;
        loop {
            let began = Instant::now();
            looks.mark_unchanged();
            asked.mark_unchanged();
            poller.failed.store(false, Ordering::Relaxed);
            let poll = async {
                collectors::poll(&poller, collector, &mut memory).await;
                tracing::debug!(duration_seconds = began.elapsed().as_secs_f64(), "polled");
            };
            // In a box, so that it takes memory while it runs, not while thousands wait for their tick.
            Box::pin(poll.instrument(span(&poller.plan.profile.name, collector))).await;
            let failed = poller.failed.load(Ordering::Relaxed);
            failures = if failed { failures + 1 } else { 0 };
            let again = failed.then(|| again_after(failures, poller.plan.retry_after, began.elapsed()));
            tokio::select! {
                () = wait_for_tick(&poller, &schedule, again) => {}
                Ok(()) = looks.changed(), if sees_states(collector) => {}
                Ok(()) = asked.changed(), if sees_states(collector) => {}
            }
        }
    };
    tokio::select! {
        () = stop.cancelled() => {}
        () = work => {}
    }
}

/// How soon a poll is made again after so many that failed in a row and the last of which `took` so long: twice before
/// anybody is told, then at leisure.
fn again_after(failures: u32, retry_after: Duration, took: Duration) -> Duration {
    let pause = if failures <= 2 { retry_after.min(RETRY_AFTER) } else { RETRY_LATER };
    pause.max(took).max(LEAST_RETRY)
}

/// Databases and cron jobs are read site by site: until the first sweep ended, none is known.
async fn wait_for_sites(poller: &Poller) {
    let mut swept = poller.sites.swept.subscribe();
    while poller.sweeps_sites()
        && tokio::time::timeout(LONGEST_SLEEP, swept.wait_for(Option::is_some)).await.is_err()
    {
        (poller.plan.awake)();
    }
}

/// Until the next tick, or until a failed poll is made again, whichever is first; never for longer than the longest gap
/// of the schedule, whatever becomes of the clock.
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
        // A clock set back must not silence a collector.
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
            // A long sweep is not made without end.
            (1, 300, 4000, 4000),
        ];
        for (failures, retry_after, took, want) in table {
            let after = again_after(failures, seconds(retry_after), seconds(took));
            assert_eq!(after, seconds(want), "{failures} {retry_after} {took}");
        }
    }
}
