//! What changes again and again.

use chrono::Duration;
use hostwatch::alert::Kind;

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
    let mut world = World::healthy();
    for _ in 0..2 {
        world.vms(&[(1, "error"), (2, "active")]);
        world.vms(&[(1, "active"), (2, "active")]);
        world.vms(&[(1, "active"), (2, "active")]);
    }
    assert_eq!(world.take_events().last().unwrap(), "main/vm_error/1 flapping");
    world
}

#[test]
fn what_flaps_and_is_folded_is_the_causes_to_tell() {
    let mut world = flapping();
    world.containers(&[(10, "DISABLED_BY_SERVICE"), (11, "ENABLED")]);
    world.vms(&[(1, "error"), (2, "active")]);
    world.told.clear();
    world.pass(Duration::minutes(40));
    assert!(world.told.is_empty(), "{:?}", world.events());
    assert!(!world.incident(Kind::VmError, "1").flapping);
    for _ in 0..2 {
        world.vms(&[(1, "active"), (2, "active")]);
    }
    assert!(world.told.is_empty(), "nobody was told that it opened: {:?}", world.events());
}

#[test]
fn what_flaps_and_outlives_its_cause_is_told_once() {
    let mut world = flapping();
    world.containers(&[(10, "DISABLED_BY_SERVICE"), (11, "ENABLED")]);
    world.vms(&[(1, "error"), (2, "active")]);
    for _ in 0..2 {
        world.containers(&[(10, "ENABLED"), (11, "ENABLED")]);
    }
    world.told.clear();
    for _ in 0..3 {
        world.vms(&[(1, "error"), (2, "active")]);
    }
    assert!(world.told.is_empty(), "it flaps: {:?}", world.events());
    world.pass(Duration::minutes(40));
    assert_eq!(world.take_events(), ["main/vm_error/1 opened"]);
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
