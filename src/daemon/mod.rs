//! The daemon: what runs until it is stopped. It is built, then its loops are spawned, then it is supervised.
//! Knows every layer but the commands.

mod build;
mod carrier;
mod collectors;
pub(crate) mod control;
mod delivery;
mod heartbeat;
pub(crate) mod listen;
mod liveness;
pub(crate) mod machine;
pub(crate) mod mails;
mod notes;
pub(crate) mod pipeline;
mod publish;
mod reload;
mod sender;
mod signals;
mod supervise;
mod watchdog;
pub(crate) mod webhook;

use anyhow::{Context as _, Result, bail};
use tokio_util::sync::CancellationToken;

use crate::clock;
use crate::config::Settings;
use crate::http::Listener;
use crate::store::{Opened, Store};
pub(crate) use collectors::{plan, top_rung_days};
pub(crate) use reload::ReadSettings;

/// What a daemon is started with.
pub(crate) struct Start {
    pub(crate) settings: Settings,
    pub(crate) listeners: Vec<Listener>,
    pub(crate) store: Opened,
    pub(crate) telemetry_path: String,
    pub(crate) lifecycle: bool,
    pub(crate) read_settings: ReadSettings,
}

/// Runs the daemon until `stop`.
///
/// # Errors
/// When it cannot start: a mail server's CA that cannot be read, a store that cannot be loaded. When a part of it ends
/// by a fault of its own: better to be restarted than to run with a part missing.
pub(crate) async fn run(start: Start, stop: CancellationToken) -> Result<()> {
    build::build(start, &stop)?.spawn(stop)?.supervise().await
}

/// Cancels `stop` at SIGTERM or SIGINT.
///
/// # Errors
/// When the handlers cannot be set.
pub(crate) fn stop_at_signal(stop: &CancellationToken) -> Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut term = signal(SignalKind::terminate()).context("handling SIGTERM")?;
    let mut int = signal(SignalKind::interrupt()).context("handling SIGINT")?;
    let stop = stop.clone();
    tokio::spawn(async move {
        tokio::select! {
            _ = term.recv() => {}
            _ = int.recv() => {}
        }
        stop.cancel();
    });
    Ok(())
}

/// Opens the store of a configuration: a file where mail is on, memory where it is not.
///
/// # Errors
/// As [`Store::open`] says; where a store of old lies elsewhere and there is none here.
pub(crate) fn open_store(settings: &Settings) -> Result<Opened> {
    if !settings.mails {
        return Ok(Store::in_memory()?.into());
    }
    let path = &settings.store_path;
    if path.as_os_str().is_empty() {
        bail!("store.path is empty; name a file");
    }
    let left = settings.former_stores.iter().find(|former| Store::lies_at(former));
    if let Some(left) = left.filter(|_| !path.exists()) {
        let left = std::path::absolute(left).unwrap_or_else(|_| left.clone());
        bail!(
            "there is a store at {} and none at {}, where store.path has it: started so, hostwatch would know nothing \
             of what it has mailed. Move it there (mv {0}* {2}/), or set store.path to it; where it is of no use, remove it",
            left.display(),
            path.display(),
            path.parent().unwrap_or(path).display()
        );
    }
    Ok(Store::open(path, clock::now())?)
}
