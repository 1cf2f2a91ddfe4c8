//! The loop of each collector: once at start, then at the ticks of its schedule. A poll that still runs
//! at its next tick skips that tick.

use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::account::{Account, Plan, Sites, Update};
use super::collectors;
use crate::model::Collector;
use crate::provider::cron::{Schedule, offset};

/// Sleeps are cut to this, so that a clock that was set or a machine that slept is noticed.
const LONGEST_SLEEP: Duration = Duration::from_secs(60);

/// Runs the collectors of one account until stopped. Returns when all have stopped.
pub(crate) async fn run(plan: Plan, updates: mpsc::Sender<Update>, stop: CancellationToken) {
    let sites = Sites::default();
    let mut tasks = JoinSet::new();
    for (&collector, schedule) in &plan.schedules {
        let account = Account {
            plan: plan.clone(),
            updates: updates.clone(),
            sites: sites.clone(),
            stop: stop.clone(),
        };
        tasks.spawn(follow(account, collector, schedule.clone()));
    }
    while let Some(ended) = tasks.join_next().await {
        if let Err(error) = ended
            && let Ok(panic) = error.try_into_panic()
        {
            // A collector that died must not be taken for one that has nothing to say.
            std::panic::resume_unwind(panic);
        }
    }
}

async fn follow(account: Account, collector: Collector, schedule: Schedule) {
    let stop = account.stop.clone();
    let work = async {
        if matches!(collector, Collector::Databases | Collector::CronJobs) {
            wait_for_sites(&account).await;
        }
        let mut memory = collectors::Memory::new(account.plan.horizon_days);
        loop {
            let began = Instant::now();
            collectors::poll(&account, collector, &mut memory).await;
            tracing::debug!(
                account = %account.plan.profile.name, collector = collector.as_str(),
                duration_seconds = began.elapsed().as_secs_f64(), "polled"
            );
            wait_for_tick(&account, &schedule).await;
        }
    };
    tokio::select! {
        () = stop.cancelled() => {}
        () = work => {}
    }
}

/// Databases and cron jobs are read site by site: until the first sweep ended, none is known.
async fn wait_for_sites(account: &Account) {
    let mut swept = account.sites.swept.subscribe();
    while account.sweeps_sites()
        && tokio::time::timeout(LONGEST_SLEEP, swept.wait_for(Option::is_some)).await.is_err()
    {
        (account.plan.awake)();
    }
}

async fn wait_for_tick(account: &Account, schedule: &Schedule) {
    let zone = account.plan.profile.zone();
    let shift = offset(account.plan.profile.name.as_str(), schedule.shortest_gap());
    let shift = chrono::Duration::from_std(shift).unwrap_or_default();
    let start = account.now();
    let Some(tick) = schedule.next_after(start - shift, zone) else {
        return std::future::pending().await;
    };
    let due = tick + shift;
    loop {
        (account.plan.awake)();
        let now = account.now();
        // A clock set back must not silence a collector.
        if now >= due || now < start {
            return;
        }
        let left = (due - now).to_std().unwrap_or_default();
        tokio::time::sleep(left.min(LONGEST_SLEEP)).await;
    }
}
