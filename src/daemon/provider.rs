//! Asks the provider for a command, with no daemon: the same client, limits and readings, no schedule.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::task::JoinSet;

use crate::clock;
use crate::config::Account;
use crate::model::{Group, Report};
use crate::provider::poll::{self, Plan};
use crate::provider::{ApiError, Client, Code, Hosts, Observer};

/// Nobody waits longer in front of a terminal.
const PATIENCE: Duration = Duration::from_secs(90);
/// Accounts that are asked at once.
const AT_ONCE: usize = 8;

/// Counts the requests of a command.
#[derive(Debug, Default)]
pub(crate) struct Tally(Mutex<BTreeMap<Group, u64>>);

impl Tally {
    /// Requests sent for a group so far, retries included.
    pub(crate) fn requests(&self, group: Group) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&group).copied().unwrap_or(0)
    }
}

impl Observer for Tally {
    fn request(&self, group: Group, _: Code, _: Duration) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(group).or_default() += 1;
    }

    fn throttled(&self, _: Group, _: Duration) {}

    fn field_problem(&self, _: &'static str, _: u64) {}
}

/// The client of an account, with nothing asked before.
pub(crate) fn client(account: &Account, tally: &Arc<Tally>, hosts: &Hosts) -> Result<Client, ApiError> {
    let observer: Arc<dyn Observer> = Arc::clone(tally) as _;
    Client::with_hosts(account.api.clone(), observer, hosts.clone())
}

/// What a reading of an account needs, looking `horizon_days` ahead.
pub(crate) fn plan(account: &Account, client: Client, horizon_days: u32) -> Plan {
    let top_rung = top_rung_days(account);
    Plan {
        profile: Arc::clone(&account.profile),
        client,
        schedules: account.schedules.clone(),
        horizon_days,
        least_horizon_days: (top_rung + 7).min(horizon_days),
        clock: clock::now,
        awake: Arc::new(|| ()),
    }
}

/// The first rung of an account's ladder.
pub(crate) fn top_rung_days(account: &Account) -> u32 {
    account.alert.disconnect_days.iter().copied().max().unwrap_or(0)
}

/// The expected-balance report of each account, one call each; `Err` says why there is none.
pub(crate) async fn reports(
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
