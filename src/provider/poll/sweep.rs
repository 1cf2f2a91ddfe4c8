//! Sweeps: one listing for each container or site, several in flight, passed on in small batches.
//!
//! A batch goes out when the sweep ends, and otherwise a tenth of a second after its first listing: what
//! one sweep finds in that time is one mail, and nothing waits longer.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};
use tracing::Instrument as _;

use super::poller::{KnownSites, Poller, UpdatePart, late, part_of, within};
use crate::model::{Collector, ContainerId, Failure, FailureKind, Read, Site, SiteId};
use crate::provider::{ApiError, Client};

/// No more are asked for at once; the client's own limit of requests in flight is the same.
const IN_FLIGHT: usize = 8;
const BATCH_WAIT: Duration = Duration::from_millis(100);
/// How long sites that were looked up are not asked for again.
const LOOKED_UP_FOR: Duration = Duration::from_secs(5);
/// No more are kept of a sweep.
const PROBLEMS: usize = 8;

/// A listing that is not found so many polls in a row, of a container that stays listed, has failed.
const NOT_FOUND_POLLS: u32 = 3;

/// What the listings of sites showed.
#[derive(Default)]
pub(super) struct Found {
    /// The sites of each container whose listing was read.
    sites: BTreeMap<ContainerId, Vec<SiteId>>,
    /// Of containers that were listed: how many polls in a row found no listing of their sites.
    not_found: BTreeMap<ContainerId, u32>,
}

impl Found {
    fn keep(&mut self, containers: &[ContainerId]) {
        self.sites.retain(|container, _| containers.binary_search(container).is_ok());
        self.not_found.retain(|container, _| containers.binary_search(container).is_ok());
    }

    fn read(&mut self, container: ContainerId, sites: impl Iterator<Item = SiteId>, complete: bool) {
        self.not_found.remove(&container);
        if complete {
            self.sites.insert(container, sites.collect());
        } else {
            self.sites.entry(container).or_default().extend(sites);
        }
    }

    /// Notes that a container's sites were answered 404. True where that is a failure of their listing, and
    /// not a container that went between two calls.
    fn is_not_there(&mut self, container: ContainerId) -> bool {
        self.sites.remove(&container);
        let polls = self.not_found.entry(container).or_default();
        *polls += 1;
        *polls >= NOT_FOUND_POLLS
    }
}

/// How a sweep of the sites went.
pub(super) struct Swept {
    /// A container was not found, which may have gone.
    pub(super) is_missing: bool,
    /// Of the listings that were read.
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
    let is_missing = sweep.containers(client, containers, found, true).await;
    let swept = Swept { is_missing, complete: sweep.complete, failure: sweep.failure.clone() };
    sweep.end(began).await;
    swept
}

/// What the listings of sites make known, of an account with these containers.
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

/// Reads databases or cron jobs of every site that is known; reports what is missing where some are not.
pub(super) async fn of_sites(poller: &Poller, client: &Client, collector: Collector, began: Instant) {
    let sites = if poller.sweeps_sites() {
        poller.sites.swept.borrow().clone()
    } else {
        Some(look_up(poller, client, collector).await)
    };
    let Some(sites) = sites else { return };
    let mut sweep = Sweep::new(poller, collector);
    sweep.owes(&sites);
    let deadline = poller.deadline(collector);
    let mut tasks = JoinSet::new();
    let mut waiting = sites.ids.iter().copied();
    loop {
        while tasks.len() < IN_FLIGHT {
            let Some(site) = waiting.next() else { break };
            let client = client.clone();
            let counted = async move { timeout(deadline, count(&client, collector, site)).await };
            tasks.spawn(counted.in_current_span());
        }
        let Some(result) = sweep.next(&mut tasks).await else { break };
        match result {
            Ok(Ok((part, complete))) => sweep.add(part, complete),
            // The site went; its container's next listing shows it.
            Ok(Err(error)) if error.is_not_found() => {}
            Ok(Err(error)) => sweep.failed(error.failure()),
            Err(_) => sweep.failed(late(deadline)),
        }
    }
    sweep.end(began).await;
}

