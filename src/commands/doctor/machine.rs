//! Checks that do not belong to an account: the providers' clocks and certificates, mail, the store, this machine.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

use chrono::{DateTime, Duration, Utc};
use chrono_tz::Tz;
use url::Url;

use super::table::{self, CERTIFICATE_DAYS, Row};
use super::webhooks;
use crate::clock;
use crate::commands::ask::{AskError, DaemonAddress};
use crate::commands::beside;
use crate::config::{Environment, Settings};
use crate::daemon::machine;
use crate::mail::smtp::{Capabilities, Transport};
use crate::model::{Snapshot, lives_on};
use crate::provider::{self, probe};
use crate::store::Store;
use crate::terminal::doctor::CheckVerdict;
use crate::view::words;

/// Largest difference of clocks that is not warned of.
const SKEW: Duration = Duration::seconds(30);

/// A provider's host as it answered.
struct Host {
    origin: String,
    url: Url,
    probed: Result<provider::Host, String>,
    now: DateTime<Utc>,
}

/// What the checks look at.
struct Facts<'a> {
    settings: &'a Settings,
    snapshot: &'a Snapshot,
    /// `None` where mail is off.
    mail_server: Option<Result<Capabilities, String>>,
    socket: DaemonAddress,
    status: Result<Vec<u8>, AskError>,
}

/// All checks that do not belong to an account.
pub(super) async fn checks(settings: &Settings, snapshot: &Snapshot) -> Vec<(String, CheckVerdict)> {
    let name = || "configuration".to_owned();
    let mut checks: Vec<_> =
        settings.warnings.iter().map(|warning| (name(), CheckVerdict::warn(warning))).collect();
    if checks.is_empty() {
        checks.push((name(), CheckVerdict::ok("nothing wrong with it")));
    }
    // Each host once, however many accounts it has.
    let mut hosts: BTreeMap<String, &Url> = BTreeMap::new();
    for account in &settings.accounts {
        for url in [&account.api.base_url, &account.api.panel_url].into_iter().flatten() {
            hosts.entry(url.origin().ascii_serialization()).or_insert(url);
        }
    }
    for (origin, url) in hosts {
        let host = Host { origin, url: url.clone(), probed: probe(url).await, now: clock::now() };
        checks.extend(table::run(&Host::CHECKS, &host));
    }
    let mail_server = probe_mail_server(settings).await;
    let socket = beside::socket(settings);
    let status = socket.status().await;
    let facts = Facts { settings, snapshot, mail_server, socket, status };
    checks.extend(table::run(&Facts::MAIL_CHECKS, &facts));
    checks.extend(webhooks::checks(settings).await);
    checks.extend(table::run(&Facts::CHECKS, &facts));
    checks
}

/// Connection, TLS, login, and whether it takes mail from us. Sends none.
async fn probe_mail_server(settings: &Settings) -> Option<Result<Capabilities, String>> {
    let email = settings.email.as_ref()?;
    let probed = async {
        let transport = Transport::new(&email.server).map_err(|error| error.to_string())?;
        let sender = email.from.email.to_string();
        transport.probe_sender(&sender).await.map_err(|error| error.to_string())
    };
    Some(probed.await)
}

impl Host {
    const CHECKS: [Row<Self>; 3] = [
        // Its groups fail by themselves, with the remedy.
        ("host", |host| {
            Some(CheckVerdict::warn(format!("{}: {}", host.origin, host.probed.as_ref().err()?)))
        }),
        ("clock", |host| Some(clocks(&host.origin, host.probed.as_ref().ok()?.date, host.now))),
        ("certificate", |host| {
            let until = host.probed.as_ref().ok()?.certificate_until;
            Some(certificate(&host.origin, host.url.scheme(), until, host.now))
        }),
    ];
}

impl Facts<'_> {
    const MAIL_CHECKS: [Row<Self>; 2] =
        [("mail", |facts| facts.mails_nobody("off")), ("mail server", Self::mail_server)];

    const CHECKS: [Row<Self>; 3] = [
        ("store", |facts| {
            let writable = || writable(&facts.settings.store_path, state_directories(&UNITS).as_deref());
            Some(facts.mails_nobody("not used").unwrap_or_else(writable))
        }),
        ("daemon", |facts| Some(facts.daemon())),
        ("where it runs", |facts| Some(facts.independence())),
    ];

    fn mails_nobody(&self, so: &str) -> Option<CheckVerdict> {
        let off = !self.settings.mails;
        off.then(|| CheckVerdict::skip(format!("{so}: there is no [email] table")))
    }

    fn mail_server(&self) -> Option<CheckVerdict> {
        let email = self.settings.email.as_ref()?;
        let place = format!("{}:{}", email.server.host, email.server.port);
        Some(match self.mail_server.as_ref()? {
            Ok(server) => {
                let tls = server.tls_version.unwrap_or("no TLS");
                let login = server.login.as_ref();
                let login = login.map_or_else(|| "no login".to_owned(), |how| format!("login by {how}"));
                CheckVerdict::ok(format!("{place}: {tls}, {login}, accepts sender {}", email.from.email))
            }
            Err(error) => CheckVerdict::fail(format!("{place}: {error}"))
                .remedy("mails wait in the store until it works; hostwatch test-email sends one as a proof"),
        })
    }

    fn daemon(&self) -> CheckVerdict {
        let (socket, mails) = (&self.socket, self.settings.mails);
        match (&self.status, Store::is_held(&self.settings.store_path)) {
            (Ok(_), _) => CheckVerdict::ok(format!("running, answers at {socket}")),
            (Err(error), Ok(true)) => CheckVerdict::warn(format!("holds the store, but {error}")),
            (Err(_), Ok(false)) if mails => CheckVerdict::skip("not running"),
            (Err(_), Ok(false)) => CheckVerdict::skip(format!("not running: nothing answers at {socket}")),
            (Err(_), Err(error)) => {
                CheckVerdict::skip(format!("whether one holds the store cannot be seen: {error}"))
            }
        }
    }

    /// Whether this machine is one of those it watches.
    fn independence(&self) -> CheckVerdict {
        let own = match machine::addresses() {
            Ok(own) => own,
            Err(error) => {
                return CheckVerdict::skip(format!(
                    "the addresses of this machine cannot be listed: {error}"
                ));
            }
        };
        let Some(home) = lives_on(self.snapshot, &own) else {
            return CheckVerdict::ok("outside the watched VMs");
        };
        let name = home.vm_name.map_or_else(|| home.vm.to_string(), |name| format!("{name} ({})", home.vm));
        let says = format!(
            "this machine ({}) is VM {name} of account {}: when that is offline, no mail says so",
            home.address, home.account
        );
        CheckVerdict::warn(says).remedy(match self.settings.heartbeat_url {
            Some(_) => "heartbeat.url is set: make sure that its service alerts somebody when the pings stop",
            None => "run it elsewhere, or set heartbeat.url to a service that alerts you when the pings stop",
        })
    }
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
    let says = format!("this machine is {} {way} {origin}", words::lasted(skew.abs()));
    CheckVerdict::warn(says).remedy("keep the clock right: timedatectl set-ntp true")
}

