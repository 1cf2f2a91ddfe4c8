//! `hostwatch demo`: the daemon against a simulated provider and a mail catcher, on loopback and in one
//! process. It needs no configuration and leaves nothing behind.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::output::print;
use crate::cli::{self, Demo};
use crate::config::{self, Environment};
use crate::daemon::listen::BoundSockets;
use crate::daemon::{self, Start};
use crate::http::DEFAULT_LISTEN_ADDRESS;
use crate::model::Language;
use crate::store::{Opened, Store};
use crate::view::words;
use crate::{clock, config::Settings};
use hostwatch_sim::mailbox::Mailbox;
use hostwatch_sim::{Args, Simulator};

/// The scenario and its timetable.
const SCENARIO: &str = include_str!("demo.toml");
const TIMETABLE: &[(&str, &str)] = &[
    ("within 2 s", "everything is watched: metrics, status page -> the first mail"),
    ("after 8 s", "VM web-1 goes into error                    -> mail"),
    ("after 14 s", "a charge leaves money for two days only     -> cut-off mail"),
    ("after 20 s", "site shop.example.com is over its quota     -> mail"),
    ("after 30 s", "VM and site work again                      -> recovery mails"),
    ("after 38 s", "the account is topped up                    -> all-clear mail"),
];

/// Where the caught mails are shown.
const INBOX: &str = "127.0.0.1:10246";

pub(super) async fn run(demo: Demo) -> Result<()> {
    let stop = CancellationToken::new();
    daemon::stop_at_signal(&stop)?;
    let sockets = open(&demo.web).await?;
    let provider = TcpListener::bind("127.0.0.1:0").await.context("listening for the simulated provider")?;
    let smtp = TcpListener::bind("127.0.0.1:0").await.context("listening for mail")?;
    let inbox = at_or_anywhere(INBOX).await.context("listening for the caught mails")?;
    let (provider_at, smtp_at, inbox_at) = (provider.local_addr()?, smtp.local_addr()?, inbox.local_addr()?);

    let args = Args::default();
    let simulator = Arc::new(Simulator::from_scenario(&args, SCENARIO, Arc::new(clock::now))?);
    let mailbox = Mailbox::new();
    let settings = settings(&args, provider_at, smtp_at)?;
    introduce(&sockets.urls().collect::<Vec<_>>(), &demo.web.telemetry_path, inbox_at)?;

    // The simulated provider must outlive the daemon; otherwise the daemon would log errors at its end.
    let backstage = CancellationToken::new();
    let simulated = tokio::spawn(simulator.serve(provider, backstage.clone()));
    let caught = tokio::spawn(Arc::clone(&mailbox).serve_smtp(smtp, backstage.clone()));
    let shown = tokio::spawn(Arc::clone(&mailbox).serve_web(inbox, backstage.clone()));
    let announcing = tokio::spawn(announce(Arc::clone(&mailbox), inbox_at));
    let start = Start {
        settings,
        listeners: sockets.into_listeners(),
        store: Opened { store: Store::in_memory()?, aside: None, journal: None, fallback: None },
        telemetry_path: demo.web.telemetry_path,
        lifecycle: false,
        read_settings: Arc::new(|| Err("the demo has no configuration to reload".to_owned())),
        hangups: daemon::hangups()?,
    };
    let result = daemon::run(start, stop).await;
    backstage.cancel();
    announcing.abort();
    for task in [simulated, caught, shown] {
        task.await.context("ending the demo")?;
    }
    let mails = Language::En.count(mailbox.count(), words::MAILS);
    print(&format!("stopped; {mails} caught, nothing is left on disk\n"))?;
    result
}

/// Listens at an address, or at any port of loopback if it is taken.
async fn at_or_anywhere(address: &str) -> std::io::Result<TcpListener> {
    match TcpListener::bind(address).await {
        Err(_) => TcpListener::bind("127.0.0.1:0").await,
        listener => listener,
    }
}

/// Binds the wanted addresses. If the default one is taken, any free port is used.
async fn open(web: &cli::Web) -> Result<BoundSockets> {
    let wanted = web.listen_addresses.iter().map(ToString::to_string);
    let by_default = !web.systemd_socket && wanted.eq([DEFAULT_LISTEN_ADDRESS.to_owned()]);
    match BoundSockets::open(web).await {
        Err(_) if by_default => BoundSockets::open_anywhere(web).await,
        result => result,
    }
}

