//! Causes: one mail for a cause and its consequences, and what outlives them.

use super::{World, stories};
use crate::model::Collector;

#[test]
fn each_cause_explains_its_consequences_and_nothing_else() {
    // (the cause, the fault that comes after it, is the fault told?)
    let table = [
        ("overdue 1h", "vm1=blocked", false),
        ("overdue 1h", "vm1=error", true),
        ("overdue 1h", "vm1=melting", true),
        ("overdue 1h", "s100=StoppedByService", false),
        ("overdue 1h", "s100=StoppedByAdmin", true),
        ("overdue 1h", "s100=StoppedByQuota", true),
        ("overdue 1h", "s100=Error", true),
        ("overdue 1h", "c11=DISABLED_BY_SERVICE", false),
        ("overdue 1h", "c11=DISABLED_BY_ADMIN", true),
        ("overdue 1h", "c11=DISABLED_BY_QUOTA", true),
        ("overdue 1h", "order SUSPENDED", true),
        // A balance at nothing is non-payment too, and a date ahead is not.
        ("bare -400", "vm1=blocked", false),
        ("cut-off 53h", "vm1=blocked", true),
        ("c10=DISABLED_BY_SERVICE", "vm1=blocked", false),
        ("c10=DISABLED_BY_SERVICE", "vm1=error", true),
        ("c10=DISABLED_BY_SERVICE", "vm1=melting", true),
        ("c10=DISABLED_BY_SERVICE", "s100=Error", false),
        ("c10=DISABLED_BY_SERVICE", "s100=StoppedByAdmin", false),
        ("c10=DISABLED_BY_SERVICE", "s110=StoppedByService", false),
        ("c10=DISABLED_BY_SERVICE", "s110=StoppedByAdmin", true),
        ("c10=DISABLED_BY_SERVICE", "s110=Error", true),
        ("c10=DISABLED_BY_SERVICE", "c11=DISABLED_BY_SERVICE", true),
        ("c10=DISABLED_BY_ADMIN", "vm1=blocked", true),
        ("c10=DISABLED_BY_ADMIN", "s100=Error", false),
        ("c10=DISABLED_BY_ADMIN", "s110=StoppedByService", true),
        ("c10=ENABLED", "vm1=blocked", true),
        ("c10=ENABLED", "s100=Error", true),
    ];
    for (cause, fault, is_told) in table {
        let mut world = World::healthy();
        world.live("s111=Active").live(cause).live("idle 3m");
        world.forget();
        // A report may explain it, so the report is read first.
        world.live(fault).live("idle 3m");
        assert_eq!(world.events().len(), usize::from(is_told), "{cause}, then {fault}: {:?}", world.events());
    }
}

/// The account is still overdue, or was paid at that moment: neither a mail nor a metric speaks of what comes back.
#[test]
fn what_comes_back_keeps_its_cause() {
    let faults = [
        ("s100=StoppedByService", "s100=Starting", "s100=Active"),
        (
            "s100=StoppedByService s101=StoppedByService",
            "s100=Starting s101=Starting",
            "s100=Active s101=Active",
        ),
        ("vm1=blocked", "vm1=pending", "vm1=active"),
        ("fail vms refused, idle 45m", "tick", "heal vms, vms"),
    ];
    for (fault, passing, good) in faults {
        for paid in ["tick", "paid"] {
            let mut world = World::healthy();
            world.live("overdue 1h, idle 3m").live(fault).live("idle 3m");
            world.forget();
            for step in [passing, paid, good, "tick", good] {
                let shown = world.live(step).exported();
                let wrong = |one: &&String| !one.contains("disconnect") && !one.contains("overdue");
                assert_eq!(shown.iter().find(wrong), None, "{fault}, {paid}: {step}");
                let told = world.events();
                assert!(
                    told.iter().all(|one| one.contains("disconnect")),
                    "{fault}, {paid}, {step}: {told:?}"
                );
            }
        }
    }
}

#[test]
fn the_report_that_may_explain_a_fault_is_asked_soon() {
    for (fault, is_asked) in
        [("c10=DISABLED_BY_SERVICE", true), ("s100=StoppedByService", true), ("vm1=error", false)]
    {
        let mut world = World::healthy();
        world.live("report, idle 5m").live(fault);
        let is_awaited = |world: &World| world.awaited().contains(&Collector::ExpectedBalance);
        assert_eq!(is_awaited(&world), is_asked, "{fault}");
        assert!(!is_awaited(world.live("idle 1m, report")), "{fault}, after the report");
    }
}

