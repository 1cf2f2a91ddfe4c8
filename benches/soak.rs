//! A day of polls, one a second, in a few minutes, to see whether the daemon grows. It uses the real binary,
//! the simulated provider and the scripted mail server. After each tenth it notes resident memory, descriptors,
//! threads and the size of the store.
//!
//! `cargo bench --bench soak` for both forms, `-- quiet` or `-- busy` for one. `HOSTWATCH_SOAK_POLLS` (86400)
//! is the number of polls, `HOSTWATCH_SOAK_ACCOUNTS` (24) the number of accounts. The shortest tick of a
//! schedule is a second, so many accounts poll side by side. Each poll of each collector of each account counts
//! as one.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark")]

#[path = "../tests/common/mod.rs"]
mod common;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use common::{Daemon, Provider, smtp::SmtpServer, until_within};
use hostwatch_sim::Args;

const POLLS: u64 = 86_400;
/// Each polls its VMs, containers, sites and report every second.
const ACCOUNTS: u64 = 24;
const COLLECTORS: [&str; 4] = ["vms", "containers", "sites", "expected_balance"];
/// The metrics are read this often, as a scraper does.
const LOOK_EVERY: Duration = Duration::from_secs(1);
const PATIENCE: Duration = Duration::from_secs(60);

/// The allowed growth from the highest of the second to fifth tenth to the last. Threads and buffers are made
/// in the first tenth.
const MORE_MEMORY_KIB: u64 = 3 * 1024;
const MORE_DESCRIPTORS: u64 = 4;
const MORE_THREADS: u64 = 2;
/// The store's growth for each mail: its subject, its events and its decisions.
const MORE_STORE_BYTES_A_MAIL: u64 = 48 * 1024;
/// SQLite writes its log back, and starts it again, after 1,000 pages of 4 KiB. One more commit may be in it.
const MOST_LOG_BYTES: u64 = 5 * 1024 * 1024;

fn main() {
    let asked: Vec<String> = std::env::args().skip(1).filter(|one| !one.starts_with('-')).collect();
    let setting = |name, default| std::env::var(name).map_or(default, |text| text.parse().unwrap());
    let polls = setting("HOSTWATCH_SOAK_POLLS", POLLS);
    let accounts = setting("HOSTWATCH_SOAK_ACCOUNTS", ACCOUNTS);
    for form in ["quiet", "busy"] {
        if asked.is_empty() || asked.iter().any(|one| one == form) {
            soak(form, polls, accounts);
        }
    }
}

/// The daemon's resources at one moment.
#[derive(Clone, Copy, Default, Debug)]
struct Held {
    memory_kib: u64,
    descriptors: u64,
    threads: u64,
    store_bytes: u64,
    /// The bytes that were not written back into the database yet.
    log_bytes: u64,
    mails: u64,
}

impl Held {
    fn now(daemon: &Daemon, mails: u64) -> Self {
        let process = PathBuf::from(format!("/proc/{}", daemon.id()));
        let status = std::fs::read_to_string(process.join("status")).unwrap();
        let field = |name: &str| {
            let line = status.lines().find(|line| line.starts_with(name)).unwrap();
            line.split_whitespace().nth(1).unwrap().parse().unwrap()
        };
        let store = daemon.directory.path().join("hostwatch.db");
        let size = |path: &Path| std::fs::metadata(path).map_or(0, |found| found.len());
        Self {
            memory_kib: field("VmRSS:"),
            descriptors: std::fs::read_dir(process.join("fd")).unwrap().count() as u64,
            threads: field("Threads:"),
            store_bytes: size(&store),
            log_bytes: size(&store.with_extension("db-wal")),
            mails,
        }
    }

    /// The higher value of both.
    fn or(self, other: Self) -> Self {
        Self {
            memory_kib: self.memory_kib.max(other.memory_kib),
            descriptors: self.descriptors.max(other.descriptors),
            threads: self.threads.max(other.threads),
            store_bytes: self.store_bytes.max(other.store_bytes),
            log_bytes: self.log_bytes.max(other.log_bytes),
            mails: self.mails.max(other.mails),
        }
    }
}

