//! `hostwatch outbox`: the mails, and trying them again or dropping them. The daemon sees it within a second.

use anyhow::{Result, bail};

use super::beside::open_beside;
use super::output::print;
use crate::cli::{MailId, Outbox, OutboxAction};
use crate::clock;
use crate::store::{Store, Which};

pub(super) fn run(outbox: &Outbox) -> Result<()> {
    let mut store = open_beside(&super::load(&outbox.config.file)?)?;
    match &outbox.action {
        None | Some(OutboxAction::List) => list_mails(&store),
        Some(OutboxAction::Retry { mails }) => {
            each(mails, "will be tried again now", |which| Ok(store.retry(which, clock::now())?))
        }
        Some(OutboxAction::Drop { mails }) => {
            each(mails, "dropped", |which| Ok(store.drop_mails(which, clock::now())?))
        }
    }
}

fn each(mails: &[MailId], done: &str, mut act: impl FnMut(Which) -> Result<usize>) -> Result<()> {
    let mut changed = 0;
    for mail in mails {
        let which = match mail {
            MailId::One(id) => Which::One(*id),
            MailId::All => Which::All,
        };
        let count = act(which)?;
        if let (0, MailId::One(id)) = (count, mail) {
            bail!("mail {id} neither waits nor was given up; `hostwatch outbox list` shows the mails");
        }
        changed += count;
    }
    let noun = if changed == 1 { "mail" } else { "mails" };
    print(&format!("{changed} {noun} {done}\n"))
}

fn list_mails(store: &Store) -> Result<()> {
    let envelopes = store.envelopes(200)?;
    if envelopes.is_empty() {
        return print("no mails\n");
    }
    let mut text = String::new();
    for envelope in envelopes {
        let created = envelope.created_at.format("%Y-%m-%d %H:%M:%S UTC");
        text.push_str(&format!(
            "{:>6} {:<9} {created}  {}  {}\n",
            envelope.id, envelope.state, envelope.recipient, envelope.subject
        ));
        if let Some(error) = envelope.error {
            text.push_str(&format!("       after {} attempts: {error}\n", envelope.attempts));
        }
    }
    print(&text)
}
