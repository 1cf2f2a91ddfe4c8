//! Which mails a date of cut-off and a balance make while the date is ahead: the ladder, dates that move, payments.

use std::collections::BTreeMap;

use chrono::{DateTime, Duration, Utc};

use super::{World, bill, moment, stories};
use crate::alert::Kind;
use crate::model::{Edd, Moments, Report};

#[test]
fn the_ladder_tells_the_tightest_rung_once_through_starts_failures_and_single_good_reports() {
    stories(
        World::healthy,
        "cut-off 53h => disconnect rung:3
         report, restart 10s, report =>
         fail report, idle 54h => ops[disconnect]: rung:1 rung:0

         cut-off 53h, paid, fail report, idle 54h => ops[disconnect]: rung:3 rung:1 rung:0

         cut-off 6d, paid, report => rung:7 resolved
         cut-off 16d 2550, fail report, idle 3d => ops[disconnect]: rung:14

         cut-off 13d 13550, cut-off 6d, cut-off 60h, cut-off 20h, 1h => rung:14 rung:7 rung:3 rung:1

         cut-off 13d 13550, 1h, restart 3d, look, 10m => rung:14
         fail report, restart 7d, look, 10m => ops[disconnect]: rung:3

         cut-off 13d 13550, 1h, sleep 14d, look, 10m => rung:14 rung:0

         overdue 1h, 1h, overdue 2h, 1h, overdue 10m, restart 1m, look, 1h => rung:0",
    );
}

#[test]
fn every_rung_says_why_it_is_told() {
    // Payments take three days, so the last safe day before Fri 6 Mar 21:00 is today.
    for (first, then, rung, reason) in [
        (216, 144, 7, "less than 7 days left"),
        (216, 105, 4, "the last day on which a payment arrives in time has come"),
        (53, -1, 0, "the cut-off date has passed"),
        (240, -1, 0, "the cut-off date has passed"),
    ] {
        let told = if first < 72 { 3 } else { 14 };
        stories(
            World::healthy,
            &format!(
                "cut-off {first}h 2550 => rung:{told}
                 cut-off {then}h 2550 => rung:{rung}
                 reason: {reason}
                 report =>"
            ),
        );
    }
    let mut world = World::healthy();
    let reason = |world: &World| world.row(Kind::Disconnect, "account").unwrap().reason;
    assert!(reason(world.live("cut-off 6d")).ends_with("; less than 7 days left"));
    let last_day = "; the last day on which a payment arrives in time has come";
    assert!(reason(world.live("idle 37h")).ends_with(last_day), "{}", reason(&world));
    assert!(reason(world.live("idle 24h")).ends_with("; less than 4 days left"), "{}", reason(&world));
    assert!(reason(world.live("idle 11h")).ends_with("; less than 3 days left"));
    assert!(reason(world.live("cut-off 57d 57000, idle 2h, report")).contains("; cut-off postponed to"));
}

#[test]
fn a_ladder_of_other_rungs_and_lead_days_tells_its_own_rungs() {
    stories(
        World::with_boss,
        "lead 0 14 7 3 1, cut-off 60h, 10m => rung:3; boss:
         37h => rung:1; boss: rung:1|escalated

         rungs 4, cut-off 6d, 10m => ops[disconnect]:
         6d => ops[disconnect]: rung:4 rung:0

         rungs 30 4, cut-off 29d 29550 => ops[disconnect]: rung:30
         severity: info
         later 25d, report => ops[disconnect]: rung:4
         severity: critical

         cut-off 130h, idle 2h => rung:7
         lead 5 14 7 6 3 1, idle 3m => rung:6
         severity: critical",
    );
}

