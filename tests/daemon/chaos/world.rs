//! Two simulated providers, a scripted mail server, the daemon between them, and the state that the daemon
//! shows.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use chrono::NaiveDateTime;
use hostwatch_sim::Args;

use super::history::{History, Moment, Span};
use super::script::ACCOUNTS;
use crate::common::smtp::{Mail, Setup, SmtpServer};
use crate::common::{Daemon, OPS, Provider, account, settings};

/// Without this divisor mails would wait half an hour after faults of the mail server.
const HASTE: u32 = 100;

/// One account of the two.
pub struct Account {
    pub name: &'static str,
    pub provider: Provider,
    /// The time of the order's next charge; then it is charged every day.
    first_charge: Moment,
    /// VMs that were not used yet, since a resource that broke twice would flap.
    pub fresh_vms: Vec<u64>,
    pub fresh_containers: Vec<u64>,
    pub sites_made: usize,
    /// All VMs that non-payment would block.
    pub vms: BTreeSet<u64>,
    pub containers: BTreeSet<u64>,
    pub sites: BTreeSet<u64>,
    /// The number of resources that are breaking now.
    pub lives: usize,
    /// Whether the account is about to be cut off, or is. Then nothing else may break.
    pub cut_off: bool,
    pub cut_offs: usize,
    pub lasts: u32,
}

impl Account {
    fn new(name: &'static str, seconds: u64, seed: u64) -> Self {
        let (vms, containers) = (20 + seconds * 3 / 20, 4 + seconds / 150);
        let scenario = format!(
            "time_zone = \"UTC\"\nseed = {seed}\nresource_orders = false\nvms = {vms}\ncontainers = {containers}\nsites = {}\n\
             [[order]]\ncomment = \"everything\"\namount = 10\n\
             billing_period = [1, \"day\"]\ncharge_period = [1, \"day\"]\nage = \"246h\"\n\
             [[event]]\nat = \"0s\"\ndo = \"last_days\"\ndays = 200\n",
            containers * 2
        );
        let args = Args { unlimited: true, vm_page_size: 100, ..Args::default() };
        let provider = Provider::start_with(&args, &scenario);
        let first_charge = first_charge(provider.address);
        let ids = |first: u64, count: u64| (first..first + count).collect::<Vec<_>>();
        let mut fresh_vms = ids(10_001, vms);
        // One stays, so that the listing is never empty.
        fresh_vms.remove(0);
        let mut fresh_containers = ids(301, containers);
        // New sites are in the first container.
        fresh_containers.remove(0);
        Self {
            name,
            provider,
            first_charge,
            fresh_vms,
            fresh_containers,
            sites_made: 0,
            vms: ids(10_001, vms).into_iter().collect(),
            containers: ids(301, containers).into_iter().collect(),
            sites: ids(2_001, containers * 2).into_iter().collect(),
            lives: 0,
            cut_off: false,
            cut_offs: 0,
            lasts: 200,
        }
    }

    /// The first charge that a balance for this number of days does not cover.
    pub fn disconnect_after(&self, days: u32, now: Moment) -> Moment {
        let covered = now + chrono::Duration::days(i64::from(days));
        let mut at = self.first_charge;
        while at <= covered {
            at += chrono::Duration::days(1);
        }
        at
    }

    /// The recipients of this account's mails.
    pub fn recipients(&self) -> [String; 2] {
        [OPS.to_owned(), format!("{}@example.com", &self.name[..1])]
    }

    /// The first sites of a container.
    pub fn sites_of(container: u64) -> [u64; 2] {
        let index = container - 301;
        [2_001 + index * 2, 2_002 + index * 2]
    }
}

/// Asks the provider itself.
fn first_charge(address: SocketAddr) -> Moment {
    let date = (crate::common::now() + chrono::Duration::days(30)).format("%Y-%m-%d");
    let login = BASE64.encode("billing-user:billing-password");
    let headers = format!("Authorization: Basic {login}\r\nAccept: application/json\r\n");
    let mut body = None;
    crate::common::until("the report", || {
        body = get(address, &format!("/api/v1/expected_balance/{date}/"), &headers);
        body.is_some()
    });
    let body = body.unwrap();
    let report: serde_json::Value = serde_json::from_str(&body).unwrap();
    let moment = report["charge_moments"][0]["moment"].as_str().unwrap();
    moment.parse::<NaiveDateTime>().unwrap().and_utc()
}

/// The body of a good answer.
pub fn get(address: SocketAddr, path: &str, headers: &str) -> Option<String> {
    let patience = Duration::from_millis(1500);
    let mut stream = TcpStream::connect_timeout(&address, patience).ok()?;
    stream.set_read_timeout(Some(patience)).ok()?;
    write!(stream, "GET {path} HTTP/1.0\r\nHost: 127.0.0.1\r\n{headers}\r\n").ok()?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).ok()?;
    let answer = String::from_utf8_lossy(&answer);
    let (head, body) = answer.split_once("\r\n\r\n")?;
    head.split(' ').nth(1).filter(|status| *status == "200")?;
    Some(body.to_owned())
}

