//! What people decide about incidents: acknowledged and silenced (contract sections 2 and 6).
#![allow(clippy::unwrap_used)]

use super::alert_support;

use crate::alert::{Ack, Kind, Muted, Silence};
use crate::model::{Collector, FailureKind};
use alert_support::*;
use chrono::Duration;

fn silence(world: &World, pattern: &str, hours: i64) -> Muted {
    let (at, until) = (world.now, world.now + Duration::hours(hours));
    let comment = "moving house".to_owned();
    let silence = Silence { id: 1, pattern: pattern.to_owned(), at, until, comment };
    Muted { silences: vec![silence], ..Muted::default() }
}

#[test]
fn an_acknowledged_incident_is_not_reminded_of_and_its_end_is_told() {
    for acknowledged in [false, true] {
        let mut world = World::healthy();
        world.vms(&[(1, "error"), (2, "active")]);
        world.told.clear();
        if acknowledged {
            let key = world.key(Kind::VmError, "1");
            let ack = Ack { episode: 1, at: world.now, comment: String::new() };
            world.engine.set_muted(Muted { acks: [(key, ack)].into(), ..Muted::default() });
        }
        world.pass(Duration::hours(25));
        let reminded = world.take_events();
        assert_eq!(reminded.is_empty(), acknowledged, "{reminded:?}");
        world.vms(&[(1, "active"), (2, "active")]);
        world.vms(&[(1, "active"), (2, "active")]);
        assert_eq!(world.take_events(), ["main/vm_error/1 resolved"]);
        // The next episode is news.
        world.vms(&[(1, "error"), (2, "active")]);
        assert_eq!(world.take_events(), ["main/vm_error/1 opened"]);
        world.pass(Duration::hours(25));
        assert_eq!(world.take_events(), ["main/vm_error/1 reminder:1"]);
    }
}

#[test]
fn reminders_wait_while_nobody_knows_whether_it_lasts() {
    let mut world = World::healthy();
    world.vms(&[(1, "error"), (2, "active")]);
    world.told.clear();
    world.fail(Collector::Vms, FailureKind::Other);
    world.pass(Duration::hours(25));
    let events = world.take_events();
    assert!(!events.iter().any(|event| event.contains("reminder")), "{events:?}");
    world.vms(&[(1, "error"), (2, "active")]);
    world.end(Collector::Vms, None);
    world.tick();
    assert!(world.take_events().contains(&"main/vm_error/1 reminder:1".to_owned()));
}

#[test]
fn what_is_still_wrong_when_its_silence_ends_is_told_then() {
    let mut world = World::healthy();
    let muted = silence(&world, "vm-1", 2);
    world.engine.set_muted(muted);
    world.vms(&[(1, "error"), (2, "error")]);
    assert_eq!(world.take_events(), ["main/vm_error/2 opened"]);
    let reason = world.incident(Kind::VmError, "1").reason.to_string();
    assert!(reason.contains("no mail: silenced by 'vm-1' until Mon 2 Mar 14:"), "{reason}");
    world.pass(Duration::minutes(110));
    assert_eq!(world.take_events(), Vec::<String>::new());
    world.pass(Duration::minutes(15));
    assert_eq!(world.take_events(), ["main/vm_error/1 opened"]);
    world.pass(Duration::hours(1));
    assert!(world.take_events().is_empty(), "once");
}

#[test]
fn what_comes_and_goes_in_silence_is_not_told() {
    let mut world = World::healthy();
    let muted = silence(&world, "main/vm_*", 2);
    world.engine.set_muted(muted);
    for state in ["error", "active", "active"] {
        world.vms(&[(1, state), (2, "active")]);
    }
    world.pass(Duration::hours(3));
    assert_eq!(world.take_events(), Vec::<String>::new());
}

#[test]
fn the_end_of_what_was_mailed_is_told_in_silence_too() {
    let mut world = World::healthy();
    world.vms(&[(1, "error"), (2, "active")]);
    world.told.clear();
    let muted = silence(&world, "*", 2);
    world.engine.set_muted(muted);
    world.vms(&[(1, "active"), (2, "active")]);
    world.vms(&[(1, "active"), (2, "active")]);
    assert_eq!(world.take_events(), ["main/vm_error/1 resolved"]);
    world.pass(Duration::hours(3));
    world.vms(&[(1, "error"), (2, "active")]);
    assert_eq!(world.take_events(), ["main/vm_error/1 opened"]);
}