/// From the start of the last day that ends 72 hours before it, or from 96 hours before it.
#[test]
fn a_cut_off_is_near_from_the_first_moment_of_the_day_to_pay_by() {
    for (zone, cut_off, near) in [
        ("UTC", "2026-03-10T09:00:00Z", "2026-03-06T00:00:00Z"),
        // Clocks go forward on Sunday 29 March, the last safe day, which has 23 hours: the 96 hours begin earlier.
        ("Europe/Berlin", "2026-04-01T22:10:00Z", "2026-03-28T22:10:00Z"),
    ] {
        let [before, after] = [-2, 1].map(|minutes| moment(near) + Duration::minutes(minutes));
        let known = moment(near) - Duration::hours(3);
        stories(
            World::with_boss,
            &format!(
                "zone {zone}, idle 2m, later until {known:?}, cut-off at {cut_off}, idle until {before:?} \
                 => ops[disconnect]: rung:7; boss:
                 idle until {after:?} => disconnect rung:4; boss: rung:4|escalated
                 severity: critical"
            ),
        );
    }
}

#[test]
fn a_near_cut_off_is_critical_and_escalated_at_once_though_somebody_acknowledged_it() {
    stories(
        World::with_boss,
        "cut-off at 2026-03-10T09:00:00Z, idle until 2026-03-05T10:00:00Z, ack disconnect/account => rung:14 rung:7
         idle until 2026-03-06T02:00:00Z => rung:4; boss: rung:4|escalated

         cut-off at 2026-03-10T09:00:00Z, idle until 2026-03-06T00:30:00Z, ack disconnect/account, idle 90m \
         => rung:14 rung:7 rung:4; boss: rung:4|escalated
         idle until 2026-03-09T12:00:00Z => boss: rung:3 rung:1
         paid, report => boss: resolved

         later until 2026-03-06T00:01:00Z, cut-off at 2026-03-10T09:00:00Z => ops[disconnect]: rung:4
         severity: critical

         cut-off 20d 20000, balance -300 => ops[disconnect]: balance-used-up; boss: balance-used-up|escalated
         severity: critical",
    );
}

#[test]
fn a_later_date_is_told_once_it_held_for_an_hour_and_arms_the_ladder_again() {
    stories(
        World::modest,
        "cut-off 53h => rung:3
         cut-off 10d 2550, idle 50m, report =>
         idle 10m, report 2 => disconnect extended:2026-03-12
         cut-off 51h 2550 =>
         cut-off 23h 2550 => rung:1
         cut-off 9d 9950 => disconnect paid:2026-03-11",
    );
    // A later date is told if it is more than a day behind the rung.
    stories(
        World::healthy,
        "cut-off at 2026-03-10T09:00:00Z, idle until 2026-03-05T23:59:00Z => rung:14 rung:7
         severity: warning
         idle 1m => rung:4
         cut-off at 2026-03-11T23:00:00Z 3550, idle 61m, report, idle 61m =>
         cut-off at 2026-03-12T01:00:00Z 3550, idle 61m, report, idle 61m => extended:2026-03-12

         cut-off 6d, 10m, cut-off 145h, 10m, cut-off 146h, 10m, cut-off 143h 6550, 10m, cut-off 147h, 1h => rung:7

         cut-off 25d 25500, 1h => ops[disconnect]:
         paid, report, 1h => ops[disconnect]:",
    );
}

#[test]
fn a_date_that_moves_back_and_returns_within_a_day_mails_a_tighter_rung_alone() {
    stories(
        World::healthy,
        "cut-off 108h 4550 => rung:7
         cut-off 216h 4550, idle 40m, report, idle 40m, report => extended:2026-03-11
         cut-off at 2026-03-07T00:01:00Z 4550, idle 3h =>
         cut-off 24h 4550 => rung:1

         cut-off 160h 6550 => rung:7
         cut-off 300h 6550, idle 40m, report, idle 40m, report => extended:2026-03-15
         cut-off 158h 6550, idle until 2026-03-03T11:50:00Z =>
         idle 75m => rung:7

         cut-off 160h 6550 => rung:7
         cut-off 300h 6550, idle 40m, report, idle 40m, report => extended:2026-03-15
         cut-off 158h 6550, idle 18h, cut-off 300h 6550, idle 40m, report, idle 40m, report, idle 6h =>",
    );
}

