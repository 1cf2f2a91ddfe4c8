//! Checks that belong to no account: the providers' clocks, mail, the store, this machine.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use chrono::{DateTime, Duration, Utc};
use url::Url;

use super::mailboxes;
use super::{telegram, webhooks};
use crate::clock;
use crate::commands::beside;
use crate::config::{AccountSettings, Environment, Settings};
use crate::daemon::machine;
use crate::mail::smtp::{Timing, Transport};
use crate::mail::{MailSettings, Way};
use crate::model::{Language, Snapshot, Via, lives_on};
use crate::provider::probe;
use crate::store::{Store, StoreError};
use crate::terminal::doctor::CheckVerdict;
use crate::view::words;

/// The number of refused recipients that are named.
const MOST_REFUSED: usize = 5;
/// The largest difference of clocks without a warning.
const SKEW: Duration = Duration::seconds(30);

/// All checks that belong to no account.
pub(super) async fn checks(settings: &Settings, snapshot: &Snapshot) -> Vec<(String, CheckVerdict)> {
    let name = || "configuration".to_owned();
    let mut checks: Vec<_> =
        settings.warnings.iter().map(|warning| (name(), CheckVerdict::warn(warning))).collect();
    if checks.is_empty() {
        checks.push((name(), CheckVerdict::ok("nothing wrong with it")));
    }
    // Each host is asked once, whatever its number of accounts.
    let mut hosts: BTreeMap<String, (&Url, &Via)> = BTreeMap::new();
    for account in &settings.accounts {
        for url in [&account.api.base_url, &account.api.panel_url].into_iter().flatten() {
            hosts.entry(url.origin().ascii_serialization()).or_insert((url, &account.api.via));
        }
    }
    for (origin, (url, via)) in hosts {
        checks.push(match probe(url, via).await {
            Ok(theirs) => ("clock".to_owned(), clocks(&origin, theirs, clock::now())),
            // The host's groups fail by themselves, with the remedy.
            Err(error) => ("host".to_owned(), CheckVerdict::warn(format!("{origin}: {error}"))),
        });
    }
    checks.extend(mail_checks(settings).await);
    checks.extend(webhooks::checks(settings).await);
    checks.extend(mailboxes::checks(settings, snapshot).await);
    let store = writable(&settings.store_path, state_directories(&UNITS).as_deref());
    checks.push(("store".to_owned(), store));
    checks.push(("daemon".to_owned(), daemon(settings).await));
    checks.push(("where it runs".to_owned(), independence(settings, snapshot)));
    checks
}

/// Whether mails and messages to chats can be sent.
pub(in crate::commands) async fn mail_checks(settings: &Settings) -> Vec<(String, CheckVerdict)> {
    let mut checks = Vec::new();
    if !settings.mails {
        checks.push(("mail".to_owned(), CheckVerdict::skip("off: there is no [email] table")));
    }
    if let Some(email) = &settings.email {
        let everybody = settings.accounts.iter().flat_map(AccountSettings::everybody);
        let recipients: BTreeSet<String> = everybody.filter(|to| Way::to(to) == Way::Smtp).collect();
        let verdict = mail_server(email, &Vec::from_iter(recipients)).await;
        checks.push(("mail server".to_owned(), verdict));
    }
    checks.extend(telegram::checks(settings).await);
    checks
}

/// Connects with TLS, logs in, and asks whether the server takes mail from us to everybody. Sends no mail.
async fn mail_server(email: &MailSettings, recipients: &[String]) -> CheckVerdict {
    let (sender, place) = (&email.from.email, format!("{}:{}", email.server.host, email.server.port));
    let probed = async {
        let transport = Transport::with_timing(&email.server, Timing::of_a_trial())?;
        transport.probe(sender.as_ref(), recipients).await.map_err(|error| error.to_string())
    };
    match probed.await {
        Ok(server) if !server.refused.is_empty() => {
            let refused = server.refused.iter().map(|(to, error)| format!("for {to}: {error}"));
            let refused = words::first(refused.collect(), MOST_REFUSED, Language::En).join("; ");
            CheckVerdict::fail(format!("{place}: {refused}"))
                .remedy("mails to them wait in the store until it takes them")
        }
        Ok(server) => {
            let tls = server.tls_version.unwrap_or("no TLS");
            let login = server.login.as_ref();
            let login = login.map_or_else(|| "no login".to_owned(), |how| format!("login by {how}"));
            let greeting = &server.greeting;
            CheckVerdict::ok(format!(
                "{place}: {tls}, {login}, greeted as {greeting}, accepts sender {sender} and every recipient"
            ))
        }
        Err(error) => CheckVerdict::fail(format!("{place}: {error}"))
            .remedy("mails wait in the store until it works; hostwatch test-message sends one as a proof"),
    }
}

async fn daemon(settings: &Settings) -> CheckVerdict {
    let socket = beside::socket(settings);
    match (socket.status(None).await, Store::is_held(&settings.store_path)) {
        (Ok(_), _) => CheckVerdict::ok(format!("running, answers at {socket}")),
        (Err(error), Ok(true)) => CheckVerdict::warn(format!("holds the store, but {error}")),
        (Err(_), Ok(false)) => CheckVerdict::skip("not running"),
        (Err(_), Err(error)) => {
            CheckVerdict::skip(format!("whether one holds the store cannot be seen: {error}"))
        }
    }
}

