//! The accounts' collectors as tasks: which of them run, which ones a new configuration changes, how they start
//! and end. Their readings go to the pipeline.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::common::Common;
use super::liveness::{Ended, LastRun, Loop, Tasks};
use crate::clock::Clock;
use crate::config::{AccountSettings, Settings};
use crate::model::{AccountName, Group};
use crate::provider::poll::{self, AccountPlan, Update};
use crate::provider::{Client, Hosts, Observer};

/// The collectors that run, by account.
pub(super) struct Collectors {
    common: Arc<Common>,
    hosts: Hosts,
    updates: mpsc::Sender<Box<Update>>,
    stop: CancellationToken,
    running: BTreeMap<AccountName, RunningAccount>,
}

struct RunningAccount {
    account: AccountSettings,
    client: Client,
    stop: CancellationToken,
    /// Cancelled after its tasks have ended.
    ended: CancellationToken,
}

/// An account that is to be polled, with a client for it.
pub(super) struct Prepared {
    account: AccountSettings,
    client: Client,
}

impl Prepared {
    pub(super) fn name(&self) -> &AccountName {
        self.account.name()
    }

    /// Notes that the account was read before the start.
    pub(super) fn was_read(&self) {
        self.client.was_accepted();
    }
}

/// Fifty accounts a second.
const FIRST_POLLS_APART: Duration = Duration::from_millis(20);
/// The longest wait for a first poll, whatever the number of accounts.
const FIRST_POLLS_WITHIN: Duration = Duration::from_secs(30);

impl Collectors {
    pub(super) fn new(
        common: Arc<Common>,
        updates: mpsc::Sender<Box<Update>>,
        stop: CancellationToken,
    ) -> Self {
        let hosts = Hosts::told_to(common.clock.clone());
        Self { common, hosts, updates, stop, running: BTreeMap::new() }
    }

    /// The accounts that do not run as the configuration says, with clients for them.
    ///
    /// # Errors
    /// If a client cannot be made. Then nothing has changed.
    pub(super) fn changed(&self, settings: &Settings) -> Result<Vec<Prepared>> {
        let runs = |account: &AccountSettings| self.running.get(account.name());
        let changed = settings
            .accounts
            .iter()
            .filter(|account| !runs(account).is_some_and(|running| running.account.is_polled_like(account)));
        let prepared = changed.map(|account| {
            let api = account.api.clone();
            let client = match runs(account) {
                // Calls that were made still count against the limits.
                Some(running) => running.client.renewed(api),
                None => Client::new(api, self.observer(account.name()), self.hosts.clone()),
            };
            let client =
                client.with_context(|| format!("preparing the client of account {}", account.name()))?;
            Ok(Prepared { account: account.clone(), client })
        });
        prepared.collect()
    }

    fn observer(&self, account: &AccountName) -> Arc<OwnObserver> {
        let last_run = self.common.liveness.watch(Loop::Collectors(account.clone()));
        Arc::new(OwnObserver { common: Arc::clone(&self.common), account: account.clone(), last_run })
    }

    /// Ends the collectors of accounts that were removed or changed, and waits for them.
    pub(super) async fn end_others(&mut self, settings: &Settings, changed: &[Prepared]) {
        let stays = |name: &AccountName| {
            settings.accounts.iter().any(|account| account.name() == name)
                && !changed.iter().any(|prepared| prepared.account.name() == name)
        };
        let names: Vec<AccountName> = self.running.keys().filter(|name| !stays(name)).cloned().collect();
        let ending: Vec<RunningAccount> = names.iter().filter_map(|name| self.running.remove(name)).collect();
        for running in &ending {
            running.stop.cancel();
        }
        for running in &ending {
            running.ended.cancelled().await;
        }
    }

