//! Sweeps: one listing for each container or site, several in flight, passed on in small batches.
//!
//! A batch goes out a tenth of a second after its first listing, or at the end of the sweep. So the findings of
//! that time share a mail, and no finding waits longer.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};
use tracing::Instrument as _;

use super::poller::{KnownSites, PollResult, Poller, UpdatePart, note, part_of, within};
use crate::model::{Collector, ContainerId, Counted, Failure, FailureKind, Read, Rows, Site, SiteId};
use crate::provider::{ApiError, Client, Listed};

/// The number of listings asked for at once, which is the client's own limit of requests in flight.
const IN_FLIGHT: usize = 8;
const BATCH_WAIT: Duration = Duration::from_millis(100);
/// The number of problems that are kept of a sweep.
const PROBLEMS: usize = 8;

/// The number of polls in a row without the listing of a listed container after which the listing has failed.
const NOT_FOUND_POLLS: u32 = 3;

/// The results of the listings of sites.
#[derive(Default)]
pub(super) struct Found {
    /// The sites of each container whose listing was read.
    sites: BTreeMap<ContainerId, Vec<SiteId>>,
    /// The number of polls in a row that found no listing of sites, by listed container.
    not_found: BTreeMap<ContainerId, u32>,
}

impl Found {
    fn keep(&mut self, containers: &[ContainerId]) {
        self.sites.retain(|container, _| containers.binary_search(container).is_ok());
        self.not_found.retain(|container, _| containers.binary_search(container).is_ok());
    }

    fn read(&mut self, container: ContainerId, listed: &Listed<Site>) {
        self.not_found.remove(&container);
        note(self.sites.entry(container).or_default(), listed);
    }

    /// Notes a 404 for a container's sites. Returns whether that is a failure of the listing. Otherwise the
    /// container may have vanished between two calls.
    fn is_not_there(&mut self, container: ContainerId) -> bool {
        self.sites.remove(&container);
        let polls = self.not_found.entry(container).or_default();
        *polls += 1;
        *polls >= NOT_FOUND_POLLS
    }
}

/// The result of a sweep of the sites.
pub(super) struct Swept {
    /// Whether a container was not found, so that it may be gone.
    pub(super) is_missing: bool,
    /// Whether the listings that were read were complete.
    pub(super) complete: bool,
    pub(super) failure: Option<Failure>,
}

/// Reads the sites of every container, and passes them on.
pub(super) async fn sites(
    poller: &Poller,
    client: &Client,
    containers: &[ContainerId],
    found: &mut Found,
    began: Instant,
) -> Swept {
    let mut sweep = Sweep::new(poller, Collector::Sites);
    found.keep(containers);
    let mut is_missing = false;
    let call = |container| {
        let client = client.clone();
        async move { client.sites(container).await }
    };
    let take = |sweep: &mut Sweep<'_>, container, read: Result<Listed<Site>, Failure>| match read {
        Ok(listed) => {
            found.read(container, &listed);
            let (part, result) = part_of(listed, |rows| Read::Sites(container, rows));
            sweep.add(part, result);
        }
        Err(mut failure) if failure.kind == FailureKind::NotFound => {
            if found.is_not_there(container) {
                failure.message += ", poll after poll, of a container that is listed";
                sweep.failed(failure);
            } else {
                is_missing = true;
            }
        }
        Err(failure) => sweep.failed(failure),
    };
    sweep.each(containers, call, take).await;
    let swept = Swept { is_missing, complete: sweep.complete, failure: sweep.failure.clone() };
    sweep.end(began).await;
    swept
}

/// The known sites by the listings of these containers.
pub(super) fn known(
    containers: &[ContainerId],
    found: &Found,
    listings_complete: bool,
    failure: Option<Failure>,
) -> KnownSites {
    let mut ids: Vec<SiteId> =
        containers.iter().filter_map(|id| found.sites.get(id)).flatten().copied().collect();
    ids.sort_unstable();
    ids.dedup();
    let complete = listings_complete && containers.iter().all(|id| found.sites.contains_key(id));
    KnownSites { ids, complete, failure: failure.filter(|_| !complete) }
}

/// Counts databases or cron jobs of every known site, and reports if sites are missing.
pub(super) async fn of_sites(poller: &Poller, client: &Client, collector: Collector, began: Instant) {
    let Some(sites) = poller.sites.borrow().clone() else { return };
    let mut sweep = Sweep::new(poller, collector);
    sweep.owes(&sites);
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
    sweep.each(&sites.ids, call, take).await;
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
    fn owes(&mut self, sites: &KnownSites) {
        if sites.complete {
            return;
        }
        self.complete = false;
        match &sites.failure {
            Some(failure) if sites.ids.is_empty() => self.failed(failure.clone()),
            Some(failure) => {
                let problem = format!("the sites of some containers were never read: {}", failure.message);
                self.problems.push(problem);
            }
            None => self.problems.push("not all containers or sites were shown".to_owned()),
        }
    }

    fn add(&mut self, part: UpdatePart, result: PollResult) {
        match result {
            Ok(complete) => self.complete &= complete,
            Err(failure) => self.failed(failure),
        }
        self.batch_since.get_or_insert_with(Instant::now);
        self.batch.reads.extend(part.reads);
        self.batch.rejected += part.rejected;
        self.problems.extend(part.problems);
        self.problems.truncate(PROBLEMS);
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
