//! Root causes: one mail for what follows from one cause.

use hostwatch::alert::{Kind, Phase};

use super::alert_support::*;

#[test]
fn causes_speak_for_what_follows_from_them() {
    let mut world = World::healthy();
    world.containers(&[(10, "DISABLED_BY_QUOTA"), (11, "ENABLED")]);
    world.sites(10, &[(100, "StoppedByQuota"), (101, "Error")]);
    assert_eq!(world.take_events(), ["main/container_disabled/10 opened"]);
    assert!(world.incident(Kind::SiteError, "101").reason.contains("folded into main/container_disabled/10"));
    // A site elsewhere is its own story.
    world.sites(11, &[(110, "Error")]);
    assert_eq!(world.take_events(), ["main/site_error/110 opened"]);
    // The cause ends; one site is still wrong, and now it is told.
    world.containers(&[(10, "ENABLED"), (11, "ENABLED")]);
    world.containers(&[(10, "ENABLED"), (11, "ENABLED")]);
    assert_eq!(world.take_events(), ["main/container_disabled/10 resolved"]);
    world.sites(10, &[(100, "Active"), (101, "Error")]);
    world.sites(10, &[(100, "Active"), (101, "Error")]);
    assert_eq!(world.take_events(), ["main/site_error/101 opened"]);
}

#[test]
fn an_overdue_account_speaks_for_everything_in_it() {
    let mut world = World::healthy();
    world.report(report("-3", hostwatch::model::Edd::Null));
    assert_eq!(world.take_events(), ["main/disconnect/account rung:0"]);
    world.vms(&[(1, "blocked"), (2, "blocked")]);
    world.sites(10, &[(100, "StoppedByService"), (101, "StoppedByService")]);
    assert!(world.told.is_empty(), "{:?}", world.events());
    assert_eq!(world.incident(Kind::VmBlocked, "1").phase, Phase::Firing);
}

#[test]
fn a_site_stopped_by_service_in_a_paid_account_is_told() {
    let mut world = World::healthy();
    world.sites(10, &[(100, "StoppedByService"), (101, "Active")]);
    assert_eq!(world.take_events(), ["main/site_blocked/100 opened"]);
}

#[test]
fn what_is_folded_waits_until_its_cause_has_recovered() {
    let mut world = World::healthy();
    world.report(report("-3", hostwatch::model::Edd::Null));
    world.vms(&[(1, "blocked"), (2, "active")]);
    world.told.clear();
    // Paid: one report says so, and the VM takes its time.
    world.report(rich());
    for _ in 0..4 {
        world.vms(&[(1, "blocked"), (2, "active")]);
    }
    assert!(world.told.is_empty(), "{:?}", world.events());
}