#[test]
fn a_rung_that_a_payment_frees_is_held_by_the_guard_from_then_on() {
    stories(
        World::healthy,
        "cut-off 0s 50000, cut-off 73h 600000 => ops[disconnect]: rung:0 paid:2026-03-05
         cut-off 100h 50000, idle 3h, cut-off 97h 50000 => ops[disconnect]: rung:3 extended:2026-03-06
         idle 3h, cut-off 70h 2550, idle 6h => ops[disconnect]:

         idle 12h, paid, idle 2h, cut-off 6d 5550 => ops[disconnect]: rung:7
         idle 70m, cut-off 9d 5550, idle 70m, cut-off 9d 5550 => ops[disconnect]: extended:2026-03-12
         cut-off 6d 5550, idle 8h, cut-off 6d 6550, idle 10m => ops[disconnect]:",
    );
}

/// The machine sleeps while a rung is crossed, and the first report after the sleep names a later date.
#[test]
fn an_unmailed_date_that_the_next_report_moves_or_withdraws_crosses_no_rung() {
    stories(
        World::healthy,
        "cut-off 15d 15550, sleep 25h, vms, cut-off 383h 14550, idle 3h => ops[disconnect]:
         sleep 47h, vms, fail report => ops[disconnect]: rung:14

         cut-off 337h 500000, paid, idle 2h =>
         fail report, tick => disconnect rung:14",
    );
}

#[test]
fn a_payment_before_at_or_after_the_cut_off_is_told_with_the_new_date() {
    stories(
        World::modest,
        "cut-off 60h, 1h, cut-off 6d 20000, 1h => ops[disconnect]: rung:3 paid:2026-03-08
         3d => ops[disconnect]: rung:4 rung:3

         cut-off 60h, 1h, cut-off 20d 20500, 1h, cut-off 40h 2550, 10m \
         => ops[disconnect]: rung:3 paid:2026-03-22 rung:3

         cut-off 20h, 21h, cut-off 20d 20500, 10m => ops[disconnect]: rung:1 rung:0 paid:2026-03-23

         cut-off 20h, 19h, cut-off 20d 20500, 1d => ops[disconnect]: rung:1 paid:2026-03-23

         overdue 1h, 1h, cut-off 20d -400, 1h => ops[disconnect]: rung:0

         cut-off 60h, 1h, cut-off 61h 6000, 1h => ops[disconnect]: rung:3 paid:2026-03-05

         cut-off 6d, 1h, cut-off 6d 20000, 1h => ops[disconnect]: rung:7 paid:2026-03-08

         bare -400, 1h, paid, report, 1h => ops[disconnect]: rung:0 resolved

         bare -400, 1h, cut-off 20d 20500, 1m => ops[disconnect]: rung:0 paid:2026-03-22

         bare -400, 1h, restart 1h, look, cut-off 20d 20500, 30h => ops[disconnect]: rung:0 paid:2026-03-22

         cut-off 60h, 1h, cut-off 10d 20000, restart 1h, look, 8d \
         => ops[disconnect]: rung:3 paid:2026-03-12 rung:7 rung:4 rung:3

         overdue 1h, 25h, cut-off 50h 3500, 26h => ops[disconnect]: rung:0 overdue:2026-03-03 paid:2026-03-05 rung:1

         cut-off 12h 500, idle 32h, balance -500 => rung:1 rung:0
         cut-off 20d 20000 => paid:2026-03-23
         hourly 411 => ops[disconnect]: rung:14 rung:7 rung:4 rung:3",
    );
}

/// A payment is a balance above what the last good report foresaw, however much more one before it foresaw.
#[test]
fn a_balance_below_its_forecast_is_no_payment() {
    stories(
        World::healthy,
        "cut-off 60h, 10m, cut-off 20d 20500, 50m => rung:3 paid:2026-03-22

         bare -400, 1h, cut-off 20d 20500, 30h => rung:0 extended:2026-03-22

         bare -400, bare 0, report => rung:0 resolved

         cut-off 60h, 10m, restart 1m, look, cut-off 20d 20500, 50m => rung:3 paid:2026-03-22

         cut-off 6d 6000 => rung:7
         fail report, idle 2d => ops[disconnect]: rung:4
         heal report, cut-off 6d 6000 => ops[disconnect]: paid:2026-03-10

         cut-off 60h 2550, unreadable 500000, idle 25h, cut-off 9d 50000, idle 70m, cut-off 9d 50000, idle 70m \
         => ops[disconnect]: rung:3 paid:2026-03-12",
    );
}

