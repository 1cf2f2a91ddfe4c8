//! The commands: the file of each, and its exit status.

mod ask;
mod beside;
mod check_config;
mod demo;
mod doctor;
mod forecast;
mod healthcheck;
mod init;
mod output;
mod poll;
mod reading;
mod records;
mod rehearse;
mod run;
mod simulate;
mod status;
mod test_message;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use nix::sys::signal::{SigSet, Signal};

use crate::cli::{Cli, Command, Log};
use crate::config::{self, Environment, Settings};
use crate::daemon::control::Request;
use crate::metrics;
use crate::telemetry;
use crate::terminal::Answer;

/// Keeps the kernel's defaults from ending the process. A write beyond a limit of file sizes is an error of that write.
/// A reload may be asked for before the daemon takes such requests ([`crate::daemon::hangups`]). Signals stay blocked
/// while the process replaces itself; a handler would be gone.
pub(crate) fn block_signals() {
    let blocked: SigSet = [Signal::SIGXFSZ, Signal::SIGHUP].into_iter().collect();
    // Without it the default stays.
    let _ = blocked.thread_block();
}

/// Runs a command. The exit status is 0 for success and 1 after an error. Commands that answer a question have
/// exit statuses of their own ([`Answer`]).
pub(crate) fn main(cli: Cli) -> ExitCode {
    let result = match cli.command {
        Command::Run(run) => {
            run::with_one_heap();
            in_runtime(&run.log.clone(), run::run(run))
        }
        Command::Demo(demo) => in_runtime(&demo.log.clone(), demo::run(demo)),
        Command::Simulate(simulate) => in_runtime(&simulate.log.clone(), simulate::run(*simulate)),
        Command::Status(status) => return answered(in_quiet_runtime(status::run(status)), Answer::Unknown),
        Command::Rehearse(rehearse) => {
            return answered(in_quiet_runtime(rehearse::run(rehearse)), Answer::Unknown);
        }
        Command::Forecast(forecast) => {
            return answered(in_quiet_runtime(forecast::run(forecast)), Answer::Unknown);
        }
        Command::Doctor(doctor) => return answered(in_quiet_runtime(doctor::run(doctor)), Answer::NeedsYou),
        Command::Init(init) => return answered(in_quiet_runtime(init::run(*init)), Answer::NeedsYou),
        Command::CheckConfig(check) => {
            check_config::run(&check.config.file, check.web_config_file.as_deref())
        }
        Command::Metrics => output::print(&metrics::reference()),
        Command::TestMessage(test) => {
            in_quiet_runtime(test_message::run(&test.config.file, test.recipient.as_deref()))
        }
        Command::Healthcheck(config) => in_quiet_runtime(healthcheck::run(&config.file)),
        Command::Reload(config) => in_quiet_runtime(records::done(&config.file, Request::Reload)),
        Command::Poll(poll) => return answered(in_quiet_runtime(poll::run(poll)), Answer::NeedsYou),
        Command::Incidents(list) => in_quiet_runtime(records::show(&list, Request::Incidents)),
        Command::Ack(ack) => in_quiet_runtime(records::ack(&ack)),
        Command::Silence(silence) => in_quiet_runtime(records::silence(&silence)),
        Command::Outbox(outbox) => in_quiet_runtime(records::outbox(&outbox)),
        Command::Why(why) => in_quiet_runtime(records::show(&why.list, Request::Why { what: why.key })),
    };
    answered(result.map(|()| Answer::Fine), Answer::NeedsYou)
}

/// `failed` is the exit status if no answer came.
fn answered(result: Result<Answer>, failed: Answer) -> ExitCode {
    let answer = result.unwrap_or_else(|error| {
        output::complain(&error);
        failed
    });
    ExitCode::from(answer.code())
}

fn in_runtime(log: &Log, work: impl Future<Output = Result<()>>) -> Result<()> {
    let _log = telemetry::init(log.level, log.format)?;
    in_quiet_runtime(work)
}

fn in_quiet_runtime<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.context("starting the runtime")?;
    let result = runtime.block_on(work);
    // A thread that is still blocked (in a name look-up) must not delay the end.
    runtime.shutdown_timeout(std::time::Duration::from_millis(500));
    result
}

fn load(file: &Path) -> Result<Settings> {
    Ok(config::load(Some(file), &Environment::of_process())?)
}
