//! One daemon, and one account of it for each fault: all go wrong at once, each by itself, at a provider of its own.

use std::io::{Read, Write};
use std::net::TcpStream;

use hostwatch::sim::{Command, Fault};

use super::common::smtp::SmtpServer;
use super::common::{Daemon, Provider};
use super::rules::{Effect, When, effect};
use super::table::{CONTROL, Pace, Place, STATE, TROUBLES, Trouble, account};

/// An account and the fault that it is for; the one without is what the others are compared with.
pub struct Subject {
    pub key: &'static str,
    pub fault: Option<Fault>,
    /// Larger than the others, so that there is a second page.
    pub is_wide: bool,
    pub provider: Provider,
}

impl Subject {
    pub fn effect(&self, place: &Place, when: When) -> Effect {
        self.fault.as_ref().map_or(Effect::Harmless, |fault| effect(fault, place, when))
    }

    pub fn break_it(&self) {
        if let Some(fault) = self.fault.clone() {
            self.provider.simulator.control(&Command::Fault(fault)).unwrap();
        }
    }

    /// Requests for the collector's listings so far.
    pub fn asked(&self, path: &str) -> usize {
        self.provider.simulator.requests().iter().filter(|entry| entry.path.starts_with(path)).count()
    }
}

/// All accounts of one collector.
pub struct Fleet {
    pub place: &'static Place,
    pub subjects: Vec<Subject>,
    pub smtp: SmtpServer,
    pub pace: Pace,
}

impl Fleet {
    /// With the troubles of one pace.
    pub fn new(place: &'static Place, pace: Pace, elsewhere: &str) -> Self {
        let control = (CONTROL, None, false);
        let here = |trouble: &&Trouble| trouble.pace(place) == pace;
        let troubles = TROUBLES.iter().filter(here).map(|trouble| {
            let mut fault = (trouble.fault)(place);
            fault.to = Some(elsewhere.to_owned());
            (trouble.key, Some(fault), trouble.is_wide(place))
        });
        let subjects = std::iter::once(control).chain(troubles).map(|(key, fault, is_wide)| {
            let (args, scenario) = account(place, is_wide);
            let provider = Provider::start_with(&args, &scenario);
            fill(&provider, place, if is_wide { 101 } else { 2 });
            Subject { key, fault, is_wide, provider }
        });
        Self { place, subjects: subjects.collect(), smtp: SmtpServer::plain(), pace }
    }

    /// Of a whole request.
    pub fn time_out_seconds(&self) -> u64 {
        30 / self.pace.haste()
    }

    /// A daemon for all of them, not started.
    pub fn daemon(&self, failing_after: &str) -> Daemon {
        let mut daemon = Daemon::prepare(&self.subjects[0].provider, self.smtp.address, "");
        // Refused credentials are left alone for three seconds instead of five minutes.
        daemon.environment.push(("HOSTWATCH_HASTE", "100".to_owned()));
        daemon.environment.push(("HOSTWATCH_TIME_OUT_HASTE", self.pace.haste().to_string()));
        std::fs::write(daemon.config(), self.configuration(&daemon, failing_after)).unwrap();
        daemon
    }

    fn configuration(&self, daemon: &Daemon, failing_after: &str) -> String {
        let often = "* * * * * *";
        let mut schedule = String::new();
        for collector in [
            "vms",
            "containers",
            "expected_balance",
            "charges",
            "databases",
            "cron_jobs",
            "ips",
            "ssh_keys",
            "digest",
        ] {
            // Sites follow their containers.
            let is_it = self.place.is(collector) || (self.place.is("sites") && collector == "containers");
            let is_on = STATE.contains(&collector);
            // Five polls in a row that are refused, none of another between them, mean the group.
            let shares = self.place.of_its_group().contains(&collector);
            let ticks = match (is_it, is_on, shares) {
                (true, _, _) => often,
                (false, true, true) => "*/2 * * * * *",
                (false, true, false) => "*/5 * * * * *",
                (false, false, _) => "",
            };
            schedule.push_str(&format!("{collector} = \"{ticks}\"\n"));
        }
        let accounts: String = self
            .subjects
            .iter()
            .map(|subject| {
                let address = subject.provider.address;
                format!(
                    "[accounts.{}]\nbase_url = \"http://{address}\"\npanel_url = \"http://{address}\"\n",
                    subject.key
                )
            })
            .collect();
        format!(
            r#"
[defaults]
hosting_token = "hosting-token"
vm_api_key = "vm-api-key"
billing_username = "billing-user"
billing_password = "billing-password"
time_zone = "UTC"
container_states = {{ 0 = "ENABLED", 1 = "DISABLED_BY_SERVICE", 2 = "DISABLED_BY_ADMIN", 3 = "DISABLED_BY_QUOTA" }}
{accounts}
[schedule]
{schedule}
[limits]
vm_list_per_minute = 100000
vm_other_per_minute = 100000
hosting_per_minute = 100000
billing_per_minute = 100000
[alerts]
collector_failing_after = "{failing_after}"
[email]
smtp_url = "smtp://{}"
from = "hostwatch <hostwatch@example.com>"
to = ["ops@example.com"]
max_per_hour = 100000
[store]
path = "{}/hostwatch.db"
"#,
            self.smtp.address,
            daemon.directory.path().display()
        )
    }
}

/// Gives the first site so many databases or cron jobs more.
fn fill(provider: &Provider, place: &Place, count: usize) {
    const FIRST_SITE: u64 = 2001;
    for n in 0..count {
        let (path, body) = match place.collector {
            "databases" => (
                "/api/v1/hosting/dbms/databases/",
                format!(r#"{{"virtualhost_id": {FIRST_SITE}, "name": "base{n}", "charset": "utf8"}}"#),
            ),
            "cron_jobs" => (
                "/api/v2/hosting/cron/",
                format!(
                    r#"{{"virtualhost_id": {FIRST_SITE}, "minutes": "{}", "hours": "*", "days": "*",
                    "months": "*", "weekdays": "*", "command": "true"}}"#,
                    n % 60
                ),
            ),
            _ => return,
        };
        let mut stream = TcpStream::connect(provider.address).unwrap();
        let length = body.len();
        write!(
            stream,
            "POST {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer hosting-token\r\n\
             Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 20"), "{answer}");
    }
}