/// The first report after a start has none before it but the stored one.
#[test]
fn a_report_with_unreadable_charges_is_no_forecast_to_compare_with() {
    let mut world = World::healthy();
    world.live("cut-off 6d");
    world.restart(Duration::hours(1));
    let arrived = |world: &World| world.system.engine.cut_offs.values().find_map(|one| one.arrived);
    let before = arrived(&world);
    let whole = bill(world.now, world.now, 6550, Edd::At(world.now + Duration::days(6)));
    world.report(Report { moments_rejected: 1, whole_until: Some(world.now), ..whole.clone() });
    world.pass(Duration::minutes(10));
    world.report(whole);
    assert_eq!(arrived(&world), before, "the balance after the last charge is no forecast for now");
}

#[test]
fn a_balance_that_is_used_up_before_the_date_is_told_once_and_uses_up_no_rung() {
    stories(
        World::with_boss,
        "cut-off 13d 13550, 1h, balance -100, 1h, balance -200, 2d => ops[disconnect]: rung:14 balance-used-up

         cut-off 13d 13550, 1h, balance -100, restart 1h, look => ops[disconnect]: rung:14 balance-used-up
         7d => ops[disconnect]: rung:7

         cut-off 20h -500 => ops[disconnect]: rung:1
         report 3, 1h => ops[disconnect]: ..

         cut-off 13d -500, 1h => ops[disconnect]: rung:14",
    );
}

/// Reports of two backends in turn, every ten minutes. One is ahead of the other by 12.00 and 29 hours.
fn two_backends(world: &mut World, from: DateTime<Utc>, reports: usize) {
    for report in 0..reports {
        world.pass(Duration::minutes(10));
        let (kopecks, minutes) = if report % 2 == 0 { (6900, 9936) } else { (8100, 11_664) };
        world.report(bill(from, world.now, kopecks, Edd::At(from + Duration::minutes(minutes))));
    }
}

#[test]
fn two_backends_that_answer_in_turn_make_one_mail_and_then_at_most_one_of_a_kind_a_day() {
    // Each balance of the one that is ahead counts as a payment. The balance before them was far higher, and is older
    // than a day or not.
    for pause in [0, 25] {
        let mut world = World::healthy();
        world.pass(Duration::hours(pause));
        let from = world.now;
        let mut all = Vec::new();
        for _ in 0..3 {
            two_backends(&mut world, from, 24 * 6);
            let of_day = world.take_ladder();
            let paid = of_day.iter().filter(|event| !event.starts_with("rung")).count();
            assert!(paid <= 2, "{of_day:?}");
            all.extend(of_day);
        }
        assert!(all[0] == "rung:7" && all.len() <= 8, "{all:?}");
    }
}

/// Reports without charges contradict those with charges before them, and the first contradicts none.
#[test]
fn a_first_report_without_charges_is_believed() {
    let mut world = World::unborn();
    let edd = Edd::At(world.now + Duration::days(20));
    let used_up = bill(world.now, world.now, -500, edd);
    let expected_balance = used_up.moments.first().map(|first| first.balance);
    world.report(Report { moments: Moments::default(), expected_balance, ..used_up });
    assert_eq!(world.take_ladder(), ["balance-used-up"]);
}

#[test]
fn a_later_date_holds_for_an_hour_without_the_earlier_one_between() {
    let mut world = World::healthy();
    let from = world.now;
    for report in 0..12 {
        world.pass(Duration::minutes(10));
        let edd =
            from + if [1, 2, 8, 9].contains(&report) { Duration::days(25) } else { Duration::minutes(5) };
        world.report(bill(from, world.now, 1000, Edd::At(edd)));
    }
    assert_eq!(world.take_ladder(), ["rung:0"]);
}

