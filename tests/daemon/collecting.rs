//! Polls that need more than their schedule: clocks that differ, machines that slept.
#![allow(clippy::unwrap_used)]

use crate::common;

use chrono::{DateTime, Duration, Utc};
use common::clock::Clock;
use common::smtp::SmtpServer;
use common::*;
use hostwatch_sim::{Fault, FaultKind};

const VMS: &str = "/api/cvds/v1/vms/";
const BALANCE: &str = "/api/v1/expected_balance/";

/// All pairs so far that contain this.
fn told(smtp: &SmtpServer, what: &str) -> Vec<String> {
    let pairs = received(smtp).into_iter().flat_map(|mail| mail.pairs);
    pairs.filter(|pair| pair.contains(what)).collect()
}

/// A provider that is down knows the time as well.
#[test]
fn a_wrong_clock_is_noticed_by_refusals() {
    let (provider, smtp, mut clock) = (Provider::start(SCENARIO), SmtpServer::plain(), Clock::new());
    provider.fails("/api/", 503);
    clock.set(Duration::days(10));
    let daemon = Daemon::start_by(&clock, &provider, smtp.address, "");
    daemon.log.wait("10 d ahead of the provider");
}

/// The provider's Date decides if it differs by more than an hour, and every mail says so.
#[test]
fn a_wrong_clock_yields_to_the_providers() {
    let provider = Provider::start(SCENARIO);
    provider.lasts_days(6);
    let smtp = SmtpServer::plain();
    let mut clock = Clock::new();
    clock.set(Duration::days(10));
    let mut daemon = Daemon::start_by(&clock, &provider, smtp.address, "");
    let started = wait_for(&smtp, STARTED);
    let mail = wait_for(&smtp, "main/disconnect/account rung:7");
    for mail in [&started, &mail] {
        assert!(mail.text.contains("This machine's clock is 10 d ahead of the provider's"), "{}", mail.text);
    }
    daemon.log.wait("10 d ahead of the provider");
    // Rows that a command writes have this time, too.
    assert_eq!(daemon.command(&["ack", "main/disconnect/account"]).0, 0);
    let (_, silence, error) = daemon.command(&["silence", "main/vm_stopped/*", "--for", "1h"]);
    let store = rusqlite::Connection::open(daemon.directory.path().join("hostwatch.db")).unwrap();
    for (column, hours) in
        [("created_at FROM acks", 0), ("created_at FROM silences", 0), ("until FROM silences", 1)]
    {
        let at: String = store.query_row(&format!("SELECT {column}"), [], |row| row.get(0)).unwrap();
        let at: DateTime<Utc> = at.parse().unwrap();
        let off = at - common::now() - Duration::hours(hours);
        assert!(off.abs() < Duration::minutes(5), "{column}: {at} {silence} {error}");
    }
    for running in [true, false] {
        if !running {
            assert_eq!(daemon.stop(), 0);
        }
        let (_, text, error) = daemon.command(&["rehearse", "--days=9"]);
        let over = text.lines().find_map(|line| line.split_once("OVERDUE since ")).unwrap_or_default().1;
        let days = [8, 9, 10].map(|days| common::now() + Duration::days(days));
        let is_then = days.iter().any(|day| over.starts_with(&day.format("%a %-d %b").to_string()));
        assert!(is_then, "{running}: {text} {error}");
        let (_, text, error) = daemon.command(&["forecast"]);
        assert!(text.contains("in 5 d") || text.contains("in 6 d"), "{running}: {text} {error}");
    }
    daemon.run();
    daemon.log.wait("10 d ahead of the provider");
    clock.set(-Duration::days(10));
    daemon.log.wait("s clock agrees with the provider");
    provider.all_polled(3);
    assert_eq!(told(&smtp, "disconnect"), ["main/disconnect/account rung:7"]);
}

/// A daemon that reads the balance by this schedule.
fn polled_by(clock: &Clock, provider: &Provider, smtp: &SmtpServer, ticks: &str, extra: &str) -> Daemon {
    let mut daemon = Daemon::prepare(provider, smtp.address, extra);
    daemon.configure("expected_balance = \"* * * * * *\"", &format!("expected_balance = \"{ticks}\""));
    daemon.environment.extend(clock.environment());
    daemon.run();
    daemon
}