/// The sites where nobody sweeps them. Databases and cron jobs that are due at once look them up once.
async fn look_up(poller: &Poller, client: &Client, collector: Collector) -> Arc<KnownSites> {
    let mut looked_up = poller.sites.looked_up.lock().await;
    if let Some((at, known)) = looked_up.as_ref().filter(|(at, _)| at.elapsed() < LOOKED_UP_FOR) {
        tracing::debug!(seconds = at.elapsed().as_secs(), "the sites were looked up already");
        return Arc::clone(known);
    }
    let known = match within(poller, collector, client.containers()).await {
        Ok(listed) => {
            let containers: Vec<ContainerId> = listed.rows.iter().map(|container| container.id).collect();
            let mut found = Found::default();
            let mut sweep = Sweep::new(poller, collector);
            sweep.containers(client, &containers, &mut found, false).await;
            known(&containers, &found, listed.complete && sweep.complete, sweep.failure)
        }
        Err(failure) => KnownSites { ids: Vec::new(), complete: false, failure: Some(failure) },
    };
    let known = Arc::new(known);
    *looked_up = Some((Instant::now(), Arc::clone(&known)));
    known
}

async fn count(client: &Client, collector: Collector, site: SiteId) -> Result<(UpdatePart, bool), ApiError> {
    let many = |rows: usize| u64::try_from(rows).unwrap_or(u64::MAX);
    let (mut part, complete) = if collector == Collector::Databases {
        part_of(client.databases(site).await?, |rows| Read::Databases(site, many(rows.rows.len())))
    } else {
        part_of(client.cron_jobs(site).await?, |rows| Read::CronJobs(site, many(rows.rows.len())))
    };
    if !complete {
        // Some of the rows make no count; the last one stays.
        part.reads.clear();
    }
    Ok((part, complete))
}

/// What a sweep has so far.
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

    /// The next listing to come in; passes the batch on when its time is up meanwhile.
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

    /// Reads the sites of these containers; `passed_on` or only noted. Returns whether a container was not
    /// found any more.
    async fn containers(
        &mut self,
        client: &Client,
        containers: &[ContainerId],
        found: &mut Found,
        passed_on: bool,
    ) -> bool {
        let deadline = self.poller.deadline(self.collector);
        let mut tasks = JoinSet::new();
        let mut waiting = containers.iter().copied();
        let mut is_missing = false;
        loop {
            while tasks.len() < IN_FLIGHT {
                let Some(container) = waiting.next() else { break };
                let client = client.clone();
                let read = async move { (container, timeout(deadline, client.sites(container)).await) };
                tasks.spawn(read.in_current_span());
            }
            let Some((container, result)) = self.next(&mut tasks).await else { return is_missing };
            match result {
                Ok(Ok(listed)) => {
                    let shown = listed.rows.iter().map(|site: &Site| site.id);
                    found.read(container, shown, listed.complete);
                    if passed_on {
                        let (part, complete) = part_of(listed, |rows| Read::Sites(container, rows));
                        self.add(part, complete);
                    } else {
                        self.complete &= listed.complete;
                    }
                }
                Ok(Err(error)) if error.is_not_found() => {
                    if found.is_not_there(container) {
                        let mut failure = error.failure();
                        failure.message += ", poll after poll, of a container that is listed";
                        self.failed(failure);
                    } else {
                        is_missing = true;
                    }
                }
                Ok(Err(error)) => self.failed(error.failure()),
                Err(_) => self.failed(late(deadline)),
            }
        }
    }

    /// What is read site by site lacks the sites that are not known. Where these have a collector of their
    /// own, its failure is reported there.
    fn owes(&mut self, sites: &KnownSites) {
        if sites.complete {
            if !self.poller.sweeps_sites() {
                self.batch.reads.push(Read::AllSites(sites.ids.iter().copied().collect()));
            }
            return;
        }
        self.complete = false;
        match &sites.failure {
            Some(failure) if sites.ids.is_empty() || !self.poller.sweeps_sites() => {
                self.failed(failure.clone());
            }
            Some(failure) => {
                let problem = format!("the sites of some containers were never read: {}", failure.message);
                self.problems.push(problem);
            }
            None => self.problems.push("not all containers or sites were shown".to_owned()),
        }
    }

    fn add(&mut self, part: UpdatePart, complete: bool) {
        self.complete &= complete;
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
                message: format!("{} (and {} more listings)", failure.message, self.failures - 1),
                ..failure
            }),
        };
        self.poller.finish(self.collector, began, part, result).await;
    }
}
