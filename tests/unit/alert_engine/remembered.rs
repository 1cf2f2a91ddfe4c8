//! What is over leaves the engine's memory; whatever comes of it later is as if it had not.

use std::collections::{BTreeMap, BTreeSet};

use crate::alert::{Kind, SHOWN};
use chrono::{DateTime, Duration};

use super::alert_support::*;

const MANY: u64 = 200;

/// All of them in this state, as often as it takes to be known.
fn all(world: &mut World, state: &str) {
    let rows: Vec<(u64, &str)> = (1..=MANY).map(|id| (id, state)).collect();
    (0..2).for_each(|_| world.vms(&rows));
}

/// The keys of what was told of VMs, each once.
fn told(world: &mut World) -> BTreeSet<String> {
    let items = || world.told.iter().flat_map(|notice| &notice.items);
    let keys: BTreeSet<String> = items().map(|item| item.event_key()).collect();
    assert_eq!(keys.len(), items().count());
    world.told.clear();
    keys
}

#[test]
fn what_is_over_is_kept_by_its_number_alone_and_the_next_opening_counts_on() {
    let mut world = World::healthy();
    let mut ever = BTreeSet::new();
    for round in 1..=3 {
        all(&mut world, "error");
        all(&mut world, "active");
        let keys = told(&mut world);
        assert_eq!(keys.len() as u64, 2 * MANY, "round {round}: each opened and resolved");
        assert!(ever.is_disjoint(&keys), "round {round}: an event key twice is a mail that nobody gets");
        ever.extend(keys);
        world.pass(Duration::minutes(30));
        let known = world.engine.incidents().len() as u64;
        assert!(known >= MANY, "may be flapping: {known}");
        world.pass(Duration::minutes(32));
        assert_eq!(world.engine.incidents().len(), SHOWN, "round {round}");
        assert!(world.engine.incidents().values().all(|one| one.episode == round));
        if round == 2 {
            world.restart(Duration::minutes(5));
            assert_eq!(world.engine.incidents().len(), SHOWN);
            world.vms(&[(1, "active")]);
        }
    }
    world.pass(Duration::days(7));
    assert!(world.engine.incidents().is_empty(), "{:?}", world.engine.incidents());
    let incident = world.incident(Kind::VmError, "7");
    assert_eq!((incident.episode, incident.resolved_at.is_some()), (3, true), "the store has it");
}

#[test]
fn what_came_and_went_within_the_hour_still_counts_towards_flapping() {
    let mut world = World::healthy();
    for _ in 0..2 {
        all(&mut world, "error");
        world.pass(Duration::minutes(10));
        all(&mut world, "active");
        world.pass(Duration::minutes(2));
    }
    let last = world.told.last().unwrap();
    assert_eq!((last.items[0].event.to_string().as_str(), last.items.len() as u64), ("flapping", MANY));
}

#[test]
fn an_account_that_is_back_within_a_day_goes_on_and_later_begins_anew() {
    for (away, episode, phase) in [(23, 1, "firing"), (26, 2, "firing")] {
        let mut world = World::healthy();
        world.vms(&[(1, "error"), (2, "active")]);
        world.engine.set_watchers(BTreeMap::new());
        world.pass(Duration::hours(away));
        world.set_settings();
        world.tick();
        world.vms(&[(1, "error"), (2, "active")]);
        let incident = world.incident(Kind::VmError, "1");
        assert_eq!((incident.episode, incident.phase.as_str()), (episode, phase), "after {away} h");
    }
}

/// Opened while the machine did not know the time; nobody but its own clock says what it is.
#[test]
fn a_moment_from_before_the_release_is_replaced_once_the_clock_is_right() {
    let mut world = World::healthy();
    world.now = DateTime::UNIX_EPOCH;
    world.vms(&[(1, "error"), (2, "active")]);
    assert_eq!(world.incident(Kind::VmError, "1").since.timestamp(), 20);
    assert_eq!(world.take_events(), ["main/vm_error/1 opened"]);
    world.pass(Duration::minutes(5));
    let today = start() + Duration::days(300);
    world.now = today;
    world.tick();
    let incident = world.incident(Kind::VmError, "1");
    assert_eq!((incident.since, incident.last_change, incident.last_mailed), (today, today, Some(today)));
    world.pass(Duration::hours(25));
    assert_eq!(world.take_events(), ["main/vm_error/1 reminder:1"], "as of one that opened now");
}
