//! Two hundred accounts in one daemon: their memory and their calls to the provider, which must not all come
//! in the same second.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

use crate::common;

use std::collections::BTreeMap;
use std::time::Duration;

use common::smtp::SmtpServer;
use common::*;
use hostwatch_sim::Args;

const ACCOUNTS: usize = 200;
const TICK_SECONDS: usize = 10;
/// For a debug build; an account of this size takes some 250.
const KIB_PER_ACCOUNT: u64 = 400;
/// After a machine stands still, the calls of some seconds come together, but never all.
const MOST_IN_A_SECOND: usize = ACCOUNTS / 2;
const PATIENCE: Duration = Duration::from_secs(300);

const VMS: &str = "/api/cvds/v1/vms/";
/// The calls of each account at its start; none comes twice.
const FIRST_CALLS: [&str; 4] = ["VMs", "containers", "sites of a container", "expected balance"];

/// All accounts are one at the provider, which must not count their calls together.
fn provider() -> Provider {
    let args = Args { unlimited: true, ..Args::default() };
    Provider::start_with(&args, "time_zone = \"UTC\"\nvms = 3\ncontainers = 1\nsites = 2\n")
}

fn name(index: usize) -> String {
    format!("customer-{index:03}")
}

/// VMs are polled at every tick, the rest only at the start.
fn configure(daemon: &Daemon, accounts: usize) {
    let config = std::fs::read_to_string(daemon.config()).unwrap();
    let (_, shared) = config.split_once("[accounts.main]").unwrap();
    let mut config = format!("[defaults]{shared}");
    for (key, when) in [
        ("vms", format!("*/{TICK_SECONDS} * * * * *")),
        ("containers", "0 0 1 1 *".to_owned()),
        ("expected_balance", "0 0 1 1 *".to_owned()),
    ] {
        config = config.replace(&format!("\n{key} = \"* * * * * *\""), &format!("\n{key} = \"{when}\""));
    }
    for index in 0..accounts {
        config.push_str(&format!("[accounts.{}]\n", name(index)));
    }
    std::fs::write(daemon.config(), config).unwrap();
}

/// Requests by their operation.
fn calls(provider: &Provider) -> BTreeMap<&'static str, usize> {
    let mut calls = BTreeMap::new();
    for entry in provider.simulator.requests() {
        let path = entry.path.split('?').next().unwrap();
        let what = match path {
            VMS => FIRST_CALLS[0],
            "/api/v1/hosting/containers/" => FIRST_CALLS[1],
            _ if path.ends_with("/virtualhosts/") => FIRST_CALLS[2],
            _ if path.starts_with("/api/v1/expected_balance/") => FIRST_CALLS[3],
            _ => panic!("nobody needs {path}"),
        };
        *calls.entry(what).or_default() += 1;
    }
    calls
}

/// The highest number of requests for VMs in one second, without the first `skip`.
fn most_in_a_second(provider: &Provider, skip: usize) -> usize {
    let mut seconds: BTreeMap<i64, usize> = BTreeMap::new();
    let requests = provider.simulator.requests();
    for entry in requests.iter().filter(|entry| entry.path == VMS).skip(skip) {
        *seconds.entry(entry.at.timestamp()).or_default() += 1;
    }
    seconds.into_values().max().unwrap()
}

#[test]
fn two_hundred_accounts_keep_their_budgets() {
    let provider = provider();
    let smtp = SmtpServer::plain();
    let mut daemon = Daemon::prepare(&provider, smtp.address, "");
    configure(&daemon, 1);
    daemon.run();
    until("one account was read", || calls(&provider).len() == FIRST_CALLS.len());
    daemon.has_sent(1);
    let (alone, threads) = (daemon.status_of_process("VmRSS"), daemon.status_of_process("Threads"));
    let mut once = calls(&provider);
    // A tick of the VMs may have come meanwhile.
    once.insert(FIRST_CALLS[0], 1);
    assert_eq!(once, FIRST_CALLS.map(|what| (what, 1)).into(), "one account's calls");
    daemon.kill();

    let provider = self::provider();
    let smtp = SmtpServer::plain();
    let mut daemon = Daemon::prepare(&provider, smtp.address, "");
    configure(&daemon, ACCOUNTS);
    daemon.run();
    let all = ACCOUNTS * FIRST_CALLS.len();
    until_within(PATIENCE, "every account was read", || {
        FIRST_CALLS.iter().all(|what| calls(&provider).get(what).copied().unwrap_or(0) >= ACCOUNTS)
    });
    // The first accounts may have had a tick meanwhile.
    let mut first = calls(&provider);
    let before = first.insert(FIRST_CALLS[0], ACCOUNTS).unwrap();
    assert_eq!(first.values().sum::<usize>(), all, "nothing is asked twice: {first:#?}");

    // One whole tick, whenever it began for each account. A machine that stands still joins the seconds of one.
    let seen = || provider.simulator.requests().iter().filter(|one| one.path == VMS).count();
    let ticks = (0..5).scan(before, |counted, _| {
        let skip = std::mem::replace(counted, *counted + ACCOUNTS);
        until_within(PATIENCE, "everybody's next tick", || seen() >= *counted);
        Some(most_in_a_second(&provider, skip))
    });
    let most = ticks.reduce(|best, most| if best > MOST_IN_A_SECOND { most } else { best }).unwrap();
    assert!(most <= MOST_IN_A_SECOND, "{most} accounts polled in the same second of every tick");

    until_within(PATIENCE, "all are on the page", || {
        daemon.page().matches("\nhosting_account_info{").count() == ACCOUNTS
    });
    let (resident, now) = (daemon.status_of_process("VmRSS"), daemon.status_of_process("Threads"));
    let each = resident.saturating_sub(alone) / ACCOUNTS as u64;
    eprintln!(
        "{alone} KiB resident with one account, {resident} with {ACCOUNTS}: {each} KiB each; most {most}"
    );
    assert!(each <= KIB_PER_ACCOUNT, "{each} KiB an account: {alone} to {resident}");
    // Accounts share connections, and threads do not depend on them.
    assert!(daemon.descriptors() < 64, "{}", daemon.descriptors());
    assert!(now < 64, "{threads} threads became {now}");
    assert_eq!(daemon.stop(), 0);
}
