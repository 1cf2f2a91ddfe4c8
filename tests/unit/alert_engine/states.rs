//! What each state of a resource opens, and which states are a recovery from it (contract section 6).

use std::collections::BTreeMap;

use crate::alert::rules::clean;
use crate::alert::{AlertSettings, Kind, Phase, Rule, Severity};
use crate::model::{Order, OrderState, VmState};
use chrono::Duration;

use super::alert_support::*;

/// Everything watched, also what is off by default.
fn watchful() -> AlertSettings {
    let on = Rule { enabled: Some(true), ..Rule::default() };
    let rules = [(Kind::ResourceGone, on)];
    AlertSettings { rules: BTreeMap::from(rules), ..AlertSettings::defaults() }
}

/// What lasts this long is told, and nothing before.
fn told_after(show: impl Fn(&mut World), minutes: i64) -> Vec<String> {
    let mut world = World::healthy_with(watchful());
    show(&mut world);
    if minutes > 0 {
        assert!(world.told.is_empty(), "{:?}", world.events());
        // A poll is 20 seconds after what came before.
        world.later(Duration::minutes(minutes) - Duration::seconds(21));
        show(&mut world);
        assert!(world.told.is_empty(), "{:?}", world.events());
        world.later(-Duration::seconds(19));
        show(&mut world);
    }
    world.take_events()
}

#[test]
fn what_each_state_opens_and_when() {
    let vms = [
        ("active", "", 0),
        ("error", "vm_error/1", 0),
        ("blocked", "vm_blocked/1", 0),
        ("stopped", "vm_stopped/1", 10),
        ("pending", "vm_stuck/1", 30),
        ("building", "vm_stuck/1", 30),
        ("melting", "unknown_state/vm:melting", 0),
    ];
    for (state, opens, minutes) in vms {
        let told = told_after(|world| world.vms(&[(1, state), (2, "active")]), minutes);
        assert_eq!(told, opened(opens), "{state}");
    }
    let containers = [
        ("ENABLED", ""),
        ("DISABLED_BY_SERVICE", "container_disabled/10"),
        ("DISABLED_BY_ADMIN", "container_disabled/10"),
        ("DISABLED_BY_QUOTA", "container_disabled/10"),
        ("7", "unknown_state/container:7"),
    ];
    for (state, opens) in containers {
        let show = |world: &mut World| {
            world.containers(&[(10, state), (11, "ENABLED")]);
            world.sites(10, &[(100, "Active"), (101, "Active")]);
        };
        let told = told_after(show, 0);
        assert_eq!(told, opened(opens), "{state}");
    }
    let sites = [
        ("Active", "", 0),
        ("Stopped", "", 0),
        ("Error", "site_error/100", 0),
        ("StoppedByAdmin", "site_blocked/100", 0),
        ("StoppedByService", "site_blocked/100", 0),
        ("StoppedByQuota", "site_blocked/100", 0),
        ("Building", "site_stuck/100", 30),
        ("Starting", "site_stuck/100", 30),
        ("Stopping", "site_stuck/100", 30),
        ("Restarting", "site_stuck/100", 30),
        ("Updating", "site_stuck/100", 30),
        ("Backuping", "site_stuck/100", 6 * 60),
        ("Restoring", "site_stuck/100", 6 * 60),
        ("Thawing", "unknown_state/site:Thawing", 0),
    ];
    for (state, opens, minutes) in sites {
        let told = told_after(|world| world.sites(10, &[(100, state), (101, "Active")]), minutes);
        assert_eq!(told, opened(opens), "{state}");
    }
}

fn opened(key: &str) -> Vec<String> {
    if key.is_empty() { Vec::new() } else { vec![format!("main/{key} opened")] }
}

