//! What changes again and again.

use crate::alert::{Kind, Phase};
use chrono::Duration;

use super::alert_support::*;

#[test]
fn flapping_is_told_once_and_once_more_when_it_is_over() {
    let mut world = World::healthy();
    for _ in 0..6 {
        world.vms(&[(1, "error"), (2, "active")]);
        world.vms(&[(1, "active"), (2, "active")]);
        world.vms(&[(1, "active"), (2, "active")]);
    }
    let events = world.take_events();
    let wanted = ["opened", "resolved", "opened", "flapping"].map(|event| format!("main/vm_error/1 {event}"));
    assert_eq!(events, wanted);
    world.pass(Duration::minutes(40));
    assert_eq!(world.take_events(), ["main/vm_error/1 resolved"]);
}

#[test]
fn an_episode_that_opened_while_flapping_is_resolved_in_the_end() {
    let mut world = World::healthy();
    for _ in 0..3 {
        world.vms(&[(1, "error"), (2, "active")]);
        world.vms(&[(1, "active"), (2, "active")]);
        world.vms(&[(1, "active"), (2, "active")]);
    }
    world.vms(&[(1, "error"), (2, "active")]);
    world.told.clear();
    world.pass(Duration::minutes(40));
    assert_eq!(world.take_events(), ["main/vm_error/1 opened"]);
    world.later(Duration::hours(2));
    world.vms(&[(1, "active"), (2, "active")]);
    world.vms(&[(1, "active"), (2, "active")]);
    assert_eq!(world.take_events(), ["main/vm_error/1 resolved"]);
}

/// VM 1 breaks and recovers twice, which is told as flapping.
fn flapping() -> World {
    flapping_between("error", Kind::VmError)
}

fn flapping_between(state: &str, kind: Kind) -> World {
    let mut world = World::healthy();
    for _ in 0..2 {
        world.vms(&[(1, state), (2, "active")]);
        world.vms(&[(1, "active"), (2, "active")]);
        world.vms(&[(1, "active"), (2, "active")]);
    }
    assert_eq!(world.take_events().last().unwrap(), &format!("main/{kind}/1 flapping"));
    world
}

#[test]
fn what_flaps_and_is_folded_is_the_causes_to_tell() {
    let mut world = flapping_between("blocked", Kind::VmBlocked);
    world.containers(&[(10, "DISABLED_BY_SERVICE"), (11, "ENABLED")]);
    world.vms(&[(1, "blocked"), (2, "active")]);
    world.told.clear();
    world.pass(Duration::minutes(40));
    assert_eq!(world.take_events(), ["main/container_disabled/10 covered:1"]);
    assert!(!world.incident(Kind::VmBlocked, "1").flapping);
    for _ in 0..2 {
        world.vms(&[(1, "active"), (2, "active")]);
    }
    assert!(world.told.is_empty(), "nobody was told that it opened: {:?}", world.events());
}

#[test]
fn what_flaps_and_outlives_its_cause_is_told_once() {
    let mut world = flapping_between("blocked", Kind::VmBlocked);
    world.containers(&[(10, "DISABLED_BY_SERVICE"), (11, "ENABLED")]);
    world.vms(&[(1, "blocked"), (2, "active")]);
    for _ in 0..2 {
        world.containers(&[(10, "ENABLED"), (11, "ENABLED")]);
    }
    world.told.clear();
    for _ in 0..3 {
        world.vms(&[(1, "blocked"), (2, "active")]);
    }
    assert!(world.told.is_empty(), "it flaps: {:?}", world.events());
    world.pass(Duration::minutes(40));
    assert_eq!(world.take_events(), ["main/vm_blocked/1 opened"]);
}

#[test]
fn what_has_settled_starts_to_count_anew() {
    let mut world = flapping();
    world.vms(&[(1, "error"), (2, "active")]);
    world.pass(Duration::minutes(31));
    assert_eq!(world.take_events(), ["main/vm_error/1 opened"]);
    for _ in 0..2 {
        world.vms(&[(1, "active"), (2, "active")]);
    }
    assert_eq!(world.take_events(), ["main/vm_error/1 resolved"], "one change since then");
}

