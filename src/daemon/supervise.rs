//! Supervises a running daemon: reloads it on request, stops it on request or when a part of it dies, and waits
//! a bounded time for all parts to end.

use std::time::Duration;

use anyhow::{Error, Result, anyhow};
use sd_notify::NotifyState;
use tokio::signal::unix::Signal;
use tokio::sync::mpsc;
use tokio::task::JoinError;
use tokio_util::sync::CancellationToken;

use super::liveness::{Ended, Tasks};
use super::pipeline::STORE_GONE;
use super::reload::Reloader;
use super::watchdog::{notify, reloading};
use crate::clock;
use crate::http::Reload;

/// The time that all parts have to end after a stop.
const DRAIN: Duration = Duration::from_secs(4);

/// The context of an end that nobody asked for.
const FAULT: &str = "a part of the daemon ended by a fault of its own";

/// The running daemon.
pub(super) struct Running {
    pub(super) stop: CancellationToken,
    pub(super) tasks: Tasks,
    pub(super) reloader: Reloader,
    /// Reloads that were requested from the web server.
    pub(super) reloads: mpsc::Receiver<Reload>,
    /// SIGHUP.
    pub(super) hangups: Signal,
}

impl Running {
    /// Runs until the daemon is asked to stop, or a part of it dies.
    pub(super) async fn supervise(mut self) -> Result<()> {
        notify(&[NotifyState::Ready]);
        let died = loop {
            let asked: Option<Reload> = tokio::select! {
                () = self.stop.cancelled() => break None,
                // The web server ends before the daemon does; its closed channel is no request.
                Some(asked) = self.reloads.recv() => Some(asked),
                _ = self.hangups.recv() => None,
                Some(ended) = self.tasks.join_next() => match self.fault(ended) {
                    Some(error) => break Some(error),
                    None => continue,
                },
                () = self.reloader.secrets.changed() => {
                    tracing::info!("a file of secrets or of the web configuration has changed");
                    self.reloader.secrets.taken();
                    None
                }
            };
            self.reload(asked).await;
        };
        self.drain().await;
        self.keep();
        died.map_or(Ok(()), Err)
    }

    /// The reason why the daemon cannot go on after a task ended.
    fn fault(&self, ended: Result<Ended, JoinError>) -> Option<Error> {
        match ended {
            Err(panic) => Some(Error::new(panic).context(FAULT)),
            Ok(Ended::Part(_)) if !self.reloader.common.store.lock().is_in_place() => {
                Some(anyhow!(STORE_GONE))
            }
            Ok(Ended::Part(name)) if !self.stop.is_cancelled() => {
                Some(anyhow!("the {name} ended without being asked to").context(FAULT))
            }
            Ok(Ended::Part(_) | Ended::Collectors) => None,
        }
    }

    async fn reload(&mut self, asked: Option<Reload>) {
        reloading();
        let result = self.reloader.reload(&mut self.tasks).await;
        self.reloader.common.own.reload(result.is_ok(), clock::now());
        match &result {
            Ok(()) => tracing::info!("configuration reloaded"),
            Err(error) => tracing::error!(error, "configuration not reloaded; the old one stays"),
        }
        if let Some(asked) = asked {
            // The client may have gone.
            let _ = asked.send(result);
        }
        notify(&[NotifyState::Ready]);
    }

    async fn drain(&mut self) {
        notify(&[NotifyState::Stopping]);
        tracing::info!("stopping");
        self.stop.cancel();
        let drained = tokio::time::timeout(DRAIN, async { while self.tasks.join_next().await.is_some() {} });
        if drained.await.is_err() {
            tracing::warn!("not everything ended in time; nothing is lost");
        }
    }

    /// Writes a store that is in memory to its file, since memory ends with the process.
    fn keep(&self) {
        if let Err(error) = self.reloader.common.return_to_file(clock::now()) {
            tracing::error!(
                %error,
                "the store still cannot be used: what it kept in memory is lost, and mails since may come twice"
            );
        }
    }
}
