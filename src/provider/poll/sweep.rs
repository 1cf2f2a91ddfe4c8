//! Sweeps: one listing for each container or site, several in flight, passed on in small batches.
//!
//! A batch goes out when the sweep ends, and otherwise a tenth of a second after its first listing: what
//! one sweep finds in that time is one mail, and nothing waits longer.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};

use super::account::{Account, KnownSites, Part, late, part_of, within};
use crate::model::{Collector, ContainerId, Failure, FailureKind, Read, Site, SiteId};
use crate::provider::{ApiError, Client};

/// No more are asked for at once; the client's own limit of requests in flight is the same.
const IN_FLIGHT: usize = 8;
const BATCH_WAIT: Duration = Duration::from_millis(100);
/// How long sites that were looked up are not asked for again.
const LOOKED_UP_FOR: Duration = Duration::from_secs(5);
/// No more are kept of a sweep.
const PROBLEMS: usize = 8;

/// The sites of each container whose listing was read.
pub(super) type Found = BTreeMap<ContainerId, Vec<SiteId>>;

/// How a sweep of the sites went.
pub(super) struct Swept {
    /// A container was not found any more.
    pub(super) is_missing: bool,
    /// Of the listings that were read.
    pub(super) complete: bool,
    pub(super) failure: Option<Failure>,
}

/// Reads the sites of every container, and passes them on.
pub(super) async fn sites(
    account: &Account,
    client: &Client,
    containers: &[ContainerId],
    found: &mut Found,
    began: Instant,
) -> Swept {
    let mut sweep = Sweep::new(account, Collector::Sites);
    found.retain(|container, _| containers.binary_search(container).is_ok());
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
    let mut ids: Vec<SiteId> = containers.iter().filter_map(|id| found.get(id)).flatten().copied().collect();
    ids.sort_unstable();
    ids.dedup();
    let complete = listings_complete && containers.iter().all(|id| found.contains_key(id));
    KnownSites { ids, complete, failure: failure.filter(|_| !complete) }
}

/// Reads databases or cron jobs of every site that is known; says what is missing where some are not.
pub(super) async fn of_sites(account: &Account, client: &Client, collector: Collector, began: Instant) {
    let sites = if account.sweeps_sites() {
        account.sites.swept.borrow().clone()
    } else {
        Some(look_up(account, client, collector).await)
    };
    let Some(sites) = sites else { return };
    let mut sweep = Sweep::new(account, collector);
    sweep.owes(&sites);
    let deadline = account.deadline(collector);
    let mut tasks = JoinSet::new();
    let mut waiting = sites.ids.iter().copied();
    loop {
        while tasks.len() < IN_FLIGHT {
            let Some(site) = waiting.next() else { break };
            let client = client.clone();
            tasks.spawn(async move { timeout(deadline, count(&client, collector, site)).await });
        }
        let Some(result) = sweep.next(&mut tasks).await else { break };
        match result {
            Ok(Ok((part, complete))) => sweep.add(part, complete),
            // The site went; its container's next listing says so.
            Ok(Err(error)) if error.is_not_found() => {}
            Ok(Err(error)) => sweep.failed(error.failure()),
            Err(_) => sweep.failed(late(deadline)),
        }
    }
    sweep.end(began).await;
}

/// The sites where nobody sweeps them. Databases and cron jobs that are due at once look once.
async fn look_up(account: &Account, client: &Client, collector: Collector) -> Arc<KnownSites> {
    let mut looked_up = account.sites.looked_up.lock().await;
    if let Some((at, known)) = looked_up.as_ref().filter(|(at, _)| at.elapsed() < LOOKED_UP_FOR) {
        tracing::debug!(seconds = at.elapsed().as_secs(), "the sites were looked up already");
        return Arc::clone(known);
    }
    let known = match within(account, collector, client.containers()).await {
        Ok(listed) => {
            let containers: Vec<ContainerId> = listed.rows.iter().map(|container| container.id).collect();
            let mut found = Found::new();
            let mut sweep = Sweep::new(account, collector);
            sweep.containers(client, &containers, &mut found, false).await;
            known(&containers, &found, listed.complete && sweep.complete, sweep.failure)
        }
        Err(failure) => KnownSites { ids: Vec::new(), complete: false, failure: Some(failure) },
    };
    let known = Arc::new(known);
    *looked_up = Some((Instant::now(), Arc::clone(&known)));
    known
}

async fn count(client: &Client, collector: Collector, site: SiteId) -> Result<(Part, bool), ApiError> {
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
    account: &'a Account,
    collector: Collector,
    batch: Part,
    batch_since: Option<Instant>,
    /// Told when the sweep ends.
    problems: Vec<String>,
    complete: bool,
    failures: usize,
    failure: Option<Failure>,
}

impl<'a> Sweep<'a> {
    fn new(account: &'a Account, collector: Collector) -> Self {
        Self {
            account,
            collector,
            batch: Part::default(),
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
                Err(error) => self.failed(Failure {
                    kind: FailureKind::Other,
                    message: format!("a reading of {} ended early: {error}", self.collector.as_str()),
                }),
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
        let deadline = self.account.deadline(self.collector);
        let mut tasks = JoinSet::new();
        let mut waiting = containers.iter().copied();
        let mut is_missing = false;
        loop {
            while tasks.len() < IN_FLIGHT {
                let Some(container) = waiting.next() else { break };
                let client = client.clone();
                tasks.spawn(async move { (container, timeout(deadline, client.sites(container)).await) });
            }
            let Some((container, result)) = self.next(&mut tasks).await else { return is_missing };
            match result {
                Ok(Ok(listed)) => {
                    let shown = listed.rows.iter().map(|site: &Site| site.id);
                    if listed.complete {
                        found.insert(container, shown.collect());
                    } else {
                        found.entry(container).or_default().extend(shown);
                    }
                    if passed_on {
                        let (part, complete) = part_of(listed, |rows| Read::Sites(container, rows));
                        self.add(part, complete);
                    } else {
                        self.complete &= listed.complete;
                    }
                }
                Ok(Err(error)) if error.is_not_found() => {
                    found.remove(&container);
                    is_missing = true;
                }
                Ok(Err(error)) => self.failed(error.failure()),
                Err(_) => self.failed(late(deadline)),
            }
        }
    }

    /// What is read site by site lacks the sites that are not known. Where these have a collector of their
    /// own, its failure is told there.
    fn owes(&mut self, sites: &KnownSites) {
        if sites.complete {
            if !self.account.sweeps_sites() {
                self.batch.reads.push(Read::AllSites(sites.ids.iter().copied().collect()));
            }
            return;
        }
        self.complete = false;
        match &sites.failure {
            Some(failure) if sites.ids.is_empty() || !self.account.sweeps_sites() => {
                self.failed(failure.clone());
            }
            Some(failure) => {
                let problem = format!("the sites of some containers were never read: {}", failure.message);
                self.problems.push(problem);
            }
            None => self.problems.push("not all containers or sites were shown".to_owned()),
        }
    }

    fn add(&mut self, part: Part, complete: bool) {
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
        self.account.send(self.collector, part, None).await;
    }

    async fn end(mut self, began: Instant) {
        let part = Part { problems: self.problems, ..self.batch };
        let result = match self.failure.take() {
            None => Ok(self.complete),
            Some(failure) if self.failures == 1 => Err(failure),
            Some(failure) => Err(Failure {
                kind: failure.kind,
                message: format!("{} (and {} more listings)", failure.message, self.failures - 1),
            }),
        };
        self.account.end(self.collector, began, result, part).await;
    }
}
