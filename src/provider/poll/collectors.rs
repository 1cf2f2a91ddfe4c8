//! One poll of each collector: which calls, in what order, and what their failure means.

use std::time::Duration;

use chrono::Days;
use tokio::time::{Instant, timeout};

use super::scheduler::{Account, Part};
use super::{report, sweep};
use crate::model::resources::Resource;
use crate::model::snapshot::PollEnd;
use crate::model::{Collector, ContainerId, Failure, FailureKind, Read, Rows};
use crate::provider::{ApiError, ChargesRead, Client, Listed, Problem, ReportRead};

/// What a collector remembers from poll to poll.
pub(super) struct Memory {
    /// Of the expected-balance report; halved while the provider cannot deliver as much.
    horizon_days: u32,
    charges: Option<ChargesRead>,
    containers: Vec<ContainerId>,
}

impl Memory {
    pub(super) fn new(horizon_days: u32) -> Self {
        Self { horizon_days, charges: None, containers: Vec::new() }
    }
}

/// Charges are shown for 30 days; a day more for the zone.
const KEEP_CHARGES_DAYS: u64 = 31;

/// One poll, passed on as it goes.
pub(super) async fn poll(account: &Account, collector: Collector, memory: &mut Memory) {
    let began = Instant::now();
    let client = match account.plan.client.begin_poll(collector.group()) {
        Ok(client) => client,
        Err(error) => {
            if collector == Collector::Containers {
                end(account, Collector::Sites, began, Err(error.failure()), Part::default()).await;
            }
            return end(account, collector, began, Err(error.failure()), Part::default()).await;
        }
    };
    match collector {
        Collector::Vms => {
            let read = within(account, collector, client.vms()).await;
            listing(account, collector, began, read, Read::Vms).await;
        }
        Collector::Ips => {
            let read = within(account, collector, client.ips()).await;
            listing(account, collector, began, read, Read::Ips).await;
        }
        Collector::SshKeys => {
            let read = within(account, collector, client.ssh_keys()).await;
            listing(account, collector, began, read, Read::SshKeys).await;
        }
        Collector::Containers => containers(account, &client, memory, began).await,
        // Sites follow their containers and have no schedule of their own.
        Collector::Sites => {}
        Collector::ExpectedBalance => expected_balance(account, &client, memory, began).await,
        Collector::Charges => charges(account, &client, memory, began).await,
        Collector::Databases | Collector::CronJobs => {
            sweep::of_sites(account, &client, collector, began).await;
        }
    }
}

/// Ends a poll: what was read last, and how it went.
pub(super) async fn end(
    account: &Account,
    collector: Collector,
    began: Instant,
    result: Result<bool, Failure>,
    part: Part,
) {
    let duration = began.elapsed();
    let end = match result {
        Ok(complete) => PollEnd { duration, failure: None, complete },
        Err(failure) => PollEnd { duration, failure: Some(failure), complete: false },
    };
    account.send(collector, part, Some(end)).await;
}

/// A call with the listing's deadline.
pub(super) async fn within<T>(
    account: &Account,
    collector: Collector,
    call: impl Future<Output = Result<T, ApiError>>,
) -> Result<T, Failure> {
    let deadline = account.deadline(collector);
    match timeout(deadline, call).await {
        Ok(result) => result.map_err(|error| error.failure()),
        Err(_) => Err(late(deadline)),
    }
}

pub(super) fn late(deadline: Duration) -> Failure {
    let message = format!("not read within {} s, the call budget included", deadline.as_secs());
    Failure { kind: FailureKind::Other, message }
}

fn said(problems: &[Problem]) -> Vec<String> {
    problems.iter().map(ToString::to_string).collect()
}

/// A listing as a part of an update, and whether it was complete.
pub(super) fn part_of<T: Resource>(listed: Listed<T>, read: impl FnOnce(Rows<T>) -> Read) -> (Part, bool) {
    let complete = listed.complete;
    let part = Part {
        rejected: listed.rejected,
        problems: said(&listed.problems),
        reads: vec![read(listed.into_rows())],
    };
    (part, complete)
}