fn soak(form: &str, polls: u64, accounts: u64) {
    let args = Args { unlimited: true, ..Args::default() };
    let provider = Provider::start_with(&args, "time_zone = \"UTC\"\nvms = 20\ncontainers = 1\nsites = 10\n");
    let smtp = SmtpServer::plain();
    let mut daemon = Daemon::prepare(&provider, smtp.address, "");
    configure(&daemon, accounts);
    daemon.run();
    let busy = form == "busy";
    println!(
        "{form}: {polls} polls, {accounts} accounts{}",
        if busy { ", two VMs break and recover a tenth" } else { "" }
    );
    println!(
        "  {:>8} {:>8} {:>12} {:>12} {:>8} {:>10} {:>8} {:>6}",
        "polls", "seconds", "memory KiB", "descriptors", "threads", "store KiB", "log KiB", "mails"
    );
    let began = Instant::now();
    let mut tenths: Vec<Held> = Vec::new();
    let mut most = Held::default();
    let (mut broken, mut vm) = (None, 10_001);
    while tenths.len() < 10 {
        let page = daemon.page();
        let done = ended(&page);
        let held = Held::now(&daemon, sent(&page));
        most = most.or(held);
        let tenth = tenths.len() as u64;
        // It breaks in the first third of a tenth and recovers in the second.
        let third = done.saturating_sub(polls * tenth / 10) * 30 / polls;
        if busy && broken.is_none() && third == 0 {
            broken = Some(vm);
            provider.set_vm(vm, "error");
            provider.set_vm(vm + 1, "error");
        } else if third >= 1
            && let Some(vms) = broken.take_if(|_| third == 1)
        {
            provider.set_vm(vms, "active");
            provider.set_vm(vms + 1, "active");
            vm += 2;
        }
        if done >= polls * (tenth + 1) / 10 {
            println!(
                "  {done:8} {:8} {:12} {:12} {:8} {:10} {:8} {:6}",
                began.elapsed().as_secs(),
                most.memory_kib,
                most.descriptors,
                most.threads,
                most.store_bytes / 1024,
                most.log_bytes / 1024,
                most.mails
            );
            tenths.push(std::mem::take(&mut most));
        }
        std::thread::sleep(LOOK_EVERY);
    }
    let failed = failures(&daemon.page());
    let rate = polls / began.elapsed().as_secs().max(1);
    println!("  {rate} polls a second, {failed} failed");
    until_within(PATIENCE, "all mails are out", || daemon.page().contains("{state=\"queued\"} 0"));
    assert_eq!(failed, 0, "polls fail: {:#?}", daemon.log.lines().last());
    assert_eq!(daemon.stop(), 0);
    let early = tenths[1..5].iter().fold(Held::default(), |most, tenth| most.or(*tenth));
    judge(early, tenths[9], busy);
}

fn judge(early: Held, last: Held, busy: bool) {
    let mails = last.mails - early.mails;
    let store = if busy { mails * MORE_STORE_BYTES_A_MAIL } else { 0 };
    let rows = [
        ("memory KiB", early.memory_kib, last.memory_kib, MORE_MEMORY_KIB),
        ("descriptors", early.descriptors, last.descriptors, MORE_DESCRIPTORS),
        ("threads", early.threads, last.threads, MORE_THREADS),
        ("store bytes", early.store_bytes, last.store_bytes, store),
        ("log bytes", early.log_bytes, last.log_bytes, MOST_LOG_BYTES.saturating_sub(early.log_bytes)),
    ];
    let mut grows = false;
    for (what, first, last, more) in rows {
        let fits = last <= first + more;
        grows |= !fits;
        let verdict = if fits { "flat" } else { "GROWS" };
        println!("  {what}: {first} in the first half, {last} at the end, {more} more allowed: {verdict}");
    }
    if let Some(bytes) = last.store_bytes.saturating_sub(early.store_bytes).checked_div(mails) {
        println!("  {bytes} bytes of store a mail");
    }
    assert!(!grows, "the daemon grows");
}

/// The same account several times: all of them watch the same resources.
fn configure(daemon: &Daemon, accounts: u64) {
    let config = std::fs::read_to_string(daemon.config()).unwrap();
    let (_, rest) = config.split_once("[accounts.main]").unwrap();
    let (account, rest) = rest.split_once("[schedule]").unwrap();
    let mut text = String::new();
    for number in 0..accounts {
        write!(text, "[accounts.n{number}]{account}").unwrap();
    }
    let rest = rest.replace("[email]", "[email]\nmax_per_hour = 100000");
    std::fs::write(daemon.config(), format!("{text}[schedule]{rest}")).unwrap();
}

fn sum(page: &str, of: impl Fn(&str) -> bool) -> u64 {
    let lines = page.lines().filter(|line| line.starts_with("hostwatch_collector_polls_total") && of(line));
    lines.map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()).sum()
}

fn ended(page: &str) -> u64 {
    COLLECTORS.iter().map(|name| sum(page, |line| line.contains(&format!("\"{name}\"")))).sum()
}

fn failures(page: &str) -> u64 {
    sum(page, |line| !line.contains("\"success\""))
}

fn sent(page: &str) -> u64 {
    let start = "hostwatch_notifications_total{result=\"sent\"} ";
    page.lines().find_map(|line| line.strip_prefix(start)).map_or(0, |count| count.parse().unwrap())
}
