//! Commands that print and end: they read the configuration and what the store holds.
#![allow(clippy::print_stdout, clippy::print_stderr)] // printing is what they are for

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use crate::alert::{Incident, Phase};
use crate::clock;
use crate::config::{self, Environment, Errors, Problem, Settings};
use crate::daemon::listen;
use crate::daemon::mails::MailWriter;
use crate::http::WebConfig;
use crate::mail::{self, smtp::Transport};
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

pub(super) fn check_config(file: &Path, web_config_file: Option<&Path>) -> Result<()> {
    let settings = config::load(Some(file), &Environment::of_process());
    let web = web_config_file.map(|file| (file, listen::web_config(file)));
    let wrong =
        settings.as_ref().err().into_iter().chain(web.iter().filter_map(|(_, web)| web.as_ref().err()));
    let wrong: Vec<Problem> = wrong.flat_map(|errors| errors.0.iter().cloned()).collect();
    if let (Ok(settings), true) = (&settings, wrong.is_empty()) {
        return good(file, settings, web.and_then(|(file, web)| Some((file, web.ok()?))));
    }
    Err(Errors(wrong).into())
}

fn good(file: &Path, settings: &Settings, web: Option<(&Path, WebConfig)>) -> Result<()> {
    for warning in &settings.warnings {
        eprintln!("warning: {warning}");
    }
    let accounts = settings.accounts.len();
    let mails = if settings.email.is_some() { "mails on" } else { "mails off: no [email]" };
    let plural = if accounts == 1 { "" } else { "s" };
    print(&format!("{}: good; {accounts} account{plural}, {mails}\n", file.display()))?;
    let Some((file, web)) = web else { return Ok(()) };
    for note in web.notes() {
        eprintln!("warning: {}: {note}", file.display());
    }
    let switch = |on| if on { "on" } else { "off" };
    let (tls, passwords) = (switch(web.has_tls()), switch(web.has_users()));
    print(&format!("{}: good; TLS {tls}, passwords {passwords}\n", file.display()))
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
    let mail_writer = MailWriter {
        from: email.from.clone(),
        tightest_rungs: Default::default(),
        max_per_hour: email.max_per_hour,
    };
    let mail = mail::render_test(&to, &mail_writer.context(&snapshot, &[], clock::now()))?;
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
    let overlays = store.silences(clock::now())?;
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
        let overlay = overlays.words(&incident, clock::now()).map(|words| format!("; {words}"));
        text.push_str(&format!(
            "{:<10} {:<8} since {since}  {}\n           {}: {}; {}{}\n",
            incident.phase.as_str(),
            incident.severity,
            incident.words(),
            incident.key,
            incident.detail,
            incident.reason,
            overlay.unwrap_or_default()
        ));
    }
    print(&text)
}

pub(super) fn why(file: &Path, key: &str) -> Result<()> {
    let store = open_beside(&super::load(file)?)?;
    let decisions = store.decisions(key, 50)?;
    if decisions.is_empty() {
        bail!("nothing was ever decided about '{key}'; {}", near_keys(&store, key)?);
    }
    let lines =
        decisions.iter().map(|one| format!("{}  {}\n", one.at.format("%Y-%m-%d %H:%M:%S UTC"), one.reason));
    print(&lines.collect::<String>())
}

/// What to say to a key that nobody knows.
pub(super) fn near_keys(store: &Store, key: &str) -> Result<String> {
    let known = store.load()?.incidents;
    let close = known.iter().map(|incident| incident.key.to_string());
    let close: Vec<String> =
        close.filter(|other| other.contains(key) || key.contains(other.as_str())).take(10).collect();
    Ok(match close.is_empty() {
        true => "`hostwatch incidents` lists the keys".to_owned(),
        false => format!("did you mean {}?", close.join(", ")),
    })
}

pub(super) fn open_beside(settings: &Settings) -> Result<Store> {
    if settings.email.is_none() {
        bail!("without [email] nothing is stored; the status page shows what the daemon knows");
    }
    let path: &Path = &settings.store_path;
    Store::open_beside(path).with_context(|| format!("is the daemon's store at {}?", path.display()))
}