async fn listing<T: Resource>(
    account: &Account,
    collector: Collector,
    began: Instant,
    result: Result<Listed<T>, Failure>,
    read: impl FnOnce(Rows<T>) -> Read,
) {
    match result {
        Ok(listed) => {
            let (part, complete) = part_of(listed, read);
            end(account, collector, began, Ok(complete), part).await;
        }
        Err(failure) => end(account, collector, began, Err(failure), Part::default()).await,
    }
}

async fn containers(account: &Account, client: &Client, memory: &mut Memory, began: Instant) {
    let read = within(account, Collector::Containers, client.containers()).await;
    let failure = match read {
        Ok(listed) => {
            remember(memory, &listed);
            let (part, complete) = part_of(listed, Read::Containers);
            end(account, Collector::Containers, began, Ok(complete), part).await;
            None
        }
        Err(failure) => {
            end(account, Collector::Containers, began, Err(failure.clone()), Part::default()).await;
            Some(failure)
        }
    };
    if !account.plan.profile.collectors.contains(&Collector::Sites) {
        return;
    }
    let began = Instant::now();
    match failure {
        // Without a list there is nothing to ask for.
        Some(failure) if memory.containers.is_empty() => {
            end(account, Collector::Sites, began, Err(failure), Part::default()).await;
        }
        _ => {
            let missing = sweep::sites(account, client, &memory.containers, began).await;
            if missing {
                // A container went between the two readings.
                if let Ok(listed) = within(account, Collector::Containers, client.containers()).await {
                    remember(memory, &listed);
                    let (part, _) = part_of(listed, Read::Containers);
                    account.send(Collector::Containers, part, None).await;
                }
            }
        }
    }
}

fn remember(memory: &mut Memory, listed: &Listed<crate::model::Container>) {
    let shown = listed.rows.iter().map(|container| container.id);
    if listed.complete {
        memory.containers = shown.collect();
    } else {
        memory.containers.extend(shown);
    }
    memory.containers.sort_unstable();
    memory.containers.dedup();
}

async fn expected_balance(account: &Account, client: &Client, memory: &mut Memory, began: Instant) {
    let collector = Collector::ExpectedBalance;
    let deadline = account.deadline(collector);
    let asked = report::ask(&account.plan, client, deadline, &mut memory.horizon_days).await;
    match asked.report {
        Ok(ReportRead { report, problems }) => {
            if !asked.halved {
                memory.horizon_days = (memory.horizon_days * 2).min(account.plan.horizon_days);
            }
            let rejected = report.moments_rejected;
            let problems = said(&problems);
            let part = Part { reads: vec![Read::ExpectedBalance(report)], rejected, problems };
            end(account, collector, began, Ok(rejected == 0), part).await;
        }
        Err(failure) => end(account, collector, began, Err(failure), Part::default()).await,
    }
}

async fn charges(account: &Account, client: &Client, memory: &mut Memory, began: Instant) {
    let collector = Collector::Charges;
    let today = account.now().with_timezone(&account.plan.profile.zone()).date_naive();
    let keep_from = today.checked_sub_days(Days::new(KEEP_CHARGES_DAYS)).unwrap_or(today);
    let read = within(account, collector, client.charges(memory.charges.as_ref(), keep_from)).await;
    match read {
        Ok(read) => {
            // The sum of some would be taken for the sum of all.
            let rows = read.seen_whole.then(|| Read::Charges(read.rows.clone()));
            let part = Part {
                reads: rows.into_iter().collect(),
                rejected: read.rejected,
                problems: said(&read.problems),
            };
            let complete = read.complete;
            memory.charges = Some(read);
            end(account, collector, began, Ok(complete), part).await;
        }
        Err(failure) => end(account, collector, began, Err(failure), Part::default()).await,
    }
}