#[test]
fn changing_again_and_again_in_silence_is_told_as_it_stands_afterwards() {
    let mut world = World::healthy();
    let muted = silence(&world, "*", 1);
    world.engine.set_muted(muted);
    for _ in 0..4 {
        for state in ["error", "active", "active"] {
            world.vms(&[(1, state), (2, "active")]);
        }
    }
    world.vms(&[(1, "error"), (2, "active")]);
    assert_eq!(world.take_events(), Vec::<String>::new());
    world.pass(Duration::minutes(61));
    assert_eq!(world.take_events(), ["main/vm_error/1 opened"]);
}

#[test]
fn a_disconnect_is_silenced_by_name_only_and_the_rung_then_due_is_told() {
    let mut world = World::healthy();
    let muted = silence(&world, "*", 48);
    world.engine.set_muted(muted);
    world.report(cut_off_in(6 * 24));
    assert_eq!(world.take_events(), ["main/disconnect/account rung:7"]);

    let mut world = World::healthy();
    let muted = silence(&world, "main/disconnect/*", 60);
    world.engine.set_muted(muted);
    world.report(cut_off_in(6 * 24));
    world.pass(Duration::hours(59));
    assert_eq!(world.take_events(), ["main/balance_drop/account opened"], "another kind");
    world.pass(Duration::hours(2));
    assert_eq!(world.take_events(), ["main/disconnect/account rung:4"], "one mail, the tightest");
}

#[test]
fn a_silence_at_the_first_start_keeps_out_of_its_mail() {
    let mut world = World::new(crate::alert::AlertSettings::defaults());
    let muted = silence(&world, "vm-1", 2);
    world.engine.set_muted(muted);
    world.vms(&[(1, "error"), (2, "error")]);
    world.containers(&[]);
    world.end(Collector::Sites, None);
    world.report(rich());
    assert_eq!(world.take_events(), ["main/vm_error/2 started"]);
    world.pass(Duration::minutes(125));
    assert_eq!(world.take_events(), ["main/vm_error/1 opened"]);
}

#[test]
fn what_was_folded_and_then_silenced_is_told_when_its_silence_ends() {
    let mut world = World::healthy();
    world.containers(&[(10, "DISABLED_BY_ADMIN"), (11, "ENABLED")]);
    world.sites(10, &[(100, "Error"), (101, "Active")]);
    world.told.clear();
    let muted = silence(&world, "main/site_*", 2);
    world.engine.set_muted(muted);
    for _ in 0..3 {
        world.containers(&[(10, "ENABLED"), (11, "ENABLED")]);
        world.sites(10, &[(100, "Error"), (101, "Active")]);
    }
    assert_eq!(world.take_events(), ["main/container_disabled/10 resolved"]);
    world.pass(Duration::minutes(125));
    assert_eq!(world.take_events(), ["main/site_error/100 opened"]);
}

#[test]
fn a_silence_that_ends_while_another_container_fails_is_over_all_the_same() {
    let mut world = World::healthy();
    let muted = silence(&world, "main/site_*", 1);
    world.engine.set_muted(muted);
    world.sites(10, &[(100, "Error"), (101, "Active")]);
    // Not even what shows this one was read.
    world.later(Duration::seconds(20));
    world.fail(Collector::Sites, FailureKind::Other);
    world.later(Duration::minutes(61));
    world.tick();
    assert_eq!(world.take_events(), ["main/collector_failing/sites opened"], "not looked at since");
    world.sites(10, &[(100, "Error"), (101, "Active")]);
    assert_eq!(world.take_events(), ["main/site_error/100 opened"]);
}

#[test]
fn a_cause_that_is_silenced_speaks_for_nobody() {
    let mut world = World::healthy();
    let muted = silence(&world, "main/container_disabled/*", 2);
    world.engine.set_muted(muted);
    world.containers(&[(10, "DISABLED_BY_SERVICE"), (11, "ENABLED")]);
    assert!(world.told.is_empty());
    world.vms(&[(1, "error"), (2, "active")]);
    assert_eq!(world.take_events(), ["main/vm_error/1 opened"]);
}

#[test]
fn a_silence_uses_up_no_reminders() {
    let mut world = World::healthy();
    world.vms(&[(1, "error"), (2, "active")]);
    world.told.clear();
    let muted = silence(&world, "vm-1", 49);
    world.engine.set_muted(muted);
    world.pass(Duration::hours(49) - Duration::minutes(1));
    assert!(world.told.is_empty(), "{:?}", world.events());
    world.pass(Duration::minutes(1));
    assert_eq!(world.take_events(), ["main/vm_error/1 reminder:1"]);
}
