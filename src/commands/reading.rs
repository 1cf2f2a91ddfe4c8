//! Asks the provider for a command, with no daemon: the same client, limits and readings, no schedule.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::task::JoinSet;

use crate::config::Account;
use crate::daemon::plan;
use crate::model::{Group, Report};
use crate::provider::poll::{self, Plan};
use crate::provider::{ApiError, Client, Code, Hosts, Observer};

/// Nobody waits longer in front of a terminal.
const PATIENCE: Duration = Duration::from_secs(90);
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

/// The client of an account, with nothing asked before.
pub(super) fn client(account: &Account, tally: &Arc<Tally>, hosts: &Hosts) -> Result<Client, ApiError> {
    let observer: Arc<dyn Observer> = Arc::clone(tally) as _;
    Client::with_hosts(account.api.clone(), observer, hosts.clone())
}

/// The expected-balance report of each account, one call each; `Err` says why there is none.
pub(super) async fn reports(
    accounts: &[&Account],
    horizon_days: impl Fn(&Account) -> u32,
) -> Vec<Result<Arc<Report>, String>> {
    let hosts = Hosts::default();
    let mut results: Vec<Option<Result<Arc<Report>, String>>> = vec![None; accounts.len()];
    let mut waiting = accounts.iter().enumerate();
    let mut tasks = JoinSet::new();
    loop {
        while tasks.len() < AT_ONCE {
            let Some((index, account)) = waiting.next() else { break };
            let plan = planned(account, &hosts, horizon_days(account));
            tasks.spawn(async move { (index, report(plan).await) });
        }
        let Some(joined) = tasks.join_next().await else { break };
        if let Ok((index, result)) = joined {
            results[index] = Some(result);
        }
    }
    let lost = || Err("the reading ended by a fault of hostwatch's own".to_owned());
    results.into_iter().map(|result| result.unwrap_or_else(lost)).collect()
}

fn planned(account: &Account, hosts: &Hosts, horizon_days: u32) -> Result<Plan, String> {
    if !account.has(Group::Billing) {
        return Err(
            "billing is off; set panel_url, billing_username and billing_password to read the balance"
                .to_owned(),
        );
    }
    let client = client(account, &Arc::default(), hosts).map_err(|error| error.to_string())?;
    Ok(plan(account, client, horizon_days))
}

async fn report(plan: Result<Plan, String>) -> Result<Arc<Report>, String> {
    match poll::read_report(&plan?, PATIENCE).await {
        Ok(report) => Ok(Arc::new(report)),
        Err(failure) => Err(failure.message),
    }
}
