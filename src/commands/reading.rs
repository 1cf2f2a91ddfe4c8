//! Asks the provider for a command, without a daemon: with the same client, limits and readings, but no
//! schedule.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Semaphore;

use crate::clock::Clock;
use crate::config::AccountSettings;
use crate::daemon::plan;
use crate::model::{Group, Report};
use crate::provider::poll::{self, AccountPlan};
use crate::provider::{ApiError, Client, Hosts, Observer};
use crate::terminal::forecast::BILLING_OFF;

/// The longest wait for one reading, since a person waits at the terminal.
pub(super) const PATIENCE: Duration = Duration::from_secs(90);
/// The number of accounts that are asked at a time.
const AT_ONCE: usize = 8;

/// Counts the requests of a command.
#[derive(Debug, Default)]
pub(super) struct Tally(Mutex<BTreeMap<Group, u64>>);

impl Tally {
    /// The number of requests sent for a group so far, including retries.
    pub(super) fn requests(&self, group: Group) -> u64 {
        self.0.lock().get(&group).copied().unwrap_or(0)
    }
}

impl Observer for Tally {
    fn request(&self, group: Group, _: &str, _: Duration) {
        *self.0.lock().entry(group).or_default() += 1;
    }

    fn throttled(&self, _: Group, _: Duration) {}

    fn field_problem(&self, _: &'static str, _: u64) {}
}

/// A new client of an account.
pub(super) fn client(
    account: &AccountSettings,
    tally: &Arc<Tally>,
    hosts: &Hosts,
) -> Result<Client, ApiError> {
    let observer: Arc<dyn Observer> = Arc::clone(tally) as _;
    Client::new(account.api.clone(), observer, hosts.clone())
}

/// The expected-balance report of each account, one call each. `Err` holds the reason why there is none.
/// `clock` gets the provider's time.
pub(super) async fn reports(
    accounts: &[&AccountSettings],
    horizon_days: impl Fn(&AccountSettings) -> u32,
    clock: &Clock,
) -> Vec<Result<Arc<Report>, String>> {
    let hosts = Hosts::told_to(clock.clone());
    let plans = accounts.iter().map(|account| planned(account, &hosts, horizon_days(account)));
    in_order(plans.map(report)).await
}

/// Runs all tasks, a few at a time. The results are in the order of the tasks.
pub(super) async fn in_order<T: Send + 'static>(
    work: impl Iterator<Item = impl Future<Output = T> + Send + 'static>,
) -> Vec<T> {
    let slots = Arc::new(Semaphore::new(AT_ONCE));
    let start = |work| {
        let slots = Arc::clone(&slots);
        tokio::spawn(async move {
            let _slot = slots.acquire().await;
            work.await
        })
    };
    let mut done = Vec::new();
    for task in work.map(start).collect::<Vec<_>>() {
        match task.await {
            Ok(result) => done.push(result),
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }
    done
}

fn planned(account: &AccountSettings, hosts: &Hosts, horizon_days: u32) -> Result<AccountPlan, String> {
    if !account.has(Group::Billing) {
        return Err(BILLING_OFF.to_owned());
    }
    let client = client(account, &Arc::default(), hosts).map_err(|error| error.to_string())?;
    Ok(plan(account, client, horizon_days))
}

/// One report, read with this plan.
pub(super) async fn report(plan: Result<AccountPlan, String>) -> Result<Arc<Report>, String> {
    let report = poll::read_report(&plan?, PATIENCE).await;
    report.map(|read| Arc::new(read.report)).map_err(|failure| failure.message)
}