/// Moves a daemon's files into memory if possible. A disk that other work keeps busy delays each commit and so each mail by
/// seconds. A SIGKILL leaves there what was written, as a disk does.
fn in_memory(daemon: &mut Daemon) {
    if let Ok(directory) = tempfile::tempdir_in("/dev/shm") {
        let config = daemon.config();
        std::fs::copy(&config, directory.path().join(config.file_name().unwrap())).unwrap();
        daemon.directory = directory;
    }
}

/// The state that the daemon shows at one moment.
pub struct Page {
    text: String,
    /// The reasons of incidents that are neither over nor right for now, by key; asked for after the metrics.
    pub open: BTreeMap<String, String>,
    /// The time after both were read: their contents were decided before.
    pub at: Moment,
}

impl Page {
    fn read(address: SocketAddr) -> Option<Self> {
        let text = format!("\n{}", get(address, "/metrics", "")?);
        let status: serde_json::Value = serde_json::from_str(&get(address, "/api/v1/status", "")?).ok()?;
        let rows = status["incidents"]["open"].as_array()?;
        let word = |row: &serde_json::Value, name: &str| row[name].as_str().unwrap_or_default().to_owned();
        // A flapping incident stays open for half an hour after it became right.
        let keeps_changing = |row: &serde_json::Value| {
            let words = [word(row, "title"), word(row, "reason")];
            let ends = ["keeps failing", "keep failing", "again and again", "changes within an hour"];
            words.iter().any(|one| ends.iter().any(|end| one.ends_with(end)))
        };
        let is_right = |row: &&serde_json::Value| keeps_changing(row) && word(row, "state") == "recovering";
        let rows = rows.iter().filter(|row| !is_right(row));
        let open = rows.map(|row| (word(row, "key"), word(row, "reason"))).collect();
        Some(Self { text, open, at: crate::common::now() })
    }

    pub fn has(&self, line: &str) -> bool {
        self.text.contains(&format!("\n{line}\n"))
    }

    /// Whether a line begins with this.
    pub fn begins(&self, line: &str) -> bool {
        self.text.contains(&format!("\n{line}"))
    }

    /// The rest of the line that begins with this.
    pub fn rest(&self, start: &str) -> Option<&str> {
        let found = self.text.find(&format!("\n{start}"))?;
        self.text[found + 1 + start.len()..].lines().next()
    }

    /// The first line that begins with this and contains `has`.
    pub fn line_with(&self, start: &str, has: &str) -> Option<&str> {
        self.text.lines().find(|line| line.starts_with(start) && line.contains(has))
    }

    pub fn value(&self, series: &str) -> Option<f64> {
        self.rest(&format!("{series} "))?.parse().ok()
    }

    pub fn nothing_waits(&self) -> bool {
        ["queued", "sending", "held"]
            .iter()
            .all(|state| self.has(&format!("hostwatch_outbox_messages{{state=\"{state}\"}} 0")))
    }

    /// The number of a collector's successful polls since the daemon started.
    pub fn polled(&self, account: &str, collector: &str) -> u64 {
        let series = "hostwatch_collector_polls_total";
        let labels = format!("account=\"{account}\",collector=\"{collector}\",result=\"success\"");
        self.value(&format!("{series}{{{labels}}}")).unwrap_or_default() as u64
    }

    /// The ended polls, by account, collector and result.
    fn polls(&self) -> impl Iterator<Item = (&str, u64)> {
        let lines = self.text.lines().filter_map(|line| line.strip_prefix("hostwatch_collector_polls_total"));
        lines.filter_map(|line| {
            let (labels, count) = line.split_once(' ')?;
            Some((labels, count.parse().ok()?))
        })
    }
}

pub struct World {
    pub accounts: Vec<Account>,
    /// `None` while the server is away.
    pub smtp: Option<SmtpServer>,
    mail_port: u16,
    /// The mails that earlier mail servers took.
    taken: Vec<Mail>,
    acts: BTreeMap<String, usize>,
    pub daemon: Daemon,
    pub history: History,
    /// The acts and their times.
    pub journal: Vec<String>,
    pub counts: BTreeMap<String, u64>,
    /// Whether mails have to wait for reasons of their own.
    pub mail_blocked: bool,
    began: Instant,
    /// The polls since this start of the daemon, as last shown.
    polls: BTreeMap<String, u64>,
}

impl World {
    pub fn new(seed: u64, seconds: u64) -> Self {
        let accounts: Vec<Account> =
            ACCOUNTS.into_iter().zip(seed..).map(|(name, seed)| Account::new(name, seconds, seed)).collect();
        let smtp = SmtpServer::plain();
        let mail_port = smtp.address.port();
        let mut daemon = Daemon::prepare(&accounts[0].provider, smtp.address, "");
        in_memory(&mut daemon);
        daemon.environment.push(("HOSTWATCH_HASTE", HASTE.to_string()));
        daemon.arm("nowhere");
        let mut world = Self {
            accounts,
            smtp: Some(smtp),
            mail_port,
            taken: Vec::new(),
            acts: BTreeMap::new(),
            daemon,
            history: History::default(),
            journal: Vec::new(),
            counts: BTreeMap::new(),
            mail_blocked: false,
            began: Instant::now(),
            polls: BTreeMap::new(),
        };
        world.configure(&ACCOUNTS, "");
        world.daemon.run();
        world
    }