/// After a sleep no mail is based on an old report until a new one was asked for, within two minutes.
#[test]
fn after_a_sleep_mails_wait_for_a_report() {
    let (mut clock, provider, smtp) = (Clock::new(), Provider::start(SCENARIO), SmtpServer::plain());
    provider.lasts_days(6);
    // The report's age alone makes it doubtful at no time.
    let daemon = polled_by(&clock, &provider, &smtp, "0 3 1 1 *", "[metrics]\nstale_after = \"9d\"\n");
    wait_for(&smtp, "main/disconnect/account rung:7");
    // A clock that moves during a conversation breaks it.
    daemon.owes_nothing();
    // It was paid meanwhile, and the answer is slow.
    provider.lasts_days(400);
    provider.has(Fault { seconds: Some(3.0), ..Fault::new(FaultKind::Delay, BALANCE) });
    let before = provider.polls(BALANCE);
    clock.pass(Duration::days(5));
    until("a report is asked for", || provider.polls(BALANCE) > before);
    daemon.shows("hostwatch_collector_polls_total{account=\"main\",collector=\"expected_balance\",result=\"success\"} 2");
    clock.pass(Duration::minutes(1));
    provider.polled(VMS, 3);
    assert_eq!(told(&smtp, "rung:"), ["main/disconnect/account rung:7"]);
}

/// The report is read every ten minutes.
#[test]
fn a_recovering_order_is_read_again_soon() {
    let (mut clock, provider, smtp) = (Clock::new(), Provider::start(SCENARIO), SmtpServer::plain());
    let daemon = polled_by(&clock, &provider, &smtp, "*/10 * * * *", "");
    wait_for(&smtp, STARTED);
    // In steps of less than a minute, which are no sleep. After a sleep all collectors poll again.
    let passing = |clock: &mut Clock, until: &dyn Fn() -> bool| {
        let step = Duration::seconds(40);
        let steps = (1..20).find(|_| {
            clock.pass(step);
            provider.polled(VMS, 2);
            until()
        });
        step * steps.expect("within 13 minutes")
    };
    let order = || {
        let page = daemon.page();
        let order = page.split("hosting_billing_order_info{account=\"main\",order=\"").nth(1)?;
        order.split('"').next().unwrap().parse::<u64>().ok()
    };
    until("an order", || order().is_some());
    let order = order().unwrap();
    let becomes =
        |state: &str| provider.say(&format!(r#"{{"order": {order}, "state": "{state}"}}"#), "set_order");
    let before = provider.polls(BALANCE);
    becomes("SUSPENDED");
    let polled = || provider.polls(BALANCE) - before;
    passing(&mut clock, &|| polled() > 0);
    let key = format!("main/order_suspended/{order}");
    wait_for(&smtp, &format!("{key} opened"));
    becomes("ORDERED");
    passing(&mut clock, &|| polled() > 1);
    let over = format!("{key} resolved");
    let taken = passing(&mut clock, &|| !told(&smtp, &over).is_empty());
    assert!(taken < Duration::minutes(8), "{taken}");
    // There is a next tick in any year.
    clock.pass(Duration::days(84 * 365));
    provider.polled(VMS, 3);
}

#[test]
fn a_403_after_a_restart_says_nothing_of_credentials_that_were_good_before() {
    let (provider, smtp) = (Provider::start(SCENARIO), SmtpServer::plain());
    let mut daemon = Daemon::start(&provider, smtp.address);
    until("the account is known", || daemon.page().contains("hosting_account_info{"));
    assert_eq!(daemon.stop(), 0);
    provider.fails(VMS, 403);
    daemon.run();
    provider.polled(VMS, 4);
    until("it cannot be read", || {
        daemon.page().contains("hostwatch_collector_success{account=\"main\",collector=\"vms\"} 0")
    });
    assert!(!daemon.page().contains("credentials_rejected"), "{}", daemon.page());
}
