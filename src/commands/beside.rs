//! What commands beside the daemon have of it, from the configuration alone: where it answers, its store, its time, what
//! it read last. No secret and nothing of the daemon's environment is needed.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use chrono::{DateTime, Utc};

use super::ask::{AskError, DaemonAddress};
use crate::cli::CONFIG_FILE;
use crate::clock::Clock;
use crate::config::{self, Environment, Settings};
use crate::daemon::control::{self, Reply, Request};
use crate::model::AccountName;
use crate::store::Store;
use crate::view::{DaemonTime, LastReading};

/// The neighbourhood of a configuration.
pub(super) struct Beside {
    file: PathBuf,
    /// As far as it can be read; `None` where the file cannot be read at all.
    pub settings: Option<Settings>,
    /// Where the daemon may answer, of those that are there.
    pub sockets: Vec<DaemonAddress>,
}

impl Beside {
    /// What a configuration file says of it.
    pub(super) fn of(file: &Path) -> Self {
        let settings = config::read_leniently(Some(file), &Environment::of_process());
        let mut places = places(settings.as_ref());
        // Who named a file means the daemon of that one.
        if file == Path::new(CONFIG_FILE) {
            places.extend(control::places(None));
        }
        places.dedup();
        let sockets = there(places);
        Self { file: file.to_owned(), settings, sockets }
    }

    /// The answer of the daemon that runs.
    ///
    /// # Errors
    /// Why none answers; of several places, the first reason that says more than that nobody is there.
    pub(super) async fn ask(&self, request: &Request) -> Result<Result<Reply, String>, AskError> {
        let mut kept = None;
        for socket in &self.sockets {
            let store = self.store_of(socket).filter(|_| request.is_of_the_store());
            match socket.ask(request, store).await {
                Ok(answered) => return Ok(answered),
                Err(error) => error.keep(&mut kept)?,
            }
        }
        Err(kept.unwrap_or_else(|| self.nobody()))
    }

    /// The store whose daemon alone is meant: several may be looked for at one socket. At the packaged daemon's, which is
    /// looked for wherever its configuration has the store, any.
    fn store_of(&self, socket: &DaemonAddress) -> Option<&Path> {
        let settings = self.settings.as_ref().filter(|settings| !settings.store_path.as_os_str().is_empty());
        let is_its = |place: PathBuf| DaemonAddress::Socket(place) == *socket;
        settings
            .filter(|_| places(settings).into_iter().any(is_its))
            .map(|settings| settings.store_path.as_path())
    }

    /// Does a daemon answer?
    pub(super) async fn answers(&self) -> bool {
        for socket in &self.sockets {
            if socket.time().await.is_ok() {
                return true;
            }
        }
        false
    }

    /// That no daemon has a socket.
    fn nobody(&self) -> AskError {
        let store = self.settings.as_ref().map(|settings| settings.store_path.as_path());
        let places = control::places(store).iter().map(|path| path.display().to_string()).collect::<Vec<_>>();
        AskError::NoSocket { places: places.join(" or at "), file: self.file.display().to_string() }
    }

    /// The daemon's store, which need not run.
    pub(super) fn store(&self) -> Result<(Store, &Settings)> {
        let Some(settings) = &self.settings else {
            bail!(
                "{}: cannot be read, and no daemon answers; `hostwatch check-config` says why",
                self.file.display()
            );
        };
        if !settings.mails {
            bail!(
                "without [email] or a webhook to tell nothing is stored; the status page shows what the daemon knows"
            );
        }
        let path: &Path = &settings.store_path;
        let store = Store::open_beside(path);
        let store = store.with_context(|| format!("is the daemon's store at {}?", path.display()))?;
        Ok((store, settings))
    }

    /// The time by the running daemon's clock, which may be the provider's; without a daemon, by one that heeds what the
    /// provider's answers were dated.
    pub(super) async fn time(&self, own: &Clock) -> DateTime<Utc> {
        for socket in &self.sockets {
            let told = socket.time().await.ok();
            if let Some(told) = told.and_then(|answer| serde_json::from_slice::<DaemonTime>(&answer).ok()) {
                return told.now;
            }
        }
        own.now()
    }

    /// The last report that the running daemon knows of an account.
    pub(super) async fn last_report(&self, account: &AccountName) -> Option<LastReading> {
        for socket in &self.sockets {
            if let Ok(answer) = socket.last_report(account).await {
                return serde_json::from_slice(&answer).ok();
            }
        }
        None
    }
}

/// Where the daemon of a configuration may have its socket.
fn places(settings: Option<&Settings>) -> Vec<PathBuf> {
    let Some(settings) = settings else { return Vec::new() };
    let environment = Environment::of_process();
    let runtime = environment.get("RUNTIME_DIRECTORY").filter(|value| !value.is_empty());
    let own = runtime.map(|runtime| control::path(&settings.store_path, Some(runtime)));
    own.into_iter().chain(control::places(Some(&settings.store_path))).collect()
}

/// Those that are there, and those of which that cannot be seen.
fn there(places: Vec<PathBuf>) -> Vec<DaemonAddress> {
    let there = places.into_iter().filter(|path| path.try_exists().unwrap_or(true));
    there.map(DaemonAddress::Socket).collect()
}

/// The socket of a configuration's daemon, or where it would be.
pub(super) fn socket(settings: &Settings) -> DaemonAddress {
    let found = there(places(Some(settings))).into_iter().next();
    found.unwrap_or_else(|| DaemonAddress::Socket(control::path(&settings.store_path, None)))
}
