//! Escalation: what is critical and nobody takes on goes to others, a cut-off at once; they hear the end. The real
//! binary by clocks that move.
#![allow(clippy::unwrap_used, reason = "tests")]

use chrono::{DateTime, Duration, Utc};

use crate::common::clock::Clock;
use crate::common::smtp::SmtpServer;
use crate::common::*;
use crate::money::{World, report};

const BOSS: &str = "boss@example.com";
const OPS: &str = "ops@example.com";
const EXTRA: &str = "[alerts]\nescalate_to = [\"boss@example.com\"]\n";
const STARTED: &str = "main/started/account started";

/// A conversation under way would time out.
fn pass(clock: &mut Clock, daemon: &Daemon, time: Duration) {
    daemon.shows("hostwatch_outbox_messages{state=\"queued\"} 0");
    daemon.shows("hostwatch_outbox_messages{state=\"sending\"} 0");
    clock.pass(time);
}

#[test]
fn what_nobody_takes_on_is_escalated_once_and_its_end_is_told() {
    let (mut clock, provider, smtp) = (Clock::new(), Provider::start(SCENARIO), SmtpServer::plain());
    let mut daemon = Daemon::start_by(&clock, &provider, smtp.address, EXTRA);
    let (_, said, _) = daemon.command(&["check-config"]);
    assert!(said.contains("escalates to: boss@example.com after 12 h"), "{said}");
    wait_for(&smtp, STARTED);
    for id in [10001, 10002] {
        provider.set_vm(id, "error");
        wait_for(&smtp, &format!("main/vm_error/{id} opened"));
    }
    // Of two that are wrong, one is acknowledged.
    let (code, ..) = daemon.command(&["ack", "main/vm_error/10002", "--comment", "Ann is on it"]);
    assert_eq!(code, 0);
    pass(&mut clock, &daemon, Duration::hours(11));
    provider.all_polled(3);
    assert_eq!(told_to(&smtp, BOSS), Vec::<String>::new(), "not before its time");
    daemon.stop();
    daemon.run();
    clock.pass(Duration::minutes(61));
    let mail = wait_for(&smtp, "main/vm_error/10001 escalated");
    assert!(mail.subject.starts_with("[CRITICAL] VM "), "{}", mail.subject);
    assert!(mail.subject.ends_with(" after 12 h 1 min, nobody acknowledged it (main)"), "{}", mail.subject);
    // Once; and the reminder of the others comes on its day.
    pass(&mut clock, &daemon, Duration::hours(12));
    wait_for(&smtp, "main/vm_error/10001 reminder:1");
    daemon.stop();
    daemon.run();
    provider.all_polled(3);
    assert_eq!(told_to(&smtp, BOSS), ["main/vm_error/10001 escalated"]);
    let why = flat(&daemon.command(&["why", "main/vm_error/10001"]).1);
    assert!(why.contains("escalated to boss@example.com: nobody acknowledged it within 12 h"), "{why}");
    provider.set_vm(10001, "active");
    provider.set_vm(10002, "active");
    until("the end is told", || told_to(&smtp, BOSS).len() == 2);
    assert_eq!(told_to(&smtp, BOSS)[1], "main/vm_error/10001 resolved");
    let ops = told_to(&smtp, OPS);
    assert!(!ops.iter().any(|told| told.contains("escalated")), "{ops:?}");
}

#[test]
fn a_cut_off_goes_to_others_at_once_acknowledged_or_not() {
    let cut_off = |start: DateTime<Utc>| start + Duration::hours(6 * 24);
    let mut world = World::new(EXTRA, |start| report(start, 60, Some(cut_off(start))));
    world.next(0, "rung:7");
    let (code, ..) = world.daemon.command(&["ack", "main/disconnect/account", "--comment", "Ann pays"]);
    assert_eq!(code, 0);
    assert_eq!(told_to(&world.smtp, BOSS), Vec::<String>::new());
    let day = |days: i64| cut_off(world.start) - Duration::days(days) + Duration::minutes(5);
    let (last_safe, next) = (day(4), day(3));
    for (at, rung, before) in [(last_safe, "rung:4", 0), (next, "rung:3", 1)] {
        world.go(at);
        until(rung, || told_to(&world.smtp, BOSS).len() > before);
        assert_eq!(told_to(&world.smtp, BOSS)[before], format!("main/disconnect/account {rung}"));
    }
    let why = flat(&world.daemon.command(&["why", "main/disconnect/account"]).1);
    let words = "escalated to boss@example.com: the last day on which a payment arrives in time has come";
    assert_eq!(why.matches(words).count(), 1, "{why}");
    world.billing.says(report(world.start, 5000, None));
    until("the end is told", || told_to(&world.smtp, BOSS).len() > 2);
    assert_eq!(told_to(&world.smtp, BOSS)[2..], ["main/disconnect/account resolved"]);
}

#[test]
fn who_is_named_later_hears_of_a_cut_off_that_is_near() {
    let extra = "[alerts]\nescalate_to = []\n";
    let world = World::new(extra, |start| report(start, 5, Some(start + Duration::hours(20))));
    world.next(0, "rung:1");
    world.daemon.configure("escalate_to = []", "escalate_to = [\"boss@example.com\"]");
    assert_eq!(world.daemon.request("POST", "/-/reload").0, 200);
    let told = || told_to(&world.smtp, BOSS);
    until("it is escalated", || told() == ["main/disconnect/account escalated"]);
}