    /// Starts collectors.
    pub(super) fn start(&mut self, prepared: Vec<Prepared>, tasks: &mut Tasks) {
        let Common { liveness, polls, clock, snapshot, .. } = &*self.common;
        let count = prepared.len();
        for (index, Prepared { account, client }) in prepared.into_iter().enumerate() {
            let (stop, ended) = (self.stop.child_token(), CancellationToken::new());
            let last_run = liveness.watch(Loop::Collectors(account.name().clone()));
            let plan = plan(&account, client.clone(), account.horizon_days);
            let (asked, awaited) = polls.of(account.name());
            let awake: Arc<dyn Fn() + Send + Sync> = Arc::new(move || last_run.now());
            let (snapshot, name) = (snapshot.clone(), account.name().clone());
            let known = Arc::new(move || snapshot.get().accounts.get(&name).cloned());
            let plan = Arc::new(AccountPlan { clock: clock.clone(), awake, asked, awaited, known, ..plan });
            let (updates, stopping, done) = (self.updates.clone(), stop.clone(), ended.clone().drop_guard());
            tasks.spawn(async move {
                let _done = done;
                let first = tokio::time::sleep(first_poll_after(index, count));
                if stopping.run_until_cancelled(first).await.is_some() {
                    poll::run(plan, updates, stopping).await;
                }
                Ended::Collectors
            });
            self.running.insert(account.name().clone(), RunningAccount { account, client, stop, ended });
        }
        // Only accounts with a schedule have running loops.
        let runs = |running: &RunningAccount| !running.account.schedules.is_empty();
        liveness.keep_collectors(|name| self.running.get(name).is_some_and(runs));
        polls.keep(|name| self.running.contains_key(name));
    }
}

/// The plan of an account's polls, which look `horizon_days` ahead.
pub(crate) fn plan(account: &AccountSettings, client: Client, horizon_days: u32) -> AccountPlan {
    AccountPlan {
        profile: Arc::clone(&account.profile),
        client,
        schedules: Arc::clone(&account.schedules),
        horizon_days,
        clock: Clock::default(),
        retry_after: account.alert.collector_failing_after / 3,
        awake: Arc::new(|| ()),
        asked: watch::channel(0).1,
        awaited: watch::channel(BTreeSet::new()).1,
        known: Arc::new(|| None),
    }
}

/// Counts a client's requests in the metrics of one account.
struct OwnObserver {
    common: Arc<Common>,
    account: AccountName,
    last_run: LastRun,
}

impl Observer for OwnObserver {
    fn request(&self, group: Group, code: &str, took: Duration) {
        self.last_run.now();
        if code == "401" {
            self.common.refusals.notify_one();
        }
        self.common.own.request(&self.account, group, code, took);
    }

    fn throttled(&self, group: Group, waited: Duration) {
        self.last_run.now();
        self.common.own.throttled(&self.account, group, waited);
    }

    fn field_problem(&self, field: &'static str, count: u64) {
        self.common.own.unknown_values(&self.account, field, count);
    }
}

/// The delay of an account's first poll. Accounts that start together do not poll in the same second.
fn first_poll_after(index: usize, count: usize) -> Duration {
    let count = u32::try_from(count).unwrap_or(u32::MAX).max(1);
    let whole = (FIRST_POLLS_APART.saturating_mul(count)).min(FIRST_POLLS_WITHIN);
    whole * u32::try_from(index).unwrap_or(u32::MAX) / count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_polls_are_spread_and_none_waits_long() {
        assert_eq!(first_poll_after(0, 1), Duration::ZERO, "one account waits for nothing");
        for count in [1, 2, 50, 500, 5000] {
            let after: Vec<Duration> = (0..count).map(|index| first_poll_after(index, count)).collect();
            assert!(after.is_sorted() && after[count - 1] < FIRST_POLLS_WITHIN, "{count}");
            let second = |from: u64| {
                let (from, to) = (Duration::from_secs(from), Duration::from_secs(from + 1));
                after.iter().filter(|&&at| at >= from && at < to).count()
            };
            let most = (0..30).map(second).max().unwrap();
            assert!(most <= (count / 30 + 1).max(50), "{most} of {count} in one second");
        }
    }
}