/// Each answers twice in a row, so that each second report of the rich one ends the incident.
#[test]
fn a_backend_without_a_cut_off_makes_no_rung_and_no_end_more_than_once_a_day() {
    // The date crosses its rungs at noon, or at 2 o'clock.
    for date in [Duration::days(9), Duration::hours(110)] {
        let mut world = World::healthy();
        let from = world.now;
        for report in 0..24 * 6 * 3 {
            world.pass(Duration::minutes(10));
            let poor = (4_500, Edd::At(from + date));
            let (kopecks, edd) = if report % 4 < 2 { poor } else { (500_000, Edd::Null) };
            world.report(bill(from, world.now, kopecks, edd));
        }
        let mut last: BTreeMap<String, DateTime<Utc>> = BTreeMap::new();
        for (at, told) in world.told_of("ops", "disconnect") {
            let before = last.insert(told.event.to_string(), at);
            assert!(
                before.is_none_or(|before| at - before >= Duration::days(1)),
                "{date}: {} at {at}",
                told.event
            );
        }
        assert!(last.contains_key("rung:7") && last.contains_key("resolved"), "{date}: {last:?}");
    }
}

#[test]
fn mails_of_a_ladder_answer_its_first_up_to_the_last_safe_day_and_a_new_thread_from_it() {
    let mut world = World::healthy();
    let mut opens = None;
    // (hours left, does it begin a thread?)
    for (hours, begins) in [(13 * 24, true), (6 * 24, false), (90, true), (60, false)] {
        world.live(&format!("cut-off {hours}h 2550"));
        let thread = world.last_told().thread.clone();
        assert_eq!(thread, if begins { None } else { opens.clone() }, "{hours} hours left");
        if begins {
            opens = Some(world.last().id.clone());
        }
    }
    world.live("paid, report");
    assert_eq!(world.heard("ops", "disconnect"), "rung:14 rung:7 rung:4 rung:3 resolved");
    assert_eq!(world.last_told().thread, opens);
}

/// A calendar takes another day only with a higher number.
#[test]
fn another_last_day_to_pay_is_a_move_in_the_calendar() {
    let mut world = World::healthy();
    let before = world.live("cut-off 10d").calendar().unwrap();
    assert_eq!(world.live("idle 2m").calendar().unwrap(), before);
    let after = world.live("lead 5 14 7 3 1, idle 2m").calendar().unwrap();
    assert_eq!((after.sequence, after.cut_off), (before.sequence + 1, before.cut_off));
    assert_eq!(after.pay_by, before.pay_by.map(|day| day - Duration::days(2)));
}

#[test]
fn a_cut_off_whose_mails_cannot_leave_is_told_as_it_stands_when_they_can() {
    stories(
        World::healthy,
        "cut-off 60h, everybody away, 1h, paid, report, 1h, cut-off 60h, everybody accepts, 1h => rung:3

         cut-off 60h 2550, everybody away, paid, report, cut-off 60h 2550 => rung:3
         cut-off 20d 2550, idle 70m, cut-off 20d 2550, idle 70m, everybody accepts, idle 3h => extended:2026-03-22

         everybody away, cut-off 13d 13550, cut-off 6d, cut-off 60h, everybody accepts, 1h => rung:3

         to ops ann, ann: away, cut-off 6d, 3d, ann: accepts, 1h => rung:7 rung:4 rung:3; ann: rung:3

         to ops ann, cut-off 6d, 1h, to ops, 50h, to ops ann, 1h => rung:7 rung:4; ann: rung:7 rung:4

         overdue 1h, 1h, to ops ann, 1h => rung:0; ann: rung:0",
    );
    // A mailbox is full over the last safe day.
    stories(
        World::healthy,
        "cut-off at 2026-03-10T09:00:00Z, idle until 2026-03-05T20:00:00Z, ops: defers => rung:14 rung:7
         idle until 2026-03-06T14:00:00Z, cut-off at 2026-03-10T08:00:00Z 3550, idle 22h =>
         ops: accepts, idle 3h => ops[disconnect]: rung:3
         words: Account main will be cut off for non-payment",
    );
}
