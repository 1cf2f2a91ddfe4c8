//! Stores of hostwatch 0.2: each recipient who was told a beginning is told its end, and nothing is told twice.
//!
//! Each fixture is named after the event before the stop of 0.2; accounts are otherwise healthy.
#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;

use super::alert_support::{Fate, NOTHING, World, cut_off_in, moment, report, rich, start};
use crate::model::{Collector, Edd, FailureKind, Report};
use chrono::{DateTime, Duration, Utc};

const WELL: [(u64, &str); 2] = [(1, "active"), (2, "active")];
const IN_ERROR: [(u64, &str); 2] = [(1, "error"), (2, "active")];

/// The only recipient, except in tests that name others.
const OPS: [&str; 1] = ["ops"];
const BOTH: [&str; 2] = ["ops", "bob"];

/// Reads everything for the first time since the update: VMs, report and container 10 as given, everything else
/// well.
fn look_at(world: &mut World, vms: &[(u64, &str)], container: &str, report: Report) {
    world.vms(vms);
    world.containers(&[(10, container), (11, "ENABLED")]);
    world.sites(10, &[(100, "Active"), (101, "Active")]);
    world.sites(11, &[(110, "Active")]);
    world.report(report);
    world.end(Collector::Sites, None);
}

fn look(world: &mut World, vms: &[(u64, &str)]) {
    look_at(world, vms, "ENABLED", rich());
}

fn recovers(world: &mut World) {
    world.vms(&WELL);
    world.vms(&WELL);
}