#[test]
fn a_consequence_is_not_told_with_its_cause_and_is_told_if_it_outlives_it() {
    stories(
        World::healthy,
        "c10=DISABLED_BY_QUOTA, s100=StoppedByQuota s101=Error => container_disabled/10 opened
         c10=ENABLED, containers => container_disabled/10 resolved
         s100=Active => site_error/101 opened
         reason: still open after its cause ended

         overdue 1h, vm1=blocked => disconnect rung:0
         paid, vms 4 =>
         report => ops[vm]:
         vms => ops[vm]: vm_blocked/1 opened

         overdue 1h, vm1=blocked, vm1=active, vms, paid, report, 3h => rung:0 resolved

         overdue 1h, vm1=blocked, c10=DISABLED_BY_SERVICE, s100=StoppedByService, 3h => rung:0
         vm1=active, c10=ENABLED, s100=Active, look, look, paid, report, 2h => resolved

         vm1=blocked, look, 1h, overdue 1h, 1h => vm_blocked/1 opened disconnect rung:0
         vm1=active, vms, paid, report, 1h => ops[vm]: resolved; ops[disconnect]: resolved

         s100=Error, 10m, c10=DISABLED_BY_ADMIN, 30h => ops[site]: opened

         overdue 1h, vm1=blocked, 2h, restart 10m, look, 3h => rung:0",
    );
    // One cause follows another.
    stories(
        World::healthy,
        "overdue 1h, c10=DISABLED_BY_SERVICE, s100=StoppedByService s101=StoppedByService, 2h => rung:0
         paid, report, look, 10m => ops[container]: opened; ops[site]:

         c10=DISABLED_BY_SERVICE, report, vm1=blocked, 10m => container_disabled/10 opened
         c11=DISABLED_BY_SERVICE, report => container_disabled/11 opened
         c10=ENABLED, containers, idle 2h => container_disabled/10 resolved

         everybody away, overdue 1h, vm1=blocked, idle 10m, paid, report, vms, everybody accepts, idle 1h \
         => ops[disconnect]: was-down; ops[vm]: opened",
    );
}

#[test]
fn an_error_is_told_whatever_else_is_wrong_with_its_vm() {
    stories(
        World::healthy,
        "overdue 1h, vm1=blocked => rung:0
         vm1=error => vm_error/1 opened
         paid, report, idle 2h => resolved
         vm1=blocked => vm_blocked/1 opened
         vm1=active, vms => vm_error/1 resolved vm_blocked/1 resolved

         vm1=error, vm1=blocked, idle 10m => vm_error/1 opened vm_blocked/1 opened
         idle 25h => vm_error/1 reminder:1 vm_blocked/1 reminder:1

         vm1=error, overdue 1h, vm1=blocked, vms, vm1=error, paid, report => ops[vm]: opened
         idle 2h =>",
    );
}

#[test]
fn what_may_explain_an_incident_is_read_first_for_two_minutes_at_most() {
    let may = ["c10=DISABLED_BY_SERVICE", "vm1=blocked", "s100=StoppedByService"];
    for (reading, opened) in
        may.into_iter().zip(["container_disabled/10", "vm_blocked/1", "site_blocked/100"])
    {
        stories(
            World::healthy,
            &format!(
                "idle 7m, {reading} =>
                 overdue 1h, look, idle 3h => ops[{opened}]:

                 idle 7m, {reading} =>
                 report, look => {opened} opened

                 idle 7m, {reading} =>
                 fail report, heal report, overdue 1h, look, idle 3h => ops[{opened}]:

                 idle 7m, {reading} =>
                 unreadable 900000, overdue 1h, look, idle 3h => ops[{opened}]:

                 idle 7m, {reading}, fail report =>
                 idle 3m => {opened} opened

                 sleep 1h, look, fail report, {reading}, look, tick =>
                 heal report, overdue 1h, look, idle 3h => ops[{opened}]:

                 sleep 1h, fail report, {reading}, look =>
                 heal report, overdue 1h, look, idle 3h => ops[{opened}]:

                 idle 7m, {reading} =>
                 idle 3m => {opened} opened"
            ),
        );
    }
    stories(
        World::healthy,
        "sleep 0s, vm1=blocked, vms, tick =>
         containers, sites, overdue 1h, tick => disconnect rung:0

         sleep 0s, vm1=blocked, vms, tick =>
         containers, sites, report, tick => vm_blocked/1 opened

         sleep 0s, vm1=error => vm_error/1 opened
         vm2=blocked =>
         idle 2m => vm_blocked/2 opened

         fail report, 20m, vm1=blocked, 3m => ops[vm]: opened

         fail containers, s100=StoppedByAdmin =>
         heal containers, c10=DISABLED_BY_ADMIN, sites, idle 3h => container_disabled/10 opened

         fail containers, s100=Error =>
         idle 3m => site_error/100 opened",
    );
}

