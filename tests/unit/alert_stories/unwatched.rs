//! Rules, accounts and orders that are no longer watched, and then watched again.

use super::{World, stories, stories_of};

#[test]
fn unwatched_is_told_to_those_who_knew_the_incident_and_it_begins_anew_when_it_is_back() {
    stories(
        World::healthy,
        "vm1=error, rule vm_error off, 2h => opened unwatched
         vm1=active, vms =>

         vm1=error, rule vm_error except=vm-1, 10m => opened unwatched
         rule vm_error on, look, 10m => opened

         vm1=error, rule vm_error off, 5m, rule vm_error on, vm1=active, vms, 2h => opened unwatched

         vm1=error, rule vm_error except=vm-2, 10m => opened

         vm1=building, idle 31m, vms, rule vm_stuck off, 5m, rule vm_stuck on, vm1=active, vms, vm1=building, \
         idle 20m, vms => opened unwatched

         vm1=building, idle 31m, vms, everybody away, rule vm_stuck off, 5m, rule vm_stuck on, vms, everybody accepts, look, \
         2h => opened opened

         vm1=building, idle 31m, vms, rule vm_stuck off, idle 9d, rule vm_stuck on, vms, 20m => opened unwatched
         vms, 20m, vms => opened

         vm1=error, leave, 10m, restart 1h, come-back, look, 10m => opened unwatched opened

         vm1=error, vm1=active, rule vm_error off, 10m => opened unwatched

         to ops ann, vm1=error, to ops, rule vm_error off, 10m => opened unwatched; ann: opened unwatched

         silence vm-1 1h, vm1=error, 10m, rule vm_error off, 5m, rule vm_error on, look, 30m =>
         40m => opened

         vm1=error, silence vm-1 1h, rule vm_error off, 30m => opened unwatched

         vm1=error, reload, reload, 1h => opened

         vm1=error, everybody late, leave, everybody accepts, come-back, look, idle 31m => opened unwatched opened

         vm1=error, everybody loses, leave, everybody accepts, come-back, look, idle 31m => opened opened

         cut-off 50h, everybody away, leave, come-back, cut-off 40d 900000, everybody accepts, look, 1h => rung:3 unwatched",
    );
}

#[test]
fn an_unwatched_that_could_not_leave_lapses_if_the_problem_is_seen_again() {
    stories_of(
        World::healthy,
        &["rule vm_error off, idle 5m, rule vm_error on", "leave, idle 1h, come-back"],
        "vm1=error, everybody away, {}, look, everybody accepts, look, 2h => opened opened
         vm1=active, vms => resolved

         vm1=error, everybody away, {}, vm1=active, look, everybody accepts, look, 2h => opened unwatched

         everybody defers, vm1=error, {}, look, everybody accepts, idle 31m => opened",
    );
    stories(
        World::healthy,
        "vm1=error, everybody away, rule vm_error off, idle 5m, rule vm_error on, vm1=blocked, everybody accepts, 2h \
         => ops[vm_error]: opened unwatched

         vm1=error, everybody defers, vm1=active, vms, vm1=error, leave, everybody accepts, idle 31m \
         => opened unwatched",
    );
}

#[test]
fn one_reload_makes_one_mail_about_all_that_is_no_longer_watched() {
    let mut world = World::modest();
    world.live("vm1=error vm2=error, cut-off 6d 2550, leave, 5m");
    let last: Vec<_> = world.last().items.iter().map(|item| item.key.to_string()).collect();
    assert_eq!(last, ["main/vm_error/1", "main/vm_error/2", "main/disconnect/account"]);
    assert_eq!(world.last().form, "incidents");
    let calendar = World::modest().live("cut-off 6d 2550, rule disconnect off").calendar();
    assert!(calendar.is_some_and(|entry| entry.cancelled), "calendars take it out");
}

#[test]
fn a_cut_off_that_is_watched_no_longer_and_again_is_told_as_it_stands() {
    stories(
        World::healthy,
        "overdue 1h, rule disconnect off, 1h, rule disconnect on, look, 10m => ops[disconnect]: rung:0 unwatched rung:0

         cut-off 6d, leave, 1h, come-back, look, 10m => ops[disconnect]: rung:7 unwatched rung:7

         cut-off 6d, everybody away, leave, 1m, come-back, look, everybody accepts, 1h => ops[disconnect]: rung:7

         cut-off 6d, rule disconnect off, 1h, paid, report, rule disconnect on, look, 10m \
         => ops[disconnect]: rung:7 unwatched

         cut-off 6d, reload, reload, 1h => rung:7

         cut-off 20d, unwatch report, idle 7d => ops[disconnect]:",
    );
}
