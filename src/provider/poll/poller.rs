//! The context of a poll: the account's plan, and the channel for results.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::clock::Clock;
use crate::model::resources::Resource;
use crate::model::snapshot::PollEnd;
use crate::model::{AccountName, AccountState, Collector, Failure, FailureKind, Profile, Read, Rows};
use crate::provider::cron::Schedule;
use crate::provider::{ApiError, Client, Listed};

/// A message of a collector: listings as they come, and the end of the poll.
#[derive(Debug)]
pub(crate) struct Update {
    pub account: AccountName,
    pub collector: Collector,
    /// The time at which the listings were read.
    pub at: DateTime<Utc>,
    /// The same time by the steady clock.
    pub steady: std::time::Instant,
    pub reads: Vec<Read>,
    /// Only in the last update of a poll.
    pub end: Option<PollEnd>,
    /// The number of records that could not be decoded. `problems` has the first few.
    pub rejected: u64,
    pub problems: Vec<String>,
}

/// The settings and channels that one account's collectors share.
pub(crate) struct AccountPlan {
    pub profile: Arc<Profile>,
    pub client: Client,
    /// The schedules of the collectors that are on. Sites follow their containers.
    pub schedules: Arc<BTreeMap<Collector, Schedule>>,
    pub horizon_days: u32,
    pub clock: Clock,
    /// The longest time until a failed poll is repeated, if the schedule has no earlier tick.
    pub retry_after: Duration,
    /// Counts the requests for a poll now.
    pub asked: watch::Receiver<u64>,
    /// The collectors whose next readings decide whether an incident opens or ends.
    pub awaited: watch::Receiver<BTreeSet<Collector>>,
    /// Called at each round of a collector's loop, at least once a minute while none polls.
    pub awake: Arc<dyn Fn() + Send + Sync>,
    /// The account as it was last read, for listings inside of containers and sites.
    pub known: Arc<dyn Fn() -> Option<Arc<AccountState>> + Send + Sync>,
}

/// The context of a poll.
pub(super) struct Poller {
    pub(super) plan: Arc<AccountPlan>,
    pub(super) updates: mpsc::Sender<Box<Update>>,
    pub(super) stop: CancellationToken,
    /// Whether a part of the present poll has failed.
    pub(super) failed: AtomicBool,
}

impl Poller {
    pub(super) fn now(&self) -> DateTime<Utc> {
        self.plan.clock.now()
    }

    /// The time that one listing may take, including the wait for the call budget.
    pub(super) fn deadline(&self, collector: Collector) -> Duration {
        self.plan.profile.stale_after.get(&collector).copied().unwrap_or(Duration::from_secs(900))
    }

    /// Passes listings on, and the end of the poll.
    pub(super) async fn send(&self, collector: Collector, part: UpdatePart, end: Option<PollEnd>) {
        let update = Update {
            account: self.plan.profile.name.clone(),
            collector,
            at: self.now(),
            steady: std::time::Instant::now(),
            reads: part.reads,
            end,
            rejected: part.rejected,
            problems: part.problems,
        };
        // A closed channel means that the daemon is stopping.
        let _ = self.updates.send(Box::new(update)).await;
    }

    /// Ends a poll: with its last listings and the result of the whole, or with the failure.
    pub(super) async fn end(
        &self,
        collector: Collector,
        began: Instant,
        read: Result<(UpdatePart, PollResult), Failure>,
    ) {
        let (part, result) = read.unwrap_or_else(|failure| (UpdatePart::default(), Err(failure)));
        if result.is_err() {
            self.failed.store(true, Ordering::Relaxed);
        }
        let complete = matches!(result, Ok(true));
        let problem = part.problems.first().map(|first| match part.rejected {
            0 => first.clone(),
            1 => format!("1 record cannot be read: {first}"),
            rejected => format!("{rejected} records cannot be read: {first}"),
        });
        let end = PollEnd { duration: began.elapsed(), failure: result.err(), complete, problem };
        let kind = end.failure.as_ref().map(|failure| failure.kind);
        if let Some(FailureKind::Credentials | FailureKind::NeverAccepted) = kind {
            sleep(REFUSAL_HELD).await;
        }
        self.send(collector, part, Some(end)).await;
    }
}

/// Whether everything was read, or the failure. A listing whose later page failed has rows all the same.
pub(super) type PollResult = Result<bool, Failure>;

/// Listings that are passed on together.
#[derive(Default)]
pub(super) struct UpdatePart {
    pub(super) reads: Vec<Read>,
    pub(super) rejected: u64,
    pub(super) problems: Vec<String>,
}

/// A refusal of credentials is passed on after this time. If their file changed, the account's collectors are replaced
/// meanwhile, and the refusal of the old ones is no news.
const REFUSAL_HELD: Duration = Duration::from_secs(1);

/// Makes a call with a deadline.
pub(super) async fn within<T>(
    deadline: Duration,
    call: impl Future<Output = Result<T, ApiError>>,
) -> Result<T, Failure> {
    match timeout(deadline, call).await {
        Ok(result) => result.map_err(|error| error.failure()),
        Err(_) => Err(late(deadline)),
    }
}

pub(super) fn late(deadline: Duration) -> Failure {
    let message = format!("not read within {} s, the call budget included", deadline.as_secs());
    Failure::new(FailureKind::Other, message)
}

/// A listing as a part of an update, and its result.
pub(super) fn part_of<T: Resource>(
    listed: Listed<T>,
    read: impl FnOnce(Rows<T>) -> Read,
) -> (UpdatePart, PollResult) {
    let is_whole = listed.is_whole();
    let Listed { rows, shows_all, rejected, unreadable, problems, failure } = listed;
    let result = failure.map_or(Ok(is_whole), |error| Err(error.failure()));
    (UpdatePart { reads: vec![read(Rows { rows, shows_all, unreadable })], rejected, problems }, result)
}
