//! `hostwatch run`: the daemon of a configuration file, on the sockets that the flags name.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use tokio_util::sync::CancellationToken;

use crate::cli::Run;
use crate::config::{Environment, Settings};
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
    announce(&file, &settings);
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

/// The first line of a day's log.
fn announce(configuration: &Path, settings: &Settings) {
    let accounts: Vec<&str> = settings.accounts.iter().map(|account| account.name().as_str()).collect();
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        configuration = %configuration.display(),
        accounts = accounts.join(", "),
        store = %settings.store_path.display(),
        "hostwatch starts"
    );
}
