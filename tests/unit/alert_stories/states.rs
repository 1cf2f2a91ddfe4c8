//! The incident that each state of a resource opens, and the states that end it (contract section 6).

use std::collections::BTreeMap;
use std::time::Duration;

use super::{World, report, stories};
use crate::alert::{AlertSettings, Kind, Rule, Severity};
use crate::model::{Edd, Order, OrderState};

#[test]
fn a_listing_that_is_empty_for_an_hour_is_one_incident_of_a_day() {
    stories(
        World::healthy,
        "vm1=gone vm2=gone, vms, 58m, vms =>
         3m, vms 2 => resource_gone/vms opened
         severity: warning
         words: All 2 VMs are gone from the listing
         detail: no longer listed by the provider
         vm1=active, vms => resource_gone/vms resolved

         c10=gone c11=gone, 70m, containers 3 => resource_gone/containers opened
         30h =>
         c10=ENABLED, containers 2 =>
         c10=gone, 70m, containers 3 =>

         rule resource_gone off, vm1=gone vm2=gone, 70m, vms 3 =>

         vm1=gone vm2=gone, vms, later 40m, restart 1m, look, later 15m, vms =>
         later 5m, vms => resource_gone/vms opened
         words: All 2 VMs are gone from the listing
         vm1=active, vms => resource_gone/vms resolved

         vm1=gone vm2=gone, vms, restart 1m, vm1=active, look, 3h =>

         c10=gone c11=gone, later 40m, restart 1m, fail containers, later 10m, heal containers, containers =>
         later 15m, containers => resource_gone/containers opened

         vm1=gone vm2=gone, later 2h, hides vm1, hides vm1 =>",
    );
}

#[test]
fn an_empty_listing_is_called_empty_in_later_polls_and_has_no_reminder() {
    let remind_every = BTreeMap::from([(Severity::Warning, Duration::from_secs(12 * 60 * 60))]);
    let mut world = World::healthy_with(AlertSettings { remind_every, ..AlertSettings::defaults() });
    world.live("vm1=gone vm2=gone, vms, 70m, vms 3, idle 20h, vms");
    assert_eq!(world.heard("ops", "resource_gone"), "opened");
    let reason = world.row(Kind::ResourceGone, "vms").unwrap().reason;
    assert_eq!(reason, "no longer listed by the provider; unchanged for 1 h 6 min");
}

#[test]
fn unknown_states_of_a_sort_are_told_at_most_once_a_day() {
    stories(
        World::healthy,
        "vm1=resizing-0, vm1=resizing-4, vm1=resizing-8 => unknown_state/vms opened
         severity: info
         vm1=resizing-8 vm2=freezing, 23h, vms =>
         vm1=melting vm2=freezing, 1h => unknown_state/vms worse
         words: Unknown VM states \"freezing\", \"melting\"
         3d =>
         vm1=active vm2=active, vms => unknown_state/vms resolved

         vm1=Migration_Failed => unknown_state/vms opened
         severity: warning

         vm1=resizing-0 => unknown_state/vms opened
         severity: info
         vm1=active, vm1=Migration_Failed, 25h => unknown_state/vms worse
         severity: warning

         vm1=resizing-0 => unknown_state/vms opened
         vm1=melting, vm1=active, vms => unknown_state/vms resolved
         words: Unknown VM state \"resizing-0\"

         confirm 2, vm1=resizing-0, vm1=Migration_Failed => unknown_state/vms opened
         severity: warning",
    );
}

/// Settings that watch everything, also kinds that are off by default.
fn watchful() -> World {
    let on = Rule { enabled: Some(true), ..Rule::default() };
    let rules = BTreeMap::from([(Kind::ResourceGone, on)]);
    World::healthy_with(AlertSettings { rules, ..AlertSettings::defaults() })
}

