//! `hostwatch doctor`: tries everything that a daemon would need, says what to do about what fails, and
//! ends with the mails to come. Changes nothing and sends nothing.

mod account;
mod calls;
mod machine;

use std::sync::Arc;

use anyhow::Result;
use tokio::task::JoinSet;

use super::output::print;
use super::{rehearse, screen};
use crate::cli;
use crate::clock;
use crate::config::Settings;
use crate::daemon::pipeline::Accounts;
use crate::model::{Group, Snapshot};
use crate::provider::Hosts;
use crate::terminal::doctor::{Check, Outcome, Section};
use crate::terminal::{self, Answer};
use account::Examined;

/// Accounts that are examined at once.
const AT_ONCE: usize = 8;

/// Prints the table; the answer is whether something that is needed fails.
pub(super) async fn run(args: cli::Doctor) -> Result<Answer> {
    let settings = Arc::new(super::load(&args.config.file)?);
    let style = screen::style(args.screen);
    let examined = accounts(&settings).await;
    let snapshot = Snapshot {
        accounts: examined
            .iter()
            .map(|one| (one.state.profile.name.clone(), Arc::clone(&one.state)))
            .collect(),
    };
    let mut machine = configuration(&settings);
    machine.extend(machine::hosts(&settings).await);
    machine.extend(machine::mail(&settings).await);
    machine.extend(machine::store(&settings).await);
    machine.push(machine::home(&settings, &snapshot));
    let mut sections: Vec<Section> = examined.iter().map(|one| one.section.clone()).collect();
    sections.push(Section { title: "This machine".to_owned(), checks: machine });
    print(&terminal::doctor::text(&sections, style))?;

    let watch = Accounts::of(&settings);
    let now = clock::now();
    let billed = settings.accounts.iter().zip(examined).filter(|(account, _)| account.has(Group::Billing));
    let rehearsals: Vec<_> =
        billed.map(|(account, one)| rehearse::rehearse(account, &watch, one.report, None, now)).collect();
    if !rehearsals.is_empty() {
        print("\nMails to come, if nobody pays\n\n")?;
        print(&terminal::rehearsal::text(&rehearsals, style))?;
    }
    Ok(terminal::doctor::answer(&sections))
}

/// Every account, in the order of the configuration.
async fn accounts(settings: &Arc<Settings>) -> Vec<Examined> {
    let hosts = Hosts::default();
    let mut found: Vec<Option<Examined>> = settings.accounts.iter().map(|_| None).collect();
    let mut waiting = 0..settings.accounts.len();
    let mut tasks = JoinSet::new();
    loop {
        while tasks.len() < AT_ONCE {
            let Some(index) = waiting.next() else { break };
            let (settings, hosts) = (Arc::clone(settings), hosts.clone());
            tasks.spawn(async move { (index, account::examine(&settings.accounts[index], &hosts).await) });
        }
        match tasks.join_next().await {
            Some(Ok((index, examined))) => found[index] = Some(examined),
            Some(Err(error)) => {
                if let Ok(panic) = error.try_into_panic() {
                    std::panic::resume_unwind(panic);
                }
            }
            None => break,
        }
    }
    found.into_iter().flatten().collect()
}

/// What is allowed and yet should be looked at.
fn configuration(settings: &Settings) -> Vec<Check> {
    if settings.warnings.is_empty() {
        return vec![Check::new("configuration", Outcome::Ok, "nothing wrong with it")];
    }
    settings.warnings.iter().map(|warning| Check::new("configuration", Outcome::Warn, warning)).collect()
}
