//! The first start: one mail of what is wrong already.

use chrono::Duration;
use hostwatch::alert::{Form, Settings};
use hostwatch::model::{Collector, FailureKind};

use super::alert_support::*;

#[test]
fn the_first_start_is_one_mail_that_lists_what_is_wrong_and_recovery_is_told() {
    let mut world = World::new(Settings::defaults());
    world.vms(&[(1, "error"), (2, "active")]);
    world.report(cut_off_in(53));
    // A disconnect mail waits for nothing.
    assert_eq!(world.take_events(), ["main/disconnect/account rung:3"]);
    world.containers(&[(10, "DISABLED_BY_QUOTA")]);
    world.sites(10, &[(100, "StoppedByQuota")]);
    assert!(world.told.is_empty());
    world.end(Collector::Sites, None);
    assert_eq!(world.told.len(), 1);
    let Form::Started(facts) = &world.told[0].form else { panic!("{:?}", world.told) };
    // The site is part of its container's trouble.
    assert_eq!((facts.resources, facts.needs, facts.disconnect), (4, 3, true));
    assert_eq!(world.take_events(), ["main/vm_error/1 started", "main/container_disabled/10 started"]);
    world.pass(Duration::days(3));
    assert!(!world.events().iter().any(|event| event.contains("reminder")), "{:?}", world.events());
    world.told.clear();
    world.vms(&[(1, "active"), (2, "active")]);
    world.vms(&[(1, "active"), (2, "active")]);
    assert_eq!(world.take_events(), ["main/vm_error/1 resolved"]);
}

#[test]
fn the_first_start_never_says_all_is_well_of_what_it_could_not_read() {
    let mut world = World::new(Settings::defaults());
    world.fail(Collector::Vms, FailureKind::Other);
    world.containers(&[(10, "ENABLED")]);
    world.end(Collector::Sites, None);
    world.report(rich());
    let Form::Started(facts) = &world.told[0].form else { panic!("{:?}", world.told) };
    assert_eq!(facts.unread.len(), 1);
    assert!(facts.unread[0].contains("vms"), "{:?}", facts.unread);
}

#[test]
fn what_outlives_its_cause_before_the_first_mail_is_in_that_mail() {
    let mut world = World::new(Settings::defaults());
    world.report(report("-3", hostwatch::model::Edd::Null));
    world.vms(&[(1, "error"), (2, "active")]);
    world.report(rich());
    world.report(rich());
    world.vms(&[(1, "error"), (2, "active")]);
    world.vms(&[(1, "error"), (2, "active")]);
    world.told.clear();
    world.containers(&[]);
    world.end(Collector::Sites, None);
    assert_eq!(world.take_events(), ["main/vm_error/1 started"]);
}