#[test]
fn which_states_are_a_recovery() {
    // (state that opens, kind, the states that end it)
    let vms = [
        ("error", Kind::VmError, &["active", "stopped"][..]),
        ("blocked", Kind::VmBlocked, &["active", "stopped"]),
        ("stopped", Kind::VmStopped, &["active"]),
        ("building", Kind::VmStuck, &["active", "stopped", "blocked", "error"]),
    ];
    for (bad, kind, good) in vms {
        for state in VmState::KNOWN.iter().map(VmState::as_str).chain(["melting"]) {
            let mut world = World::healthy_with(watchful());
            world.vms(&[(1, bad), (2, "active")]);
            world.later(Duration::minutes(31));
            world.vms(&[(1, bad), (2, "active")]);
            for _ in 0..2 {
                world.vms(&[(1, state), (2, "active")]);
            }
            let ended = world.incident(kind, "1").phase == Phase::Resolved;
            assert_eq!(ended, good.contains(&state), "{bad}, then {state}");
        }
    }
    let sites = [
        ("Error", Kind::SiteError, &["Active", "Stopped"][..]),
        ("StoppedByAdmin", Kind::SiteBlocked, &["Active", "Stopped"]),
        ("Backuping", Kind::SiteStuck, &["Active", "Stopped", "Error", "StoppedByAdmin"]),
    ];
    for (bad, kind, good) in sites {
        for state in ["Active", "Stopped", "Error", "StoppedByAdmin", "Updating", "Thawing"] {
            let mut world = World::healthy();
            world.sites(10, &[(100, bad), (101, "Active")]);
            world.later(Duration::hours(7));
            world.sites(10, &[(100, bad), (101, "Active")]);
            for _ in 0..2 {
                world.sites(10, &[(100, state), (101, "Active")]);
            }
            let ended = world.incident(kind, "100").phase == Phase::Resolved;
            assert_eq!(ended, good.contains(&state), "{bad}, then {state}");
        }
    }
    for (state, want) in [("ENABLED", true), ("DISABLED_BY_QUOTA", false), ("7", false)] {
        let mut world = World::healthy();
        for state in ["DISABLED_BY_ADMIN", state, state] {
            world.containers(&[(10, state), (11, "ENABLED")]);
        }
        let ended = world.incident(Kind::ContainerDisabled, "10").phase == Phase::Resolved;
        assert_eq!(ended, want, "{state}");
    }
}

#[test]
fn a_change_of_the_passing_state_counts_anew() {
    let mut world = World::healthy();
    for state in ["pending", "building"] {
        world.vms(&[(1, state), (2, "active")]);
        world.later(Duration::minutes(20));
    }
    world.vms(&[(1, "building"), (2, "active")]);
    assert!(world.told.is_empty(), "{:?}", world.events());
    world.later(Duration::minutes(10));
    world.vms(&[(1, "building"), (2, "active")]);
    assert_eq!(world.take_events(), ["main/vm_stuck/1 opened"]);
    assert_eq!(world.incident(Kind::VmStuck, "1").reason.to_string(), "unchanged for 30 min");
    let long = [60, 125, 2880, 3060]
        .map(|minutes| crate::alert::Cause::Unchanged { minutes: minutes.into() }.to_string());
    let want = ["1 h", "2 h 5 min", "2 d", "2 d 3 h"].map(|span| format!("unchanged for {span}"));
    assert_eq!(long, want);
}

