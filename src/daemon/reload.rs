//! A new configuration takes over from the old one while the daemon runs. What did not change goes on
//! undisturbed: its polls, the calls that count against its limits, incidents and mails.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;

use super::carrier::{self, Carrier};
use super::collectors::{Collectors, Prepared};
use super::control::Watching;
use super::heartbeat::Heartbeat;
use super::liveness::Tasks;
use super::machine;
use super::mails;
use super::pipeline::{Accounts, Message};
use crate::config::Settings;
use crate::failpoint;
use crate::file_stamp::FileStamp;
use crate::http::AllowedHosts;
use crate::metrics::Own;
use crate::state::Shared;
use crate::store::Queue;

/// Reads the configuration anew; `Err` says why it was refused.
pub(crate) type ReadSettings = Arc<dyn Fn() -> Result<Settings, String> + Send + Sync>;

/// What a reload replaces.
pub(super) struct Reloader {
    pub(super) read_settings: ReadSettings,
    /// By queue.
    pub(super) carriers: BTreeMap<Queue, Shared<Carrier>>,
    /// Mail was on at the start.
    pub(super) mails: bool,
    pub(super) heartbeat: Shared<Option<Heartbeat>>,
    /// Of the events that the calendar feed has.
    pub(super) calendar_domain: Shared<String>,
    pub(super) hosts: Shared<AllowedHosts>,
    pub(super) watching: Shared<Watching>,
    pub(super) own: Arc<Own>,
    pub(super) messages: mpsc::Sender<Message>,
    pub(super) collectors: Collectors,
    pub(super) secrets: SecretFiles,
}

impl Reloader {
    /// Reads the configuration and takes it over; `Err` says why the old one stays.
    pub(super) async fn reload(&mut self, tasks: &mut Tasks) -> Result<(), String> {
        let settings = (self.read_settings)()?;
        let renewed = carrier::all(&settings).map_err(|error| format!("{error:#}"))?;
        if renewed.contains_key(&Queue::Mail) != self.carriers.contains_key(&Queue::Mail) {
            return Err("[email] was added or removed; that takes a restart".to_owned());
        }
        if !renewed.keys().eq(self.carriers.keys()) {
            return Err("a table of [webhooks] was added or removed; that takes a restart".to_owned());
        }
        if settings.mails != self.mails {
            return Err(
                "the first webhook was named as a recipient, or the last one removed; that takes a restart"
                    .to_owned(),
            );
        }
        // What is new must be sound before what is old ends.
        let heartbeat = Heartbeat::of(&settings).map_err(|error| error.to_string())?;
        let changed = self.collectors.changed(&settings).map_err(|error| format!("{error:#}"))?;
        for (shared, renewed) in self.carriers.values().zip(renewed.into_values()) {
            shared.set(renewed);
        }
        self.heartbeat.set(heartbeat);
        self.own.heartbeat_configured(settings.heartbeat_url.is_some());
        self.own.external_url(settings.web.external_url.as_ref().map(AsRef::as_ref));
        self.calendar_domain.set(mails::domain(&settings));
        self.hosts.set(AllowedHosts::new(&settings.web, machine::names()));
        self.watching.set(Watching::of(&settings));
        self.secrets = SecretFiles::new(&settings);
        self.collectors.end_others(&settings, &changed).await;
        // Known before anything is read of it. A closed channel means that the daemon is stopping.
        let _ = self.messages.send(Message::Accounts(Box::new(Accounts::of(&settings)))).await;
        self.start(changed, tasks);
        Ok(())
    }

    /// Starts the collectors of these accounts.
    pub(super) fn start(&mut self, accounts: Vec<Prepared>, tasks: &mut Tasks) {
        self.collectors.start(accounts, &self.messages, tasks);
    }
}

/// The files that secrets came from are checked this often.
const CHECK_EVERY: Duration = Duration::from_secs(10);

/// The files that secrets came from, as they were when read: a change of one is a reason to reload. Reads none.
pub(super) struct SecretFiles {
    paths: Vec<PathBuf>,
    known: Vec<FileStamp>,
}

impl SecretFiles {
    pub(super) fn new(settings: &Settings) -> Self {
        let mut files = Self { paths: settings.secret_files.clone(), known: Vec::new() };
        files.taken();
        files
    }

    /// Resolves once one of them has changed, and is the same at the next check: who writes a file may
    /// not be done with it at first sight.
    pub(super) async fn changed(&self) {
        let mut before = None;
        loop {
            tokio::time::sleep(CHECK_EVERY / failpoint::haste()).await;
            let now = self.check();
            if now != self.known && before.as_ref() == Some(&now) {
                return;
            }
            before = Some(now);
        }
    }

    /// They are known as they are now, whatever came of it.
    pub(super) fn taken(&mut self) {
        self.known = self.check();
    }

    fn check(&self) -> Vec<FileStamp> {
        self.paths.iter().map(|path| FileStamp::now(path)).collect()
    }
}
