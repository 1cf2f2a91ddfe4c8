//! Root causes: one mail for what follows from one cause.

use crate::alert::{Kind, Phase, Settings};

use super::alert_support::*;

#[test]
fn causes_speak_for_what_follows_from_them() {
    let mut world = World::healthy();
    world.containers(&[(10, "DISABLED_BY_QUOTA"), (11, "ENABLED")]);
    world.sites(10, &[(100, "StoppedByQuota"), (101, "Error")]);
    assert_eq!(world.take_events(), ["main/container_disabled/10 opened"]);
    assert!(
        world
            .incident(Kind::SiteError, "101")
            .reason
            .to_string()
            .contains("folded into main/container_disabled/10")
    );
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
    world.report(report("-3", crate::model::Edd::Null));
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
    world.report(report("-3", crate::model::Edd::Null));
    world.vms(&[(1, "blocked"), (2, "active")]);
    world.told.clear();
    // Paid: one report says so, and the VM takes its time.
    world.report(rich());
    for _ in 0..4 {
        world.vms(&[(1, "blocked"), (2, "active")]);
    }
    assert!(world.told.is_empty(), "{:?}", world.events());
}

#[test]
fn which_causes_speak_for_what() {
    // (the container's state, what a VM's error and another container's site's then tell)
    let table = [
        ("DISABLED_BY_SERVICE", false),
        ("DISABLED_BY_ADMIN", true),
        ("DISABLED_BY_QUOTA", true),
        ("ENABLED", true),
    ];
    for (state, told) in table {
        let mut world = World::healthy();
        world.containers(&[(10, state), (11, "ENABLED")]);
        world.told.clear();
        world.vms(&[(1, "error"), (2, "active")]);
        world.sites(11, &[(110, "Error")]);
        let own = if told { vec!["main/vm_error/1 opened", "main/site_error/110 opened"] } else { vec![] };
        assert_eq!(world.take_events(), own, "{state}");
    }
    // A state that nobody knows is nobody's consequence, nor is one container another's.
    let mut world = World::healthy();
    world.containers(&[(10, "DISABLED_BY_SERVICE"), (11, "DISABLED_BY_SERVICE")]);
    let both = ["main/container_disabled/10 opened", "main/container_disabled/11 opened"];
    assert_eq!(world.take_events(), both);
    world.vms(&[(1, "melting"), (2, "active")]);
    assert_eq!(world.take_events(), ["main/unknown_state/vm:melting opened"]);
}

#[test]
fn a_disconnect_speaks_for_others_only_once_it_is_overdue() {
    let mut world = World::healthy();
    world.report(cut_off_in(53));
    world.told.clear();
    world.vms(&[(1, "blocked"), (2, "active")]);
    assert_eq!(world.take_events(), ["main/vm_blocked/1 opened"]);
    world.report(report("-3", crate::model::Edd::Null));
    assert_eq!(world.take_events(), ["main/disconnect/account rung:0"]);
    world.containers(&[(10, "DISABLED_BY_SERVICE"), (11, "ENABLED")]);
    world.vms(&[(1, "blocked"), (2, "blocked")]);
    assert!(world.told.is_empty(), "{:?}", world.events());
    let folded = world.incident(Kind::ContainerDisabled, "10");
    assert_eq!(folded.folded_into, Some(world.key(Kind::Disconnect, "account")));
    assert_eq!(
        folded.reason.to_string(),
        "no mail: folded into main/disconnect/account, which speaks for it"
    );
    // Paid, and everything comes back: nobody was told that it went, but for the first.
    for _ in 0..2 {
        world.report(rich());
    }
    world.told.clear();
    for _ in 0..2 {
        world.containers(&[(10, "ENABLED"), (11, "ENABLED")]);
        world.vms(&[(1, "active"), (2, "active")]);
    }
    assert_eq!(world.take_events(), ["main/vm_blocked/1 resolved"]);
    let over = world.incident(Kind::ContainerDisabled, "10");
    let want = "seen right often enough; no mail: main/disconnect/account spoke for it";
    assert_eq!((over.reason.to_string().as_str(), &over.folded_into), (want, &None));
}

#[test]
fn what_outlives_its_cause_is_told_after_as_many_looks_as_a_recovery_takes() {
    for recover_polls in [1, 2, 3] {
        let mut world = World::healthy_with(Settings { recover_polls, ..Settings::defaults() });
        world.containers(&[(10, "DISABLED_BY_ADMIN"), (11, "ENABLED")]);
        world.sites(10, &[(100, "Error"), (101, "Active")]);
        for _ in 0..recover_polls {
            world.containers(&[(10, "ENABLED"), (11, "ENABLED")]);
        }
        world.told.clear();
        for look in 1..=recover_polls {
            assert!(world.told.is_empty(), "{look} of {recover_polls}");
            world.sites(10, &[(100, "Error"), (101, "Active")]);
        }
        assert_eq!(world.take_events(), ["main/site_error/100 opened"]);
        let incident = world.incident(Kind::SiteError, "100");
        assert_eq!(incident.reason.to_string(), "still wrong after its cause ended");
    }
}
