//! One daemon with one account for each fault. All faults happen at the same time, each at a provider of its
//! own.

use std::io::{Read, Write};
use std::net::TcpStream;

use hostwatch_sim::{Command, Fault};

use super::common::smtp::SmtpServer;
use super::common::{Daemon, Provider, account, settings};
use super::rules::{Effect, When, effect};
use super::table::{CONTROL, ELSEWHERE, PLACES, Pace, Place, STATE, TROUBLES, Trouble, scenario};

/// An account and its fault. The account without a fault is for comparison.
pub struct Subject {
    pub key: &'static str,
    pub fault: Option<Fault>,
    /// Whether it is larger than the others, so that there is a second page.
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

    /// The number of requests for the collector's listings so far.
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
    /// The accounts for the troubles of one pace.
    pub fn new(place: &'static Place, pace: Pace, elsewhere: &str) -> Self {
        let control = (CONTROL, None, false);
        let here = |trouble: &&Trouble| trouble.pace(place) == pace;
        let troubles = TROUBLES.iter().filter(here).map(|trouble| {
            let mut fault = (trouble.fault)(place);
            fault.to = Some(elsewhere.to_owned());
            fault.value = fault.value.map(|value| value.replace(ELSEWHERE, elsewhere));
            (trouble.key, Some(fault), trouble.is_wide(place))
        });
        let subjects = std::iter::once(control).chain(troubles).map(|(key, fault, is_wide)| {
            let (args, scenario) = scenario(place, is_wide);
            let provider = Provider::start_with(&args, &scenario);
            fill(&provider, place, if is_wide { 101 } else { 2 });
            Subject { key, fault, is_wide, provider }
        });
        Self { place, subjects: subjects.collect(), smtp: SmtpServer::plain(), pace }
    }

    /// The time-out of a whole request.
    pub fn time_out_seconds(&self) -> u64 {
        30 / self.pace.haste()
    }

    /// A daemon for all of them, not started.
    pub fn daemon(&self, failing_after: &str) -> Daemon {
        let mut daemon = Daemon::prepare(&self.subjects[0].provider, self.smtp.address, "");
        // Groups with refused credentials are not asked for three seconds instead of five minutes.
        daemon.environment.push(("HOSTWATCH_HASTE", "100".to_owned()));
        daemon.environment.push(("HOSTWATCH_TIME_OUT_HASTE", self.pace.haste().to_string()));
        std::fs::write(daemon.config(), self.configuration(&daemon, failing_after)).unwrap();
        daemon
    }

    fn configuration(&self, daemon: &Daemon, failing_after: &str) -> String {
        let mut text: String =
            self.subjects.iter().map(|subject| account(subject.key, subject.provider.address)).collect();
        text.push_str(&settings(self.smtp.address, daemon.directory.path()));
        for place in PLACES.iter().filter(|place| !place.is("sites")) {
            // Sites follow their containers.
            let is_it = self.place.is(place.collector) || (self.place.is("sites") && place.is("containers"));
            let is_on = STATE.contains(&place.collector);
            // Five refused polls in a row, with no poll of another collector between them, mean the whole
            // group.
            let shares = self.place.of_its_group().contains(&place.collector);
            let ticks = match (is_it, is_on, shares) {
                (true, _, _) => "* * * * * *",
                (false, true, true) => "*/2 * * * * *",
                (false, true, false) => "*/5 * * * * *",
                (false, false, _) => "",
            };
            let of_it = |line: &str| line.starts_with(&format!("{} = ", place.collector));
            let kept: Vec<&str> = text.lines().filter(|line| !of_it(line)).collect();
            let line = format!("[schedule]\n{} = \"{ticks}\"", place.collector);
            text = kept.join("\n").replace("[schedule]", &line);
        }
        let alerts = format!(
            "max_per_hour = 100000\n[alerts]\ncollector_failing_after = \"{failing_after}\"\n[store]"
        );
        text.replace("[store]", &alerts)
    }
}

/// Adds this many databases or cron jobs to the first site.
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