#[test]
fn incidents_say_what_is_wrong_with_what() {
    let mut world = World::healthy_with(watchful());
    world.vms(&[(1, "error"), (2, "blocked"), (3, "active")]);
    world.sites(10, &[(100, "Error"), (101, "StoppedByQuota")]);
    world.sites(11, &[(110, "Thawing")]);
    world.vms(&[(1, "stopped"), (2, "blocked"), (3, "stopped")]);
    for _ in 0..2 {
        world.vms(&[(1, "stopped"), (3, "stopped")]);
    }
    world.containers(&[(10, "DISABLED_BY_ADMIN"), (11, "8")]);
    let table = [
        (Kind::VmError, "1", "VM vm-1 in error", "its state is now stopped"),
        (Kind::VmBlocked, "2", "VM vm-2 blocked", "no longer listed by the provider"),
        (Kind::VmStopped, "3", "VM vm-3 stopped", "its state is stopped"),
        (Kind::SiteError, "100", "Site site-100 in error", "its state is Error"),
        (Kind::SiteBlocked, "101", "Site site-101 stopped", "its state is StoppedByQuota"),
        (Kind::ContainerDisabled, "10", "Container cont-10 disabled", "its state is DISABLED_BY_ADMIN"),
        (Kind::ResourceGone, "vm:2", "VM 2 gone", "no longer listed by the provider"),
        (
            Kind::UnknownState,
            "site:Thawing",
            "Unknown site state \"Thawing\"",
            "cannot tell whether resources in this state are OK",
        ),
        (
            Kind::UnknownState,
            "container:8",
            "Unknown container state \"8\"",
            "cannot tell whether resources in this state are OK; name it in container_states",
        ),
    ];
    for (kind, resource, words, detail) in table {
        let incident = world.incident(kind, resource);
        assert_eq!((incident.words().as_str(), incident.detail.as_str()), (words, detail));
    }
    assert_eq!(world.incident(Kind::VmError, "1").name(), "vm-1");
}

#[test]
fn orders_are_suspended_and_come_back() {
    let with = |states: &[&str]| {
        let mut report = rich();
        report.orders = (71..)
            .zip(states)
            .map(|(id, &state)| {
                let comment = (id == 72).then(|| "shop\r\nX: y".into());
                let order = Order {
                    id: crate::model::OrderId::new(id),
                    state: OrderState::from(state),
                    comment,
                    tariff: None,
                };
                order.into()
            })
            .collect();
        report
    };
    let mut world = World::healthy();
    world.report(with(&["ORDERED", "SUSPENDED"]));
    assert_eq!(world.take_events(), ["main/order_suspended/72 opened"]);
    let incident = world.incident(Kind::OrderSuspended, "72");
    assert_eq!(incident.words(), "Order shop X: y suspended");
    assert_eq!((incident.severity, incident.detail.as_str()), (Severity::Warning, "its state is SUSPENDED"));
    for _ in 0..3 {
        world.report(with(&["ORDERED", "THINKING"]));
    }
    assert!(world.incident(Kind::OrderSuspended, "72").phase.is_open(), "nobody knows that state");
    for state in ["ORDERED", "COMPLETED"] {
        world.report(with(&["ORDERED", state]));
    }
    assert_eq!(world.take_events(), ["main/order_suspended/72 resolved"]);
    let seen = world.engine.incidents().keys().filter(|key| key.kind == Kind::OrderSuspended);
    assert_eq!(seen.count(), 1, "none of an order that was never wrong");

    // It is in no report for a while; back in one, it goes on.
    let mut world = World::healthy();
    world.report(with(&["ORDERED", "SUSPENDED"]));
    for _ in 0..2 {
        world.report(with(&["ORDERED"]));
    }
    let told = ["main/order_suspended/72 opened", "main/order_suspended/72 unwatched"];
    assert_eq!(world.take_events(), told);
    world.pass(Duration::minutes(5));
    assert!(!world.incident(Kind::OrderSuspended, "72").phase.is_open());
    world.report(with(&["ORDERED", "ORDERED"]));
    world.pass(Duration::minutes(5));
    assert!(world.incident(Kind::OrderSuspended, "72").phase.is_open());
    for _ in 0..2 {
        world.report(with(&["ORDERED", "ORDERED"]));
    }
    assert_eq!(world.take_events(), ["main/order_suspended/72 resolved"]);

    let except = Rule { except: vec!["71".into()], ..Rule::default() };
    let rules = BTreeMap::from([(Kind::OrderSuspended, except)]);
    let mut world = World::healthy_with(AlertSettings { rules, ..AlertSettings::defaults() });
    world.report(with(&["SUSPENDED", "SUSPENDED"]));
    assert_eq!(world.take_events(), ["main/order_suspended/72 opened"]);
    let off = Rule { enabled: Some(false), ..Rule::default() };
    let rules = BTreeMap::from([(Kind::OrderSuspended, off)]);
    let mut world = World::healthy_with(AlertSettings { rules, ..AlertSettings::defaults() });
    world.report(with(&["SUSPENDED"]));
    assert!(world.told.is_empty());
}

