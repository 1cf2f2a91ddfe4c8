//! The time that a mail takes: from the provider's answer that ends the poll with a change to the mail server's
//! 250. It uses the real binary, the simulated provider and the scripted mail server.
//!
//! `cargo bench --bench latency` for all, `-- small`, `-- open` (1,000 incidents are open) or `-- large` for one.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark")]

#[path = "../tests/common/mod.rs"]
mod common;

use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use common::{Daemon, Provider, received, smtp::SmtpServer};
use hostwatch_sim::Entry;

/// The time that a mail may take.
const TARGET: Duration = Duration::from_millis(200);
/// The VMs on a page of the simulated provider.
const PAGE: u64 = 20;
/// The first id of the simulated VMs, which are listed by id.
const FIRST_ID: u64 = 10_001;
const LIST: &str = "/api/cvds/v1/vms/";

fn main() {
    let asked: Vec<String> = std::env::args().skip(1).filter(|one| !one.starts_with('-')).collect();
    let wanted = |name: &str| asked.is_empty() || asked.iter().any(|one| one == name);
    println!("from the provider's last answer of a poll to the mail server's 250:");
    let small = "vms = 60\ncontainers = 5\nsites = 25\n";
    let large = "vms = 10000\ncontainers = 1000\nsites = 20000\nresource_orders = false\n";
    let many = "vms = 2000\n";
    for (name, changes, open, scenario) in
        [("small", 50, 0, small), ("open", 20, 1000, many), ("large", 10, 0, large)]
    {
        if wanted(name) {
            measure(name, changes, open, scenario);
        }
    }
}

/// `open`: the number of the last VMs that are in error from the start.
fn measure(name: &str, changes: u64, open: u64, scenario: &str) {
    let scenario = format!("time_zone = \"UTC\"\n{scenario}");
    let vms: u64 = scenario.lines().find_map(|line| line.strip_prefix("vms = ")).unwrap().parse().unwrap();
    let provider = Provider::start(&scenario);
    for vm in (FIRST_ID + vms - open)..(FIRST_ID + vms) {
        provider.set_vm(vm, "error");
    }
    let smtp = SmtpServer::plain();
    let mut daemon = Daemon::start(&provider, smtp.address);
    let first = "hostwatch_notifications_total{result=\"sent\"} 1";
    wait("the first mail", || daemon.page().contains(first));
    let last_page = vms.div_ceil(PAGE);
    let step = ((vms - open) / changes).max(1);
    let mut took = Vec::new();
    for change in 0..changes {
        let place = change * step;
        let vm = FIRST_ID + place;
        let changed = common::now();
        provider.set_vm(vm, "error");
        let pair = format!("main/vm_error/{vm} opened");
        // The provider keeps its last 10,000 requests, which may be those of a few seconds.
        let mut requests: Vec<Entry> = Vec::new();
        wait(&pair, || {
            let told = received(&smtp).iter().any(|mail| mail.pairs.contains(&pair));
            let last = requests.last().map_or(changed, |entry| entry.at);
            let all = provider.simulator.requests().into_iter();
            requests.extend(all.filter(|entry| entry.at > last && entry.path.starts_with(LIST)));
            told
        });
        // The servers' clocks: one has the time of day, the other counts on.
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
        "  {name} ({vms} VMs, {open} in error), {changes} changes: min {:?}, median {:?}, p99 {:?}, max {:?}; target {TARGET:?}: {}",
        at(0.0),
        at(0.5),
        at(0.99),
        at(1.0),
        if at(0.99) <= TARGET { "met" } else { "MISSED" }
    );
}

/// Waits for long, since a poll of 10,000 VMs in pages of 20 beside a sweep of 20,000 sites is slow.
fn wait(what: &str, mut so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !so() {
        assert!(began.elapsed() < Duration::from_secs(300), "not within 5 min: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The first request for this page of the VM list, from a time on.
fn asked(requests: &[Entry], page: u64, from: DateTime<Utc>) -> DateTime<Utc> {
    let path = if page == 1 { LIST.to_owned() } else { format!("{LIST}?page={page}") };
    let found = requests.iter().find(|entry| entry.at >= from && entry.path == path);
    found.unwrap_or_else(|| panic!("{path} was not asked for after {from}")).at
}