/// A store, and what is still wrong after the update: VMs and the report.
type Still = (&'static str, &'static [(u64, &'static str)], fn() -> Report);

const STILL: [Still; 19] = [
    ("vm_in_error", &IN_ERROR, rich),
    ("vm_reminded_twice", &IN_ERROR, rich),
    ("vm_silenced", &IN_ERROR, rich),
    ("vm_flapping", &WELL, rich),
    ("vm_in_error_at_the_first_start", &IN_ERROR, rich),
    ("first_mail_waits", &[(1, "error"), (2, "error")], rich),
    ("opening_waits", &IN_ERROR, rich),
    ("opening_dropped", &IN_ERROR, rich),
    ("opening_held_back", &IN_ERROR, rich),
    ("opening_being_sent", &IN_ERROR, rich),
    ("opening_reply_lost", &IN_ERROR, rich),
    ("opening_reply_lost_and_being_sent", &IN_ERROR, rich),
    ("opening_refused_to_bob", &IN_ERROR, rich),
    ("end_waits", &WELL, rich),
    ("rung_7_told", &WELL, || cut_off_in(7 * 24 - 5)),
    ("rung_7_waits", &WELL, || cut_off_in(6 * 24)),
    ("rung_7_being_sent", &WELL, || cut_off_in(6 * 24)),
    ("overdue_for_a_day", &WELL, || cut_off_in(20)),
    ("vm_blocked_by_an_overdue_account", &[(1, "blocked"), (2, "active")], || cut_off_in(-1)),
];

/// Everything stays as it was for thirty hours, then all is well for three, and then VM 1 is in error again.
#[test]
fn each_store_of_0_2_is_continued() {
    let mut log = String::new();
    for (fixture, vms, report) in STILL {
        let recipients: &[&str] = if fixture == "opening_refused_to_bob" { &BOTH } else { &OPS };
        let mut world = World::updated(fixture, recipients);
        let mut put = |world: &mut World, what: &str| {
            for to in recipients {
                let told = world.take_of(to).join(", ");
                writeln!(log, "  {what}, {to}: {told}").unwrap();
            }
        };
        (0..2).for_each(|_| look_at(&mut world, vms, "ENABLED", report()));
        world.pass(Duration::hours(30));
        put(&mut world, "goes on");
        for _ in 0..3 {
            look(&mut world, &WELL);
            world.pass(Duration::hours(1));
        }
        put(&mut world, "ends");
        world.vms(&IN_ERROR);
        world.pass(Duration::minutes(10));
        put(&mut world, "begins again");
        writeln!(log, "{fixture}\n").unwrap();
    }
    insta::assert_snapshot!("stores_of_0_2", log);
}

#[test]
fn the_first_digest_begins_where_the_last_one_of_0_2_ended() {
    let until = "2026-03-02T12:02:00Z";
    let sql = format!("INSERT INTO meta VALUES ('digested_until', '{until}')");
    let world = World::updated_after("vm_in_error", &OPS, &sql);
    assert_eq!(world.system.store().restore().unwrap().digests_from, Some(moment(until)));
}

#[test]
fn the_end_refers_to_the_mail_of_the_beginning() {
    let mut world = World::updated("vm_in_error", &OPS);
    look(&mut world, &IN_ERROR);
    recovers(&mut world);
    assert_eq!(world.last_told().thread.as_deref(), Some("mail-1"));
}

#[test]
fn an_opening_that_waits_and_is_over_by_now_is_told_as_past() {
    let mut world = World::updated("opening_waits", &OPS);
    world.server_all(Fate::Away);
    recovers(&mut world);
    world.server_all(Fate::Accept);
    world.pass(Duration::minutes(40));
    assert_eq!(world.last_told().since, moment("2026-03-02T12:02:01Z"));
    assert_eq!(world.take_events(), ["main/vm_error/1 was-down"]);
}

#[test]
fn a_mail_that_was_being_sent_and_is_outdated_is_told_as_past() {
    let mut world = World::updated("opening_reply_lost", &OPS);
    recovers(&mut world);
    world.pass(Duration::hours(2));
    assert_eq!(world.take_events(), ["main/vm_error/1 was-down"]);
}

#[test]
fn a_payment_after_the_update_is_told_once() {
    let mut world = World::updated("rung_7_told_on_a_small_balance", &OPS);
    look_at(&mut world, &WELL, "ENABLED", report("30.00", Edd::At(start() + Duration::days(6))));
    world.report(report("80.00", Edd::At(start() + Duration::days(11))));
    world.report(report("80.00", Edd::At(start() + Duration::days(11))));
    let told = world.take_ladder();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].starts_with("paid:"), "{told:?}");
}

#[test]
fn the_sites_that_the_mail_about_a_container_named_are_not_told_again() {
    let mut world = World::updated("container_over_quota", &OPS);
    look_at(&mut world, &WELL, "DISABLED_BY_QUOTA", rich());
    world.sites(10, &[(100, "Error"), (101, "Active")]);
    world.pass(Duration::hours(2));
    assert_eq!(world.take_events(), NOTHING);
    world.containers(&[(10, "ENABLED"), (11, "ENABLED")]);
    world.containers(&[(10, "ENABLED"), (11, "ENABLED")]);
    assert_eq!(world.take_events(), ["main/container_disabled/10 resolved"]);
    world.sites(10, &[(100, "Error"), (101, "Active")]);
    world.pass(Duration::minutes(5));
    assert_eq!(world.take_events(), ["main/site_error/100 opened"]);
}

#[test]
fn a_recipient_whose_mails_were_all_refused_hears_no_end() {
    let mut world = World::updated("opening_refused_to_bob", &BOTH);
    world.server("bob", Fate::RefuseRecipient);
    recovers(&mut world);
    world.server("bob", Fate::Accept);
    world.pass(Duration::hours(30));
    assert_eq!(world.take_of("bob"), ["main/vm_error/1 was-down"]);
}

#[test]
fn collectors_that_fail_become_one_incident_and_end_once() {
    let mut world = World::updated("collectors_failing", &BOTH);
    world.fail(Collector::Vms, FailureKind::Other);
    world.pass(Duration::hours(2));
    assert_eq!(world.take_of("ops"), NOTHING, "it was told of one of them");
    assert_eq!(world.take_of("bob"), ["main/collector_failing/account opened"]);
    for _ in 0..3 {
        look(&mut world, &WELL);
    }
    for to in BOTH {
        assert_eq!(world.take_of(to), ["main/collector_failing/account resolved"], "{to}");
    }
}

#[test]
fn collectors_that_answered_before_the_update_have_one_end() {
    let answered = "UPDATE incidents SET body =
      json_set(body, '$.phase', 'resolved', '$.folded_into', NULL, '$.resolved_at', '2026-03-02T12:21:49Z')";
    let mut world = World::updated_after("collectors_failing", &BOTH, answered);
    look(&mut world, &WELL);
    world.pass(Duration::hours(2));
    assert_eq!(world.take_of("ops"), ["main/collector_failing/account resolved"]);
    assert_eq!(world.take_of("bob"), NOTHING, "it was told of no beginning");
}

/// The mail about the cut-off told these events instead, and named this date.
fn told_of_the_cut_off(events: &[&str], date: DateTime<Utc>) -> World {
    let told = events.iter().map(|event| format!(r#"["main/disconnect/account","{event}"]"#));
    let (told, date) = (told.collect::<Vec<_>>().join(","), date.to_rfc3339());
    let sql = format!(
        "UPDATE messages SET told = '[{told}]' WHERE message_id = 'mail-1';
         UPDATE incidents SET body = json_set(body, '$.ladder.edd', '{date}', '$.ladder.told', '{date}')
         WHERE key = 'main/disconnect/account'"
    );
    World::updated_after("rung_7_told", &OPS, &sql)
}

#[test]
fn the_rung_of_a_date_that_a_mail_named_is_not_told() {
    for event in ["paid:2026-03-12", "extended:2026-03-12", "escalated"] {
        let mut world = told_of_the_cut_off(&[event], start() + Duration::days(10));
        look_at(&mut world, &WELL, "ENABLED", cut_off_in(10 * 24));
        world.pass(Duration::days(2));
        assert_eq!(world.take_events(), NOTHING, "{event}");
        world.pass(Duration::days(2));
        assert_eq!(world.take_events(), ["main/disconnect/account rung:7"], "{event}");
    }
}

#[test]
fn a_balance_that_is_used_up_is_told_once() {
    let date = start() + Duration::hours(7 * 24 - 5);
    let rung: (&[&str], &[&str]) = (&["rung:7"], &["main/disconnect/account balance-used-up"]);
    for (told, then) in [rung, (&["rung:7", "balance-used-up"], &[])] {
        let mut world = told_of_the_cut_off(told, date);
        look_at(&mut world, &WELL, "ENABLED", report("-1.00", Edd::At(date)));
        world.pass(Duration::hours(1));
        assert_eq!(world.take_events(), then, "{told:?}");
    }
}

#[test]
fn a_rung_is_told_to_whom_its_mail_did_not_reach() {
    let refused =
        "INSERT INTO envelopes VALUES (3, 'mail-1', 'bob', 'dead', 1, '2026-03-02T12:02:01.000000Z',
      '550 no', '2026-03-02T12:02:01.000000Z', 0, NULL, 0, 0, 0)";
    let mut world = World::updated_after("rung_7_told", &BOTH, refused);
    look_at(&mut world, &WELL, "ENABLED", cut_off_in(7 * 24 - 5));
    world.pass(Duration::hours(1));
    assert_eq!(world.take_of("ops"), NOTHING);
    assert_eq!(world.take_of("bob"), ["main/disconnect/account rung:7"]);
}

#[test]
fn an_end_that_no_mail_told_for_a_week_lapses() {
    let ended = |at: &str| {
        let sql = format!(
            "DELETE FROM envelopes WHERE message_id = 'mail-2'; UPDATE incidents SET body =
             json_set(body, '$.resolved_at', '{at}', '$.since', '{at}') WHERE key = 'main/vm_error/1'"
        );
        let mut world = World::updated_after("end_waits", &OPS, &sql);
        look(&mut world, &WELL);
        world.pass(Duration::hours(2));
        world.take_events()
    };
    assert_eq!(ended("2026-03-01T12:00:00Z"), ["main/vm_error/1 resolved"]);
    assert_eq!(ended("2026-02-20T12:00:00Z"), NOTHING);
}

#[test]
fn an_incident_told_as_no_longer_watched_is_told_no_more() {
    let mut world = World::updated("vm_no_longer_watched", &OPS);
    world.leave();
    world.pass(Duration::days(2));
    assert_eq!(world.take_events(), NOTHING);
    world.come_back();
    look(&mut world, &IN_ERROR);
    assert_eq!(world.take_events(), ["main/vm_error/1 opened"], "it is watched again, and still so");
}

#[test]
fn mails_that_were_sent_stay_known() {
    let world = World::updated("vm_in_error", &OPS);
    let sent = world.system.store().sent(9).unwrap();
    assert_eq!(sent.len(), 2);
    assert_eq!(sent[0].subject, "VM vm-1 in error");
    assert_eq!(sent[0].sent_at, moment("2026-03-02T12:02:01Z"));
}
