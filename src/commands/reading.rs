//! Asks the provider for a command, with no daemon: the same client, limits and readings, no schedule.

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
use crate::provider::{ApiError, Client, Code, Hosts, Observer};

/// Longest wait for one reading; a person is waiting at the terminal.
pub(super) const PATIENCE: Duration = Duration::from_secs(90);
/// Accounts that are asked at once.
const AT_ONCE: usize = 8;

/// Counts the requests of a command.
#[derive(Debug, Default)]
pub(super) struct Tally(Mutex<BTreeMap<Group, u64>>);

impl Tally {
    /// Requests sent for a group so far, retries included.
    pub(super) fn requests(&self, group: Group) -> u64 {
        self.0.lock().get(&group).copied().unwrap_or(0)
    }
}

impl Observer for Tally {
    fn request(&self, group: Group, _: Code, _: Duration) {
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
    Client::with_hosts(account.api.clone(), observer, hosts.clone())
}

/// The expected-balance report of each account, one call each; `Err` says why there is none. What time the provider has
/// is told to `clock`.
pub(super) async fn reports(
    accounts: &[&AccountSettings],
    horizon_days: impl Fn(&AccountSettings) -> u32,
    clock: &Clock,
) -> Vec<Result<Arc<Report>, String>> {
    let hosts = Hosts::told_to(clock.clone());
    let plans = accounts.iter().map(|account| planned(account, &hosts, horizon_days(account)));
    in_order(plans.map(report)).await
}

/// Runs all of them, a few at a time; the results are in their order.
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
        return Err(
            "billing is off; set panel_url, billing_username and billing_password to read the balance"
                .to_owned(),
        );
    }
    let client = client(account, &Arc::default(), hosts).map_err(|error| error.to_string())?;
    Ok(plan(account, client, horizon_days))
}

/// One report, read by the plan.
pub(super) async fn report(plan: Result<AccountPlan, String>) -> Result<Arc<Report>, String> {
    let report = poll::read_report(&plan?, PATIENCE).await;
    report.map(Arc::new).map_err(|failure| failure.message)
}
