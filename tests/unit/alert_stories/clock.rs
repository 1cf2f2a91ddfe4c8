//! Clocks that were wrong, and clocks that are set.

use chrono::{DateTime, Duration};

use super::{World, bill, cut_off_in, stories};
use crate::alert::Engine;
use crate::model::Edd;

/// From March 2026 to the same day of 2030 are 1461 days.
#[test]
fn what_a_clock_in_2030_mailed_goes_on_by_the_right_one() {
    stories(
        World::healthy,
        "sleep 1461d, vm1=error, look, idle 3m => opened
         restart -1461d, look, 23h =>
         2h => reminder:1
         vm1=active, vms => resolved

         sleep 1461d, vms, containers, sites, cut-off at 2026-03-02T11:00:00Z -500 => ops[disconnect]: rung:0
         restart -1461d, 3d => overdue:2026-03-03 overdue:2026-03-04 overdue:2026-03-05

         sleep 1461d, vms, containers, sites, cut-off 6d => ops[disconnect]: rung:7
         restart -1461d, vms, containers, sites, cut-off 80h, idle 5m => ops[disconnect]: rung:4
         idle 10h => ops[disconnect]: rung:3",
    );
}

#[test]
fn a_rung_that_is_ahead_again_by_the_right_clock_is_told_again() {
    stories(
        World::healthy,
        "cut-off 0s 500 => rung:0
         sleep -1d, vms, containers, sites, cut-off 10h, idle 12h => extended:2026-03-01 rung:0

         cut-off 6d, sleep -2d, look, 10m => rung:7",
    );
}

#[test]
fn a_clock_that_is_set_ahead_and_back_repeats_no_beginning_and_holds_nothing_back() {
    stories(
        World::with_boss,
        "vm1=error, sleep 400d, look, 3m, sleep -400d, look, 3m, vm1=active, vms, 5m => opened reminder:1 resolved

         vm1=error, sleep -1d, look, vm2=error, idle 3m => vm_error/1 opened vm_error/2 opened
         13h => boss[/1]: escalated

         vm1=error, sleep -2d, look, 23h, vm1=active, vms, 5m => opened resolved

         everybody away, vm1=error, 3h, sleep -1d, look, everybody accepts, 33m => opened

         everybody refused, vm1=error, 8h, everybody accepts, sleep -1d, look, 3m => opened

         everybody rejects, vm1=error, 8h, everybody accepts, sleep -1d, look, 3m => opened

         limit 1, vm1=error, 1m, vm2=error, 1m, sleep -1d, look, 3m => vm_error/1 opened vm_error/2 opened",
    );
}

/// The rung is that of the days left by the clock at the time of the reading. This holds after a restart, and also
/// when that clock is set back later.
#[test]
fn a_clock_that_is_days_ahead_tells_the_rung_of_its_own_time_and_no_tighter_one() {
    for (ahead, rung) in [(0, 14), (1, 14), (2, 7), (4, 7), (5, 4), (6, 3), (7, 3), (8, 1)] {
        for starts_anew in [false, true] {
            let mut world = World::healthy();
            let set = Duration::days(ahead);
            world.sleep(set);
            for _ in 0..1 + usize::from(starts_anew) {
                if starts_anew {
                    world.restart(Duration::minutes(1));
                }
                world.report(cut_off_in(9 * 24));
                world.pass(Duration::minutes(10));
            }
            assert_eq!(world.take_ladder(), [format!("rung:{rung}")], "{ahead} days ahead, {starts_anew}");
            world.sleep(-set);
            world.report(cut_off_in(9 * 24));
            world.pass(Duration::minutes(10));
            let rungs = world.take_ladder();
            assert!(!rungs.iter().any(|event| event.contains("rung:")), "{ahead} days ahead: {rungs:?}");
        }
    }
}

#[test]
fn a_payment_that_was_mailed_by_a_clock_half_a_second_behind_its_report_is_mailed_once() {
    let mut world = World::healthy();
    let (from, day) = (world.now, Duration::days);
    for _ in 0..48 {
        world.report(bill(from, world.now, 6000, Edd::At(from + day(6))));
        world.pass(Duration::hours(1));
    }
    let paid = from + day(40);
    world.report_and_set_back(bill(from, world.now, 40_000, Edd::At(paid)), Duration::milliseconds(500));
    assert_eq!(world.take_ladder(), ["rung:7", "rung:4", &format!("paid:{}", paid.date_naive())]);
    world.pass(day(2));
    // The date moves because the account is cheaper from now on; nobody paid.
    for _ in 0..3 {
        world.report(bill(from, world.now, 40_000, Edd::At(from + day(54))));
        world.pass(Duration::hours(1));
    }
    assert!(world.take_ladder().is_empty());
}

#[test]
fn a_balance_that_was_read_by_a_clock_ahead_is_not_compared_with_once_it_is_a_day_old() {
    let mut world = World::healthy();
    let (from, day) = (world.now, Duration::days);
    world.sleep(day(3));
    for kopecks in [500_000, 5_000] {
        world.report(bill(from, world.now, kopecks, Edd::At(from + day(4))));
        world.pass(Duration::minutes(1));
    }
    world.pass(Duration::minutes(10));
    assert_eq!(world.take_ladder(), ["rung:1"]);
    world.sleep(from - world.now);
    world.report(bill(from, world.now, 497_000, Edd::At(from + day(4))));
    world.pass(day(2));
    world.take_ladder();
    for _ in 0..3 {
        world.report(bill(from, world.now, 90_000, Edd::At(from + day(24))));
        world.pass(Duration::hours(1));
    }
    // 880 are fewer than the 4950 that the last report foresaw.
    let ladder = world.take_ladder();
    assert!(!ladder.iter().any(|event| event.contains("paid")), "{ladder:?}");
}

#[test]
fn a_clock_without_a_battery_sets_no_stored_moment_back_before_it_is_sure() {
    let mut world = World::healthy();
    world.live("vm1=error, cut-off 6d");
    let (engine, in_1970) = (&world.system.engine, DateTime::UNIX_EPOCH);
    let (known, cut_offs) = ((*engine.incidents).clone(), (*engine.cut_offs).clone());
    let mut anew = Engine::new(engine.watchers().clone(), known.clone(), cut_offs.clone(), in_1970);
    anew.wake(in_1970);
    assert_eq!((&*anew.incidents, &*anew.cut_offs), (&known, &cut_offs));
    anew.is_sure_of(in_1970);
    assert!(anew.incidents.values().all(|one| one.since == in_1970));
}
