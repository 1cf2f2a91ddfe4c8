//! The daemon under attack, and what it is held to: its memory, its log, the other collectors.

use std::path::Path;
use std::time::Duration;

use super::bodies::Endpoint;
use super::common::smtp::SmtpServer;
use super::common::*;
use super::server::Hostile;

/// The bound that docs/dev/hostile.md states: memory that attacks take beyond what the daemon had.
pub const BOUND_MIB: u64 = 512;

/// A body may take seconds, a time-out takes 30, and 10,000 pages take their time where others work too.
const PATIENCE: Duration = Duration::from_secs(300);

/// A daemon with two accounts: what attacks `main` must not touch `quiet`.
pub struct Victim {
    pub hostile: Hostile,
    pub daemon: Daemon,
    pub smtp: SmtpServer,
    /// Behind it.
    _provider: Provider,
    /// Every resource of `main` by name, as the metrics have it.
    known: Vec<String>,
    base_mib: u64,
}

impl Victim {
    /// Runs, with everything read once.
    pub fn start(extra: &str) -> Self {
        let provider = Provider::start(SCENARIO);
        let hostile = Hostile::before(provider.address);
        let smtp = SmtpServer::plain();
        let quiet = format!(
            r#"
[accounts.quiet]
base_url = "http://{0}"
panel_url = "http://{0}"
hosting_token = "hosting-token"
vm_api_key = "vm-api-key"
billing_username = "billing-user"
billing_password = "billing-password"
time_zone = "UTC"
container_states = {{ 0 = "ENABLED" }}
# The shortest there is: no other is tried where this is too much.
[billing]
horizon_days = 21
{extra}"#,
            provider.address
        );
        let mut daemon = Daemon::prepare(&provider, smtp.address, &quiet);
        let config = std::fs::read_to_string(daemon.config()).unwrap();
        let (main, rest) = config.split_once("[schedule]").unwrap();
        let main = main.replace(&provider.address.to_string(), &hostile.address.to_string());
        let rest = ["charges", "databases"].iter().fold(rest.to_owned(), |text, key| {
            text.replace(&format!("{key} = \"\""), &format!("{key} = \"* * * * * *\""))
        });
        std::fs::write(daemon.config(), format!("{main}[schedule]{rest}")).unwrap();
        daemon.run();
        let mut victim = Self { hostile, daemon, smtp, _provider: provider, known: Vec::new(), base_mib: 0 };
        victim.is_well(&Endpoint::ALL);
        let info = |line: &&str| line.starts_with("hosting_") && line.contains("_info{account=\"main\"");
        victim.known = victim.daemon.page().lines().filter(info).map(str::to_owned).collect();
        victim.base_mib = status_mib(victim.daemon.id(), "VmRSS");
        victim
    }

    /// What was known once and is not on this page.
    pub fn lost(&self, page: &str) -> Vec<&str> {
        self.known.iter().map(String::as_str).filter(|line| !page.contains(line)).collect()
    }

    /// Waits until these collectors read all there is, of both accounts.
    pub fn is_well(&self, endpoints: &[Endpoint]) {
        for endpoint in endpoints {
            self.waits(&complete("main", *endpoint, 1));
            self.waits(&complete("quiet", *endpoint, 1));
        }
        until_within(PATIENCE, "what was known", || self.lost(&self.daemon.page()).is_empty());
    }

    /// Waits for a line of the metrics, longer than others do: a body may take seconds.
    pub fn waits(&self, line: &str) {
        let shows = || self.daemon.page().lines().any(|one| one == line);
        until_within(PATIENCE, line, shows);
    }

    /// Waits until two more attacks on it have ended.
    pub fn attacked_twice(&self, endpoint: Endpoint) {
        let ended = || self.hostile.attacked(endpoint) >= 2;
        until_within(PATIENCE, &format!("attacks on {endpoint:?}"), ended);
    }

    /// Waits for one of these in the log.
    pub fn tells(&self, words: &[&str]) {
        let told = || words.iter().any(|words| self.daemon.log.count(words) > 0);
        until_within(PATIENCE, words[0], told);
    }

    /// Waits until a counter is above this.
    pub fn rises(&self, series: &str, above: u64) {
        until_within(PATIENCE, series, || value(&self.daemon.page(), series) > above);
    }

    /// The most memory that it took since it was asked last, beyond its base.
    pub fn peak_mib(&self) -> u64 {
        let id = self.daemon.id();
        let peak = status_mib(id, "VmHWM").saturating_sub(self.base_mib);
        // Resets the mark.
        std::fs::write(Path::new("/proc").join(id.to_string()).join("clear_refs"), "5").unwrap();
        peak
    }

    /// Fails where the attack took more than is promised, or harmed what it did not touch.
    pub fn survived(&self, attack: &str, attacked: &[Endpoint]) {
        let peak = self.peak_mib();
        println!("{attack}: {peak} MiB");
        assert!(peak <= BOUND_MIB, "{attack}: {peak} MiB");
        let page = self.daemon.page();
        for endpoint in Endpoint::ALL {
            let is_line = |account: &str| page.contains(&success(account, endpoint, 1));
            assert!(is_line("quiet"), "{attack}: {endpoint:?} of another account");
            // Sites follow their containers, and databases their sites.
            let follows =
                endpoint.is_below() && attacked.iter().any(|one| *one != endpoint && one.is_parent());
            let is_touched = follows || attacked.contains(&endpoint);
            assert!(is_touched || is_line("main"), "{attack}: {endpoint:?} of this account");
        }
        for line in self.daemon.log.lines() {
            assert!(line.starts_with("ts="), "{attack}: {line:?}");
            assert!(!line.contains("panic"), "{attack}: {line}");
            assert!(line.len() < 4096, "{attack}: a line of {} bytes", line.len());
            let odd =
                |c: char| c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
            assert!(!line.contains(odd), "{attack}: {line:?}");
        }
    }
}

pub fn value(page: &str, series: &str) -> u64 {
    let line = page.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {series}")).parse().unwrap()
}

pub fn success(account: &str, endpoint: Endpoint, value: u8) -> String {
    line("success", account, endpoint, value)
}

pub fn complete(account: &str, endpoint: Endpoint, value: u8) -> String {
    line("complete", account, endpoint, value)
}

fn line(what: &str, account: &str, endpoint: Endpoint, value: u8) -> String {
    let collector = endpoint.collector();
    format!("hostwatch_collector_{what}{{account=\"{account}\",collector=\"{collector}\"}} {value}")
}

/// A line of `/proc/ID/status` in MiB.
pub fn status_mib(id: u32, name: &str) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).unwrap();
    line.trim().trim_end_matches(" kB").trim().parse::<u64>().unwrap() / 1024
}