fn settings(args: &Args, provider: SocketAddr, smtp: SocketAddr) -> Result<Settings> {
    let account = |key: &str| format!("HOSTWATCH_ACCOUNTS__DEMO__{key}");
    let every = "*/2 * * * * *".to_owned();
    let pairs = [
        (account("BASE_URL"), format!("http://{provider}")),
        (account("PANEL_URL"), format!("http://{provider}")),
        (account("HOSTING_TOKEN"), args.hosting_token.clone()),
        (account("VM_API_KEY"), args.vm_api_key.clone()),
        (account("BILLING_USERNAME"), args.billing_username.clone()),
        (account("BILLING_PASSWORD"), args.billing_password.clone()),
        (account("TIME_ZONE"), "Europe/Moscow".to_owned()),
        (account("CURRENCY"), "RUB".to_owned()),
        (account("VM_MEMORY_UNIT"), "MB".to_owned()),
        (account("CONTAINER_STATES__0"), "ENABLED".to_owned()),
        (account("CONTAINER_STATES__1"), "DISABLED_BY_SERVICE".to_owned()),
        (account("CONTAINER_STATES__2"), "DISABLED_BY_ADMIN".to_owned()),
        (account("CONTAINER_STATES__3"), "DISABLED_BY_QUOTA".to_owned()),
        ("HOSTWATCH_SCHEDULE__VMS".to_owned(), every.clone()),
        ("HOSTWATCH_SCHEDULE__CONTAINERS".to_owned(), every.clone()),
        ("HOSTWATCH_SCHEDULE__EXPECTED_BALANCE".to_owned(), every),
        ("HOSTWATCH_LIMITS__BILLING_PER_MINUTE".to_owned(), "60".to_owned()),
        ("HOSTWATCH_EMAIL__SMTP_URL".to_owned(), format!("smtp://{smtp}")),
        ("HOSTWATCH_EMAIL__FROM".to_owned(), "hostwatch <hostwatch@demo.example>".to_owned()),
        ("HOSTWATCH_EMAIL__TO".to_owned(), "[\"you@demo.example\"]".to_owned()),
    ];
    Ok(config::load(None, &pairs.into_iter().collect::<Environment>())?)
}

fn introduce(urls: &[(&str, SocketAddr)], metrics: &str, inbox: SocketAddr) -> Result<()> {
    let mut text = String::from("hostwatch demo: a simulated provider, the daemon, and a mail catcher\n\n");
    for (scheme, address) in urls {
        text.push_str(&format!(
            "  status page  {scheme}://{address}/\n  metrics      {scheme}://{address}{metrics}\n"
        ));
    }
    text.push_str(&format!("  mails        http://{inbox}/\n\n"));
    let ports = urls
        .iter()
        .map(|(_, address)| address)
        .chain([&inbox])
        .map(|at| format!(" -L {0}:{1}", at.port(), loopback(*at)));
    let ports: String = ports.collect();
    text.push_str(&format!("over ssh, forward the ports first:\n  ssh{ports} THIS_HOST\n\nwhat happens:\n"));
    for (when, what) in TIMETABLE {
        text.push_str(&format!("  {when:<12}{what}\n"));
    }
    text.push_str("\nCtrl-C stops it.\n\n");
    print(&text)
}

fn loopback(address: SocketAddr) -> String {
    if address.ip().is_unspecified() { format!("127.0.0.1:{}", address.port()) } else { address.to_string() }
}

async fn announce(mailbox: Arc<Mailbox>, inbox: SocketAddr) {
    let mut latest = mailbox.subscribe();
    let mut told = 0;
    while latest.changed().await.is_ok() {
        for mail in mailbox.caught().into_iter().filter(|mail| mail.number > told).collect::<Vec<_>>() {
            told = mail.number;
            // Standard output may be closed; the mail is on the web page in any case. Its address has a line of
            // its own, since most terminals have 80 columns.
            let (number, subject) = (mail.number, mail.subject);
            let _ = print(&format!("mail {number}: {subject}\n        http://{inbox}/mail/{number}\n"));
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::at_or_anywhere;

    #[tokio::test]
    async fn mails_are_shown_at_another_port_if_theirs_is_taken() {
        let first = at_or_anywhere("127.0.0.1:0").await.unwrap();
        let taken = first.local_addr().unwrap();
        let second = at_or_anywhere(&taken.to_string()).await.unwrap();
        assert_ne!(second.local_addr().unwrap().port(), taken.port());
        drop(first);
        let third = at_or_anywhere(&taken.to_string()).await.unwrap();
        assert_eq!(third.local_addr().unwrap(), taken);
    }
}
