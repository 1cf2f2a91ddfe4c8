//! A new configuration takes over from the old one while the daemon runs. What did not change goes on
//! undisturbed: its polls, the calls that count against its limits, incidents and mails.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, Result};
use tokio::sync::mpsc;
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

use super::heartbeat::Heartbeat;
use super::observer::OwnObserver;
use super::pipeline::Message;
use super::provider;
use super::pulse::Pulse;
use super::run::{accounts, heartbeat};
use crate::config::{Account, Settings};
use crate::failpoint;
use crate::mail::smtp::Transport;
use crate::metrics::Own;
use crate::model::AccountName;
use crate::provider::poll::{self, Plan, Update};
use crate::provider::{Client, Hosts};
use crate::state::Shared;

/// Reads the configuration anew; `Err` says why it was refused.
pub(crate) type ReadSettings = Arc<dyn Fn() -> Result<Settings, String> + Send + Sync>;

/// Files of secrets are looked at this often.
const LOOK_EVERY: Duration = Duration::from_secs(10);

/// What a reload replaces.
pub(super) struct Reloader {
    pub(super) read_settings: ReadSettings,
    /// Where mail is on.
    pub(super) transport: Option<Shared<Transport>>,
    pub(super) heartbeat: Shared<Option<Heartbeat>>,
    pub(super) messages: mpsc::Sender<Message>,
    pub(super) collectors: Collectors,
    pub(super) secrets: SecretFiles,
}

impl Reloader {
    /// Reads the configuration and takes it over; `Err` says why the old one stays.
    pub(super) async fn reload(&mut self) -> Result<(), String> {
        let settings = (self.read_settings)()?;
        if settings.email.is_some() != self.transport.is_some() {
            return Err("[email] was added or removed; that takes a restart".to_owned());
        }
        let renewed = match &settings.email {
            Some(email) => Some(Transport::new(&email.server).map_err(|error| error.to_string())?),
            None => None,
        };
        // What is new must be sound before what is old ends.
        let heartbeat = heartbeat(&settings).map_err(|error| format!("{error:#}"))?;
        let changed = self.collectors.changed(&settings).map_err(|error| format!("{error:#}"))?;
        if let (Some(shared), Some(renewed)) = (&self.transport, renewed) {
            shared.set(renewed);
        }
        self.heartbeat.set(heartbeat);
        self.secrets = SecretFiles::new(&settings);
        self.collectors.end_others(&settings, &changed).await;
        // Known before anything is read of it. A closed channel means that the daemon is stopping.
        let _ = self.messages.send(Message::Accounts(accounts(&settings))).await;
        self.collectors.start(changed, &self.messages);
        Ok(())
    }
}

/// The collectors that run, by account.
pub(super) struct Collectors {
    own: Arc<Own>,
    pulse: Arc<Pulse>,
    hosts: Hosts,
    stop: CancellationToken,
    tasks: JoinSet<()>,
    running: BTreeMap<AccountName, Running>,
}

struct Running {
    account: Account,
    client: Client,
    stop: CancellationToken,
    /// Cancelled once its tasks have ended.
    ended: CancellationToken,
}

/// An account that is to be polled, by a client made for it.
pub(super) struct Prepared {
    account: Account,
    client: Client,
}

/// Fifty accounts a second.
const FIRST_POLLS_APART: Duration = Duration::from_millis(20);
/// Nobody waits longer for a first poll, however many accounts there are.
const FIRST_POLLS_WITHIN: Duration = Duration::from_secs(30);

impl Collectors {
    pub(super) fn new(own: Arc<Own>, pulse: Arc<Pulse>, stop: CancellationToken) -> Self {
        let (hosts, tasks, running) = (Hosts::default(), JoinSet::new(), BTreeMap::new());
        Self { own, pulse, hosts, stop, tasks, running }
    }

    /// The accounts of a configuration that do not run as it says, with clients for them.
    ///
    /// # Errors
    /// Where a client cannot be made. Nothing has changed then.
    pub(super) fn changed(&self, settings: &Settings) -> Result<Vec<Prepared>> {
        let runs = |account: &Account| self.running.get(account.name());
        let changed = settings
            .accounts
            .iter()
            .filter(|account| !runs(account).is_some_and(|running| running.account.is_polled_like(account)));
        let prepared = changed.map(|account| {
            let api = account.api.clone();
            let client = match runs(account) {
                // Calls made still count against the limits.
                Some(running) => running.client.renewed(api),
                None => {
                    let beat = self.pulse.collectors(account.name());
                    let observer = OwnObserver::new(Arc::clone(&self.own), account.name().clone(), beat);
                    Client::with_hosts(api, Arc::new(observer), self.hosts.clone())
                }
            };
            let client =
                client.with_context(|| format!("preparing the client of account {}", account.name()))?;
            Ok(Prepared { account: account.clone(), client })
        });
        prepared.collect()
    }

