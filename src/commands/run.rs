//! `hostwatch run`: the daemon of a configuration file, on the sockets that the flags name.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use anyhow::Result;
use tokio_util::sync::CancellationToken;

use crate::cli::Run;
use crate::clock;
use crate::config::{Environment, Settings};
use crate::daemon::control;
use crate::daemon::listen::BoundSockets;
use crate::daemon::{self, ReadSettings, Start};
use crate::store::Store;

pub(super) async fn run(run: Run) -> Result<()> {
    let hangups = daemon::hangups()?;
    let file = run.config.file.clone();
    let settings = super::load(&file)?;
    for warning in &settings.warnings {
        tracing::warn!("{warning}");
    }
    let stop = CancellationToken::new();
    daemon::stop_at_signal(&stop)?;
    let sockets = BoundSockets::open(&run.web).await?;
    let store = Store::open(&settings.store_path, clock::now())?;
    announce(&file, &settings);
    // The socket lives to the end, and is then removed.
    let runtime = Environment::of_process();
    let control = control::path(&settings.store_path, runtime.get("RUNTIME_DIRECTORY"));
    let (_control, control) = control::open(&control).unzip();
    sockets.announce(&run.web.telemetry_path);
    let listeners = sockets.into_listeners().into_iter().chain(control).collect();
    let read_settings: ReadSettings = Arc::new(move || {
        if fs::metadata(&file).is_ok_and(|data| data.nlink() == 0) {
            // A bind mount holds the file that was there at its beginning.
            return Err(format!(
                "{} was replaced, and is mounted by itself: this process cannot see the new one; mount its folder, and restart",
                file.display()
            ));
        }
        super::load(&file).map_err(|error| error.to_string())
    });
    let start = Start {
        settings,
        listeners,
        store,
        telemetry_path: run.web.telemetry_path,
        lifecycle: run.web.enable_lifecycle,
        read_settings,
        hangups,
    };
    daemon::run(start, stop).await
}

/// Makes all threads share one heap, so that memory that one reading freed is used by the next. With glibc's
/// heap for each thread a large account takes half as much memory again. The C library reads the setting only
/// at the start of a program, so this replaces the process with itself. If that fails, the daemon uses more
/// memory.
pub(super) fn with_one_heap() {
    const HEAPS: &str = "MALLOC_ARENA_MAX";
    if cfg!(target_env = "gnu")
        && std::env::var_os(HEAPS).is_none()
        && let Ok(program) = std::env::current_exe()
    {
        let mut arguments = std::env::args_os();
        let name = arguments.next().unwrap_or_default();
        let _ = Command::new(program).arg0(name).args(arguments).env(HEAPS, "1").exec();
    }
}

/// The first line of the log.
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
