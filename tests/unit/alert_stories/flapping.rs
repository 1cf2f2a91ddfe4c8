//! Incidents that change again and again: after four changes in an hour they are over only after half an hour of
//! good readings.

use super::{World, stories, stories_of};
use crate::alert::{Cause, Kind, Phase};

/// VM 1 breaks and recovers twice.
fn flapping() -> World {
    let mut world = World::with_boss();
    world.live("vm1=error, vm1=active, vms, vm1=error, vm1=active, vms");
    assert_eq!(world.heard("ops", ""), "opened resolved opened");
    world.forget();
    world
}

#[test]
fn a_flapping_problem_that_is_right_for_now_shows_why_it_is_still_open() {
    let mut world = flapping();
    world.live("vm1=active, vms, vm1=error, vm1=active, vms, vms");
    let row = world.row(Kind::VmError, "1").unwrap();
    assert_eq!((row.phase, row.why), (Phase::Recovering, Some(Cause::Flapping { changes: 4 })));
}

/// A poll that fails on another page shows what it read before that.
#[test]
fn polls_that_break_off_behind_a_flapping_problem_show_it_as_good() {
    let good = "breaks-off vm2 vm1=active, later 10m, ".repeat(3);
    stories(
        flapping,
        &format!(
            "breaks-off vm2 vm1=active, later 10m =>
             {good}breaks-off vm2 vm1=active => ops[vm]: resolved"
        ),
    );
}

#[test]
fn after_four_changes_the_end_is_told_after_half_an_hour_of_good_readings() {
    stories(
        flapping,
        "vm1=error, vm1=active, vms, vm1=error, vm1=active, vms, 25m =>
         15m => vm_error/1 resolved
         reason: stable for half an hour after many changes
         2h =>

         vm1=error, vm1=active, idle 25m, vm1=error =>

         restart 1m, look, 50m => resolved

         fail vms, 40m, heal vms, vms, 15m => ops[vm]:
         25m => ops[vm]: resolved

         sleep 2h, look, 15m =>
         25m => resolved

         restart 2h, look, 15m =>
         25m => resolved

         vm1=error, 14h => ; boss: escalated
         vm1=active, vms, 50m => resolved; boss: resolved

         vm1=error, silence vm-1 3h, idle 1h =>
         vm1=active, vms, 50m => resolved",
    );
}

#[test]
fn four_changes_within_an_hour_are_flapping_and_no_fewer() {
    stories(
        World::healthy,
        "vm1=error, vm1=active, vms, later 3499s, vm1=error, vm1=active, vms => opened resolved opened

         vm1=error, vm1=active, vms, later 3500s, vm1=error, vm1=active, vms => opened resolved opened resolved

         vm1=error, later 58m, vm1=active, vms, vm1=error, later 2m, vm1=active, vms, vm1=error => opened resolved opened resolved opened",
    );
    // Changes under a silence and changes before it are counted separately.
    stories(
        World::healthy,
        "vm1=error, vm1=active, vms, silence vm-1 2h, vm1=error, vm1=active, vms, 3h => opened resolved

         silence vm-1 2h, vm1=error, vm1=active, vms, vm1=error, vm1=active, vms, 40m, look, look, 3h =>

         later 25h, overdue 1h, paid, report, overdue 1h, paid, report => rung:0 resolved rung:0 resolved",
    );
}

#[test]
fn a_flapping_incident_is_open_until_its_end_is_told_and_ended_when_it_became_well() {
    let mut world = flapping();
    let since = world.row(Kind::VmError, "1").unwrap().since;
    for steps in ["vms", "vms", "vm1=error", "vm1=active", "vms"] {
        let row = world.live(steps).live("tick").row(Kind::VmError, "1").unwrap();
        assert!(row.is_open() && row.needs_you(world.now), "{steps}");
        assert_eq!((row.title.as_str(), row.resolved_at, row.since), ("VM vm-1 keeps failing", None, since));
    }
    let ended = world.now;
    world.live("50m");
    assert_eq!(world.take_events(), ["main/vm_error/1 resolved"]);
    let told = world.last_told();
    assert_eq!((told.since, told.at), (since, ended));
    assert_eq!(world.row(Kind::VmError, "1").unwrap().resolved_at, Some(ended));
}

#[test]
fn a_flapping_incident_that_is_removed_or_no_longer_watched_ends_with_that() {
    for ends in ["rule vm_error off", "rule vm_error except=vm-1", "unwatch vms", "leave"] {
        stories_of(
            flapping,
            &["error", "active"],
            &format!("vm1={{}} =>\n{ends}, idle 2h => vm_error/1 unwatched"),
        );
    }
    stories_of(
        flapping,
        &["error", "active"],
        "vm1={}, vm1=gone, vms => vm_error/1 removed
         1h =>",
    );
    // A reading in error interrupts the row of listings without it.
    stories(
        flapping,
        "confirm 3, recover 3, vm1=active, vms 2, vm1=error, vm1=gone, vms =>
         vms => vm_error/1 removed",
    );
}