#[test]
fn each_state_opens_its_incident_in_its_time() {
    // (reading, incident, minutes)
    let table = [
        ("vm1=active", "", 0),
        ("vm1=error", "vm_error/1", 0),
        ("vm1=blocked", "vm_blocked/1", 0),
        ("vm1=stopped", "vm_stopped/1", 10),
        ("vm1=pending", "vm_stuck/1", 30),
        ("vm1=building", "vm_stuck/1", 30),
        ("vm1=melting", "unknown_state/vms", 0),
        ("c10=ENABLED", "", 0),
        ("c10=DISABLED_BY_SERVICE", "container_disabled/10", 0),
        ("c10=DISABLED_BY_ADMIN", "container_disabled/10", 0),
        ("c10=DISABLED_BY_QUOTA", "container_disabled/10", 0),
        ("c10=7", "unknown_state/containers", 0),
        ("s100=Active", "", 0),
        ("s100=Stopped", "", 0),
        ("s100=Error", "site_error/100", 0),
        ("s100=StoppedByAdmin", "site_blocked/100", 0),
        ("s100=StoppedByService", "site_blocked/100", 0),
        ("s100=StoppedByQuota", "site_blocked/100", 0),
        ("s100=Building", "site_stuck/100", 30),
        ("s100=Starting", "site_stuck/100", 30),
        ("s100=Stopping", "site_stuck/100", 30),
        ("s100=Restarting", "site_stuck/100", 30),
        ("s100=Updating", "site_stuck/100", 30),
        ("s100=Backuping", "site_stuck/100", 6 * 60),
        ("s100=Restoring", "site_stuck/100", 6 * 60),
        ("s100=Thawing", "unknown_state/sites", 0),
    ];
    for (reading, incident, minutes) in table {
        let opened = if incident.is_empty() { String::new() } else { format!("{incident} opened") };
        // A report or the sites of a container may explain it, so they are read first.
        let story = if minutes == 0 {
            format!("{reading}, sites, report => {opened}")
        } else {
            format!("{reading}, later {}m, {reading} =>\nlater 1m, {reading} => {opened}", minutes - 1)
        };
        stories(watchful, &story);
    }
}

#[test]
fn each_incident_ends_with_its_good_states() {
    let vms = &["active", "stopped", "blocked", "error", "pending", "building", "melting"];
    let sites = &["Active", "Stopped", "Error", "StoppedByAdmin", "Updating", "Thawing"];
    let containers = &["ENABLED", "DISABLED_BY_QUOTA", "7"];
    // (resource, state that opens, incident, all states, the first so many of them end it)
    let table: [(&str, &str, &str, &[&str], usize); 8] = [
        ("vm1", "error", "vm_error/1", vms, 2),
        ("vm1", "blocked", "vm_blocked/1", vms, 2),
        ("vm1", "stopped", "vm_stopped/1", vms, 1),
        ("vm1", "building", "vm_stuck/1", vms, 4),
        ("s100", "Error", "site_error/100", sites, 2),
        ("s100", "StoppedByAdmin", "site_blocked/100", sites, 2),
        ("s100", "Backuping", "site_stuck/100", sites, 4),
        ("c10", "DISABLED_BY_ADMIN", "container_disabled/10", containers, 1),
    ];
    for (resource, opens, incident, states, good) in table {
        for (index, state) in states.iter().enumerate() {
            let mut world = watchful();
            world.live(&format!("{resource}={opens}, later 7h, {resource}={opens}, report"));
            world.live(&format!("{resource}={state}, {resource}={state}"));
            let want = if index < good { "opened resolved" } else { "opened" };
            assert_eq!(world.heard("ops", incident), want, "{opens}, then {state}");
        }
    }
}

#[test]
fn a_change_of_the_passing_state_counts_anew() {
    stories(
        World::healthy,
        "vm1=pending, later 20m, vm1=building, later 20m, vms =>
         later 10m, vms => vm_stuck/1 opened
         reason: unchanged for 30 min",
    );
}

