//! The daemon beside a command, found by the configuration alone: its address, its store, its status. Neither
//! secrets nor the daemon's environment are needed.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::ask::{AskError, DaemonSocket};
use crate::cli::CONFIG_FILE;
use crate::config::{self, Environment, Settings};
use crate::config_error::ConfigErrors;
use crate::daemon::control::{self, Reply, Request};
use crate::store::Store;
use crate::view::Status;

/// The daemon of a configuration.
pub(super) struct Beside {
    file: PathBuf,
    /// The readable settings; `Err` if they do not say where the store is.
    settings: Result<Settings, ConfigErrors>,
    /// The daemon's possible sockets that exist.
    sockets: Vec<DaemonSocket>,
}

impl Beside {
    /// Finds the daemon of a configuration file.
    pub(super) fn of(file: &Path) -> Self {
        let settings = config::read_leniently(Some(file), &Environment::of_process());
        // The runtime directory is known whatever the file holds.
        let store = settings.as_ref().ok().map(|settings| settings.store_path.as_path());
        let mut places = places(store);
        // A file that the user named means its own daemon.
        if file == Path::new(CONFIG_FILE) {
            places.extend(control::places(None));
        }
        places.dedup();
        let sockets = there(places);
        Self { file: file.to_owned(), settings, sockets }
    }

    /// The answer of the running daemon.
    ///
    /// # Errors
    /// The reason why none answers. Of several places it is the first reason that outranks "not found".
    pub(super) async fn ask(&self, request: &Request) -> Result<Result<Reply, String>, AskError> {
        let ask = async |socket: &DaemonSocket| {
            let store = self.store_of(socket).filter(|_| request.is_of_the_store());
            socket.ask(request, store).await
        };
        self.first(ask).await
    }

    /// The status of the running daemon, unparsed, and the address that answered.
    pub(super) async fn status(&self, account: Option<&str>) -> Result<(DaemonSocket, Vec<u8>), AskError> {
        self.first(async |socket| Ok((socket.clone(), socket.status(account).await?))).await
    }

    /// The status of the running daemon, if it watches the accounts of the configuration.
    pub(super) async fn known(&self) -> Option<Status> {
        let (_, json) = self.status(None).await.ok()?;
        let status = serde_json::from_slice::<Status>(&json).ok()?;
        self.watches_others(&status).is_none().then_some(status)
    }

    /// The words for the status of a daemon that watches other accounts than the configuration has.
    pub(super) fn watches_others(&self, status: &Status) -> Option<String> {
        let accounts = &self.settings.as_ref().ok()?.accounts;
        status.watches_others(&accounts.iter().map(|one| one.name().clone()).collect())
    }

    /// The answer of the first socket that gives one.
    async fn first<T>(&self, ask: impl AsyncFn(&DaemonSocket) -> Result<T, AskError>) -> Result<T, AskError> {
        let mut kept = None;
        for socket in &self.sockets {
            match ask(socket).await {
                Ok(answer) => return Ok(answer),
                Err(error) => error.keep(&mut kept)?,
            }
        }
        Err(kept.unwrap_or_else(|| self.nobody()))
    }

    /// The store whose daemon is meant, since several daemons may be tried at one socket. `None` at the
    /// packaged daemon's socket, which is tried for any store.
    fn store_of(&self, socket: &DaemonSocket) -> Option<&Path> {
        let settings = self.settings.as_ref().ok()?;
        let is_its = |place: PathBuf| DaemonSocket(place) == *socket;
        places(Some(&settings.store_path)).into_iter().any(is_its).then_some(settings.store_path.as_path())
    }

    /// The error that no daemon has a socket, or that the configuration does not say where it would be.
    fn nobody(&self) -> AskError {
        let settings = match &self.settings {
            Ok(settings) => settings,
            Err(errors) => return AskError::Configuration(errors.clone()),
        };
        let places = control::places(Some(&settings.store_path));
        let places = places.iter().map(|path| path.display().to_string()).collect::<Vec<_>>();
        AskError::NoSocket { places: places.join(" or at "), file: self.file.display().to_string() }
    }

    /// The daemon's store. The daemon need not run.
    pub(super) fn store(&self) -> Result<(Store, &Settings)> {
        let settings = self.settings.as_ref().map_err(Clone::clone)?;
        let path: &Path = &settings.store_path;
        let store = Store::open_beside(path, crate::clock::now());
        let store = store.with_context(|| format!("is the daemon's store at {}?", path.display()))?;
        Ok((store, settings))
    }
}

/// The possible sockets of a configuration's daemon.
fn places(store: Option<&Path>) -> Vec<PathBuf> {
    let environment = Environment::of_process();
    let runtime = environment.get("RUNTIME_DIRECTORY").filter(|value| !value.is_empty());
    let own = runtime.map(|runtime| control::path(store.unwrap_or(Path::new("")), Some(runtime)));
    let beside = store.map(|store| control::places(Some(store)));
    own.into_iter().chain(beside.into_iter().flatten()).collect()
}

/// The sockets that exist, and those whose existence this user may not check.
fn there(places: Vec<PathBuf>) -> Vec<DaemonSocket> {
    let there = places.into_iter().filter(|path| path.try_exists().unwrap_or(true));
    there.map(DaemonSocket).collect()
}

/// The socket of a configuration's daemon, or its place if there is none.
pub(super) fn socket(settings: &Settings) -> DaemonSocket {
    let found = there(places(Some(&settings.store_path))).into_iter().next();
    found.unwrap_or_else(|| DaemonSocket(control::path(&settings.store_path, None)))
}
