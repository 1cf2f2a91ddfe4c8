//! What is not an account's: the providers' clocks and certificates, mail, the store, where this runs.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

use chrono::{DateTime, Duration, Utc};
use url::Url;

use crate::clock;
use crate::commands::ask::Door;
use crate::config::{Environment, Settings};
use crate::daemon::addresses;
use crate::daemon::control;
use crate::mail::smtp::Transport;
use crate::model::{Snapshot, lives_on};
use crate::provider::probe;
use crate::store::Store;
use crate::terminal::doctor::{Check, Outcome};

/// A clock this far off makes times in mails and pages wrong.
const SKEW: Duration = Duration::seconds(30);
/// A certificate that ends sooner may be forgotten.
const CERTIFICATE_DAYS: i64 = 14;

/// The clock and certificate of each provider's host, once a host.
pub(super) async fn hosts(settings: &Settings) -> Vec<Check> {
    let mut hosts: BTreeMap<String, Url> = BTreeMap::new();
    for account in &settings.accounts {
        for url in [&account.api.base_url, &account.api.panel_url].into_iter().flatten() {
            hosts.entry(url.origin().ascii_serialization()).or_insert_with(|| url.clone());
        }
    }
    let mut checks = Vec::new();
    for (origin, url) in hosts {
        match probe(&url).await {
            Ok(host) => {
                checks.push(clocks(&origin, host.date, clock::now()));
                checks.push(certificate(&origin, url.scheme(), host.certificate_until, clock::now()));
            }
            // Its groups fail by themselves, with the remedy.
            Err(error) => checks.push(Check::new("host", Outcome::Warn, format!("{origin}: {error}"))),
        }
    }
    checks
}

fn clocks(origin: &str, theirs: Option<DateTime<Utc>>, ours: DateTime<Utc>) -> Check {
    let Some(theirs) = theirs else {
        return Check::new("clock", Outcome::Skip, format!("{origin} does not tell its time"));
    };
    let skew = ours - theirs;
    if skew.abs() <= SKEW {
        return Check::new("clock", Outcome::Ok, format!("as that of {origin}"));
    }
    let way = if skew > Duration::zero() { "ahead of" } else { "behind" };
    let says = format!("this machine is {} s {way} {origin}", skew.abs().num_seconds());
    Check::new("clock", Outcome::Warn, says).remedy("keep the clock right: timedatectl set-ntp true")
}

fn certificate(origin: &str, scheme: &str, until: Option<DateTime<Utc>>, now: DateTime<Utc>) -> Check {
    let Some(until) = until else {
        let why = if scheme == "https" { "its certificate cannot be read" } else { "no TLS" };
        return Check::new("certificate", Outcome::Skip, format!("{origin}: {why}"));
    };
    let days = (until - now).num_days();
    let says = format!("{origin}: good until {}, {days} days", until.format("%Y-%m-%d"));
    if days >= CERTIFICATE_DAYS {
        return Check::new("certificate", Outcome::Ok, says);
    }
    Check::new("certificate", Outcome::Warn, says)
        .remedy("once it has ended nothing can be read; tell the provider if it is not renewed soon")
}

