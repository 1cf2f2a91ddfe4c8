//! One poll of each collector: its calls, their order, and the meaning of failures.

use chrono::NaiveDate;
use tokio::time::Instant;

use super::poller::{PollResult, Poller, UpdatePart, part_of, within};
use super::{report, sweep};
use crate::model::{Charge, Collector, Container, ContainerId, Read};
use crate::provider::{Client, Listed, ReportRead};

/// The state that a collector keeps between polls.
#[derive(Default)]
pub(super) struct PollMemory {
    /// The horizon of the expected-balance report. It is halved while the provider cannot deliver the whole.
    horizon_days: u32,
    not_found: sweep::NotFound,
}

impl PollMemory {
    pub(super) fn new(horizon_days: u32) -> Self {
        Self { horizon_days, ..Self::default() }
    }
}

/// The span of the charges of which the sum is shown.
const CHARGED_DAYS: i64 = 30;

/// Makes one poll and passes its results on as they come.
pub(super) async fn poll(poller: &Poller, collector: Collector, memory: &mut PollMemory) {
    let began = Instant::now();
    let client = match poller.plan.client.begin_poll(collector.group()) {
        Ok(client) => client,
        Err(error) => {
            if collector == Collector::Containers {
                poller.end(Collector::Sites, began, Err(error.failure())).await;
            }
            return poller.end(collector, began, Err(error.failure())).await;
        }
    };
    let deadline = poller.deadline(collector);
    match collector {
        Collector::Vms => {
            let read = within(deadline, client.vms()).await;
            poller.end(collector, began, read.map(|listed| part_of(listed, Read::Vms))).await;
        }
        Collector::Ips => {
            let read = within(deadline, client.ips()).await;
            poller.end(collector, began, read.map(|listed| part_of(listed, Read::Ips))).await;
        }
        Collector::SshKeys => {
            let read = within(deadline, sweep::count(&client, collector, None)).await;
            poller.end(collector, began, read).await;
        }
        Collector::Containers => containers(poller, &client, memory, began).await,
        // Sites follow their containers and have no schedule of their own.
        Collector::Sites => {}
        Collector::ExpectedBalance => expected_balance(poller, &client, memory, began).await,
        Collector::Charges => {
            let today = poller.now().with_timezone(&poller.plan.profile.zone()).date_naive();
            let read = within(deadline, client.charges()).await;
            poller.end(collector, began, read.map(|listed| charged(today, listed))).await;
        }
        Collector::Databases | Collector::CronJobs => {
            sweep::of_sites(poller, &client, collector, began).await;
        }
    }
}

async fn containers(poller: &Poller, client: &Client, memory: &mut PollMemory, began: Instant) {
    let read = within(poller.deadline(Collector::Containers), client.containers()).await;
    let ids = containers_in(poller, read.as_ref().ok());
    let read = read.map(|listed| part_of(listed, Read::Containers));
    let failure = match &read {
        Ok((_, Err(failure))) | Err(failure) => Some(failure.clone()),
        Ok((_, Ok(_))) => None,
    };
    poller.end(Collector::Containers, began, read).await;
    let began = Instant::now();
    if let Some(failure) = failure.filter(|_| ids.is_empty()) {
        // No container is known, so no sites can be asked for.
        return poller.end(Collector::Sites, began, Err(failure)).await;
    }
    if sweep::sites(poller, client, &ids, &mut memory.not_found, began).await
        // A container vanished between the two readings.
        && let Ok(listed) = within(poller.deadline(Collector::Containers), client.containers()).await
    {
        let (part, _) = part_of(listed, Read::Containers);
        poller.send(Collector::Containers, part, None).await;
    }
}

/// The containers of a listing. One that is not whole leaves those that were known, and any listing those of its
/// unreadable rows.
fn containers_in(poller: &Poller, listed: Option<&Listed<Container>>) -> Vec<ContainerId> {
    let known = (poller.plan.known)();
    let listing = known.as_ref().map(|state| &state.containers);
    // A container that one whole listing lacked is shown until the next one.
    let is_there = |id: &ContainerId| listing.is_some_and(|listing| !listing.missing.contains(&id.get()));
    let rows = listing.into_iter().flat_map(|listing| listing.rows.iter());
    let mut ids: Vec<ContainerId> = rows.map(|row| row.id).filter(is_there).collect();
    if let Some(listed) = listed {
        ids.retain(|id| !listed.shows_all || listed.unreadable.contains(&id.get()));
        ids.extend(listed.rows.iter().map(|row| row.id));
        ids.sort_unstable();
        ids.dedup();
    }
    ids
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
    poller.end(collector, began, Ok((part, result))).await;
}

/// The sum of the last days' charges. A part of them is no sum, so the last one stays.
fn charged(today: NaiveDate, listed: Listed<Charge>) -> (UpdatePart, PollResult) {
    let Listed { rows, shows_all, rejected, problems, failure, .. } = listed;
    let is_recent = |charge: &&Charge| (0..CHARGED_DAYS).contains(&(today - charge.event_date).num_days());
    let sum =
        shows_all.then(|| Read::Charges(rows.iter().filter(is_recent).map(|charge| charge.total).sum()));
    let result = failure.map_or(Ok(shows_all), |error| Err(error.failure()));
    (UpdatePart { reads: sum.into_iter().collect(), rejected, problems }, result)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    use crate::model::Money;

    #[test]
    fn charges_of_thirty_days_are_summed_if_they_are_all() {
        let charges = [("2026-03-02", "5000"), ("2026-03-01", "1000"), ("2026-02-01", "0.20")];
        let older = [("2026-01-31", "0.03"), ("2026-01-30", "5000")];
        let rows = charges.into_iter().chain(older).map(|(date, total)| Charge {
            event_date: date.parse().unwrap(),
            total: Money::new(total.parse().unwrap()),
            resource_uri: None,
        });
        let rows: Vec<Charge> = rows.collect();
        for (complete, want) in [(true, "[Charges(1000.23)]"), (false, "[]")] {
            let listed = Listed {
                rows: rows.clone(),
                shows_all: complete,
                rejected: 0,
                unreadable: BTreeSet::new(),
                problems: Vec::new(),
                failure: None,
            };
            let (part, result) = charged("2026-03-01".parse().unwrap(), listed);
            assert_eq!((format!("{:?}", part.reads).as_str(), result), (want, Ok(complete)));
        }
    }
}
