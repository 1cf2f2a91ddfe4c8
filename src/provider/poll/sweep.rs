//! Sweeps: one listing for each container or site, several in flight, passed on in small batches.
//!
//! A batch goes out a tenth of a second after its first listing, or at the end of the sweep. So the findings of
//! that time share a mail, and no finding waits longer.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};
use tracing::Instrument as _;

use super::poller::{PollResult, Poller, UpdatePart, part_of, within};
use crate::model::{
    AccountState, Collector, ContainerId, Counted, Failure, FailureKind, Read, Rows, Site, SiteId,
};
use crate::provider::{ApiError, Client, Listed};

/// The number of listings asked for at once, which is the client's own limit of requests in flight.
const IN_FLIGHT: usize = 8;
const BATCH_WAIT: Duration = Duration::from_millis(100);
/// The number of problems that are kept of a sweep.
const PROBLEMS: usize = 8;

/// The number of polls in a row without the listing of a listed container after which the listing has failed.
const NOT_FOUND_POLLS: u32 = 3;

/// The number of polls in a row that found no listing of sites, by listed container.
pub(super) type NotFound = BTreeMap<ContainerId, u32>;

/// Reads the sites of every container, and passes them on. Returns whether a container was not found, so that it may
/// be gone.
pub(super) async fn sites(
    poller: &Poller,
    client: &Client,
    containers: &[ContainerId],
    not_found: &mut NotFound,
    began: Instant,
) -> bool {
    let mut sweep = Sweep::new(poller, Collector::Sites);
    not_found.retain(|container, _| containers.binary_search(container).is_ok());
    let mut is_missing = false;
    let call = |container| {
        let client = client.clone();
        async move { client.sites(container).await }
    };
    let take = |sweep: &mut Sweep<'_>, id: ContainerId, read: Result<Listed<Site>, Failure>| match read {
        Ok(mut listed) => {
            not_found.remove(&id);
            listed.problems.iter_mut().for_each(|problem| *problem += &format!(" (container {id})"));
            let (part, result) = part_of(listed, |rows| Read::Sites(id, rows));
            sweep.add(part, result);
        }
        Err(mut failure) if failure.kind == FailureKind::NotFound => {
            let polls = not_found.entry(id).or_default();
            *polls += 1;
            if *polls >= NOT_FOUND_POLLS {
                failure.message += ", poll after poll, of a container that is listed";
                sweep.failed(failure);
            } else {
                // It may have vanished between two calls.
                is_missing = true;
            }
        }
        Err(failure) => sweep.failed(failure),
    };
    sweep.each(containers, call, take).await;
    sweep.end(began).await;
    is_missing
}

/// Counts databases or cron jobs of every known site, and reports if sites are missing.
pub(super) async fn of_sites(poller: &Poller, client: &Client, collector: Collector, began: Instant) {
    let Some(state) = (poller.plan.known)() else { return };
    let sites: Vec<SiteId> = state.all_sites().map(|site| site.id).collect();
    let mut sweep = Sweep::new(poller, collector);
    sweep.owes(&state);
    drop(state);
    let call = |site| {
        let client = client.clone();
        async move { count(&client, collector, Some(site)).await }
    };
    let take = |sweep: &mut Sweep<'_>, _, read: Result<(UpdatePart, PollResult), Failure>| match read {
        Ok((part, result)) => sweep.add(part, result),
        // The site is gone; the next listing of its container shows that.
        Err(failure) if failure.kind == FailureKind::NotFound => {}
        Err(failure) => sweep.failed(failure),
    };
    sweep.each(&sites, call, take).await;
    sweep.end(began).await;
}

/// Counts the rows of a site, or of the account.
pub(super) async fn count(
    client: &Client,
    collector: Collector,
    site: Option<SiteId>,
) -> Result<(UpdatePart, PollResult), ApiError> {
    let many = |rows: usize| u64::try_from(rows).unwrap_or(u64::MAX);
    let counted = |rows: Rows<Counted>| Read::Counted(collector, site, many(rows.rows.len()));
    let (mut part, result) = part_of(client.counted(collector, site).await?, counted);
    if result != Ok(true) {
        // A part of the rows is no count, so the last one stays.
        part.reads.clear();
    }
    Ok((part, result))
}