#[test]
fn an_incident_that_cannot_be_read_waits_for_a_reading_after_its_cause_is_over() {
    stories(
        World::healthy,
        "overdue 1h, vm1=blocked, fail vms, paid, report, tick => rung:0 resolved
         heal vms, vms => vm_blocked/1 opened

         c10=DISABLED_BY_QUOTA, s100=StoppedByQuota s101=StoppedByQuota => container_disabled/10 opened
         restart 1m, vms, hides c10, sites, report, idle 3m =>
         c10=ENABLED, containers, s101=Active => container_disabled/10 resolved site_blocked/100 opened",
    );
}

#[test]
fn a_container_all_of_whose_sites_the_service_stopped_is_one_incident() {
    stories(
        World::healthy,
        "s100=StoppedByService s101=StoppedByService, report => container_disabled/10 opened
         words: Container cont-10 stopped for non-payment
         containers 3, vm1=blocked, s100=Active =>
         s100=Error => site_error/100 opened
         vm1=active, vms, s100=Active s101=Active, sites => site_error/100 resolved container_disabled/10 resolved",
    );
    // Some of the sites are back.
    stories(
        World::healthy,
        "s100=StoppedByService s101=StoppedByService s102=StoppedByService, report => container_disabled/10 opened
         detail: 3 of its 3 sites are StoppedByService
         s100=Starting, sites 3, s100=Active =>
         sites => site_blocked/101 opened site_blocked/102 opened container_disabled/10 resolved
         s101=Active s102=Active, sites => site_blocked/101 resolved site_blocked/102 resolved",
    );
    // The container is enabled again, and its sites are not.
    stories(
        World::healthy,
        "c10=DISABLED_BY_SERVICE, s100=StoppedByService s101=StoppedByService vm1=blocked, \
         report => container_disabled/10 opened
         c10=ENABLED, sites, containers 3, sites, vms, 30m =>
         s100=Active s101=Active vm1=active, look, look => container_disabled/10 resolved",
    );
    // The configuration names no number of a container's state.
    stories(
        World::healthy,
        "s101=gone, c10=0 c11=0, sites => unknown_state/containers opened
         c10=1 c11=1, s100=StoppedByService s110=StoppedByService, report, tick \
         => container_disabled/10 opened container_disabled/11 opened
         later 2m, look, later 2m, look =>
         c10=0 c11=0, s100=Active s110=Active, look, look \
         => container_disabled/10 resolved container_disabled/11 resolved
         idle 2h =>

         s101=gone, c10=1 c11=1, s100=StoppedByService s110=StoppedByService, report, tick \
         => unknown_state/containers opened container_disabled/10 opened container_disabled/11 opened
         c10=ENABLED c11=ENABLED, s100=Active s110=Active, look, look \
         => unknown_state/containers resolved container_disabled/10 resolved container_disabled/11 resolved",
    );
}

#[test]
fn consequences_that_join_after_the_mail_are_in_the_next_mail_of_their_cause() {
    stories(
        World::healthy,
        "overdue 1h => rung:0
         vm1=blocked, s100=StoppedByService, idle 3h =>
         idle 24h => disconnect overdue:2026-03-03
         covers: VM vm-1 blocked, Site site-100 stopped

         c10=DISABLED_BY_QUOTA => container_disabled/10 opened
         s102=Error, idle 3h =>
         idle 22h => reminder:1
         covers: Site site-102 in error",
    );
}

#[test]
fn a_consequence_is_told_after_a_sleep_once_it_was_read() {
    stories(
        World::healthy,
        "overdue 1h, vm1=blocked, sleep 10h, tick => rung:0
         look, tick =>

         overdue 1h, vm1=blocked, sleep 10h, tick => rung:0
         vm1=active, look, tick =>",
    );
}

/// The payment falls between the reading of a container and that of its sites. A sleep begins right then.
#[test]
fn a_container_that_goes_off_right_after_the_payment_is_not_told_with_the_cut_off() {
    stories(
        World::modest,
        "no-date -300, c10=DISABLED_BY_SERVICE => rung:1
         no-date 20000 => disconnect paid:2026-03-22
         s100=StoppedByService s101=StoppedByService, containers, tick => container_disabled/10 opened
         sleep 12h, idle 1h =>",
    );
}

