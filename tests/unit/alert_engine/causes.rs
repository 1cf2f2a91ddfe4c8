//! Root causes: one mail for what follows from one cause.

use chrono::Duration;

use crate::alert::{Kind, Phase};
use crate::model::{Collector, FailureKind};

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
            .contains("covered by main/container_disabled/10")
    );
    // A site elsewhere is its own story.
    world.sites(11, &[(110, "Error")]);
    assert_eq!(world.take_events(), ["main/site_error/110 opened"]);
    // The cause ends; one site is still wrong, and now it is told.
    world.containers(&[(10, "ENABLED"), (11, "ENABLED")]);
    world.containers(&[(10, "ENABLED"), (11, "ENABLED")]);
    assert_eq!(world.take_events(), ["main/container_disabled/10 resolved"]);
    world.sites(10, &[(100, "Active"), (101, "Error")]);
    assert_eq!(world.take_events(), ["main/site_error/101 opened"]);
}

#[test]
fn an_overdue_account_speaks_for_everything_in_it() {
    let mut world = World::healthy();
    world.report(cut_off_in(-1));
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
fn what_is_folded_waits_until_its_cause_has_ended() {
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
    world.report(rich());
    world.told.clear();
    world.tick();
    assert_eq!(world.take_events(), ["main/vm_blocked/1 opened"]);
}

/// Covered as blocked, and told as in error before its cause ends: it is one VM, and known as it is.
#[test]
fn what_outlives_its_cause_in_another_state_is_told_in_that_alone() {
    let mut world = World::healthy();
    world.report(report("-3", crate::model::Edd::Null));
    world.vms(&[(1, "blocked"), (2, "active")]);
    world.told.clear();
    world.vms(&[(1, "error"), (2, "active")]);
    assert_eq!(world.take_events(), ["main/vm_error/1 opened"]);
    for _ in 0..2 {
        world.report(rich());
    }
    world.told.clear();
    world.pass(Duration::hours(2));
    assert_eq!(world.take_events(), [""; 0]);
    assert_eq!(world.incident(Kind::VmBlocked, "1").folded_into, Some(world.key(Kind::VmError, "1")));
    // Blocked once more, and nothing explains it now.
    world.vms(&[(1, "blocked"), (2, "active")]);
    assert_eq!(world.take_events(), ["main/vm_blocked/1 opened"]);
    for _ in 0..2 {
        world.vms(&[(1, "active"), (2, "active")]);
    }
    assert_eq!(world.take_events(), ["main/vm_error/1 resolved", "main/vm_blocked/1 resolved"]);
}

/// Told as in error, blocked for a while with its account, and in error again when that is paid for.
#[test]
fn what_was_told_before_its_cause_is_not_told_after_it_in_other_words() {
    let mut world = World::healthy();
    world.vms(&[(1, "error"), (2, "active")]);
    world.report(report("-3", crate::model::Edd::Null));
    for state in ["blocked", "blocked", "error"] {
        world.vms(&[(1, state), (2, "active")]);
    }
    for _ in 0..2 {
        world.report(rich());
    }
    world.told.clear();
    world.pass(Duration::hours(2));
    assert_eq!(world.take_events(), [""; 0]);
}

/// After a sleep the VMs may be read before the report that explains them.
#[test]
fn what_a_report_may_explain_waits_until_it_was_looked_at() {
    for (explained, told) in [(true, "main/disconnect/account rung:0"), (false, "main/vm_blocked/1 opened")] {
        let mut world = World::healthy();
        world.book.look_again();
        world.vms(&[(1, "blocked"), (2, "active")]);
        world.vms(&[(1, "blocked"), (2, "active")]);
        world.tick();
        assert_eq!(world.take_events(), [""; 0], "it is not known yet what explains it");
        let reason = world.incident(Kind::VmBlocked, "1").reason.to_string();
        assert_eq!(reason, "no mail yet: what may explain it is looked at first");
        world.containers(&[(10, "ENABLED"), (11, "ENABLED")]);
        world.end(Collector::Sites, None);
        world.report(if explained { cut_off_in(-1) } else { rich() });
        world.tick();
        let events = world.take_events();
        assert!(events.contains(&told.to_owned()), "{events:?}");
        assert_eq!(events.iter().any(|event| event.contains("vm_blocked")), !explained, "{events:?}");
    }
    // Nothing explains an error.
    let mut world = World::healthy();
    world.book.look_again();
    world.vms(&[(1, "error"), (2, "active")]);
    assert_eq!(world.take_events(), ["main/vm_error/1 opened"]);
    // It is waited for no longer.
    world.vms(&[(1, "error"), (2, "blocked")]);
    assert_eq!(world.take_events(), [""; 0]);
    world.book.stop_looking();
    world.tick();
    assert_eq!(world.take_events(), ["main/vm_blocked/2 opened"]);
}

/// Paid while the VMs cannot be read: they wait, and not for a cause that is over.
#[test]
fn what_a_cause_covered_and_nobody_sees_waits_for_a_look() {
    let mut world = World::healthy();
    world.report(report("-3", crate::model::Edd::Null));
    world.vms(&[(1, "blocked"), (2, "active")]);
    world.fail(Collector::Vms, FailureKind::Other);
    for _ in 0..2 {
        world.report(rich());
    }
    world.told.clear();
    world.tick();
    assert_eq!(world.events(), Vec::<String>::new());
    let reason = world.incident(Kind::VmBlocked, "1").reason.to_string();
    let over =
        "no mail yet: main/disconnect/account, which covered it, is over, and its state cannot be read";
    assert_eq!(reason, over);
    world.vms(&[(1, "blocked"), (2, "active")]);
    assert_eq!(world.take_events(), ["main/vm_blocked/1 opened"]);
}

/// After a restart the containers' first listing is short by the one that is off: nothing is known of its sites.
#[test]
fn what_a_listing_left_out_stays_with_its_cause() {
    let mut world = World::healthy();
    world.containers(&[(10, "DISABLED_BY_QUOTA"), (11, "ENABLED")]);
    world.sites(10, &[(100, "StoppedByQuota"), (101, "StoppedByQuota")]);
    assert_eq!(world.take_events(), ["main/container_disabled/10 opened"]);
    world.restart(Duration::minutes(1));
    world.vms(&[(1, "active"), (2, "active")]);
    world.containers_read(&[(11, "ENABLED")], false);
    world.sites(11, &[(110, "Active")]);
    world.end(Collector::Sites, None);
    world.report(rich());
    world.pass(Duration::minutes(3));
    assert_eq!(world.take_events(), Vec::<String>::new());
    // Seen again, and on without its container: told, if it is still so.
    world.containers(&[(10, "ENABLED"), (11, "ENABLED")]);
    world.containers(&[(10, "ENABLED"), (11, "ENABLED")]);
    world.sites(10, &[(100, "StoppedByQuota"), (101, "Active")]);
    let want = ["main/container_disabled/10 resolved", "main/site_blocked/100 opened"];
    assert_eq!(world.take_events(), want);
}

#[test]
fn which_causes_explain_what() {
    const OVERDUE: &str = "overdue";
    // (the cause, what goes wrong then, is it told)
    let vm: fn(&mut World, &str) = |world, state| world.vms(&[(1, state), (2, "active")]);
    let own: fn(&mut World, &str) = |world, state| world.sites(10, &[(100, state), (101, "Active")]);
    let other: fn(&mut World, &str) = |world, state| world.sites(11, &[(110, state), (111, "Active")]);
    let container: fn(&mut World, &str) = |world, state| world.containers(&[(10, "ENABLED"), (11, state)]);
    let table = [
        (OVERDUE, vm, "blocked", false),
        (OVERDUE, vm, "error", true),
        (OVERDUE, own, "StoppedByService", false),
        (OVERDUE, own, "StoppedByAdmin", true),
        (OVERDUE, own, "StoppedByQuota", true),
        (OVERDUE, own, "Error", true),
        (OVERDUE, container, "DISABLED_BY_SERVICE", false),
        (OVERDUE, container, "DISABLED_BY_ADMIN", true),
        (OVERDUE, container, "DISABLED_BY_QUOTA", true),
        ("DISABLED_BY_SERVICE", vm, "blocked", false),
        ("DISABLED_BY_SERVICE", vm, "error", true),
        ("DISABLED_BY_SERVICE", own, "Error", false),
        ("DISABLED_BY_SERVICE", own, "StoppedByAdmin", false),
        ("DISABLED_BY_SERVICE", other, "StoppedByService", false),
        ("DISABLED_BY_SERVICE", other, "StoppedByAdmin", true),
        ("DISABLED_BY_SERVICE", other, "Error", true),
        ("DISABLED_BY_ADMIN", vm, "blocked", true),
        ("DISABLED_BY_ADMIN", own, "Error", false),
        ("DISABLED_BY_ADMIN", other, "StoppedByService", true),
        ("ENABLED", vm, "blocked", true),
        ("ENABLED", own, "Error", true),
    ];
    for (cause, what, state, told) in table {
        let mut world = World::healthy();
        if cause == OVERDUE {
            world.report(report("-3", crate::model::Edd::Null));
        } else {
            world.containers(&[(10, cause), (11, "ENABLED")]);
        }
        world.told.clear();
        what(&mut world, state);
        assert_eq!(world.events().len(), usize::from(told), "{cause}, then {state}: {:?}", world.events());
    }
}

#[test]
fn a_state_that_nobody_knows_is_nobodys_consequence_nor_is_one_container_anothers() {
    let mut world = World::healthy();
    world.containers(&[(10, "DISABLED_BY_SERVICE"), (11, "DISABLED_BY_SERVICE")]);
    let both = ["main/container_disabled/10 opened", "main/container_disabled/11 opened"];
    assert_eq!(world.take_events(), both);
    world.vms(&[(1, "melting"), (2, "active")]);
    assert_eq!(world.take_events(), ["main/unknown_state/vm:melting opened"]);
}

#[test]
fn a_container_all_of_whose_sites_the_service_stopped_is_one_incident() {
    let mut world = World::healthy();
    world.sites(10, &[(100, "StoppedByService"), (101, "StoppedByService")]);
    assert_eq!(world.take_events(), ["main/container_disabled/10 opened"]);
    assert_eq!(
        world.incident(Kind::ContainerDisabled, "10").words(),
        "Container cont-10 stopped for non-payment"
    );
    // Its own state says nothing of it, and it is off for non-payment.
    for _ in 0..3 {
        world.containers(&[(10, "ENABLED"), (11, "ENABLED")]);
    }
    world.vms(&[(1, "blocked"), (2, "active")]);
    world.sites(10, &[(100, "Active"), (101, "StoppedByService")]);
    assert!(world.told.is_empty(), "{:?}", world.events());
    // An error is no consequence of that.
    world.sites(10, &[(100, "Error"), (101, "StoppedByService")]);
    assert_eq!(world.take_events(), ["main/site_error/100 opened"]);
    world.vms(&[(1, "active"), (2, "active")]);
    world.vms(&[(1, "active"), (2, "active")]);
    for _ in 0..2 {
        world.sites(10, &[(100, "Active"), (101, "Active")]);
    }
    let ends = ["main/site_error/100 resolved", "main/container_disabled/10 resolved"];
    assert_eq!(world.take_events(), ends);
}

/// What the number of a container's state means nobody said; its sites do.
#[test]
fn an_unpaid_account_whose_container_states_have_no_name_is_one_mail_and_one_end() {
    for named in [true, false] {
        let mut world = World::healthy();
        let usual = if named { "ENABLED" } else { "0" };
        world.containers(&[(10, usual), (11, usual)]);
        for container in [10, 11] {
            world.sites(container, &[(container * 10, "Active")]);
        }
        let first: &[&str] = if named { &[] } else { &["main/unknown_state/container:0 opened"] };
        assert_eq!(world.take_events(), first);
        for _ in 0..3 {
            world.later(Duration::minutes(2));
            world.containers(&[(10, "1"), (11, "1")]);
            world.sites(10, &[(100, "StoppedByService")]);
            world.sites(11, &[(110, "StoppedByService")]);
            world.tick();
        }
        let opened = ["main/container_disabled/10 opened", "main/container_disabled/11 opened"];
        assert_eq!(world.take_events(), opened);
        let detail = &world.incident(Kind::ContainerDisabled, "10").detail;
        assert!(detail.ends_with("its own state \"1\" has no name in container_states"), "{detail}");
        for _ in 0..3 {
            world.later(Duration::minutes(2));
            world.containers(&[(10, usual), (11, usual)]);
            world.sites(10, &[(100, "Active")]);
            world.sites(11, &[(110, "Active")]);
            world.tick();
        }
        let resolved = ["main/container_disabled/10 resolved", "main/container_disabled/11 resolved"];
        assert_eq!(world.take_events(), resolved);
        world.pass(Duration::hours(2));
        assert_eq!(world.take_events(), [""; 0]);
    }
}

/// A state without a name is told once the sites in it were looked at, and after two minutes where they cannot be.
#[test]
fn a_container_state_without_a_name_waits_for_its_sites_alone() {
    let mut world = World::healthy();
    world.later(Duration::minutes(2));
    world.containers(&[(10, "1"), (11, "1")]);
    assert_eq!(world.take_events(), [""; 0]);
    world.sites(10, &[(100, "Active")]);
    assert_eq!(world.take_events(), [""; 0], "those of the other are not read yet");
    world.sites(11, &[(110, "Active")]);
    assert_eq!(world.take_events(), ["main/unknown_state/container:1 opened"]);
    world.later(Duration::minutes(2));
    world.containers(&[(10, "2"), (11, "1")]);
    world.pass(Duration::minutes(3));
    assert_eq!(world.take_events(), ["main/unknown_state/container:2 opened"]);
}

/// The mail about a container has the sites that were in it by then.
#[test]
fn a_site_that_joins_a_disabled_container_and_is_broken_is_told() {
    let mut world = World::healthy();
    world.containers(&[(10, "DISABLED_BY_QUOTA"), (11, "ENABLED")]);
    assert_eq!(world.take_events(), ["main/container_disabled/10 opened"]);
    world.sites(10, &[(100, "Error"), (101, "Active")]);
    world.pass(Duration::hours(2));
    assert_eq!(world.take_events(), [""; 0], "the mail had it");
    world.sites(10, &[(100, "Error"), (101, "Active"), (102, "Error")]);
    world.pass(Duration::minutes(4));
    let words = world.told.first().map(|notice| notice.items[0].covers.clone());
    assert_eq!(words, Some(vec!["Site site-102 in error".to_owned()]));
    assert_eq!(world.take_events(), ["main/container_disabled/10 covered:1"]);
}

/// A mail about money stands alone, also where both causes have more to tell of.
#[test]
fn what_follows_from_a_cut_off_and_from_a_container_is_two_mails() {
    let mut world = World::healthy();
    world.containers(&[(10, "DISABLED_BY_QUOTA"), (11, "ENABLED")]);
    world.report(report("-3", crate::model::Edd::Null));
    world.told.clear();
    world.vms(&[(1, "blocked"), (2, "active")]);
    world.sites(10, &[(100, "Active"), (101, "Active"), (102, "Error")]);
    world.pass(Duration::minutes(4));
    assert_eq!(world.told.len(), 2);
    assert_eq!(
        world.take_events(),
        ["main/disconnect/account covered:1", "main/container_disabled/10 covered:1"]
    );
}

#[test]
fn what_follows_after_the_mail_is_told_in_one_more_at_most_one_an_hour() {
    let mut world = World::healthy();
    world.report(report("-3", crate::model::Edd::Null));
    world.told.clear();
    let until_told = |world: &mut World| {
        let began = world.now;
        while world.told.is_empty() {
            assert!(world.now - began < Duration::hours(2));
            world.pass(Duration::minutes(1));
        }
        (world.now - began, world.told[0].items[0].covers.clone(), world.take_events())
    };
    world.vms(&[(1, "blocked"), (2, "active")]);
    world.sites(10, &[(100, "StoppedByService"), (101, "Active")]);
    let (after, covers, events) = until_told(&mut world);
    assert_eq!(events, ["main/disconnect/account covered:1"]);
    assert_eq!(covers, ["VM vm-1 blocked", "Site site-100 stopped"]);
    assert!(after <= Duration::minutes(3), "{after}");
    world.vms(&[(1, "blocked"), (2, "blocked")]);
    let (after, covers, events) = until_told(&mut world);
    assert_eq!(
        (covers, events),
        (vec!["VM vm-2 blocked".to_owned()], vec!["main/disconnect/account covered:2".to_owned()])
    );
    assert!(after >= Duration::minutes(59), "{after}");
    world.pass(Duration::hours(3));
    assert!(
        world.told.iter().all(|notice| notice.form != crate::alert::Form::Covered),
        "{:?}",
        world.events()
    );
}

/// Paid between the look at a container and the one at its sites: the container is told, and its mail covers them. A sleep
/// begins right then.
#[test]
fn what_goes_off_right_after_the_payment_is_not_told_with_the_cut_off() {
    let mut world = World::healthy();
    world.report(report("-3", crate::model::Edd::Null));
    world.containers(&[(10, "DISABLED_BY_SERVICE"), (11, "ENABLED")]);
    world.told.clear();
    world.report(report("200", crate::model::Edd::Null));
    assert_eq!(world.take_events(), ["main/disconnect/account paid:2026-03-22"]);
    world.sites(10, &[(100, "StoppedByService"), (101, "StoppedByService")]);
    world.tick();
    assert_eq!(world.take_events(), ["main/container_disabled/10 opened"]);
    let covers = Some(world.key(Kind::ContainerDisabled, "10"));
    assert_eq!(world.incident(Kind::SiteBlocked, "100").folded_into, covers);
    world.later(Duration::hours(12));
    world.book.look_again();
    world.pass(Duration::hours(1));
    assert_eq!(world.take_events(), [""; 0]);
}

/// After a sleep what is known is old: what follows from a cut-off is looked at first, and told if it still is so.
#[test]
fn what_follows_is_told_after_a_sleep_once_it_was_looked_at() {
    for (now, told) in [("blocked", &["main/disconnect/account covered:1"][..]), ("active", &[])] {
        let mut world = World::healthy();
        world.report(report("-3", crate::model::Edd::Null));
        world.vms(&[(1, "blocked"), (2, "active")]);
        world.told.clear();
        world.later(Duration::hours(12));
        world.book.look_again();
        world.tick();
        assert_eq!(world.take_events(), [""; 0], "it was blocked half a day ago");
        world.vms(&[(1, now), (2, "active")]);
        world.containers(&[(10, "ENABLED"), (11, "ENABLED")]);
        world.end(Collector::Sites, None);
        world.report(report("-3", crate::model::Edd::Null));
        world.told.clear();
        world.tick();
        assert_eq!(world.take_events(), told);
    }
}

#[test]
fn what_was_in_doubt_when_a_follow_up_left_is_in_the_next() {
    let mut world = World::healthy();
    world.report(report("-3", crate::model::Edd::Null));
    world.vms(&[(1, "blocked"), (2, "blocked")]);
    world.vms(&[(1, "blocked"), (2, "active")]);
    world.told.clear();
    world.pass(Duration::minutes(4));
    assert_eq!(world.told[0].items[0].covers, ["VM vm-1 blocked"]);
    world.told.clear();
    world.vms(&[(1, "blocked"), (2, "blocked")]);
    world.pass(Duration::hours(2));
    assert_eq!(world.told[0].items[0].covers, ["VM vm-2 blocked"]);
    assert_eq!(world.take_events(), ["main/disconnect/account covered:2"]);
}

#[test]
fn a_disconnect_speaks_for_others_only_once_it_is_overdue() {
    let mut world = World::healthy();
    world.report(cut_off_in(53));
    world.told.clear();
    world.vms(&[(1, "blocked"), (2, "active")]);
    assert_eq!(world.take_events(), ["main/vm_blocked/1 opened"]);
    world.report(cut_off_in(-1));
    assert_eq!(world.take_events(), ["main/disconnect/account rung:0"]);
    world.containers(&[(10, "DISABLED_BY_SERVICE"), (11, "ENABLED")]);
    world.vms(&[(1, "blocked"), (2, "blocked")]);
    assert!(world.told.is_empty(), "{:?}", world.events());
    let folded = world.incident(Kind::ContainerDisabled, "10");
    assert_eq!(folded.folded_into, Some(world.key(Kind::Disconnect, "account")));
    assert_eq!(folded.reason.to_string(), "no mail: covered by main/disconnect/account");
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
    let want = "OK in 2 polls in a row; no mail: was covered by main/disconnect/account";
    assert_eq!((over.reason.to_string().as_str(), &over.folded_into), (want, &None));
}

#[test]
fn what_outlives_its_cause_is_told_at_once() {
    let mut world = World::healthy();
    world.containers(&[(10, "DISABLED_BY_ADMIN"), (11, "ENABLED")]);
    world.sites(10, &[(100, "Error"), (101, "Active")]);
    for _ in 0..2 {
        world.containers(&[(10, "ENABLED"), (11, "ENABLED")]);
    }
    world.told.clear();
    world.sites(10, &[(100, "Error"), (101, "Active")]);
    assert_eq!(world.take_events(), ["main/site_error/100 opened"]);
    let incident = world.incident(Kind::SiteError, "100");
    assert_eq!(incident.reason.to_string(), "still open after its cause ended");
}
