//! One poll of each collector: its calls, their order, and the meaning of failures.

use std::sync::Arc;

use chrono::Days;
use tokio::time::Instant;

use super::poller::{KnownSites, Poller, UpdatePart, part_of, within};
use super::{report, sweep};
use crate::model::{Collector, Container, ContainerId, Failure, Read};
use crate::provider::{ChargesRead, Client, Listed, ReportRead};

/// The state that a collector keeps between polls.
#[derive(Default)]
pub(super) struct PollMemory {
    /// The horizon of the expected-balance report. It is halved while the provider cannot deliver the whole.
    horizon_days: u32,
    charges: Option<ChargesRead>,
    containers: Vec<ContainerId>,
    /// Whether these are all containers.
    containers_complete: bool,
    sites: sweep::Found,
}

impl PollMemory {
    pub(super) fn new(horizon_days: u32) -> Self {
        Self { horizon_days, ..Self::default() }
    }
}

/// Charges are shown for 30 days. One more day covers the time zone.
const KEEP_CHARGES_DAYS: u64 = 31;

/// Makes one poll and passes its results on as they come.
pub(super) async fn poll(poller: &Poller, collector: Collector, memory: &mut PollMemory) {
    let began = Instant::now();
    let client = match poller.plan.client.begin_poll(collector.group()) {
        Ok(client) => client,
        Err(error) => {
            if collector == Collector::Containers {
                no_sites(poller, began, error.failure()).await;
            }
            return poller.end(collector, began, Err(error.failure())).await;
        }
    };
    match collector {
        Collector::Vms => {
            let read = within(poller, collector, client.vms()).await;
            poller.end(collector, began, read.map(|listed| part_of(listed, Read::Vms))).await;
        }
        Collector::Ips => {
            let read = within(poller, collector, client.ips()).await;
            poller.end(collector, began, read.map(|listed| part_of(listed, Read::Ips))).await;
        }
        Collector::SshKeys => {
            let read = within(poller, collector, client.counted(collector)).await;
            let counted = |rows| Read::Counted(collector, rows);
            poller.end(collector, began, read.map(|listed| part_of(listed, counted))).await;
        }
        Collector::Containers => containers(poller, &client, memory, began).await,
        // Sites follow their containers and have no schedule of their own.
        Collector::Sites => {}
        Collector::ExpectedBalance => expected_balance(poller, &client, memory, began).await,
        Collector::Charges => charges(poller, &client, memory, began).await,
        Collector::Databases | Collector::CronJobs => {
            sweep::of_sites(poller, &client, collector, began).await;
        }
    }
}

async fn containers(poller: &Poller, client: &Client, memory: &mut PollMemory, began: Instant) {
    let read = within(poller, Collector::Containers, client.containers()).await;
    let read = read.map(|listed| {
        remember(memory, &listed);
        part_of(listed, Read::Containers)
    });
    let failure = match &read {
        Ok((_, Err(failure))) | Err(failure) => Some(failure.clone()),
        Ok((_, Ok(_))) => None,
    };
    poller.end(Collector::Containers, began, read).await;
    let began = Instant::now();
    match failure {
        // No container is known, so no sites can be asked for.
        Some(failure) if memory.containers.is_empty() => no_sites(poller, began, failure).await,
        failure => sites(poller, client, memory, failure, began).await,
    }
}

/// Sweeps the sites of the containers, and notes the known sites for collectors that read site by site.
async fn sites(
    poller: &Poller,
    client: &Client,
    memory: &mut PollMemory,
    no_containers: Option<Failure>,
    began: Instant,
) {
    let swept = sweep::sites(poller, client, &memory.containers, &mut memory.sites, began).await;
    let failure = swept.failure.or(no_containers);
    let complete = memory.containers_complete && swept.complete;
    let known = sweep::known(&memory.containers, &memory.sites, complete, failure);
    poller.sites.send_replace(Some(Arc::new(known)));
    if swept.is_missing
        // A container vanished between the two readings.
        && let Ok(listed) = within(poller, Collector::Containers, client.containers()).await
    {
        remember(memory, &listed);
        let (part, _) = part_of(listed, Read::Containers);
        poller.send(Collector::Containers, part, None).await;
    }
}

/// Ends the sweep of sites if no container is known.
async fn no_sites(poller: &Poller, began: Instant, failure: Failure) {
    poller.sites.send_if_modified(|known| {
        // Sites that were known stay known.
        let unknown = known.as_ref().is_none_or(|known| known.ids.is_empty());
        if unknown {
            let failure = Some(failure.clone());
            *known = Some(Arc::new(KnownSites { ids: Vec::new(), complete: false, failure }));
        }
        unknown
    });
    poller.end(Collector::Sites, began, Err(failure)).await;
}

fn remember(memory: &mut PollMemory, listed: &Listed<Container>) {
    let shown = listed.rows.iter().map(|container| container.id);
    if listed.complete {
        memory.containers = shown.collect();
    } else {
        memory.containers.extend(shown);
    }
    memory.containers_complete |= listed.complete;
    memory.containers.sort_unstable();
    memory.containers.dedup();
}

async fn expected_balance(poller: &Poller, client: &Client, memory: &mut PollMemory, began: Instant) {
    let collector = Collector::ExpectedBalance;
    let deadline = poller.deadline(collector);
    let asked = report::ask(&poller.plan, client, deadline, &mut memory.horizon_days).await;
    let (part, result) = match asked.report {
        Ok(ReportRead { report, problems }) => {
            if !asked.halved {
                memory.horizon_days = (memory.horizon_days * 2).min(poller.plan.horizon_days);
            }
            let rejected = report.moments_rejected;
            let reads = vec![Read::ExpectedBalance(report)];
            (UpdatePart { reads, rejected, problems }, Ok(rejected == 0))
        }
        Err(failure) => {
            let reads = asked.date.map(Read::ExpectedBalance).into_iter().collect();
            (UpdatePart { reads, ..UpdatePart::default() }, Err(failure))
        }
    };
    poller.finish(collector, began, part, result).await;
}

async fn charges(poller: &Poller, client: &Client, memory: &mut PollMemory, began: Instant) {
    let collector = Collector::Charges;
    let today = poller.now().with_timezone(&poller.plan.profile.zone()).date_naive();
    let keep_from = today.checked_sub_days(Days::new(KEEP_CHARGES_DAYS)).unwrap_or(today);
    let read = within(poller, collector, client.charges(memory.charges.as_ref(), keep_from)).await;
    let read = read.map(|mut read| {
        // A partial sum would look like the whole one.
        let rows = read.seen_whole.then(|| Read::Charges(read.rows.clone()));
        let part = UpdatePart {
            reads: rows.into_iter().collect(),
            rejected: read.rejected,
            problems: read.problems.clone(),
        };
        let result = read.failure.take().map_or(Ok(read.complete), |error| Err(error.failure()));
        memory.charges = Some(read);
        (part, result)
    });
    poller.end(collector, began, read).await;
}