#[test]
fn what_is_gone_is_told_only_of_what_was_listed_whole() {
    let mut world = World::healthy_with(watchful());
    world.vms_read(&[(1, "active")], false);
    assert!(world.told.is_empty());
    world.vms(&[(1, "active")]);
    assert!(world.told.is_empty(), "one whole listing may have missed it");
    world.vms(&[(1, "active")]);
    assert_eq!(world.take_events(), ["main/resource_gone/vm:2 opened"]);
    world.sites(10, &[(100, "Active")]);
    world.sites(10, &[(100, "Active")]);
    assert_eq!(world.take_events(), ["main/resource_gone/site:101 opened"]);
    let mut world = World::healthy();
    world.vms(&[(1, "active")]);
    world.vms(&[(1, "active")]);
    assert!(world.told.is_empty(), "off by default");
    // Or moved to a container that was not read whole since.
    let mut world = World::healthy_with(watchful());
    world.sites_read(11, &[(110, "Active")], false);
    world.sites(10, &[(100, "Active")]);
    world.sites(10, &[(100, "Active")]);
    assert!(world.told.is_empty(), "{:?}", world.events());
    // Moved to another container, which is read first.
    let mut world = World::healthy_with(watchful());
    world.sites(11, &[(110, "Active"), (101, "Active")]);
    world.sites(10, &[(100, "Active")]);
    assert!(world.told.is_empty(), "{:?}", world.events());
}

#[test]
fn names_of_the_provider_are_one_line_without_marks() {
    let table = [
        ("db-1", 40, "db-1"),
        (" db\r\n-1 ", 40, "db -1"),
        ("a\u{2028}b\u{202e}c\u{2066}d\u{2069}e", 40, "a bcde"),
        ("a\u{2027}\u{202f}\u{2065}\u{206a}", 40, "a\u{2027}"),
        ("abc", 3, "abc"),
        ("abcd", 3, "abc…"),
        ("", 40, "(no name)"),
        ("\u{7}\n", 40, "(no name)"),
    ];
    for (text, most, want) in table {
        assert_eq!(clean(text, most), want, "{text:?}");
    }
}

#[test]
fn a_value_that_nobody_knows_is_over_when_nothing_shows_it_whatever_else_is_wrong() {
    let mut world = World::healthy();
    for vm in ["melting", "error", "error"] {
        world.vms(&[(1, vm), (2, "active")]);
    }
    for container in ["7", "DISABLED_BY_QUOTA", "DISABLED_BY_QUOTA"] {
        world.containers(&[(10, "ENABLED"), (11, container)]);
        world.sites(11, &[]);
    }
    for site in ["Thawing", "Error", "Error"] {
        world.sites(10, &[(100, site), (101, "Active")]);
    }
    let ends: Vec<String> =
        world.take_events().into_iter().filter(|event| event.ends_with("resolved")).collect();
    let want = ["vm:melting", "container:7", "site:Thawing"];
    assert_eq!(ends, want.map(|value| format!("main/unknown_state/{value} resolved")));
    // One that still shows it is enough, and one listing of several says nothing of the others.
    let mut world = World::healthy();
    world.vms(&[(1, "melting"), (2, "melting")]);
    world.sites(10, &[(100, "Thawing"), (101, "Active")]);
    world.told.clear();
    for _ in 0..3 {
        world.vms(&[(1, "active"), (2, "melting")]);
        world.sites(11, &[(110, "Active")]);
        world.vms_read(&[(1, "active")], false);
    }
    assert!(world.told.is_empty(), "{:?}", world.events());
}
