//! `hostwatch init`: from nothing to the first mail. It asks, tries the answers, and only then writes a
//! configuration and its secrets. It never overwrites a file.

mod answers;
mod asker;
mod interview;
mod place;

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, anyhow, bail};
use tokio::signal::unix::{SignalKind, signal};

use super::output::{complain, print, style};
use super::{doctor, test_message};
use crate::cli::{self, Screen};
use crate::config::{Environment, Settings};
use crate::mail::address;
use crate::model::AccountState;
use crate::provider::Hosts;
use crate::terminal::doctor::{CheckOutcome, CheckSection, text};
use crate::terminal::{Answer, in_columns};
use crate::view::words;

use answers::{Answers, Question};
use asker::Asker;
use interview::Interview;
use place::Place;

pub(super) async fn run(args: cli::Init) -> Result<Answer> {
    let place = Place::of(&args.config.file)?;
    let mut answers = Answers::given(&args, &Environment::of_process())?;
    let asker = if args.no_input { None } else { Asker::new() };
    let mut interrupts = signal(SignalKind::interrupt()).context("handling Ctrl-C")?;
    // This task ends the program at Ctrl-C while a question waits on the main thread. A shell may have started
    // it with Ctrl-C ignored.
    let stops = tokio::spawn(async move {
        interrupts.recv().await;
        complain(&anyhow!("stopped; nothing was written"));
        std::process::exit(1);
    });
    match asker {
        Some(asker) => {
            place.refuse_taken(answers.secret_files())?;
            ask(&args, asker, &mut answers).await?;
        }
        None => tried(&args, &answers).await?,
    }
    let settings = answers.checked()?;
    // From here on Ctrl-C ends the program between two steps, and not within one.
    stops.abort();
    let mut interrupts = signal(SignalKind::interrupt()).context("handling Ctrl-C")?;
    place.write(&answers.toml(place.store()), &answers.secrets())?;
    let file = args.config.file.display();
    print(&format!(
        "\nwritten: {file}, and {} secrets in {}\n",
        answers.secrets().len(),
        place.credentials().display()
    ))?;
    if args.no_check {
        return Ok(Answer::Fine);
    }
    tokio::select! {
        answer = afterwards(&args, &settings, asker) => answer,
        _ = interrupts.recv() => bail!("stopped; {file} is written: hostwatch doctor tries it"),
    }
}

/// Asks all questions. Answers that the provider, the mail server or Telegram refuses are asked again.
async fn ask(args: &cli::Init, asker: Asker, answers: &mut Answers) -> Result<()> {
    print(&in_columns(&format!(
        "hostwatch init asks what it needs, tries it, and then writes {} and a file for each secret. Ctrl-C stops it; \
         nothing is written until the end.\n",
        args.config.file.display()
    )))?;
    answers.without_question()?;
    let mut again = false;
    let state = loop {
        Interview { asker, answers, again }.provider()?;
        again = true;
        // Later questions may have answers already, and these may still lack others.
        let Some(settings) = complete(&answers.before(Question::SmtpUrl))? else { continue };
        if args.no_check {
            break None;
        }
        print("\nAsking the provider …\n")?;
        let (failures, state) = provider_failures(&settings).await;
        if stands(asker, failures)? {
            break Some(state);
        }
    };
    if let Some(state) = &state {
        Interview { asker, answers, again }.container_states(state)?;
    }
    let mut again = false;
    loop {
        let mut interview = Interview { asker, answers, again };
        interview.mail()?;
        interview.chat()?;
        again = true;
        let Some(settings) = complete(&answers.before(Question::HeartbeatUrl))? else { continue };
        if args.no_check || stands(asker, mail_failures(&settings).await)? {
            break;
        }
    }
    Interview { asker, answers, again: false }.heartbeat()
}

/// Whether the answers work, or are to stay although they do not.
fn stands(asker: Asker, failures: CheckSection) -> Result<bool> {
    if failures.checks.is_empty() {
        return Ok(true);
    }
    print(&text(&[failures], style(SCREEN)))?;
    Ok(!asker.confirm("Answer these questions again?", true)?)
}

