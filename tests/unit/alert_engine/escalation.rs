//! Escalation: what goes to others, when, and what does not.

use std::collections::BTreeMap;

use chrono::Duration;

use crate::alert::{Ack, AlertSettings, Kind, Muted, Silence};
use crate::model::*;

use super::alert_support::*;

fn settings() -> AlertSettings {
    AlertSettings { escalate_to: vec!["boss".into()], ..AlertSettings::defaults() }
}

/// What these were told.
fn told(world: &World, to: &str) -> Vec<String> {
    let mine = world.told.iter().filter(|notice| notice.to.iter().any(|one| one == to));
    mine.flat_map(|notice| &notice.items).map(|item| format!("{} {}", item.key, item.event)).collect()
}

fn muted(world: &World, ack: bool) -> Muted {
    let key = world.key(Kind::VmError, "1");
    if ack {
        let ack = Ack { episode: 1, at: world.now, comment: String::new() };
        return Muted { acks: BTreeMap::from([(key, ack)]), ..Muted::default() };
    }
    let until = world.now + Duration::hours(20);
    let silence = Silence { id: 1, pattern: "vm-1".into(), at: world.now, until, comment: String::new() };
    Muted { silences: vec![silence], ..Muted::default() }
}

#[test]
fn once_an_episode_after_its_time_and_the_end_to_all() {
    let mut world = World::healthy_with(settings());
    world.vms(&[(1, "error"), (2, "active")]);
    world.pass(Duration::minutes(719));
    assert_eq!(told(&world, "boss"), Vec::<String>::new());
    world.restart(Duration::seconds(30));
    world.vms(&[(1, "error"), (2, "active")]);
    world.end(Collector::Containers, None);
    world.end(Collector::Sites, None);
    world.report(rich());
    world.pass(Duration::hours(20));
    assert_eq!(told(&world, "boss"), ["main/vm_error/1 escalated"]);
    assert_eq!(told(&world, "ops"), ["main/vm_error/1 opened", "main/vm_error/1 reminder:1"]);
    for _ in 0..2 {
        world.vms(&[(1, "active"), (2, "active")]);
    }
    assert_eq!(told(&world, "boss")[1..], ["main/vm_error/1 resolved"]);
    // The next episode has a time of its own.
    world.vms(&[(1, "error"), (2, "active")]);
    world.pass(Duration::minutes(700));
    assert_eq!(told(&world, "boss").len(), 2);
    world.pass(Duration::minutes(30));
    assert_eq!(told(&world, "boss")[2..], ["main/vm_error/1 escalated"]);
}

#[test]
fn not_what_somebody_takes_on_or_silenced_and_no_warning() {
    for ack in [true, false] {
        let mut world = World::healthy_with(settings());
        world.vms(&[(1, "error"), (2, "active")]);
        world.engine.set_muted(muted(&world, ack));
        world.pass(Duration::hours(19));
        assert_eq!(told(&world, "boss"), Vec::<String>::new(), "ack {ack}");
        // A silence ends; what is acknowledged stays so.
        world.pass(Duration::hours(2));
        assert_eq!(told(&world, "boss").len(), usize::from(!ack), "ack {ack}");
    }
    let mut world = World::healthy_with(settings());
    world.vms(&[(1, "building"), (2, "active")]);
    world.pass(Duration::hours(1));
    world.vms(&[(1, "building"), (2, "active")]);
    assert_eq!(told(&world, "ops"), ["main/vm_stuck/1 opened"]);
    world.pass(Duration::hours(14));
    assert_eq!(told(&world, "boss"), Vec::<String>::new());
}

#[test]
fn not_what_is_folded_or_known_from_the_first_start() {
    let mut world = World::healthy_with(settings());
    world.containers(&[(10, "DISABLED_BY_ADMIN"), (11, "ENABLED")]);
    world.sites(10, &[(100, "StoppedByAdmin"), (101, "Active")]);
    world.pass(Duration::hours(13));
    assert_eq!(told(&world, "boss"), ["main/container_disabled/10 escalated"]);
    let mut world = World::new(settings());
    world.vms(&[(1, "error")]);
    world.containers(&[]);
    world.end(Collector::Sites, None);
    world.report(rich());
    world.pass(Duration::hours(30));
    assert_eq!(told(&world, "ops"), ["main/vm_error/1 started"]);
    assert_eq!(told(&world, "boss"), Vec::<String>::new());
}

#[test]
fn a_cut_off_from_the_last_safe_day_on_at_once_and_all_that_follows() {
    let mut world = World::healthy_with(settings());
    world.report(cut_off_in(6 * 24));
    assert_eq!((told(&world, "ops").len(), told(&world, "boss").len()), (1, 0));
    world.pass(Duration::days(2));
    assert_eq!(told(&world, "boss"), ["main/disconnect/account rung:4"]);
    world.pass(Duration::days(4) + Duration::hours(25));
    let tail: Vec<String> =
        told(&world, "ops").into_iter().filter(|told| !told.ends_with("rung:7")).collect();
    assert_eq!(told(&world, "boss"), tail, "whom it went to hears how it goes on");
    assert!(tail.iter().any(|told| told.contains("overdue:")), "{tail:?}");
}
