//! The commands: which file does what, and with what exit status it ends.

mod ack;
mod ask;
mod basic;
mod demo;
mod doctor;
mod forecast;
mod outbox;
mod reading;
mod rehearse;
mod screen;
mod silence;
mod simulate;
mod status;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use tokio_util::sync::CancellationToken;

use crate::cli::{Cli, Command, Log, Run};
use crate::config::{self, Environment, Settings};
use crate::daemon::control;
use crate::daemon::listen::Front;
use crate::daemon::{self, ReadSettings, Start};
use crate::telemetry;
use crate::terminal::Answer;

/// Runs a command; 0 when all went well, 1 after telling what did not. Commands that answer a question have
/// exit statuses of their own ([`Answer`]).
pub fn main(cli: Cli) -> ExitCode {
    let result = match cli.command {
        Command::Run(run) => in_runtime(&run.log.clone(), self::run(run)),
        Command::Demo(demo) => in_runtime(&demo.log.clone(), demo::run(demo)),
        Command::Simulate(simulate) => in_runtime(&simulate.log.clone(), simulate::run(*simulate)),
        Command::Status(status) => return answered(in_quiet_runtime(status::run(status))),
        Command::Rehearse(rehearse) => return answered(in_quiet_runtime(rehearse::run(rehearse))),
        Command::Forecast(forecast) => return answered(in_quiet_runtime(forecast::run(forecast))),
        Command::Doctor(doctor) => match in_quiet_runtime(doctor::run(doctor)) {
            Ok(answer) => return ExitCode::from(answer.code()),
            Err(error) => Err(error),
        },
        Command::CheckConfig(check) => {
            basic::check_config(&check.config.file, check.web_config_file.as_deref())
        }
        Command::Metrics => basic::metrics(),
        Command::TestEmail(config) => in_quiet_runtime(basic::test_email(config.file)),
        Command::Incidents(config) => basic::incidents(&config.file),
        Command::Ack(ack) => ack::run(&ack),
        Command::Silence(silence) => silence::run(&silence),
        Command::Outbox(outbox) => outbox::run(&outbox),
        Command::Why(why) => basic::why(&why.config.file, &why.key),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            basic::complain(&error);
            ExitCode::FAILURE
        }
    }
}

/// Without an answer nothing is known.
fn answered(result: Result<Answer>) -> ExitCode {
    let answer = result.unwrap_or_else(|error| {
        basic::complain(&error);
        Answer::Unknown
    });
    ExitCode::from(answer.code())
}

fn in_runtime(log: &Log, work: impl Future<Output = Result<()>>) -> Result<()> {
    telemetry::init(log.level, log.format)?;
    in_quiet_runtime(work)
}

fn in_quiet_runtime<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.context("starting the runtime")?;
    let result = runtime.block_on(work);
    // What still blocks a thread (a name being looked up) must not hold up the end.
    runtime.shutdown_timeout(std::time::Duration::from_millis(500));
    result
}

async fn run(run: Run) -> Result<()> {
    let file = run.config.file.clone();
    let settings = load(&file)?;
    for warning in &settings.warnings {
        tracing::warn!("{warning}");
    }
    let stop = CancellationToken::new();
    daemon::stop_at_signal(&stop)?;
    let front = Front::open(&run.web).await?;
    let store = daemon::open_store(&settings)?;
    // Held to the end, and then removed.
    let (_control, control) = control::open(&settings.store_path).unzip();
    front.announce(&run.web.telemetry_path);
    let listeners = front.into_listeners().into_iter().chain(control).collect();
    let read_settings: ReadSettings = Arc::new(move || load(&file).map_err(|error| error.to_string()));
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

fn load(file: &Path) -> Result<Settings> {
    Ok(config::load(Some(file), &Environment::of_process())?)
}