#[test]
fn an_incident_that_joins_before_the_mail_of_its_cause_leaves_is_in_that_mail() {
    for (recipients, to) in [("to ops", "ops"), ("to ops ann", "ann")] {
        let mut world = World::healthy();
        world.live(
            "everybody away, c10=DISABLED_BY_ADMIN, look, 3m, s100=StoppedByAdmin, 20m, s101=StoppedByAdmin",
        );
        world.live(recipients).live("everybody accepts, 3h");
        assert_eq!(world.heard(to, ""), "opened");
        let covers = &world.told_of(to, "container")[0].1.covers;
        assert_eq!(covers.len(), 2, "{covers:?}");
    }
}

#[test]
fn the_end_of_a_mailed_incident_whose_next_episode_is_explained_is_told() {
    stories(
        World::healthy,
        "vm1=blocked, look, everybody away, vm1=active, vms, overdue 1h, vm1=blocked, everybody accepts, 3h \
         => ops[vm]: opened
         vm1=active, vms, 3h => ops[vm]: resolved|was-down

         s100=StoppedByAdmin, look, everybody away, s100=Active, sites => opened
         c10=DISABLED_BY_ADMIN, s100=StoppedByAdmin, everybody accepts, 3h => ops[site]:
         s100=Active, sites, c10=ENABLED, containers, 3h => ops[site]: resolved|was-down",
    );
}

#[test]
fn a_cause_that_nothing_watches_explains_nothing() {
    stories(
        World::healthy,
        "rule container_disabled off, c10=DISABLED_BY_ADMIN, s100=StoppedByAdmin, 1h => site_blocked/100 opened

         c10=DISABLED_BY_ADMIN, s100=StoppedByAdmin, 10m => container_disabled/10 opened
         rule container_disabled off, 10m => container_disabled/10 unwatched site_blocked/100 opened

         overdue 1h, vm1=blocked, 2h => rung:0
         rule disconnect off, 10m => disconnect unwatched vm_blocked/1 opened",
    );
}

#[test]
fn a_silenced_cause_hides_only_where_it_was_told_and_a_silenced_consequence_waits_for_its_own_silence() {
    stories(
        World::healthy,
        "silence main/disconnect/* 2h, overdue 1h, vm1=blocked, 1h => balance_drop opened vm_blocked/1 opened
         lift, 2h, vm1=active, vms, paid, report, 1h => ops[vm]: resolved

         silence cont-10 2h, c10=DISABLED_BY_ADMIN, s100=StoppedByAdmin, 1h => site_blocked/100 opened

         silence site-100 2h, c10=DISABLED_BY_ADMIN, s100=StoppedByAdmin, 1h, c10=ENABLED, containers, 30m \
         => container_disabled/10 opened resolved
         90m => site_blocked/100 opened

         overdue 1h, vm1=blocked, 10m => rung:0
         silence main/disconnect/* 2d, idle 1h, vm2=blocked, idle 30h => ops[vm]:

         c10=DISABLED_BY_ADMIN, s100=StoppedByAdmin, 1h => container_disabled/10 opened
         silence main/container_disabled/10 4h, 1h, c10=ENABLED, containers, 30m \
         => container_disabled/10 resolved site_blocked/100 opened",
    );
}

#[test]
fn an_incident_is_told_to_its_own_recipients_where_its_cause_has_others() {
    stories(
        World::healthy,
        "rule container_disabled to=infra, c10=DISABLED_BY_ADMIN, s100=StoppedByAdmin, 3h => opened; infra: opened

         s100=Error, look, rule container_disabled to=infra, c10=DISABLED_BY_ADMIN, 3h => opened; infra: opened
         s100=Active, sites, sites => resolved

         rule disconnect to=money, overdue 1h, 10m, vm1=blocked, 6h => ops[vm]: opened; money: rung:0",
    );
}

#[test]
fn a_flapping_container_explains_its_sites_only_while_it_is_off() {
    stories(
        World::healthy,
        "c10=DISABLED_BY_ADMIN, c10=ENABLED, containers => opened resolved
         c10=DISABLED_BY_ADMIN, c10=ENABLED, containers => opened
         s100=Error => site_error/100 opened
         c10=DISABLED_BY_ADMIN, s101=Error =>
         c10=ENABLED, containers, sites => site_error/101 opened",
    );
}
