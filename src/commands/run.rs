//! `hostwatch run`: the daemon of a configuration file, on the sockets that the flags name.

use std::sync::Arc;

use anyhow::Result;
use tokio_util::sync::CancellationToken;

use crate::cli::Run;
use crate::config::Environment;
use crate::daemon::control;
use crate::daemon::listen::BoundSockets;
use crate::daemon::{self, ReadSettings, Start};

pub(super) async fn run(run: Run) -> Result<()> {
    let file = run.config.file.clone();
    let settings = super::load(&file)?;
    for warning in &settings.warnings {
        tracing::warn!("{warning}");
    }
    let stop = CancellationToken::new();
    daemon::stop_at_signal(&stop)?;
    let sockets = BoundSockets::open(&run.web).await?;
    let store = daemon::open_store(&settings)?;
    // Held to the end, and then removed.
    let runtime = Environment::of_process();
    let control = control::path(&settings.store_path, runtime.get("RUNTIME_DIRECTORY"));
    let (_control, control) = control::open(&control).unzip();
    sockets.announce(&run.web.telemetry_path);
    let listeners = sockets.into_listeners().into_iter().chain(control).collect();
    let read_settings: ReadSettings = Arc::new(move || super::load(&file).map_err(|error| error.to_string()));
    let start = Start {
        settings,
        listeners,
        store,
        telemetry_path: run.web.telemetry_path,
        lifecycle: run.web.enable_lifecycle,
        read_settings,
    };
    daemon::run(start, stop).await
}