fn certificate(origin: &str, scheme: &str, until: Option<DateTime<Utc>>, now: DateTime<Utc>) -> CheckVerdict {
    let Some(until) = until else {
        let why = if scheme == "https" { "its certificate cannot be read" } else { "no TLS" };
        return CheckVerdict::skip(format!("{origin}: {why}"));
    };
    let days = (until - now).num_days();
    let says =
        format!("{origin}: good until {}, {days} days", words::subject_day(until.date_naive(), Tz::UTC, now));
    if days >= CERTIFICATE_DAYS {
        return CheckVerdict::ok(says);
    }
    CheckVerdict::warn(says).remedy("once it has expired nothing can be read; ask the provider to renew it")
}

/// Where the unit lies that we install, and the directory that it has systemd make.
const UNITS: [&str; 2] =
    ["/etc/systemd/system/hostwatch.service", "/usr/lib/systemd/system/hostwatch.service"];
const OF_THE_UNIT: &str = "/var/lib/hostwatch";

/// The directories that systemd makes for the daemon: as it says, or, in a shell beside the service, as the unit does.
fn state_directories(units: &[&str]) -> Option<String> {
    let given = Environment::of_process().get("STATE_DIRECTORY").map(str::to_owned);
    given.or_else(|| units.iter().any(|unit| Path::new(unit).exists()).then(|| OF_THE_UNIT.to_owned()))
}

/// Whether the store can be written. The file is opened, and a probe file created in its directory and removed.
/// `state` is systemd's list of directories, which it creates when it starts the daemon.
fn writable(path: &Path, state: Option<&str>) -> CheckVerdict {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let systemd_makes = state.is_some_and(|list| list.split(':').any(|made| Path::new(made) == directory));
    if systemd_makes && !directory.exists() {
        let says = format!("systemd will create {} at the first start", directory.display());
        return CheckVerdict::ok(says);
    }
    let probe = directory.join(format!(".hostwatch-doctor-{}", std::process::id()));
    let made = File::create_new(&probe).and_then(|_| std::fs::remove_file(&probe));
    if let Err(error) = made {
        let says = format!("{} cannot be written: {error}", directory.display());
        return CheckVerdict::fail(says)
            .remedy("correct store.path, or give its directory to the user that runs hostwatch");
    }
    if !path.exists() {
        return CheckVerdict::ok(format!("{} will be created", path.display()));
    }
    match File::options().read(true).append(true).open(path) {
        Ok(_) => CheckVerdict::ok(format!("{} can be written", path.display())),
        Err(error) => CheckVerdict::fail(format!("{} cannot be written: {error}", path.display()))
            .remedy("give the file to the user that runs hostwatch"),
    }
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

    /// Before the first start a shell has nothing of the service's environment.
    #[test]
    fn the_units_directory_is_known_without_systemd() {
        let unit = concat!(env!("CARGO_MANIFEST_DIR"), "/systemd/hostwatch.service");
        assert_eq!(state_directories(&["/nowhere", unit]).as_deref(), Some(OF_THE_UNIT));
        assert_eq!(state_directories(&["/nowhere"]), None);
        let name = OF_THE_UNIT.strip_prefix("/var/lib/").unwrap();
        let made = format!("\nStateDirectory={name}\n");
        assert!(std::fs::read_to_string(unit).unwrap().contains(&made));
    }

    #[test]
    fn certificates_that_end_soon_are_told() {
        for (days, want) in [
            (90, CheckOutcome::Ok),
            (14, CheckOutcome::Ok),
            (13, CheckOutcome::Warn),
            (-1, CheckOutcome::Warn),
        ] {
            let check = certificate("https://a.example", "https", Some(now() + Duration::days(days)), now());
            assert_eq!(check.outcome, want, "{days}");
        }
        assert_eq!(certificate("http://127.0.0.1", "http", None, now()).says, "http://127.0.0.1: no TLS");
    }
}