/// VM 1 goes wrong, and then right for good.
fn once(world: &mut World) {
    for state in ["error", "active", "active"] {
        world.vms(&[(1, state), (2, "active")]);
    }
}

#[test]
fn four_changes_within_an_hour_are_flapping_and_no_fewer() {
    // From the first to the fourth it takes 100 seconds more.
    for (seconds, last) in [(0, "flapping"), (3499, "flapping"), (3500, "resolved")] {
        let mut world = World::healthy();
        once(&mut world);
        world.later(Duration::seconds(seconds));
        once(&mut world);
        let want = ["opened", "resolved", "opened", last].map(|event| format!("main/vm_error/1 {event}"));
        assert_eq!(world.take_events(), want, "{seconds} s between");
    }
    // The fourth is an opening here: the first of all is more than an hour ago by then.
    let mut world = World::healthy();
    world.vms(&[(1, "error"), (2, "active")]);
    world.later(Duration::minutes(58));
    for state in ["active", "active"] {
        world.vms(&[(1, state), (2, "active")]);
    }
    world.vms(&[(1, "error"), (2, "active")]);
    world.later(Duration::minutes(2));
    for state in ["active", "active", "error"] {
        world.vms(&[(1, state), (2, "active")]);
    }
    assert_eq!(world.take_events().last().unwrap(), "main/vm_error/1 flapping");
    let incident = world.incident(Kind::VmError, "1");
    assert_eq!(incident.reason.to_string(), "4 changes within an hour");
    assert!(incident.flapping && incident.announced);
}

#[test]
fn what_flaps_is_told_once_it_was_quiet_for_half_an_hour() {
    let mut world = flapping();
    world.pass(Duration::minutes(29));
    assert!(world.told.is_empty(), "{:?}", world.events());
    world.pass(Duration::minutes(1));
    assert_eq!(world.take_events(), ["main/vm_error/1 resolved"]);
    assert_eq!(
        world.incident(Kind::VmError, "1").reason.to_string(),
        "stable for half an hour after many changes"
    );
    // Neither right nor wrong for good is not quiet.
    let mut world = flapping();
    world.vms(&[(1, "error"), (2, "active")]);
    world.vms(&[(1, "active"), (2, "active")]);
    assert_eq!(world.incident(Kind::VmError, "1").phase, Phase::Recovering);
    world.pass(Duration::minutes(45));
    assert!(world.told.is_empty(), "{:?}", world.events());
}

/// What waits for a look, or for the end of a silence, is told as what it is by then.
#[test]
fn the_fourth_change_of_an_hour_is_flapping_however_late_it_is_told() {
    let active = |world: &mut World| (0..2).for_each(|_| world.vms(&[(1, "active"), (2, "active")]));
    let blocked = |world: &mut World| world.vms(&[(1, "blocked"), (2, "active")]);
    let mut world = World::healthy();
    blocked(&mut world);
    world.pass(Duration::minutes(61));
    active(&mut world);
    blocked(&mut world);
    active(&mut world);
    world.told.clear();
    world.book.look_again();
    blocked(&mut world);
    world.tick();
    assert_eq!(world.take_events(), [""; 0], "a report may explain it");
    world.book.stop_looking();
    world.tick();
    assert_eq!(world.events(), ["main/vm_blocked/1 flapping"]);
    let reason = world.told[0].items[0].reason.to_string();
    assert_eq!(reason, "4 changes within an hour");
    world.told.clear();
    world.pass(Duration::minutes(40));
    assert_eq!(world.take_events(), ["main/vm_blocked/1 opened"], "and once more when it is quiet");

    // The same where the fourth ends it, unheard of.
    let mut world = World::healthy();
    blocked(&mut world);
    active(&mut world);
    world.told.clear();
    world.book.look_again();
    blocked(&mut world);
    active(&mut world);
    assert_eq!(world.take_events(), ["main/vm_blocked/1 flapping"]);

    // Changes of long ago are none of this hour.
    let mut world = World::healthy();
    blocked(&mut world);
    active(&mut world);
    world.told.clear();
    world.silence("main/vm_blocked/*", Duration::hours(3));
    blocked(&mut world);
    active(&mut world);
    blocked(&mut world);
    world.pass(Duration::hours(4));
    assert_eq!(world.take_events(), ["main/vm_blocked/1 opened"]);
}
