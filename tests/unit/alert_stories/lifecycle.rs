//! How an incident opens, recovers, is frozen, lasts and ends, and when people are reminded of it.

use super::{NOTHING, World, stories, stories_of};
use crate::alert::Kind;
use crate::model::{Collector, FailureKind};

#[test]
fn a_vm_in_error_is_told_once_and_its_recovery_once() {
    stories(
        World::healthy,
        "vm1=error => vm_error/1 opened
         vms, vm1=active =>
         vms => vm_error/1 resolved
         vm1=error => vm_error/1 opened

         rule unknown_state severity=info
         vm1=melting vm2=error => vm_error/2 opened unknown_state/vms opened",
    );
}

#[test]
fn as_many_polls_in_a_row_as_are_set_confirm_and_recover() {
    stories(
        World::healthy,
        "confirm 1, recover 1
         vm1=error => opened
         reason: first seen in this poll
         vm1=active => resolved
         reason: OK in this poll
         cut-off 60h, no-date 500000 => rung:3 resolved

         confirm 3, recover 3
         vm1=error, vms =>
         vms => opened
         reason: confirmed by 3 polls
         vm1=active, vms, vm1=error, vm1=active, vms =>
         vms => resolved
         reason: OK in 3 polls in a row

         recover 5
         cut-off 60h => rung:3
         paid, report 3, 1m =>
         report => resolved",
    );
}

#[test]
fn polls_confirm_and_recover_only_in_a_row_and_failed_polls_do_not_count() {
    stories_of(
        World::healthy,
        &["blocked", "building", "active", "stopped"],
        "confirm 3
         vm1=error, vms, vm1={}, vm1=error, vm1={}, vm1=error, vms => ops[vm_error]:
         vms => ops[vm_error]: opened",
    );
    stories(
        World::healthy,
        "confirm 3
         vm1=error, fail vms, heal vms, vms, hides vm1 =>
         vms => vm_error/1 opened

         recover 3
         vm1=error, vm1=active, vms, vm1=building, vm1=active, vms, vm1=error, vm1=active, vms => opened
         fail vms, vms 4, heal vms, hides vm1, hides vm1 =>
         vms => resolved",
    );
}

#[test]
fn another_wrong_state_is_no_recovery_and_is_named_beside_the_first() {
    for state in ["blocked", "building", "pending", "migrating"] {
        let mut world = World::healthy();
        world.live(&format!("vm1=error, vm1={state}, vms 3"));
        assert_eq!(world.heard("ops", "vm_error"), "opened", "{state}");
        let row = world.row(Kind::VmError, "1").unwrap();
        assert_eq!(row.title, format!("VM vm-1 not OK (now {state}, was in error)"));
    }
    stories(
        World::healthy,
        "vm1=error, vm1=active, vm1=building, vm1=active, vm1=building => opened
         idle 1d => vm_error/1 reminder:1",
    );
}