#[test]
fn mails_name_the_resource_and_its_problem() {
    let mut world = watchful();
    world.live("vm3=active, vm1=error vm2=blocked, report, s100=Error s101=StoppedByQuota s110=Thawing");
    world.live("vm1=stopped vm3=stopped, vm2=gone, vms, c10=DISABLED_BY_ADMIN c11=8, sites, later 10m, vms");
    let unknown = "cannot tell whether resources in this state are OK";
    let unknown_container = format!("{unknown}; name it in container_states");
    let table = [
        ("vm_error/1", "resolved", "VM vm-1 in error", "its state is now stopped"),
        ("vm_blocked/2", "removed", "VM vm-2 blocked", "no longer listed by the provider"),
        ("vm_stopped/3", "opened", "VM vm-3 stopped", "its state is stopped"),
        ("site_error/100", "opened", "Site site-100 in error", "its state is Error"),
        ("site_blocked/101", "opened", "Site site-101 stopped", "its state is StoppedByQuota"),
        ("container_disabled/10", "opened", "Container cont-10 disabled", "its state is DISABLED_BY_ADMIN"),
        ("resource_gone/vm:2", "opened", "VM vm-2 gone", "no longer listed by the provider"),
        ("unknown_state/sites", "opened", "Unknown site state \"Thawing\"", unknown),
        ("unknown_state/containers", "opened", "Unknown container state \"8\"", &unknown_container),
    ];
    for (key, event, words, detail) in table {
        let (_, told) = world.told_of("ops", key).pop().unwrap_or_else(|| panic!("{key} is not told"));
        let said = (told.event.to_string(), told.words.as_str(), told.detail.as_str());
        assert_eq!(said, (event.to_owned(), words, detail));
    }
}

#[test]
fn orders_are_suspended_come_back_and_are_watched_no_longer() {
    stories(
        World::healthy,
        "order SUSPENDED => order_suspended/71 opened
         words: Order shop suspended
         severity: warning
         detail: its state is SUSPENDED
         order THINKING, report 2 =>
         order ORDERED, order COMPLETED => order_suspended/71 resolved

         order SUSPENDED, order gone, report => opened unwatched
         1h, order SUSPENDED => opened

         2h, order BLOCKED_BY_SERVICE => opened
         severity: warning
         detail: its state is BLOCKED_BY_SERVICE

         rule order_suspended except=shop, order SUSPENDED =>

         rule order_suspended off, order SUSPENDED =>",
    );
}

/// The report of before the start is kept without its orders.
#[test]
fn an_order_is_suspended_still_where_all_reports_since_the_start_carry_an_error() {
    let order =
        Order { id: 71.into(), state: OrderState::Suspended, comment: Some("shop".into()), tariff: None };
    let mut suspended = report("5000", Edd::Null);
    suspended.orders.push(order.into());
    let mut world = World::healthy();
    world.report(suspended.clone());
    world.live("restart 1m");
    world.remember(&suspended);
    suspended.error = Some("1 of 2 orders could not be priced".into());
    for _ in 0..3 {
        world.report(suspended.clone());
        world.live("idle 1m");
    }
    assert_eq!(world.heard("ops", "order_suspended"), "opened");
}

#[test]
fn a_resource_is_told_as_gone_only_where_its_listing_was_read_whole() {
    stories(
        watchful,
        "hides vm2 =>
         vm2=gone =>
         vms => resource_gone/vm:2 opened
         s101=gone =>
         sites => resource_gone/site:101 opened",
    );
    stories(
        World::healthy,
        "vm2=gone, vms, 1h =>

         vm3=active, rule resource_gone except=vm-2, vm1=gone vm2=gone, vms => resource_gone/vm:1 opened

         rule unknown_state except=vm-1, vm1=melting =>
         vm2=melting => unknown_state/vms opened",
    );
    // A site may have moved to a container that was not read completely since, or to one that is read first.
    let mut world = watchful();
    world.sites_read(11, &[(110, "Active")], false);
    (0..2).for_each(|_| world.sites(10, &[(100, "Active")]));
    assert_eq!(world.heard("ops", ""), "");
    let mut world = watchful();
    world.sites(11, &[(110, "Active"), (101, "Active")]);
    world.sites(10, &[(100, "Active")]);
    assert_eq!(world.heard("ops", ""), "");
}
