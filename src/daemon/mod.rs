//! The daemon. It is put together, then its loops are spawned, then it is supervised until it stops. It may use every
//! layer but the commands.

mod build;
pub(crate) mod carrier;
mod collectors;
mod common;
pub(crate) mod control;
pub(crate) mod delivery;
mod heartbeat;
pub(crate) mod listen;
mod liveness;
pub(crate) mod machine;
pub(crate) mod mails;
pub(crate) mod pipeline;
pub(crate) mod post;
mod publish;
mod reload;
mod sender;
mod signals;
mod supervise;
pub(crate) mod telegram;
mod watchdog;
mod webhook;

use anyhow::{Context as _, Result};
use nix::sys::signal::SigSet;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::config::Settings;
use crate::http::Listener;
use crate::store::Opened;
pub(crate) use collectors::plan;
pub(crate) use reload::ReadSettings;

/// The things that a daemon is started with.
pub(crate) struct Start {
    pub(crate) settings: Settings,
    pub(crate) listeners: Vec<Listener>,
    pub(crate) store: Opened,
    pub(crate) telemetry_path: String,
    pub(crate) lifecycle: bool,
    pub(crate) read_settings: ReadSettings,
    /// SIGHUP.
    pub(crate) hangups: Signal,
}

/// Runs the daemon until `stop`.
///
/// # Errors
/// If it cannot start: a mail server's CA cannot be read, or the store cannot be loaded. If one of its parts
/// ends by itself: a restart is better than running without that part.
pub(crate) async fn run(start: Start, stop: CancellationToken) -> Result<()> {
    build::start(start, stop)?.supervise().await
}

/// SIGHUP, which was blocked since the start. A daemon asks for it before it reads its configuration, so that each later
/// one leads to a reload.
///
/// # Errors
/// If the handler cannot be set.
pub(crate) fn hangups() -> Result<Signal> {
    let hangups = signal(SignalKind::hangup()).context("handling SIGHUP")?;
    SigSet::from(nix::sys::signal::SIGHUP).thread_unblock().context("handling SIGHUP")?;
    Ok(hangups)
}

/// Cancels `stop` at SIGTERM or SIGINT.
///
/// # Errors
/// If the handlers cannot be set.
pub(crate) fn stop_at_signal(stop: &CancellationToken) -> Result<()> {
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
