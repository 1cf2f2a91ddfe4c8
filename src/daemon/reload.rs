//! A new configuration takes over from the old one while the daemon runs. What did not change goes on
//! undisturbed: its polls, the calls that count against its limits, incidents and mails.

use std::sync::Arc;

use tokio::sync::mpsc;

use super::collectors::{Collectors, Prepared};
use super::heartbeat::Heartbeat;
use super::pipeline::{Accounts, Message};
use super::secret_files::SecretFiles;
use super::tasks::Tasks;
use crate::config::Settings;
use crate::mail::smtp::Transport;
use crate::state::Shared;

/// Reads the configuration anew; `Err` says why it was refused.
pub(crate) type ReadSettings = Arc<dyn Fn() -> Result<Settings, String> + Send + Sync>;

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
    pub(super) async fn reload(&mut self, tasks: &mut Tasks) -> Result<(), String> {
        let settings = (self.read_settings)()?;
        if settings.email.is_some() != self.transport.is_some() {
            return Err("[email] was added or removed; that takes a restart".to_owned());
        }
        let renewed = match &settings.email {
            Some(email) => Some(Transport::new(&email.server).map_err(|error| error.to_string())?),
            None => None,
        };
        // What is new must be sound before what is old ends.
        let heartbeat = Heartbeat::of(&settings).map_err(|error| error.to_string())?;
        let changed = self.collectors.changed(&settings).map_err(|error| format!("{error:#}"))?;
        if let (Some(shared), Some(renewed)) = (&self.transport, renewed) {
            shared.set(renewed);
        }
        self.heartbeat.set(heartbeat);
        self.secrets = SecretFiles::new(&settings);
        self.collectors.end_others(&settings, &changed).await;
        // Known before anything is read of it. A closed channel means that the daemon is stopping.
        let _ = self.messages.send(Message::Accounts(Accounts::of(&settings))).await;
        self.start(changed, tasks);
        Ok(())
    }

    /// Starts the collectors of these accounts.
    pub(super) fn start(&mut self, accounts: Vec<Prepared>, tasks: &mut Tasks) {
        self.collectors.start(accounts, &self.messages, tasks);
    }
}
