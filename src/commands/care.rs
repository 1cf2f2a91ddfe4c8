//! Commands that act on what the store holds, beside a running daemon: acknowledge, silence, and the
//! outbox. The daemon sees what they write within a second.

use anyhow::{Result, anyhow, bail};
use chrono::Duration;

use super::basic::{near_keys, open_beside, print};
use crate::alert::{Key, Kind};
use crate::cli::{Ack, MailId, Outbox, OutboxAction, Silence};
use crate::clock;
use crate::config;
use crate::store::{Store, Which};

pub(super) fn ack(ack: &Ack) -> Result<()> {
    let mut store = open_beside(&super::load(&ack.config.file)?)?;
    let known = store.load()?.incidents;
    let Some(incident) = known.iter().find(|incident| incident.key.to_string() == ack.key) else {
        bail!("there is no incident '{}'; {}", ack.key, near_keys(&store, &ack.key)?);
    };
    let key: &Key = &incident.key;
    if ack.remove {
        if !store.take_back_ack(key)? {
            bail!("{key} was not acknowledged");
        }
        return print(&format!("{key}: no longer acknowledged\n"));
    }
    if !incident.phase.is_open() {
        bail!("{key} is not open: it is {}; there is nothing to acknowledge", incident.phase.as_str());
    }
    store.acknowledge(key, incident.episode, &ack.comment, clock::now())?;
    let effect = if key.kind == Kind::Disconnect {
        "the next rungs are mailed all the same: each is news"
    } else {
        "no more reminders of it; its end is mailed"
    };
    print(&format!("{key}: acknowledged; {effect}\n"))
}

pub(super) fn silence(silence: &Silence) -> Result<()> {
    let mut store = open_beside(&super::load(&silence.config.file)?)?;
    let now = clock::now();
    if let Some(id) = silence.remove {
        if !store.end_silence(id, now)? {
            bail!("there is no silence {id}; `hostwatch silence --list` shows those that are on");
        }
        return print(&format!("silence {id} ended; what is still wrong is mailed now\n"));
    }
    let (Some(pattern), Some(duration)) = (&silence.pattern, &silence.duration) else {
        return list_silences(&store);
    };
    let duration = config::duration(duration).map_err(|error| anyhow!("--for: {error}"))?;
    let until = now + Duration::from_std(duration)?;
    let id = store.silence(pattern, until, &silence.comment, now)?;
    let overlays = store.overlays(now)?;
    let known = store.load()?.incidents;
    let added = overlays.silences.iter().filter(|one| one.id == id);
    let open = known.iter().filter(|incident| incident.phase.is_open());
    let covered = added.flat_map(|one| {
        let covers = |incident: &&crate::alert::Incident| one.covers(&incident.key, incident.name());
        open.clone().filter(covers).map(|incident| format!("  {}  {}\n", incident.key, incident.words()))
    });
    let covered: String = covered.collect();
    let covered = if covered.is_empty() { "  nothing that is open now\n".to_owned() } else { covered };
    print(&format!(
        "silence {id} until {}: no mail of what matches '{pattern}'; what is still wrong then is mailed then\n{covered}",
        until.format("%Y-%m-%d %H:%M UTC")
    ))
}

fn list_silences(store: &Store) -> Result<()> {
    let silences = store.overlays(clock::now())?.silences;
    if silences.is_empty() {
        return print("no silences\n");
    }
    let lines = silences.iter().map(|one| {
        let until = one.until.format("%Y-%m-%d %H:%M UTC");
        format!("{:>4}  until {until}  {}  {}\n", one.id, one.pattern, one.comment)
    });
    print(&lines.collect::<String>())
}

pub(super) fn outbox(outbox: &Outbox) -> Result<()> {
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
