//! The daemon under attack, and the checks of its memory, its log and its other collectors.

use std::time::Duration;

use super::bodies::Endpoint;
use super::common::smtp::SmtpServer;
use super::common::*;
use super::server::Hostile;

/// The limit in docs/dev/judges.md: the memory that attacks take beyond the daemon's own.
pub const BOUND_MIB: u64 = 512;

/// A body may take seconds, a time-out takes 30, and 10,000 pages are slow on a busy machine.
const PATIENCE: Duration = Duration::from_secs(300);

/// A daemon with two accounts: attacks on `main` must not affect `quiet`.
pub struct Victim {
    pub hostile: Hostile,
    pub daemon: Daemon,
    _smtp: SmtpServer,
    /// The provider behind the attacker.
    _provider: Provider,
    /// Every resource of `main` by name, as the metrics have it.
    known: Vec<String>,
    base_mib: u64,
}

impl Victim {
    /// Starts the daemon and waits until everything was read once.
    pub fn start() -> Self {
        Self::start_hasty(1)
    }

    /// The same with a fraction of the time for an answer.
    pub fn start_hasty(haste: u64) -> Self {
        let provider = Provider::start(SCENARIO);
        let hostile = Hostile::before(provider.address);
        let smtp = SmtpServer::plain();
        // The shortest horizon there is: few others are tried where this is too much.
        let quiet = format!("{}[billing]\nhorizon_days = 21\n", account("quiet", provider.address));
        let mut daemon = Daemon::prepare(&provider, smtp.address, &quiet);
        let config = std::fs::read_to_string(daemon.config()).unwrap();
        let (main, rest) = config.split_once("[schedule]").unwrap();
        let main = main.replace(&provider.address.to_string(), &hostile.address.to_string());
        let rest = ["charges", "databases"].iter().fold(rest.to_owned(), |text, key| {
            text.replace(&format!("{key} = \"\""), &format!("{key} = \"* * * * * *\""))
        });
        std::fs::write(daemon.config(), format!("{main}[schedule]{rest}")).unwrap();
        daemon.environment.push(("HOSTWATCH_TIME_OUT_HASTE", haste.to_string()));
        daemon.run();
        let mut victim =
            Self { hostile, daemon, _smtp: smtp, _provider: provider, known: Vec::new(), base_mib: 0 };
        victim.is_well(&Endpoint::ALL);
        let info = |line: &&str| line.starts_with("hosting_") && line.contains("_info{account=\"main\"");
        victim.known = victim.daemon.page().lines().filter(info).map(str::to_owned).collect();
        victim.base_mib = victim.mib("VmRSS");
        victim
    }

    /// The known resources that are missing on this page.
    pub fn lost(&self, page: &str) -> Vec<&str> {
        self.known.iter().map(String::as_str).filter(|line| !page.contains(line)).collect()
    }

    /// Waits until a sweep that began after the last attack has read everything. The one before it may have read false
    /// containers to its end, and databases of the true ones would not be asked for.
    pub fn recovers(&self) {
        let swept =
            "hostwatch_collector_polls_total{account=\"main\",collector=\"sites\",result=\"success\"}";
        self.rises(swept, value(&self.daemon.page(), swept) + 1);
        self.is_well(&Endpoint::ALL);
    }

    /// Waits until these collectors read everything, of both accounts.
    pub fn is_well(&self, endpoints: &[Endpoint]) {
        for endpoint in endpoints {
            self.waits(&complete("main", *endpoint, 1));
            self.waits(&complete("quiet", *endpoint, 1));
        }
        until_within(PATIENCE, "what was known", || self.lost(&self.daemon.page()).is_empty());
    }

    /// Waits for a line of the metrics, longer than other tests do, since a body may take seconds.
    pub fn waits(&self, line: &str) {
        let shows = || self.daemon.page().lines().any(|one| one == line);
        until_within(PATIENCE, line, shows);
    }

    /// Waits until two more attacks on it have ended.
    pub fn attacked_twice(&self, endpoint: Endpoint) {
        let ended = || self.hostile.attacked(endpoint) >= 2;
        until_within(PATIENCE, &format!("attacks on {endpoint:?}"), ended);
    }

    /// Waits for one of these texts in the log.
    pub fn tells(&self, words: &[&str]) {
        let told = || words.iter().any(|words| self.daemon.log.count(words) > 0);
        until_within(PATIENCE, words[0], told);
    }

    /// Waits until a counter is above this.
    pub fn rises(&self, series: &str, above: u64) {
        until_within(PATIENCE, series, || value(&self.daemon.page(), series) > above);
    }

    /// The highest memory since the last call, beyond its base.
    pub fn peak_mib(&self) -> u64 {
        let peak = self.mib("VmHWM").saturating_sub(self.base_mib);
        // Resets the mark.
        std::fs::write(format!("/proc/{}/clear_refs", self.daemon.id()), "5").unwrap();
        peak
    }

    fn mib(&self, name: &str) -> u64 {
        self.daemon.status_of_process(name) / 1024
    }

    /// Fails if the attack took more memory than promised, or affected other parts.
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
