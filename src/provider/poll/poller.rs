//! What a poll works with: the account as planned, the sites that are known, and how what was read goes out.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::sync::{Mutex, mpsc, watch};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use crate::clock::Clock;
use crate::model::resources::Resource;
use crate::model::snapshot::PollEnd;
use crate::model::{AccountName, Collector, Failure, FailureKind, Profile, Read, Rows, SiteId};
use crate::provider::cron::Schedule;
use crate::provider::{ApiError, Client, Listed};

/// What a collector sends: listings as they come, and how the poll ended.
#[derive(Debug)]
pub(crate) struct Update {
    pub account: AccountName,
    pub collector: Collector,
    /// When the listings were read.
    pub at: DateTime<Utc>,
    pub reads: Vec<Read>,
    /// Of the last update of a poll.
    pub end: Option<PollEnd>,
    /// Records that could not be decoded, with what was wrong with the first few.
    pub rejected: u64,
    pub problems: Vec<String>,
}

/// What one account's collectors need, and share.
pub(crate) struct AccountPlan {
    pub profile: Arc<Profile>,
    pub client: Client,
    /// Of the collectors that are on; sites follow their containers.
    pub schedules: Arc<BTreeMap<Collector, Schedule>>,
    pub horizon_days: u32,
    /// Never asked for less: below it a rung of the ladder could be missed.
    pub least_horizon_days: u32,
    pub clock: Clock,
    /// How soon a failed poll is made again, at most, where the schedule has no tick before.
    pub retry_after: Duration,
    /// Counts how often somebody asked for a poll now.
    pub asked: watch::Receiver<u64>,
    /// Called at each round of a collector's loop; at least once a minute while none polls.
    pub awake: Arc<dyn Fn() + Send + Sync>,
}

/// The sites of an account, for what is read site by site.
#[derive(Debug)]
pub(super) struct KnownSites {
    pub(super) ids: Vec<SiteId>,
    /// No site is missing.
    pub(super) complete: bool,
    /// Why some are.
    pub(super) failure: Option<Failure>,
}

/// Sites, and when they were looked up.
type LookedUp = (Instant, Arc<KnownSites>);

/// Where the collectors of one account share what they know of its sites.
#[derive(Clone, Default)]
pub(super) struct Sites {
    /// As the last sweep of the sites left it; nothing before its end.
    pub(super) swept: watch::Sender<Option<Arc<KnownSites>>>,
    /// As looked up where no sweep is: the containers are off.
    pub(super) looked_up: Arc<Mutex<Option<LookedUp>>>,
}

/// What a poll works with.
pub(super) struct Poller {
    pub(super) plan: Arc<AccountPlan>,
    pub(super) sites: Sites,
    pub(super) updates: mpsc::Sender<Box<Update>>,
    pub(super) stop: CancellationToken,
    /// A part of the present poll has failed.
    pub(super) failed: AtomicBool,
}

impl Poller {
    pub(super) fn now(&self) -> DateTime<Utc> {
        self.plan.clock.now()
    }

    /// How long one listing may take; waiting for the call budget counts.
    pub(super) fn deadline(&self, collector: Collector) -> Duration {
        self.plan.profile.stale_after.get(&collector).copied().unwrap_or(Duration::from_secs(900))
    }

    /// Passes listings on, and the end of the poll.
    pub(super) async fn send(&self, collector: Collector, part: UpdatePart, end: Option<PollEnd>) {
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
        let _ = self.updates.send(Box::new(update)).await;
    }

    /// Ends a poll of one listing: what was read and whether it was all, or why it was not.
    pub(super) async fn end(
        &self,
        collector: Collector,
        began: Instant,
        read: Result<(UpdatePart, bool), Failure>,
    ) {
        let (part, result) = match read {
            Ok((part, complete)) => (part, Ok(complete)),
            Err(failure) => (UpdatePart::default(), Err(failure)),
        };
        self.finish(collector, began, part, result).await;
    }

    /// Ends a poll: what was read last, and how all of it went.
    pub(super) async fn finish(
        &self,
        collector: Collector,
        began: Instant,
        part: UpdatePart,
        result: Result<bool, Failure>,
    ) {
        if result.is_err() {
            self.failed.store(true, Ordering::Relaxed);
        }
        let complete = matches!(result, Ok(true));
        let end = PollEnd { duration: began.elapsed(), failure: result.err(), complete };
        self.send(collector, part, Some(end)).await;
    }

    /// Do the sites have a collector of their own, which follows the containers'?
    pub(super) fn sweeps_sites(&self) -> bool {
        self.plan.schedules.contains_key(&Collector::Containers)
    }
}

/// Listings that go together.
#[derive(Default)]
pub(super) struct UpdatePart {
    pub(super) reads: Vec<Read>,
    pub(super) rejected: u64,
    pub(super) problems: Vec<String>,
}

/// A call with the listing's deadline.
pub(super) async fn within<T>(
    poller: &Poller,
    collector: Collector,
    call: impl Future<Output = Result<T, ApiError>>,
) -> Result<T, Failure> {
    let deadline = poller.deadline(collector);
    match timeout(deadline, call).await {
        Ok(result) => result.map_err(|error| error.failure()),
        Err(_) => Err(late(deadline)),
    }
}

pub(super) fn late(deadline: Duration) -> Failure {
    let message = format!("not read within {} s, the call budget included", deadline.as_secs());
    Failure::new(FailureKind::Other, message)
}

/// A listing as a part of an update, and whether it was complete.
pub(super) fn part_of<T: Resource>(
    listed: Listed<T>,
    read: impl FnOnce(Rows<T>) -> Read,
) -> (UpdatePart, bool) {
    let Listed { rows, complete, rejected, problems } = listed;
    (UpdatePart { reads: vec![read(Rows { rows, complete })], rejected, problems }, complete)
}