    /// Writes the configuration file.
    pub fn configure(&self, accounts: &[&str], extra: &str) {
        let chosen = self.accounts.iter().filter(|account| accounts.contains(&account.name));
        let mut text: String = chosen
            .map(|one| format!("{}to = {:?}\n", account(one.name, one.provider.address), one.recipients()))
            .collect();
        let server = ([127, 0, 0, 1], self.mail_port).into();
        let settings = settings(server, self.daemon.directory.path());
        text.push_str(&settings.replace("[store]", "max_per_hour = 100000\n[store]"));
        text.push_str(&format!("[metrics]\nstate_series = \"current\"\n{extra}\n"));
        std::fs::write(self.daemon.config(), text).unwrap();
    }

    pub fn now(&self) -> Moment {
        crate::common::now()
    }

    pub fn age(&self) -> Duration {
        self.began.elapsed()
    }

    pub fn note(&mut self, text: &str) {
        let age = self.age().as_secs_f64();
        self.journal.push(format!("{age:9.3}  {} {text}", self.now().format("%H:%M:%S%.3f")));
    }

    pub fn count(&mut self, what: &str) {
        *self.counts.entry(what.to_owned()).or_default() += 1;
    }

    /// The state that the daemon shows now. Ends obstacles to mails once no mail waits.
    pub fn look(&mut self) -> Option<Page> {
        let page = Page::read(self.daemon.address)?;
        self.polls = page.polls().map(|(labels, count)| (labels.to_owned(), count)).collect();
        if page.nothing_waits() && !self.mail_blocked {
            for span in self.history.trouble.iter_mut().filter(|span| span.to.is_none()) {
                span.to = Some(page.at);
            }
            for key in self.history.may.keys().filter(|key| !page.open.contains_key(*key)) {
                self.history.over.entry(key.clone()).or_default().push(page.at);
            }
        }
        Some(page)
    }

    /// Notes an obstacle to mails from now on, until no mail waits.
    pub fn trouble(&mut self) {
        let from = self.now();
        self.history.trouble.push(Span { from, to: None });
    }

    /// Notes that mails may have left with an unknown result: also one that an obstacle of now has held up on its way.
    fn end_in_doubt(&mut self) {
        self.trouble();
        let open = self.history.trouble.iter().filter(|span| span.to.is_none());
        let from = open.map(|span| span.from).min().unwrap();
        self.history.doubts.push(Span { from, to: None });
    }

    pub fn kill(&mut self) {
        self.end_in_doubt();
        self.daemon.kill();
        self.history.kills.push((self.now(), Instant::now()));
        self.ended();
    }

    /// Sends SIGTERM.
    pub fn stop(&mut self) {
        self.end_in_doubt();
        assert_eq!(self.daemon.stop(), 0, "SIGTERM ends it cleanly");
        self.history.kills.push((self.now(), Instant::now()));
        self.ended();
    }

    fn ended(&mut self) {
        for (labels, count) in std::mem::take(&mut self.polls) {
            let result = ["success", "partial", "failure"].into_iter().find(|result| labels.contains(result));
            *self.counts.entry(format!("polls: {}", result.unwrap_or("other"))).or_default() += count;
        }
        let now = self.now();
        self.history.doubts.iter_mut().filter(|span| span.to.is_none()).for_each(|span| span.to = Some(now));
        let broken: Vec<String> =
            self.daemon.log.lines().into_iter().filter(|line| line.contains("panicked")).collect();
        assert!(broken.is_empty(), "{broken:#?}");
        self.daemon.arm("nowhere");
    }

    pub fn start(&mut self) {
        self.daemon.run();
    }

    /// Stops the mail server, with all its connections.
    pub fn mail_server_goes(&mut self) {
        let seen = self.smtp.take().unwrap().close();
        // A mail on its way may not have been read whole, and a reply may not have arrived.
        let now = self.now();
        self.history.doubts.push(Span { from: now, to: Some(now) });
        let last = seen.mails.len();
        for (index, mut mail) in seen.mails.into_iter().enumerate() {
            mail.answered &= index + 1 < last;
            self.taken.push(mail);
        }
        for (act, times) in seen.acts {
            *self.acts.entry(act).or_default() += times;
        }
    }

    pub fn mail_server_comes(&mut self) {
        self.smtp = Some(SmtpServer::start(Setup { port: self.mail_port, ..Setup::default() }));
    }

    /// All mails that the mail servers took or read, and the acts of their rules.
    pub fn mails(&self) -> (Vec<Mail>, BTreeMap<String, usize>) {
        let (mut mails, mut acts) = (self.taken.clone(), self.acts.clone());
        if let Some(smtp) = &self.smtp {
            let seen = smtp.seen();
            mails.extend(seen.mails);
            for (act, times) in seen.acts {
                *acts.entry(act).or_default() += times;
            }
        }
        (mails, acts)
    }
}