/// The mail server: connection, TLS, login, and whether it takes mail from us. Sends none.
pub(super) async fn mail(settings: &Settings) -> Vec<Check> {
    let Some(email) = &settings.email else {
        return vec![Check::new("mail", Outcome::Skip, "off: there is no [email] table")];
    };
    let place = format!("{}:{}", email.server.host, email.server.port);
    let sender = email.from.email.to_string();
    let probed = match Transport::new(&email.server) {
        Ok(transport) => transport.probe_sender(&sender).await.map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    let check = match probed {
        Ok(server) => {
            let tls = server.tls_version.unwrap_or("no TLS");
            let login = server.login.map_or_else(|| "no login".to_owned(), |how| format!("login by {how}"));
            Check::new(
                "mail server",
                Outcome::Ok,
                format!("{place}: {tls}, {login}, takes mail from {sender}"),
            )
        }
        Err(error) => Check::new("mail server", Outcome::Fail, format!("{place}: {error}"))
            .remedy("mails wait in the store until it works; hostwatch test-email sends one as a proof"),
    };
    vec![check]
}

/// The store, and the daemon that holds it.
pub(super) async fn store(settings: &Settings) -> Vec<Check> {
    let path = settings.store_path.as_path();
    let mut checks = Vec::new();
    if settings.email.is_some() {
        checks.push(writable(path, Environment::of_process().get("STATE_DIRECTORY")));
    } else {
        checks.push(Check::new("store", Outcome::Skip, "not used: there is no [email] table"));
    }
    let socket = Door::Socket(control::path(path));
    checks.push(match (socket.status().await, Store::is_held(path)) {
        (Ok(_), _) => Check::new("daemon", Outcome::Ok, format!("runs, and answers at {socket}")),
        (Err(error), Ok(true)) => {
            Check::new("daemon", Outcome::Warn, format!("holds the store, but {error}"))
        }
        (Err(_), Ok(false)) if settings.email.is_none() => {
            Check::new("daemon", Outcome::Skip, format!("none answers at {socket}"))
        }
        (Err(_), Ok(false)) => Check::new("daemon", Outcome::Skip, "none holds this store"),
        (Err(_), Err(error)) => Check::new(
            "daemon",
            Outcome::Skip,
            format!("whether one holds the store cannot be seen: {error}"),
        ),
    });
    checks
}

/// Tries without changing anything: the file is opened, the directory gets a file for a moment. `state` is
/// systemd's list of directories, which it makes when it starts the daemon.
fn writable(path: &Path, state: Option<&str>) -> Check {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let systemd_makes = state.is_some_and(|list| list.split(':').any(|made| Path::new(made) == directory));
    if systemd_makes && !directory.exists() {
        let says = format!("systemd will make {} at the first start", directory.display());
        return Check::new("store", Outcome::Ok, says);
    }
    let probe = directory.join(format!(".hostwatch-doctor-{}", std::process::id()));
    let made = File::create_new(&probe).and_then(|_| std::fs::remove_file(&probe));
    if let Err(error) = made {
        let says = format!("{} cannot be written: {error}", directory.display());
        return Check::new("store", Outcome::Fail, says)
            .remedy("correct store.path, or give its directory to the user that runs hostwatch");
    }
    if !path.exists() {
        return Check::new("store", Outcome::Ok, format!("{} will be made", path.display()));
    }
    match File::options().read(true).append(true).open(path) {
        Ok(_) => Check::new("store", Outcome::Ok, format!("{} can be written", path.display())),
        Err(error) => {
            Check::new("store", Outcome::Fail, format!("{} cannot be written: {error}", path.display()))
                .remedy("give the file to the user that runs hostwatch")
        }
    }
}

/// Whether this machine is one of those it watches.
pub(super) fn home(settings: &Settings, snapshot: &Snapshot) -> Check {
    let own = match addresses::of_this_machine() {
        Ok(own) => own,
        Err(error) => {
            let says = format!("the addresses of this machine cannot be listed: {error}");
            return Check::new("independence", Outcome::Skip, says);
        }
    };
    let Some(home) = lives_on(snapshot, &own) else {
        return Check::new("independence", Outcome::Ok, "this machine is none of the VMs that are watched");
    };
    let name = home.vm_name.map_or_else(|| home.vm.to_string(), |name| format!("{name} ({})", home.vm));
    let says = format!(
        "this machine ({}) is VM {name} of account {}: cut off with it, hostwatch mails nobody",
        home.address, home.account
    );
    let remedy = if settings.heartbeat_url.is_some() {
        "heartbeat.url tells another service that hostwatch is alive; make sure that somebody hears when it stops"
    } else {
        "run it elsewhere, or set heartbeat.url to a service that tells you when the pings stop"
    };
    Check::new("independence", Outcome::Warn, says).remedy(remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000, 0).unwrap()
    }

    #[test]
    fn clocks_that_differ_are_told_by_how_much() {
        let table = [(0, Outcome::Ok), (-30, Outcome::Ok), (31, Outcome::Warn), (-4000, Outcome::Warn)];
        for (seconds, want) in table {
            let check = clocks("https://a.example", Some(now() - Duration::seconds(seconds)), now());
            assert_eq!(check.outcome, want, "{seconds}: {}", check.says);
        }
        let behind = clocks("https://a.example", Some(now() + Duration::hours(1)), now());
        assert_eq!(behind.says, "this machine is 3600 s behind https://a.example");
        assert_eq!(clocks("https://a.example", None, now()).outcome, Outcome::Skip);
    }

    #[test]
    fn a_state_directory_is_made_by_systemd_and_any_other_must_be_there() {
        let directory = tempfile::tempdir().unwrap();
        let missing = directory.path().join("hostwatch");
        let path = missing.join("hostwatch.db");
        let list = format!("/elsewhere:{}", missing.display());
        assert_eq!(writable(&path, Some(&list)).outcome, Outcome::Ok);
        assert_eq!(writable(&path, Some("/elsewhere")).outcome, Outcome::Fail);
        assert_eq!(writable(&path, None).outcome, Outcome::Fail);
        std::fs::create_dir(&missing).unwrap();
        assert_eq!(writable(&path, None).says, format!("{} will be made", path.display()));
        assert_eq!(std::fs::read_dir(&missing).unwrap().count(), 0, "nothing is left");
    }

    #[test]
    fn certificates_that_end_soon_are_told() {
        for (days, want) in [(90, Outcome::Ok), (14, Outcome::Ok), (13, Outcome::Warn), (-1, Outcome::Warn)] {
            let check = certificate("https://a.example", "https", Some(now() + Duration::days(days)), now());
            assert_eq!(check.outcome, want, "{days}");
        }
        assert_eq!(certificate("http://127.0.0.1", "http", None, now()).says, "http://127.0.0.1: no TLS");
    }
}