/// The state of a sweep.
struct Sweep<'a> {
    poller: &'a Poller,
    collector: Collector,
    batch: UpdatePart,
    batch_since: Option<Instant>,
    /// Reported when the sweep ends.
    problems: Vec<String>,
    complete: bool,
    failures: usize,
    failure: Option<Failure>,
}

impl<'a> Sweep<'a> {
    fn new(poller: &'a Poller, collector: Collector) -> Self {
        Self {
            poller,
            collector,
            batch: UpdatePart::default(),
            batch_since: None,
            problems: Vec::new(),
            complete: true,
            failures: 0,
            failure: None,
        }
    }

    /// Makes a call for each of these, a few at a time, and hands its result over.
    async fn each<Id, T, F>(
        &mut self,
        ids: &[Id],
        call: impl Fn(Id) -> F,
        mut take: impl FnMut(&mut Self, Id, Result<T, Failure>),
    ) where
        Id: Copy + Send + 'static,
        T: Send + 'static,
        F: Future<Output = Result<T, ApiError>> + Send + 'static,
    {
        let deadline = self.poller.deadline(self.collector);
        let mut tasks = JoinSet::new();
        let mut waiting = ids.iter().copied();
        loop {
            while tasks.len() < IN_FLIGHT {
                let Some(id) = waiting.next() else { break };
                let read = within(deadline, call(id));
                tasks.spawn(async move { (id, read.await) }.in_current_span());
            }
            let Some((id, read)) = self.next(&mut tasks).await else { return };
            take(self, id, read);
        }
    }

    /// Waits for the next listing, and passes the batch on when its time is up.
    async fn next<T: 'static>(&mut self, tasks: &mut JoinSet<T>) -> Option<T> {
        loop {
            let joined = match self.batch_since {
                Some(since) => match timeout_at(since + BATCH_WAIT, tasks.join_next()).await {
                    Ok(joined) => joined,
                    Err(_) => {
                        self.flush().await;
                        continue;
                    }
                },
                None => tasks.join_next().await,
            };
            match joined? {
                Ok(value) => return Some(value),
                Err(error) => {
                    let message = format!("a reading of {} ended early: {error}", self.collector.as_str());
                    self.failed(Failure::new(FailureKind::Other, message));
                }
            }
        }
    }

    /// Notes that unknown sites were left out. The failure of some is reported by their own collector.
    fn owes(&mut self, state: &AccountState) {
        let are_whole = state.containers.was_complete && state.sites.values().all(|listing| listing.complete);
        if are_whole && state.containers_without_sites_read() == 0 {
            return;
        }
        self.complete = false;
        match state.collectors.get(&Collector::Sites).and_then(|status| status.failure.as_ref()) {
            Some(failure) if state.all_sites().next().is_none() => self.failed(failure.clone()),
            Some(failure) => {
                let problem = format!("the sites of some containers were never read: {}", failure.message);
                self.problems.push(problem);
            }
            None => self.problems.push("not all containers or sites were shown".to_owned()),
        }
    }

    fn add(&mut self, part: UpdatePart, result: PollResult) {
        // The first problem is the reason why rows are missing.
        let place = if result == Ok(true) { self.problems.len() } else { 0 };
        self.problems.splice(place..place, part.problems);
        self.problems.truncate(PROBLEMS);
        match result {
            Ok(complete) => self.complete &= complete,
            Err(failure) => self.failed(failure),
        }
        self.batch_since.get_or_insert_with(Instant::now);
        self.batch.reads.extend(part.reads);
        self.batch.rejected += part.rejected;
    }

    fn failed(&mut self, failure: Failure) {
        self.failures += 1;
        self.failure.get_or_insert(failure);
    }

    async fn flush(&mut self) {
        self.batch_since = None;
        let part = std::mem::take(&mut self.batch);
        self.poller.send(self.collector, part, None).await;
    }

    async fn end(mut self, began: Instant) {
        let part = UpdatePart { problems: self.problems, ..self.batch };
        let result = match self.failure.take() {
            None => Ok(self.complete),
            Some(failure) if self.failures == 1 => Err(failure),
            Some(failure) => Err(Failure {
                message: format!("{} (other listings that failed: {})", failure.message, self.failures - 1),
                ..failure
            }),
        };
        self.poller.end(self.collector, began, Ok((part, result))).await;
    }
}
