//! How long a mail takes: from the provider's answer that ends the poll which saw a change to the mail server's 250,
//! with the real binary, the simulated provider and the scripted mail server.
//!
//! `cargo bench --bench latency` for both sizes, `-- small` or `-- large` for one.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark")]

#[path = "../tests/common/mod.rs"]
mod common;

use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use common::{Daemon, Provider, received, smtp::SmtpServer};
use hostwatch::sim::Entry;

/// What the mail may take.
const TARGET: Duration = Duration::from_millis(200);
/// VMs on a page of the simulated provider.
const PAGE: u64 = 20;
/// Of the simulated VMs, which are listed by id.
const FIRST_ID: u64 = 10_001;
const LIST: &str = "/api/cvds/v1/vms/";

fn main() {
    let asked: Vec<String> = std::env::args().skip(1).filter(|one| !one.starts_with('-')).collect();
    let wanted = |name: &str| asked.is_empty() || asked.iter().any(|one| one == name);
    println!("from the provider's last answer of a poll to the mail server's 250:");
    let small = "vms = 60\ncontainers = 5\nsites = 25\n";
    let large = "vms = 10000\ncontainers = 1000\nsites = 20000\nresource_orders = false\n";
    for (name, changes, scenario) in [("small", 50, small), ("large", 10, large)] {
        if wanted(name) {
            measure(name, changes, scenario);
        }
    }
}

fn measure(name: &str, changes: u64, scenario: &str) {
    let scenario = format!("time_zone = \"UTC\"\n{scenario}");
    let vms: u64 = scenario.lines().find_map(|line| line.strip_prefix("vms = ")).unwrap().parse().unwrap();
    let provider = Provider::start(&scenario);
    let smtp = SmtpServer::plain();
    let mut daemon = Daemon::start(&provider, smtp.address);
    let first = "hostwatch_notifications_total{result=\"sent\"} 1";
    wait("the first mail", || daemon.page().contains(first));
    let last_page = vms.div_ceil(PAGE);
    let step = (vms / changes).max(1);
    let mut took = Vec::new();
    for change in 0..changes {
        let place = change * step;
        let vm = FIRST_ID + place;
        let changed = common::now();
        provider.set_vm(vm, "error");
        let pair = format!("main/vm_error/{vm} opened");
        // The provider remembers its last 10,000 requests, which may be a few seconds.
        let mut requests: Vec<Entry> = Vec::new();
        wait(&pair, || {
            let told = received(&smtp).iter().any(|mail| mail.pairs.contains(&pair));
            let last = requests.last().map_or(changed, |entry| entry.at);
            let all = provider.simulator.requests().into_iter();
            requests.extend(all.filter(|entry| entry.at > last && entry.path.starts_with(LIST)));
            told
        });
        // The servers' clocks: one tells the time of day, the other counts on.
        let (now, counted) = (common::now(), Instant::now());
        let mail = smtp.seen().accepted().last().map(|mail| mail.at).unwrap();
        let mailed = now - (counted - mail);
        let page = place / PAGE + 1;
        let saw = asked(&requests, page, changed);
        let ended = asked(&requests, last_page, saw);
        took.push((mailed - ended).to_std().unwrap_or_default());
    }
    assert_eq!(daemon.stop(), 0);
    took.sort();
    let at = |part: f64| took[((took.len() - 1) as f64 * part).round() as usize];
    println!(
        "  {name} ({vms} VMs), {changes} changes: min {:?}, median {:?}, p99 {:?}, max {:?}; target {TARGET:?}: {}",
        at(0.0),
        at(0.5),
        at(0.99),
        at(1.0),
        if at(0.99) <= TARGET { "met" } else { "MISSED" }
    );
}

/// A poll of 10,000 VMs in pages of 20 beside a sweep of 20,000 sites takes its time.
fn wait(what: &str, mut so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !so() {
        assert!(began.elapsed() < Duration::from_secs(300), "not within 5 min: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// When this page of the VM list was first asked for, from a time on.
fn asked(requests: &[Entry], page: u64, from: DateTime<Utc>) -> DateTime<Utc> {
    let path = if page == 1 { LIST.to_owned() } else { format!("{LIST}?page={page}") };
    let found = requests.iter().find(|entry| entry.at >= from && entry.path == path);
    found.unwrap_or_else(|| panic!("{path} was not asked for after {from}")).at
}