    /// Ends the collectors of accounts that are gone or changed, and waits for them.
    pub(super) async fn end_others(&mut self, settings: &Settings, changed: &[Prepared]) {
        let stays = |name: &AccountName| {
            settings.accounts.iter().any(|account| account.name() == name)
                && !changed.iter().any(|prepared| prepared.account.name() == name)
        };
        let names: Vec<AccountName> = self.running.keys().filter(|name| !stays(name)).cloned().collect();
        let ending: Vec<Running> = names.iter().filter_map(|name| self.running.remove(name)).collect();
        for running in &ending {
            running.stop.cancel();
        }
        for running in &ending {
            running.ended.cancelled().await;
        }
    }

    /// Starts collectors.
    pub(super) fn start(&mut self, prepared: Vec<Prepared>, messages: &mpsc::Sender<Message>) {
        let count = prepared.len();
        for (index, Prepared { account, client }) in prepared.into_iter().enumerate() {
            let (stop, ended) = (self.stop.child_token(), CancellationToken::new());
            let beat = self.pulse.collectors(account.name());
            let plan = provider::plan(&account, client.clone(), account.horizon_days);
            let plan = Plan { awake: Arc::new(move || beat.now()), ..plan };
            let (updates, inbox) = mpsc::channel(16);
            let (messages, stopping, done) = (messages.clone(), stop.clone(), ended.clone().drop_guard());
            self.tasks.spawn(async move {
                let _done = done;
                tokio::select! {
                    () = stopping.cancelled() => return,
                    () = tokio::time::sleep(first_poll_after(index, count)) => {}
                }
                tokio::join!(forward(inbox, messages), poll::run(plan, updates, stopping));
            });
            self.running.insert(account.name().clone(), Running { account, client, stop, ended });
        }
        // Without a schedule nothing turns.
        let turns = |running: &Running| !running.account.schedules.is_empty();
        self.pulse.keep(|name| self.running.get(name).is_some_and(turns));
    }

    /// Resolves when collectors died by a fault of their own; forever waiting while all is well.
    pub(super) async fn died(&mut self) -> JoinError {
        loop {
            match self.tasks.join_next().await {
                Some(Err(error)) => return error,
                Some(Ok(())) => {}
                None => std::future::pending().await,
            }
        }
    }

    /// Ends all of them.
    pub(super) async fn end(&mut self) {
        self.stop.cancel();
        while self.tasks.join_next().await.is_some() {}
    }
}

/// When an account polls first, of several that start together: they are not to fire in the same second.
fn first_poll_after(index: usize, count: usize) -> Duration {
    let count = u32::try_from(count).unwrap_or(u32::MAX).max(1);
    let whole = (FIRST_POLLS_APART.saturating_mul(count)).min(FIRST_POLLS_WITHIN);
    whole * u32::try_from(index).unwrap_or(u32::MAX) / count
}

async fn forward(mut updates: mpsc::Receiver<Update>, messages: mpsc::Sender<Message>) {
    while let Some(update) = updates.recv().await {
        if messages.send(Message::Update(update)).await.is_err() {
            return;
        }
    }
}

/// The files that secrets came from, as they were when read.
pub(super) struct SecretFiles(Vec<(PathBuf, Option<Stamp>)>);

type Stamp = (SystemTime, u64);

impl SecretFiles {
    pub(super) fn new(settings: &Settings) -> Self {
        Self(settings.secret_files.iter().map(|path| (path.clone(), stamp(path))).collect())
    }

    /// Resolves once one of them is another than it was, and stays so for a look: who writes a file may
    /// not be done with it at first sight.
    pub(super) async fn changed(&self) {
        let mut seen = None;
        loop {
            tokio::time::sleep(LOOK_EVERY / failpoint::haste()).await;
            let now: Vec<Option<Stamp>> = self.0.iter().map(|(path, _)| stamp(path)).collect();
            let same = now.iter().eq(self.0.iter().map(|(_, stamp)| stamp));
            if !same && seen.as_ref() == Some(&now) {
                return;
            }
            seen = Some(now);
        }
    }

    /// They are known as they are now, whatever came of it.
    pub(super) fn taken(&mut self) {
        for (path, known) in &mut self.0 {
            *known = stamp(path);
        }
    }
}

fn stamp(path: &PathBuf) -> Option<Stamp> {
    let found = std::fs::metadata(path).ok()?;
    Some((found.modified().ok()?, found.len()))
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
