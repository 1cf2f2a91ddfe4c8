//! A new configuration replaces the old one while the daemon runs. Unchanged parts go on undisturbed: polls,
//! the calls that count against limits, incidents and mails.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

use super::carrier;
use super::collectors::Collectors;
use super::common::Common;
use super::heartbeat::Heartbeat;
use super::liveness::Tasks;
use super::mails;
use super::pipeline::Message;
use crate::config::Settings;
use crate::failpoint;
use crate::file_stamp::FileStamp;
use crate::http::{AllowedHosts, Guard};
use crate::mail::smtp::machine_names;

/// Reads the configuration again; `Err` holds the reason why it was refused.
pub(crate) type ReadSettings = Arc<dyn Fn() -> Result<Settings, String> + Send + Sync>;

/// The parts that a reload replaces.
pub(super) struct Reloader {
    pub(super) read_settings: ReadSettings,
    /// The web server's access control.
    pub(super) guard: Option<Arc<Guard>>,
    pub(super) common: Arc<Common>,
    /// Whether mail was on at the start.
    pub(super) mails: bool,
    pub(super) collectors: Collectors,
    pub(super) secrets: SecretFiles,
}

impl Reloader {
    /// Reads the configuration and puts it in force; `Err` holds the reason why the old one stays.
    pub(super) async fn reload(&mut self, tasks: &mut Tasks) -> Result<(), String> {
        // A renewed certificate counts whatever the rest of the configuration holds: the old one would expire meanwhile.
        if let Some(guard) = &self.guard
            && let Some(web) = guard.read_again()?
        {
            guard.renew(web);
        }
        let settings = (self.read_settings)()?;
        if settings.store_path != self.common.store_path {
            let (new, old) = (settings.store_path.display(), self.common.store_path.display());
            return Err(format!("store.path is now {new}, and the daemon has {old}; that takes a restart"));
        }
        let renewed = carrier::all(&settings).map_err(|error| format!("{error:#}"))?;
        if !renewed.keys().eq(self.common.carriers.keys()) || settings.mails != self.mails {
            let what = "[email], a table of [webhooks] or [telegram], or the only recipient of these";
            return Err(format!("{what} was added or removed; that takes a restart"));
        }
        // All new parts must be sound before old ones end.
        let heartbeat = Heartbeat::of(&settings).map_err(|error| error.to_string())?;
        let changed = self.collectors.changed(&settings).map_err(|error| format!("{error:#}"))?;
        for (shared, renewed) in self.common.carriers.values().zip(renewed.into_values()) {
            shared.set(renewed);
        }
        self.common.heartbeat.set(heartbeat);
        self.common.own.heartbeat_configured(settings.heartbeat_url.is_some());
        self.common.own.external_url(settings.web.external_url.as_ref().map(AsRef::as_ref));
        self.common.calendar_domain.set(mails::domain(&settings));
        self.common.hosts.set(AllowedHosts::new(&settings.web, machine_names()));
        self.secrets = SecretFiles::new(&settings, self.guard.clone(), &self.common.refusals);
        self.collectors.end_others(&settings, &changed).await;
        // The pipeline must know the accounts before their first readings. A closed channel means that the
        // daemon is stopping.
        let _ = self.common.messages.send(Message::Settings(Box::new(settings))).await;
        self.collectors.start(changed, tasks);
        Ok(())
    }
}

/// The files are checked this often.
const CHECK_EVERY: Duration = Duration::from_secs(10);

/// The files that secrets came from, and those of the web configuration, as they were at the last reading. A change
/// of one is a reason to reload. This type reads only their stamps.
pub(super) struct SecretFiles {
    paths: Vec<PathBuf>,
    /// Its files may become others while those of the settings stay.
    guard: Option<Arc<Guard>>,
    known: Vec<FileStamp>,
    refusals: Arc<Notify>,
}

impl SecretFiles {
    pub(super) fn new(settings: &Settings, guard: Option<Arc<Guard>>, refusals: &Arc<Notify>) -> Self {
        let paths = settings.secret_files.clone();
        let mut files = Self { paths, guard, known: Vec::new(), refusals: Arc::clone(refusals) };
        files.taken();
        files
    }

    /// Resolves once a file has changed and is the same at the next check, since its writer may not have
    /// finished. After refused credentials a change counts at once.
    pub(super) async fn changed(&self) {
        let mut before = None;
        loop {
            let is_refused = tokio::select! {
                () = tokio::time::sleep(CHECK_EVERY / failpoint::haste()) => false,
                () = self.refusals.notified() => true,
            };
            let now = self.check();
            if now != self.known && (is_refused || before.as_ref() == Some(&now)) {
                return;
            }
            before = Some(now);
        }
    }

    /// Remembers the files as they are now, whatever came of the reload.
    pub(super) fn taken(&mut self) {
        self.known = self.check();
    }

    fn check(&self) -> Vec<FileStamp> {
        let web = self.guard.as_deref().map(Guard::files).unwrap_or_default();
        self.paths.iter().chain(&web).map(|path| FileStamp::now(path)).collect()
    }
}
