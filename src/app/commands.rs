//! Commands that print and end: they read the configuration and what the store holds.
#![allow(clippy::print_stdout, clippy::print_stderr)] // printing is what they are for

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use super::mailroom::Mailroom;
use crate::alert::{Incident, Phase};
use crate::clock;
use crate::config::{Errors, Settings};
use crate::mail::{self, transport::Transport};
use crate::metrics;
use crate::model::Snapshot;
use crate::store::Store;

/// Tells why a command failed. Errors of the configuration are lines of their own.
pub(super) fn complain(error: &anyhow::Error) {
    if error.downcast_ref::<Errors>().is_some() {
        eprintln!("{error}");
    } else {
        eprintln!("hostwatch: {error:#}");
    }
}

/// Prints, and does not mind a reader that went away.
pub(super) fn print(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => other.context("printing"),
    }
}

pub(super) fn check_config(file: &Path) -> Result<()> {
    let settings = super::load(file)?;
    for warning in &settings.warnings {
        eprintln!("warning: {warning}");
    }
    let accounts = settings.accounts.len();
    let mails = if settings.email.is_some() { "mails on" } else { "mails off: no [email]" };
    let plural = if accounts == 1 { "" } else { "s" };
    print(&format!("{}: good; {accounts} account{plural}, {mails}\n", file.display()))
}

pub(super) fn metrics() -> Result<()> {
    print(&metrics::reference())
}

pub(super) async fn test_email(file: PathBuf) -> Result<()> {
    let settings = super::load(&file)?;
    let Some(email) = &settings.email else {
        bail!("{}: there is no [email] table; add one with smtp_url, from and to", file.display());
    };
    let mut to: Vec<String> =
        settings.accounts.iter().flat_map(|account| &account.to).map(ToString::to_string).collect();
    to.sort();
    to.dedup();
    let snapshot = Snapshot::default();
    let mailroom = Mailroom { from: email.from.clone(), lead_days: Default::default() };
    let mail = mail::render_test(&to, &mailroom.context(&snapshot, &[], clock::now()))?;
    let transport = Transport::new(&email.server)?;
    for recipient in &mail.recipients {
        transport.send(&mail.sender, recipient, &mail.raw).await.with_context(|| {
            format!("sending to {recipient} through {}:{}", email.server.host, email.server.port)
        })?;
        print(&format!("sent to {recipient}\n"))?;
    }
    Ok(())
}

pub(super) fn incidents(file: &Path) -> Result<()> {
    let store = open_beside(&super::load(file)?)?;
    let mut incidents = store.load()?.incidents;
    incidents.retain(|incident| incident.phase != Phase::Watching);
    incidents.sort_by(|a, b| {
        let rank = |incident: &Incident| (!incident.phase.is_open(), std::cmp::Reverse(incident.severity));
        rank(a).cmp(&rank(b)).then_with(|| b.last_change.cmp(&a.last_change))
    });
    if incidents.is_empty() {
        return print("no incidents\n");
    }
    let mut text = String::new();
    for incident in incidents {
        let since = incident.since.format("%Y-%m-%d %H:%M UTC");
        text.push_str(&format!(
            "{:<10} {:<8} since {since}  {}\n           {}: {}; {}\n",
            incident.phase.as_str(),
            incident.severity,
            incident.words(),
            incident.key,
            incident.detail,
            incident.reason
        ));
    }
    print(&text)
}

pub(super) fn outbox(file: &Path) -> Result<()> {
    let store = open_beside(&super::load(file)?)?;
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

pub(super) fn why(file: &Path, key: &str) -> Result<()> {
    let store = open_beside(&super::load(file)?)?;
    let decisions = store.decisions(key, 50)?;
    if decisions.is_empty() {
        let known = store.load()?.incidents;
        let close = known.iter().map(|incident| incident.key.to_string());
        let mut close: Vec<String> =
            close.filter(|other| other.contains(key) || key.contains(other.as_str())).collect();
        close.truncate(10);
        if close.is_empty() {
            bail!("nothing was ever decided about '{key}'; `hostwatch incidents` lists the keys");
        }
        return print(&format!("no such key; did you mean:\n  {}\n", close.join("\n  ")));
    }
    let lines =
        decisions.iter().map(|one| format!("{}  {}\n", one.at.format("%Y-%m-%d %H:%M:%S UTC"), one.reason));
    print(&lines.collect::<String>())
}

fn open_beside(settings: &Settings) -> Result<Store> {
    if settings.email.is_none() {
        bail!("without [email] nothing is stored; the status page shows what the daemon knows");
    }
    let path: &Path = &settings.store_path;
    Store::open_beside(path).with_context(|| format!("is the daemon's store at {}?", path.display()))
}
