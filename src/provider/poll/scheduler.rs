//! The loop of each collector: once at start, then at the ticks of its schedule. A poll that still runs
//! at its next tick skips that tick.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::{Update, collectors};
use crate::model::snapshot::PollEnd;
use crate::model::{Collector, Profile, Read, SiteId};
use crate::provider::Client;
use crate::provider::cron::{Schedule, offset};
use crate::state::Shared;

/// What one account's collectors need.
#[derive(Clone)]
pub struct Plan {
    pub profile: Arc<Profile>,
    pub client: Client,
    /// Of the collectors that are on; sites follow their containers.
    pub schedules: BTreeMap<Collector, Schedule>,
    pub horizon_days: u32,
    /// Never asked for less: below it a rung of the ladder could be missed.
    pub least_horizon_days: u32,
    pub clock: fn() -> DateTime<Utc>,
    /// Called whenever a collector's loop turns; at least once a minute while none polls.
    pub awake: Arc<dyn Fn() + Send + Sync>,
}

/// Sleeps are cut to this, so that a clock that was set or a machine that slept is noticed.
const LONGEST_SLEEP: Duration = Duration::from_secs(60);

/// Runs the collectors of one account until stopped. Returns when all have stopped.
pub async fn run(plan: Plan, updates: mpsc::Sender<Update>, stop: CancellationToken) {
    let sites = Sites { ids: Shared::new(Vec::new()), known: CancellationToken::new() };
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

/// The sites of the account, for what is read site by site.
#[derive(Clone)]
pub(super) struct Sites {
    pub(super) ids: Shared<Vec<SiteId>>,
    /// Cancelled once they were read.
    pub(super) known: CancellationToken,
}

/// What a poll works with.
pub(super) struct Account {
    pub(super) plan: Plan,
    pub(super) sites: Sites,
    updates: mpsc::Sender<Update>,
    stop: CancellationToken,
}

impl Account {
    pub(super) fn now(&self) -> DateTime<Utc> {
        (self.plan.clock)()
    }

    /// How long one listing may take; waiting for the call budget counts.
    pub(super) fn deadline(&self, collector: Collector) -> Duration {
        self.plan.profile.stale_after.get(&collector).copied().unwrap_or(Duration::from_secs(900))
    }

    /// Passes listings on, and the end of the poll.
    pub(super) async fn send(&self, collector: Collector, part: Part, end: Option<PollEnd>) {
        let update = Update {
            account: self.plan.profile.name.clone(),
            collector,
            at: self.now(),
            reads: part.reads,
            end,
            rejected: part.rejected,
            problems: part.problems,
        };
        // A closed channel means that the daemon is stopping.
        let _ = self.updates.send(update).await;
    }
}

/// Listings that go together.
#[derive(Default)]
pub(super) struct Part {
    pub(super) reads: Vec<Read>,
    pub(super) rejected: u64,
    pub(super) problems: Vec<String>,
}

async fn follow(account: Account, collector: Collector, schedule: Schedule) {
    let stop = account.stop.clone();
    let work = async {
        if matches!(collector, Collector::Databases | Collector::CronJobs) {
            // They are read site by site.
            while tokio::time::timeout(LONGEST_SLEEP, account.sites.known.cancelled()).await.is_err() {
                (account.plan.awake)();
            }
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
