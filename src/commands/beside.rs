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
        self.first(async |socket| socket.time().await.ok()).await.is_some()
    }

    /// What the first socket that has an answer says.
    async fn first<T>(&self, ask: impl AsyncFn(&DaemonAddress) -> Option<T>) -> Option<T> {
        for socket in &self.sockets {
            if let Some(answer) = ask(socket).await {
                return Some(answer);
            }
        }
        None
    }

    /// Is whoever answers there the daemon of this configuration? Another may watch accounts of the same names.
    ///
    /// # Errors
    /// Where it is another, or does not say.
    pub(super) async fn is_ours(&self, daemon: &DaemonAddress) -> Result<()> {
        // Without a configuration any daemon is meant.
        let Some(settings) = &self.settings else { return Ok(()) };
        let ours = control::whole(&settings.store_path).to_string_lossy().into_owned();
        let theirs = daemon.time().await?;
        let theirs = serde_json::from_slice::<DaemonTime>(&theirs).ok().and_then(|told| told.store);
        if theirs.as_ref() == Some(&ours) {
            return Ok(());
        }
        let theirs = theirs.map_or_else(|| "another store".to_owned(), |path| format!("the store {path}"));
        bail!(
            "{}; the daemon that answers at {daemon} is another one, with {theirs} instead of {ours}. Start yours, or \
             name that one with --url",
            self.nobody()
        )
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
        let told =
            self.first(async |socket| serde_json::from_slice::<DaemonTime>(&socket.time().await.ok()?).ok());
        told.await.map_or_else(|| own.now(), |told| told.now)
    }

    /// The last report that the running daemon knows of an account.
    pub(super) async fn last_report(&self, account: &AccountName) -> Option<LastReading> {
        let answer = self.first(async |socket| socket.last_report(account).await.ok()).await?;
        serde_json::from_slice(&answer).ok()
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

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;

    use super::*;

    /// A daemon that says of itself what is given.
    fn answering(told: String) -> DaemonAddress {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let head =
                format!("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", told.len());
            let _ = stream.write_all(format!("{head}{told}").as_bytes());
        });
        DaemonAddress::Web(url.parse().unwrap())
    }

    #[tokio::test]
    async fn the_word_of_another_daemon_is_not_taken() {
        let directory = tempfile::tempdir().unwrap();
        let store = directory.path().join("hostwatch.db");
        let file = directory.path().join("hostwatch.toml");
        std::fs::write(&file, format!("[accounts.main]\n[store]\npath = \"{}\"\n", store.display())).unwrap();
        let beside = Beside::of(&file);
        let now = r#""now":"2026-03-01T12:00:00Z""#;
        let with = |store: &str| answering(format!("{{{now},\"store\":\"{store}\"}}"));
        beside.is_ours(&with(&control::whole(&store).to_string_lossy())).await.unwrap();
        let other = beside.is_ours(&with("/srv/other.db")).await.unwrap_err().to_string();
        assert!(other.contains("is another one, with the store /srv/other.db instead of "), "{other}");
        assert!(other.starts_with("no daemon runs on ") && other.contains("--url"), "{other}");
        let older = beside.is_ours(&answering(format!("{{{now}}}"))).await.unwrap_err().to_string();
        assert!(older.contains("with another store instead of"), "{older}");
    }
}
