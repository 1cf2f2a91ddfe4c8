//! Drops of the balance below its forecast are told, unless they are small, foreseen, or part of a disconnect
//! mail.

use super::{NOTHING, World, money, rich, start, stories};
use crate::alert::Kind;
use crate::model::{ChargeMoment, Report};
use chrono::Duration;

/// A report of ten days; each charge is taken after so many hours.
fn ten_days(balance: &str, charges: &[(i64, &str)]) -> Report {
    let mut left = money(balance);
    let moments = charges.iter().map(|&(hours, amount)| {
        left -= money(amount);
        let at = start() + Duration::hours(hours);
        ChargeMoment { at, amount: money(amount), balance: left, positive: None, order: None }
    });
    let moments: Vec<_> = moments.collect();
    Report {
        date: Some(start() + Duration::days(10)),
        expected_balance: Some(left),
        moments: moments.into_iter().collect(),
        ..rich()
    }
}

#[test]
fn a_balance_that_drops_unforeseen_is_told_once_for_each_drop() {
    stories(
        World::healthy,
        "no-date 200000 => balance_drop opened
         words: Balance dropped 3000 RUB more than expected
         detail: forecast 5000.00 RUB, actual 2000.00 RUB
         no-date 100000 => balance_drop opened
         restart 1m, look, 1h =>

         vm1=error, no-date 100000 => vm_error/1 opened balance_drop opened

         cut-off 6d, 1h => disconnect rung:7

         no-date 10000, 1h => disconnect rung:14

         everybody away, no-date 100000, cut-off 6d, everybody accepts, 1h => ops[disconnect]: rung:7

         silence * 1h, no-date 100000, cut-off 6d, 10m => rung:7

         bare -300, bare -200000 => rung:0",
    );
    let mut world = World::healthy();
    world.live("no-date 200000");
    assert!(!world.is_open(Kind::BalanceDrop, "account"), "nothing is left to recover");
}

#[test]
fn only_more_than_a_fifth_and_more_than_three_days_cost_is_told() {
    let nine = |amount| [48, 60, 72, 84, 96, 108, 120, 132, 144].map(|hours| (hours, amount));
    let hourly: Vec<(i64, &str)> = (1..200).map(|hour| (hour, "10")).collect();
    // (balance, charges foreseen then, the next balance, is the drop told?)
    for (first, charges, then, is_told) in [
        ("10000", &[(48, "10")][..], "8000", false),
        ("10000", &[(48, "10")], "7999.99", true),
        // 540 a day, of which three days are less than a fifth.
        ("10000", &nine("600"), "8000", false),
        ("10000", &nine("600"), "7999.99", true),
        // Three days cost 2,430 here.
        ("10000", &nine("900"), "7570", false),
        ("10000", &nine("900"), "7569.99", true),
        // A charge may come a day early.
        ("1000", &[(20, "900")], "100", false),
        ("1000", &[(30, "900")], "100", true),
        // The forecast is that for now, before the charges of the next day.
        ("3000", &hourly, "2000", true),
    ] {
        let mut world = World::healthy();
        world.report(ten_days(first, charges));
        world.forget();
        world.report(ten_days(then, &[]));
        let want: &[&str] = if is_told { &["main/balance_drop/account opened"] } else { &NOTHING };
        assert_eq!(world.take_events(), want, "{first}, {} charges, then {then}", charges.len());
    }
}

#[test]
fn two_servers_that_answer_in_turn_make_one_drop_a_day_whatever_they_charge() {
    let mut world = World::healthy();
    world.report(ten_days("5000", &[]));
    world.forget();
    for (high, low) in [("5000", "2700"), ("4990", "2690"), ("4980", "2680")] {
        world.report(ten_days(high, &[]));
        world.report(ten_days(low, &[]));
    }
    assert_eq!(world.take_events(), ["main/balance_drop/account opened"]);
}