/// Whether this machine is one that it watches.
fn independence(settings: &Settings, snapshot: &Snapshot) -> CheckVerdict {
    let own = match machine::addresses() {
        Ok(own) => own,
        Err(error) => {
            return CheckVerdict::skip(format!("the addresses of this machine cannot be listed: {error}"));
        }
    };
    let Some(home) = lives_on(snapshot, &own) else {
        return CheckVerdict::ok("outside the watched VMs");
    };
    let name = home.vm_name.map_or_else(|| home.vm.to_string(), |name| format!("{name} ({})", home.vm));
    let says = format!(
        "this machine ({}) is VM {name} of account {}: when that is offline, no mail says so",
        home.address, home.account
    );
    CheckVerdict::warn(says).remedy(match settings.heartbeat_url {
        Some(_) => "heartbeat.url is set: make sure that its service alerts somebody when the pings stop",
        None => "run it elsewhere, or set heartbeat.url to a service that alerts you when the pings stop",
    })
}

fn clocks(origin: &str, theirs: Option<DateTime<Utc>>, ours: DateTime<Utc>) -> CheckVerdict {
    let Some(theirs) = theirs else {
        return CheckVerdict::skip(format!("{origin} does not send its time"));
    };
    let skew = ours - theirs;
    if skew.abs() <= SKEW {
        return CheckVerdict::ok(format!("in sync with {origin}"));
    }
    let way = if skew > Duration::zero() { "ahead of" } else { "behind" };
    let says = format!("this machine is {} {way} {origin}", words::lasted(skew.abs(), Language::En));
    CheckVerdict::warn(says).remedy("keep the clock right: timedatectl set-ntp true")
}

/// The paths of the installed unit, and the directory that systemd makes for it.
const UNITS: [&str; 2] =
    ["/etc/systemd/system/hostwatch.service", "/usr/lib/systemd/system/hostwatch.service"];
const OF_THE_UNIT: &str = "/var/lib/hostwatch";

/// The directories that systemd makes for the daemon: from systemd, or from the unit for a shell beside the
/// service.
fn state_directories(units: &[&str]) -> Option<String> {
    let given = Environment::of_process().get("STATE_DIRECTORY").map(str::to_owned);
    given.or_else(|| units.iter().any(|unit| Path::new(unit).exists()).then(|| OF_THE_UNIT.to_owned()))
}

/// Whether the store can be written. `state` is systemd's list of directories.
fn writable(path: &Path, state: Option<&str>) -> CheckVerdict {
    if let Some(directory) = to_be_made(path, state) {
        let says = format!("systemd will create {} at the first start", directory.display());
        return CheckVerdict::ok(says);
    }
    match Store::try_place(path, clock::now()) {
        Ok(()) if path.exists() => CheckVerdict::ok(format!("{} can be written", path.display())),
        Ok(()) => CheckVerdict::ok(format!("{} will be created", path.display())),
        Err(error) => CheckVerdict::fail(error.to_string()),
    }
}

/// The store's directory, if it is missing and systemd creates it when it starts the daemon.
fn to_be_made<'a>(path: &'a Path, state: Option<&str>) -> Option<&'a Path> {
    let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty())?;
    let is_made = state.is_some_and(|list| list.split(':').any(|made| Path::new(made) == directory));
    Some(directory).filter(|directory| is_made && !directory.exists())
}

/// The reason why a daemon of this user could not open the store.
pub(in crate::commands) fn unwritable(path: &Path) -> Option<StoreError> {
    let error = Store::try_place(path, clock::now()).err()?;
    to_be_made(path, state_directories(&UNITS).as_deref()).is_none().then_some(error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::doctor::CheckOutcome;

    fn now() -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000, 0).unwrap()
    }

    #[test]
    fn clocks_that_differ_are_told_by_how_much() {
        let table = [
            (0, CheckOutcome::Ok),
            (-30, CheckOutcome::Ok),
            (31, CheckOutcome::Warn),
            (-4000, CheckOutcome::Warn),
        ];
        for (seconds, want) in table {
            let check = clocks("https://a.example", Some(now() - Duration::seconds(seconds)), now());
            assert_eq!(check.outcome, want, "{seconds}: {}", check.says);
        }
        let behind = clocks("https://a.example", Some(now() + Duration::hours(1)), now());
        assert_eq!(behind.says, "this machine is 1 h behind https://a.example");
        assert_eq!(clocks("https://a.example", None, now()).outcome, CheckOutcome::Skip);
    }

    #[test]
    fn a_state_directory_is_made_by_systemd_and_any_other_must_be_there() {
        let directory = tempfile::tempdir().unwrap();
        let missing = directory.path().join("hostwatch");
        let path = missing.join("hostwatch.db");
        let list = format!("/elsewhere:{}", missing.display());
        assert_eq!(writable(&path, Some(&list)).outcome, CheckOutcome::Ok);
        assert_eq!(writable(&path, Some("/elsewhere")).outcome, CheckOutcome::Fail);
        assert_eq!(writable(&path, None).outcome, CheckOutcome::Fail);
        std::fs::create_dir(&missing).unwrap();
        assert_eq!(writable(&path, None).says, format!("{} will be created", path.display()));
        assert_eq!(std::fs::read_dir(&missing).unwrap().count(), 0, "nothing is left");
    }

    /// Before the first start a shell has no part of the service's environment.
    #[test]
    fn the_units_directory_is_known_without_systemd() {
        let unit = concat!(env!("CARGO_MANIFEST_DIR"), "/systemd/hostwatch.service");
        assert_eq!(state_directories(&["/nowhere", unit]).as_deref(), Some(OF_THE_UNIT));
        assert_eq!(state_directories(&["/nowhere"]), None);
        let name = OF_THE_UNIT.strip_prefix("/var/lib/").unwrap();
        let made = format!("\nStateDirectory={name}\n");
        assert!(std::fs::read_to_string(unit).unwrap().contains(&made));
    }
}