/// The settings of these answers, if they are complete. Otherwise prints why they are not.
fn complete(answers: &Answers) -> Result<Option<Settings>> {
    let problems = match answers.settings() {
        Ok(settings) => return Ok(Some(settings)),
        Err(problems) => problems.0,
    };
    let lines: Vec<String> = problems.into_iter().map(|problem| problem.message).collect();
    print(&format!("\n{}\n", lines.join("\n")))?;
    Ok(None)
}

/// Tries the answers from flags. If something does not work, it says so and writes nothing.
async fn tried(args: &cli::Init, answers: &Answers) -> Result<()> {
    let settings = answers.checked()?;
    if args.no_check {
        return Ok(());
    }
    let (provider, state) = provider_failures(&settings).await;
    let mail = mail_failures(&settings).await;
    let failed: Vec<CheckSection> =
        [provider, mail].into_iter().filter(|one| !one.checks.is_empty()).collect();
    if !failed.is_empty() {
        print(&text(&failed, style(SCREEN)))?;
        bail!("nothing was written; mend it, or pass --no-check to write it all the same");
    }
    for (number, containers) in doctor::account::unnamed_states(&state) {
        let count = words::count(containers.len(), "container", "containers");
        print(&in_columns(&format!(
            "State {number} of {count} has no name: pass --container-state {number}=NAME, with ENABLED, \
             DISABLED_BY_SERVICE, DISABLED_BY_ADMIN or DISABLED_BY_QUOTA\n"
        )))?;
    }
    Ok(())
}

/// The output uses the width and the colours of the terminal.
const SCREEN: Screen = Screen { colour: clap::ColorChoice::Auto };

async fn provider_failures(settings: &Settings) -> (CheckSection, std::sync::Arc<AccountState>) {
    let examined = doctor::account::examine(&settings.accounts[0], &Hosts::default()).await;
    (only_failures(examined.section), examined.state)
}

async fn mail_failures(settings: &Settings) -> CheckSection {
    only_failures(CheckSection::new("Mail", doctor::machine::mail_checks(settings).await))
}

fn only_failures(section: CheckSection) -> CheckSection {
    let failed = section.checks.into_iter().filter(|(_, verdict)| verdict.outcome == CheckOutcome::Fail);
    CheckSection::new(section.title, failed.collect())
}

/// The steps after writing: doctor, the test mail, and the service.
async fn afterwards(args: &cli::Init, settings: &Settings, asker: Option<Asker>) -> Result<Answer> {
    print("\n")?;
    let doctor = cli::Doctor { screen: SCREEN, config: cli::Config { file: args.config.file.clone() } };
    let answer = doctor::run(doctor).await?;
    let to: Vec<String> =
        settings.accounts.iter().flat_map(|account| &account.to).map(|to| address(to)).collect();
    if !to.is_empty() {
        let question = format!("\nSend a test message to {}?", to.join(", "));
        if is_wanted(args.test_mail, asker, &question).await? {
            test_message::run(&args.config.file, None).await?;
        }
    }
    start(args, asker).await?;
    Ok(answer)
}

const UNIT: &str = "hostwatch.service";

/// Starts the service, if systemd runs and has it.
async fn start(args: &cli::Init, asker: Option<Asker>) -> Result<()> {
    let is_packaged =
        args.config.file == Path::new(cli::CONFIG_FILE) && Path::new("/run/systemd/system").is_dir();
    if !is_packaged {
        let file = args.config.file.display();
        return print(&format!("\nStart it: hostwatch run --config.file={file}\n"));
    }
    if !is_wanted(args.start, asker, "\nStart hostwatch now, and at every boot?").await? {
        return print("\nStart it: systemctl enable --now hostwatch\n");
    }
    let status =
        Command::new("systemctl").args(["enable", "--now", UNIT]).status().context("running systemctl")?;
    if !status.success() {
        bail!("systemctl enable --now hostwatch failed; journalctl -u hostwatch says why");
    }
    print(
        "\nRunning. Its page, from your own machine: ssh -L 10245:127.0.0.1:10245 THIS-MACHINE, then http://127.0.0.1:10245/\n",
    )
}

/// Whether a flag or the person wants it. The question waits on another thread, so that Ctrl-C works meanwhile.
async fn is_wanted(flag: bool, asker: Option<Asker>, question: &str) -> Result<bool> {
    let Some(asker) = asker.filter(|_| !flag) else { return Ok(flag) };
    let question = question.to_owned();
    tokio::task::spawn_blocking(move || asker.confirm(&question, true)).await.context("asking")?
}
