//! What a year of a provider's habits does to collectors: listings that stay away, rows that slip between pages,
//! pauses that are asked for, clocks that differ, machines that slept.
#![allow(clippy::unwrap_used)]

use crate::common;

use chrono::{DateTime, Duration, Utc};
use common::clock::Clock;
use common::smtp::SmtpServer;
use common::*;
use hostwatch::sim::{Args, Command, Fault, FaultKind};

const VMS: &str = "/api/cvds/v1/vms/";
const BALANCE: &str = "/api/v1/expected_balance/";
const SITES: &str = "time_zone = \"UTC\"\nvms = 1\ncontainers = 2\nsites = 4\n";

fn status(on: &str, code: u16) -> Fault {
    Fault { code: Some(code), ..Fault::new(FaultKind::Status, on) }
}

fn fault(provider: &Provider, fault: Fault) {
    provider.simulator.control(&Command::Fault(fault)).unwrap();
}

fn collector(what: &str, name: &str, value: u8) -> String {
    format!("hostwatch_collector_{what}{{account=\"main\",collector=\"{name}\"}} {value}")
}

/// Every pair that was mailed so far and contains this.
fn told(smtp: &SmtpServer, what: &str) -> Vec<String> {
    let pairs = received(smtp).into_iter().flat_map(|mail| mail.pairs);
    pairs.filter(|pair| pair.contains(what)).collect()
}

/// Time goes by in steps; in each of them the provider is asked again.
fn pass(clock: &mut Clock, provider: &Provider, steps: usize, step: Duration) {
    for _ in 0..steps {
        clock.pass(step);
        provider.all_polled(2);
    }
}

