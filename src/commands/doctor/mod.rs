//! `hostwatch doctor`: tries everything that a daemon would need, gives a remedy for each failure, and ends
//! with the mails to come. It only reads.

pub(super) mod account;
mod calls;
pub(super) mod machine;
mod mailboxes;
mod mx;
mod telegram;
mod webhooks;

use std::sync::Arc;

use anyhow::Result;

use super::beside::Beside;
use super::output::print;
use super::{output, reading, rehearse};
use crate::cli;
use crate::clock::Clock;
use crate::daemon::mails::MailWriter;
use crate::model::{Group, Snapshot};
use crate::provider::Hosts;
use crate::terminal::doctor::CheckSection;
use crate::terminal::{self, Answer};

/// Prints the table. The answer says whether a necessary part fails.
pub(super) async fn run(args: cli::Doctor) -> Result<Answer> {
    let settings = Arc::new(super::load(&args.config.file)?);
    let beside = Beside::of(&args.config.file);
    let style = output::style(args.screen);
    let clock = Clock::default();
    let hosts = Hosts::told_to(clock.clone());
    let examinations = (0..settings.accounts.len()).map(|index| {
        let (settings, hosts) = (Arc::clone(&settings), hosts.clone());
        async move { account::examine(&settings.accounts[index], &hosts).await }
    });
    let examined = reading::in_order(examinations).await;
    let states = examined.iter().map(|one| (one.state.profile.name.clone(), Arc::clone(&one.state)));
    let snapshot = Snapshot { accounts: states.collect() };
    let mut sections: Vec<CheckSection> = examined.iter().map(|one| one.section.clone()).collect();
    let checks = machine::checks(&settings, &snapshot).await;
    sections.push(CheckSection::new("This machine", checks));
    print(&terminal::doctor::text(&sections, style))?;

    let writer = MailWriter::of(&settings);
    let (now, known) = (clock.now(), beside.known().await);
    let billed = settings.accounts.iter().zip(examined).filter(|(account, _)| account.has(Group::Billing));
    let mut rehearsals = Vec::new();
    for (account, one) in billed {
        let off = rehearse::off(account, known.as_ref(), now);
        rehearsals.push(rehearse::rehearse(account, &settings, writer.as_ref(), one.report, None, off, now));
    }
    if !rehearsals.is_empty() {
        print("\nMails to come, if nobody pays\n\n")?;
        print(&terminal::rehearsal::text(&rehearsals, style))?;
    }
    Ok(terminal::doctor::answer(&sections))
}