#[test]
fn a_problem_that_the_last_reading_does_not_show_is_not_mailed_late() {
    // The silence ends, or the server is back, between the first and the second good poll.
    stories(
        World::healthy,
        "silence vm-1 2h, vm1=error, idle 112m, vm1=active, idle 9m =>
         vm1=error => opened

         silence vm-1 2h, vm1=error, idle 112m, vm1=active, idle 9m, vms, idle 1h =>

         silence main/order_suspended/* 2h, order SUSPENDED, idle 111m, order ORDERED, idle 9m =>
         report, idle 1h =>

         everybody away, vm1=error, idle 20m, vm1=active, everybody accepts, idle 31m =>
         vm1=error, idle 31m => opened

         everybody away, vm1=error, idle 20m, vm1=active, everybody accepts, idle 31m =>
         vms, idle 31m => was-down",
    );
}

#[test]
fn a_state_has_to_last_from_the_first_reading_after_a_start_or_a_sleep_on() {
    stories_of(
        World::healthy,
        &["sleep", "restart"],
        "vm1=building, {} 10h, look, idle 27m, vms =>
         idle 2m, vms => vm_stuck/1 opened

         s100=Backuping, {} 8h, look, idle 1h, sites =>

         vm1=stopped, {} 8h, look, idle 8m, vms =>
         idle 2m, vms => vm_stopped/1 opened

         fail vms, {} 8h, look, idle 13m, vms =>
         idle 2m => collector_failing opened

         fail everything, {} 8h, look, idle 13m =>",
    );
    // Only a stop that was seen is told.
    stories(
        World::healthy,
        "restart 1m, vm1=stopped, look, 30m =>

         sleep 8h, vm1=stopped, look, 30m =>

         vm1=stopped, 9m, vm1=active, vms, 1h =>

         vm1=stopped, 4d, vm1=active, vms, 1h => vm_stopped/1 opened resolved",
    );
}

#[test]
fn a_vm_that_was_stopped_is_no_problem_after_a_day_or_an_acknowledgement() {
    for (steps, needs_you) in [("", true), ("idle 25h", false), ("ack vm_stopped/1", false)] {
        let mut world = World::healthy();
        world.live("vm1=stopped, idle 10m, vms").live(steps);
        assert_eq!(world.heard("ops", ""), "opened");
        assert_eq!(world.row(Kind::VmStopped, "1").unwrap().needs_you(world.now), needs_you, "{steps}");
    }
}

#[test]
fn a_resource_is_removed_after_two_complete_listings_without_it() {
    stories(
        World::healthy,
        "vm1=error => opened
         vm1=gone =>
         vms => vm_error/1 removed
         vm1=error, 1h => vm_error/1 opened

         s100=Error => opened
         s100=gone, containers =>
         sites => site_error/100 removed

         s100=Error, c10=gone c11=gone, containers 2 => opened
         1h, containers 3 => resource_gone/containers opened site_error/100 removed

         s110=Error, restart 1m => opened
         containers, hides s110, hides s110, hides s110 =>
         s110=gone, sites =>
         1h, sites => site_error/110 removed

         vm1=error => opened
         restart 1m, vm1=gone vm2=gone, vms 3 =>
         1h, vms 2 => vm_error/1 removed

         rule resource_gone on, vm2=gone, vms => resource_gone/vm:2 opened
         vm2=active, vms => resource_gone/vm:2 resolved

         vm1=error => opened
         vm1=gone, garbles vm2, garbles vm2 => vm_error/1 removed

         vm1=error vm2=error => vm_error/1 opened vm_error/2 opened
         restart 1m, vm2=gone, garbles vm1, garbles vm1, garbles vm1 => vm_error/2 removed
         vm1=active, vms => vm_error/1 resolved

         s100=Error => opened
         s100=gone, containers, garbles s101, garbles s101 => site_error/100 removed

         vm1=thawing => unknown_state/vms opened
         garbles vm1, garbles vm1, garbles vm1 =>

         s100=thawing => unknown_state/sites opened
         c10=gone c11=gone, containers =>
         1h, containers 3 => resource_gone/containers opened unknown_state/sites resolved",
    );
}

#[test]
fn a_site_that_may_be_in_a_container_whose_sites_cannot_be_read_is_not_over() {
    for is_gone in [false, true] {
        let mut world = World::healthy();
        world.live("s100=Error");
        assert_eq!(world.take_events(), ["main/site_error/100 opened"]);
        for _ in 0..5 {
            world.sites(10, &[(101, "Active")]);
            world.fail(Collector::Sites, FailureKind::Other);
        }
        let moved = [(100, "Error"), (110, "Active")];
        for _ in 0..3 {
            world.sites(10, &[(101, "Active")]);
            world.sites(11, &moved[usize::from(is_gone)..]);
            world.end(Collector::Sites, None);
        }
        let want: &[&str] = if is_gone { &["main/site_error/100 removed"] } else { &NOTHING };
        assert_eq!(world.take_events(), want);
    }
}

#[test]
fn a_passing_state_changes_nothing_about_an_incident_that_is_over() {
    let mut world = World::healthy();
    world.live("vm1=error, vm1=active, vms");
    let over = world.row(Kind::VmError, "1").unwrap();
    world.live("vm1=building");
    assert_eq!(world.row(Kind::VmError, "1"), Some(over));
}

#[test]
fn unknown_states_are_one_incident_of_each_sort_whatever_they_carry() {
    let mut world = World::healthy();
    world.vms(&[(1, "mi\r\ngrating"), (2, "mi\r\ngrating")]);
    assert_eq!(world.take_events(), ["main/unknown_state/vms opened"]);
    (0..2).for_each(|_| world.vms(&[(1, "active"), (2, "active")]));
    assert_eq!(world.take_events(), ["main/unknown_state/vms resolved"]);
    // The value is over when no resource shows it, though another problem goes on.
    stories(
        World::healthy,
        "vm1=melting => unknown_state/vms opened
         vm1=error, vms => ops[unknown]: resolved
         c11=7, sites => unknown_state/containers opened
         c11=DISABLED_BY_QUOTA, containers, sites => ops[unknown]: resolved
         s100=Thawing => unknown_state/sites opened
         s100=Error, sites => ops[unknown]: resolved

         vm1=melting vm2=melting, s100=Thawing, s101=Thawing => opened opened
         vm1=active, hides vm2, s100=Active, vms, hides vm2, sites =>",
    );
}

#[test]
fn reminders_come_three_times_in_the_time_of_their_severity() {
    stories(
        World::healthy,
        "vm1=error, idle 1439m => opened
         idle 1m => reminder:1
         reason: reminder 1 of 3: still open
         idle 6d => reminder:2 reminder:3
         vm1=active, vms => resolved

         rule vm_error severity=warning, vm1=error, idle 4319m => opened
         severity: warning
         idle 1m => reminder:1
         idle 4319m =>
         idle 1m => reminder:2

         rule vm_error severity=info, vm1=error, idle 4d => opened
         severity: info",
    );
}

#[test]
fn reminders_keep_their_day_through_starts_and_sleeps_and_none_is_made_up_for() {
    stories(
        World::healthy,
        "vm1=error, 20h, restart 1m, look, 3h, restart 1m, look, 2h => opened reminder:1

         vm1=error, sleep 3d, look, 23h => opened reminder:1
         2h => reminder:2

         vm1=error, restart 6d, look, 10m => opened reminder:1

         vm1=error, everybody away, 80h, everybody accepts, 1h => opened reminder:1",
    );
}

#[test]
fn a_start_tells_nothing_from_memory_before_everything_was_read() {
    stories(
        World::healthy,
        "cut-off 53h, vm1=error => disconnect rung:3 vm_error/1 opened
         restart 3d, tick =>
         look => ops[vm_error]: reminder:1; ops[disconnect]: rung:0

         vm1=error, restart 5m, look, 10m, restart 5m, look, 10m => opened
         vm1=active, restart 5m, look, vms => resolved

         vm1=error, 10m, restart 1m, fail vms, look, 1h => opened collector_failing opened
         vm1=active, heal vms, look, look, 10m => ops[vm_error]: resolved",
    );
}

#[test]
fn what_one_poll_brings_for_a_recipient_is_one_mail() {
    let mut world = World::healthy();
    world.vms(&[(1, "error"), (2, "active")]);
    world.vms(&[(1, "active"), (2, "active")]);
    world.vms(&[(1, "active"), (2, "error")]);
    let mails: Vec<usize> = world.mails().iter().map(|mail| mail.items.len()).collect();
    assert_eq!(mails, [1, 2]);
    assert_eq!(
        world.take_events(),
        ["main/vm_error/1 opened", "main/vm_error/1 resolved", "main/vm_error/2 opened"]
    );
}