/// The container stays listed, its sites answer 404: a failed listing, in the metrics and by mail. What the
/// other containers' listings show goes on to be told.
#[test]
fn sites_that_stay_away_while_their_container_is_listed_are_a_failed_listing() {
    let provider = Provider::start(SITES);
    let smtp = SmtpServer::plain();
    let mut clock = Clock::new();
    let daemon = Daemon::start_by(&clock, &provider, smtp.address, "");
    wait_for(&smtp, "main/started/account started");
    fault(&provider, status("/api/v2/hosting/containers/302/virtualhosts/", 404));
    daemon.shows(&collector("success", "sites", 0));
    assert!(daemon.page().contains(&collector("success", "containers", 1)));
    pass(&mut clock, &provider, 4, Duration::minutes(5));
    wait_for(&smtp, "main/collector_failing/sites opened");
    // Longer than what is not read is shown.
    until("the sites that are read alone", || {
        let page = daemon.page();
        let sites = page.lines().filter(|line| line.starts_with("hosting_site_info{"));
        let homes: Vec<bool> = sites.map(|line| line.contains("container=\"301\"")).collect();
        homes == [true, true]
    });
    let page = daemon.page();
    let site =
        page.split("hosting_site_info{account=\"main\",site=\"").nth(1).unwrap().split('"').next().unwrap();
    assert_eq!(daemon.command(&["status"]).0, 1);
    provider.say(&format!(r#"{{"site": {site}, "state": "Error"}}"#), "set_site");
    wait_for(&smtp, &format!("main/site_error/{site} opened"));
    clock.pass(Duration::days(1));
    wait_for(&smtp, &format!("main/site_error/{site} reminder:1"));
    provider.clear_faults();
    wait_for(&smtp, "main/collector_failing/sites resolved");
}

/// A container that goes between two calls fails nothing.
#[test]
fn sites_that_go_with_their_container_fail_nothing() {
    let provider = Provider::start(SITES);
    let smtp = SmtpServer::plain();
    let daemon = Daemon::start(&provider, smtp.address);
    wait_for(&smtp, "main/started/account started");
    fault(&provider, Fault { count: Some(2), ..status("/api/v2/hosting/containers/302/virtualhosts/", 404) });
    provider.all_polled(4);
    provider.say(r#"{"container": 302}"#, "remove_container");
    until("its series to vanish", || {
        !daemon.page().contains("hosting_container_info{account=\"main\",container=\"302\"")
    });
    provider.all_polled(2);
    assert!(
        !daemon.log.lines().iter().any(|line| line.contains("msg=\"cannot read\"")),
        "{:#?}",
        daemon.log.lines()
    );
}

/// Whole listings without a VM: one says nothing, two say that it is gone.
#[test]
fn gone_is_what_two_whole_listings_do_not_show() {
    let pages = Args { vm_page_size: 50, ..Args::default() };
    let provider = Provider::start_with(&pages, "time_zone = \"UTC\"\nvms = 150\n");
    let smtp = SmtpServer::plain();
    let rule = "[alerts.rules.resource_gone]\nenabled = true\n";
    let daemon = Daemon::start_with(&provider, smtp.address, rule);
    wait_for(&smtp, "main/started/account started");
    // In one listing, of three pages, the row between two of them is not shown, and the number of rows agrees.
    provider.polled(VMS, 3);
    for (kind, by) in [(FaultKind::ShiftingRows, 1), (FaultKind::WrongCount, -1)] {
        fault(&provider, Fault { count: Some(3), by: Some(by), ..Fault::new(kind, VMS) });
    }
    provider.polled(VMS, 12);
    assert_eq!(told(&smtp, "resource_gone"), Vec::<String>::new());
    provider.say(r#"{"vm": 10001}"#, "remove_vm");
    wait_for(&smtp, "main/resource_gone/vm:10001 opened");
    until("no series of it", || !daemon.page().contains("vm=\"10001\""));
    assert_eq!(told(&smtp, "resource_gone").len(), 1);
}

/// Told once, after ten minutes, without reminders; no problem any more after a day.
#[test]
fn a_vm_that_was_seen_to_stop_is_told_once_and_is_known_after_a_day() {
    let provider = Provider::start(SCENARIO);
    let smtp = SmtpServer::plain();
    let mut clock = Clock::new();
    provider.set_vm(10002, "stopped");
    let mut daemon = Daemon::start_by(&clock, &provider, smtp.address, "");
    wait_for(&smtp, "main/started/account started");
    provider.set_vm(10001, "stopped");
    provider.all_polled(2);
    pass(&mut clock, &provider, 2, Duration::minutes(4));
    assert_eq!(told(&smtp, "vm_stopped"), Vec::<String>::new());
    // A restart in between changes nothing.
    daemon.stop();
    provider.set_vm(10003, "stopped");
    daemon.run();
    pass(&mut clock, &provider, 1, Duration::minutes(3));
    let mail = wait_for(&smtp, "main/vm_stopped/10001 opened");
    assert!(mail.subject.contains("[WARNING]"), "{}", mail.subject);
    assert_eq!(daemon.command(&["status"]).0, 1);
    pass(&mut clock, &provider, 5, Duration::days(1));
    let (code, text, _) = daemon.command(&["status"]);
    assert_eq!(code, 0, "{text}");
    // Nobody saw the others stop.
    assert_eq!(told(&smtp, "vm_stopped"), ["main/vm_stopped/10001 opened"]);
    provider.set_vm(10001, "active");
    wait_for(&smtp, "main/vm_stopped/10001 resolved");
}

/// Of a VM that alternates at every poll the store hears a few times.
#[test]
fn what_alternates_at_every_poll_is_not_written_at_every_poll() {
    let provider = Provider::start("time_zone = \"UTC\"\nvms = 1\n");
    let smtp = SmtpServer::plain();
    let daemon = Daemon::start(&provider, smtp.address);
    wait_for(&smtp, "main/started/account started");
    let alternate = |times: usize| {
        for _ in 0..times {
            provider.set_vm(10001, "error");
            provider.polled(VMS, 1);
            provider.set_vm(10001, "active");
            provider.polled(VMS, 1);
        }
    };
    alternate(6);
    let decided = || daemon.log.count("vm_error/10001");
    let before = decided();
    alternate(6);
    assert!(decided() <= before + 1, "{:#?}", daemon.log.lines());
    assert!(told(&smtp, "vm_error").len() <= 4, "{:?}", told(&smtp, "vm_error"));
    // What lasts is told.
    provider.set_vm(10001, "active");
    wait_for(&smtp, "main/vm_error/10001 resolved");
}

/// An hour's pause: no request within it, of the whole group and across a reload; the other groups go on.
#[test]
fn a_group_that_asks_for_an_hours_pause_is_left_alone_for_an_hour() {
    let provider = Provider::start(SCENARIO);
    let smtp = SmtpServer::plain();
    let mut clock = Clock::new();
    let daemon = Daemon::start_by(&clock, &provider, smtp.address, "");
    wait_for(&smtp, "main/started/account started");
    let asked = || provider.simulator.requests().iter().filter(|entry| entry.path.starts_with(VMS)).count();
    fault(&provider, Fault { retry_after: Some(3600), ..status(VMS, 429) });
    daemon.shows(&collector("success", "vms", 0));
    let before = asked();
    for step in 0..11 {
        clock.pass(Duration::minutes(5));
        provider.polled(BALANCE, 2);
        if step == 5 {
            assert_eq!(daemon.request("POST", "/-/reload").0, 200);
        }
    }
    assert_eq!(asked(), before);
    wait_for(&smtp, "main/collector_failing/vms opened");
    provider.clear_faults();
    clock.pass(Duration::minutes(6));
    wait_for(&smtp, "main/collector_failing/vms resolved");
}

/// The provider's Date decides where it differs by more than an hour, and every mail says so.
#[test]
fn where_clocks_differ_by_more_than_an_hour_the_providers_decides() {
    let provider = Provider::start(SCENARIO);
    provider.lasts_days(6);
    let smtp = SmtpServer::plain();
    let mut clock = Clock::new();
    clock.set(Duration::days(10));
    let mut daemon = Daemon::start_by(&clock, &provider, smtp.address, "");
    let started = wait_for(&smtp, "main/started/account started");
    let mail = wait_for(&smtp, "main/disconnect/account rung:7");
    for mail in [&started, &mail] {
        assert!(
            mail.text.contains("This machine's clock is 10 d 0 h ahead of the provider's"),
            "{}",
            mail.text
        );
    }
    daemon.log.wait("10 d 0 h ahead of the provider");
    // What a command writes is dated so too.
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
    assert_eq!(daemon.command(&["ack", "main/disconnect/account", "--remove"]).0, 0);
    // Set right, set wrong again, also while the provider does not answer, and a start: nothing of it is news.
    clock.set(-Duration::days(10));
    provider.all_polled(3);
    daemon.log.wait("s clock agrees with the provider");
    clock.set(Duration::days(400));
    daemon.log.wait("400 d 0 h ahead of the provider");
    clock.set(-Duration::days(800));
    provider.all_polled(3);
    until("the page says it", || daemon.request("GET", "/").1.contains("behind the provider"));
    assert!(daemon.command(&["status"]).1.contains("behind the provider"), "status says it");
    daemon.stop();
    daemon.run();
    provider.all_polled(3);
    clock.pass(Duration::minutes(1));
    provider.all_polled(3);
    assert_eq!(told(&smtp, "disconnect"), ["main/disconnect/account rung:7"]);
    provider.set_vm(10001, "error");
    wait_for(&smtp, "main/vm_error/10001 opened");
    let incidents = daemon.command(&["incidents"]);
    let day = common::now().format("%-d %b").to_string();
    assert!(incidents.1.contains(&day), "{incidents:?}");
}

/// Where both of our clocks have run on and the provider's date stands still, it is no clock.
#[test]
fn a_date_that_stands_still_is_not_believed() {
    let provider = Provider::start(SCENARIO);
    provider.lasts_days(10);
    let smtp = SmtpServer::plain();
    let mut clock = Clock::new();
    let mut daemon = Daemon::start_by(&clock, &provider, smtp.address, "");
    wait_for(&smtp, "main/disconnect/account rung:14");
    clock.pass(Duration::days(4));
    wait_for(&smtp, "main/disconnect/account rung:7");
    // Nor after a start: this was lived through.
    provider.all_polled(2);
    daemon.stop();
    daemon.run();
    provider.all_polled(2);
    clock.pass(Duration::days(3));
    wait_for(&smtp, "main/disconnect/account rung:4");
    let said = |mail: &Received| mail.text.contains("This machine's clock");
    assert!(!received(&smtp).iter().any(said));
}

/// Schedules have a next tick in any year.
#[test]
fn polls_go_on_past_the_year_2100() {
    let provider = Provider::start(SCENARIO);
    let smtp = SmtpServer::plain();
    let mut clock = Clock::new();
    let _daemon = Daemon::start_by(&clock, &provider, smtp.address, "");
    wait_for(&smtp, "main/started/account started");
    clock.pass(Duration::days(84 * 365));
    provider.all_polled(3);
    clock.pass(Duration::minutes(2));
    provider.all_polled(3);
    provider.set_vm(10001, "error");
    wait_for(&smtp, "main/vm_error/10001 opened");
}

/// A cut-off in six days was mailed, of a report that no schedule asks for again.
fn mailed_of_a_report_read_once() -> (Provider, SmtpServer, Clock, Daemon) {
    let provider = Provider::start(SCENARIO);
    provider.lasts_days(6);
    let smtp = SmtpServer::plain();
    let clock = Clock::new();
    let mut daemon = Daemon::prepare(&provider, smtp.address, "");
    daemon.configure("expected_balance = \"* * * * * *\"", "expected_balance = \"0 3 1 1 *\"");
    // No age alone makes that report doubtful.
    daemon.configure("[store]", "[metrics]\nstale_after = \"9d\"\n[store]");
    daemon.environment.extend(clock.environment());
    daemon.run();
    wait_for(&smtp, "main/disconnect/account rung:7");
    (provider, smtp, clock, daemon)
}

/// After a sleep nothing is said of an old report before a new one was asked for, within two minutes.
#[test]
fn after_a_sleep_it_looks_before_it_speaks() {
    let (provider, smtp, mut clock, daemon) = mailed_of_a_report_read_once();
    // It was paid meanwhile; the answer takes its time.
    provider.lasts_days(400);
    fault(&provider, Fault { seconds: Some(3.0), ..Fault::new(FaultKind::Delay, BALANCE) });
    let asked =
        || provider.simulator.requests().iter().filter(|entry| entry.path.starts_with(BALANCE)).count();
    let before = asked();
    clock.pass(Duration::days(5));
    until("a report is asked for", || asked() > before);
    daemon.shows("hostwatch_collector_polls_total{account=\"main\",collector=\"expected_balance\",result=\"success\"} 2");
    clock.pass(Duration::minutes(1));
    provider.polled(VMS, 3);
    assert_eq!(told(&smtp, "rung:"), ["main/disconnect/account rung:7"]);
}

/// A report that is not answered at all holds nothing back for longer than two minutes.
#[test]
fn after_a_sleep_it_speaks_of_what_it_knows_where_nobody_answers() {
    let (provider, smtp, mut clock, _daemon) = mailed_of_a_report_read_once();
    fault(&provider, Fault { seconds: Some(60.0), ..Fault::new(FaultKind::Delay, BALANCE) });
    clock.pass(Duration::days(3));
    provider.polled(VMS, 3);
    assert_eq!(told(&smtp, "rung:"), ["main/disconnect/account rung:7"]);
    for _ in 0..4 {
        clock.pass(Duration::seconds(50));
        provider.polled(VMS, 2);
    }
    wait_for(&smtp, "main/disconnect/account rung:4");
}

/// Nobody answers after the wall clock alone has moved, and so nobody tells the time: what failed meanwhile counts once the clock
/// is followed, and the mail says how old its report is.
#[test]
fn after_a_clock_was_set_it_says_how_old_is_what_it_knows_where_nobody_answers() {
    let (provider, smtp, mut clock, daemon) = mailed_of_a_report_read_once();
    drop(provider);
    clock.set(Duration::days(3));
    let failed = || daemon.log.count("read again before that counts");
    until("polls that fail", || failed() >= 3);
    for _ in 0..5 {
        let before = failed();
        clock.pass(Duration::seconds(25));
        until("one more, or what is told then", || failed() > before || told(&smtp, "rung:").len() > 1);
    }
    let mail = wait_for(&smtp, "main/disconnect/account rung:4");
    assert!(mail.text.contains("(as of "), "{}", mail.text);
    assert_eq!(told(&smtp, "vm_"), Vec::<String>::new());
}

/// A daily collector that fails is asked again twice before anybody is told, and goes on to be asked.
#[test]
fn a_daily_collector_that_meets_one_failure_is_asked_again_before_anybody_is_told() {
    let provider = Provider::start(SCENARIO);
    let smtp = SmtpServer::plain();
    let mut clock = Clock::new();
    let mut daemon = Daemon::prepare(&provider, smtp.address, "");
    daemon.configure("charges = \"\"", "charges = \"7 6 1 1 *\"");
    daemon.environment.extend(clock.environment());
    fault(&provider, Fault { count: Some(1), ..status("/api/v1/charge/", 400) });
    daemon.run();
    // That it did not succeed is shown before it was tried.
    daemon.shows(
        "hostwatch_collector_polls_total{account=\"main\",collector=\"charges\",result=\"failure\"} 1",
    );
    pass(&mut clock, &provider, 3, Duration::minutes(3));
    daemon.shows(&collector("success", "charges", 1));
    pass(&mut clock, &provider, 4, Duration::minutes(5));
    assert_eq!(told(&smtp, "collector_failing"), Vec::<String>::new());
}
