//! Sweeps: one listing for each container or site, several in flight, passed on in small batches.
//!
//! A batch goes out when the sweep ends, and otherwise a tenth of a second after its first listing: what
//! one sweep finds in that time is one mail, and nothing waits longer.

use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};

use super::collectors::{end, late, part_of};
use super::scheduler::{Account, Part};
use crate::model::{Collector, ContainerId, Failure, FailureKind, Read, Site, SiteId};
use crate::provider::{ApiError, Client, Listed};

/// No more are asked for at once; the client's own limit of requests in flight is the same.
const IN_FLIGHT: usize = 8;
const BATCH_WAIT: Duration = Duration::from_millis(100);
/// No more are kept of a sweep.
const PROBLEMS: usize = 8;

/// Reads the sites of every container. Returns whether a container was not found any more.
pub(super) async fn sites(
    account: &Account,
    client: &Client,
    containers: &[ContainerId],
    began: Instant,
) -> bool {
    let deadline = account.deadline(Collector::Sites);
    let mut sweep = Sweep::new(account, Collector::Sites);
    let mut tasks = JoinSet::new();
    let mut waiting = containers.iter().copied();
    let mut missing = false;
    let mut found: Vec<SiteId> = Vec::new();
    loop {
        while tasks.len() < IN_FLIGHT {
            let Some(container) = waiting.next() else { break };
            let client = client.clone();
            tasks.spawn(async move { (container, timeout(deadline, client.sites(container)).await) });
        }
        let Some((container, result)) = sweep.next(&mut tasks).await else { break };
        match result {
            Ok(Ok(listed)) => {
                found.extend(listed.rows.iter().map(|site: &Site| site.id));
                sweep.listed(listed, |rows| Read::Sites(container, rows));
            }
            Ok(Err(error)) if error.is_not_found() => missing = true,
            Ok(Err(error)) => sweep.failed(error.failure()),
            Err(_) => sweep.failed(late(deadline)),
        }
    }
    if sweep.failure.is_none() {
        found.sort_unstable();
        account.sites.ids.set(found);
        account.sites.known.cancel();
    }
    sweep.end(began).await;
    missing
}

/// Reads databases or cron jobs of every site.
pub(super) async fn of_sites(account: &Account, client: &Client, collector: Collector, began: Instant) {
    let deadline = account.deadline(collector);
    let mut sweep = Sweep::new(account, collector);
    let mut tasks = JoinSet::new();
    let ids = account.sites.ids.get();
    let mut waiting = ids.iter().copied();
    loop {
        while tasks.len() < IN_FLIGHT {
            let Some(site) = waiting.next() else { break };
            let client = client.clone();
            tasks.spawn(async move { (site, timeout(deadline, count(&client, collector, site)).await) });
        }
        let Some((_, result)) = sweep.next(&mut tasks).await else { break };
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

    fn listed<T: crate::model::Resource>(
        &mut self,
        listed: Listed<T>,
        read: impl FnOnce(crate::model::Rows<T>) -> Read,
    ) {
        let (part, complete) = part_of(listed, read);
        self.add(part, complete);
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
        end(self.account, self.collector, began, result, part).await;
    }
}
