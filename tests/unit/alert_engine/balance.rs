//! A balance below what was foreseen: told, unless it is little, foreseen, or part of a disconnect mail.

use crate::alert::Kind;
use crate::model::{ChargeMoment, Report};
use chrono::Duration;

use super::alert_support::*;

/// What is left for ten days, of which each charge takes its amount after so many hours.
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
        moments: moments.into(),
        ..rich()
    }
}

/// What is told when the second report follows the first.
fn told(first: Report, second: Report) -> Vec<String> {
    let mut world = World::healthy();
    // As a payment: more than foreseen is no drop.
    world.report(first);
    world.told.clear();
    world.report(second);
    world.take_events()
}

#[test]
fn a_balance_that_drops_unforeseen_is_told() {
    let mut world = World::healthy();
    world.report(report("2000", crate::model::Edd::Null));
    assert_eq!(world.take_events(), ["main/balance_drop/account opened"]);
    // Where the drop brings a disconnect with it, that mail carries it.
    world.report(report("25.50", crate::model::Edd::Null));
    assert_eq!(world.take_events(), ["main/disconnect/account rung:3"]);
}

#[test]
fn only_more_than_a_fifth_and_more_than_three_days_cost_is_told() {
    let cheap: &[(i64, &str)] = &[(48, "10")];
    let dear = [48, 60, 72, 84, 96, 108, 120, 132, 144].map(|hours| (hours, "600"));
    // (charges of the first report, balance then, told)
    let table = [
        (cheap, "8000", false),
        (cheap, "7999.99", true),
        // 540 a day.
        (&dear[..], "8380", false),
        (&dear[..], "8379.99", false),
        (&dear[..], "8000", false),
        (&dear[..], "7999.99", true),
    ];
    for (charges, then, want) in table {
        let events = told(ten_days("10000", charges), ten_days(then, &[]));
        assert_eq!(!events.is_empty(), want, "{} charges, then {then}: {events:?}", charges.len());
    }
    // Three days cost 2,430 here.
    let dearer = [48, 60, 72, 84, 96, 108, 120, 132, 144].map(|hours| (hours, "900"));
    for (then, want) in [("7570", false), ("7569.99", true)] {
        let events = told(ten_days("10000", &dearer), ten_days(then, &[]));
        assert_eq!(!events.is_empty(), want, "then {then}: {events:?}");
    }
}

#[test]
fn a_charge_that_comes_a_day_early_is_no_drop() {
    let soon = ten_days("1000", &[(20, "900")]);
    assert_eq!(told(soon, ten_days("100", &[])), Vec::<String>::new());
    let later = ten_days("1000", &[(30, "900")]);
    assert_eq!(told(later, ten_days("100", &[])), ["main/balance_drop/account opened"]);
}

/// Whatever is to be charged within a day, the mail tells what was foreseen for now.
#[test]
fn what_is_still_to_be_charged_was_not_foreseen_for_now() {
    let hourly: Vec<(i64, &str)> = (1..200).map(|hour| (hour, "10")).collect();
    let mut world = World::healthy();
    world.report(ten_days("3000", &hourly));
    world.told.clear();
    world.report(ten_days("2000", &hourly));
    assert_eq!(world.take_events(), ["main/balance_drop/account opened"]);
    let incident = world.incident(Kind::BalanceDrop, "account");
    assert_eq!(incident.detail, "forecast 3\u{202f}000.00 RUB, actual 2\u{202f}000.00 RUB");
}

#[test]
fn nothing_drops_that_was_used_up_before() {
    let mut world = World::healthy();
    world.report(ten_days("-3", &[]));
    world.told.clear();
    world.report(ten_days("-2000", &[]));
    assert!(world.told.is_empty(), "{:?}", world.events());
}

#[test]
fn each_drop_is_news_and_says_by_how_much() {
    let mut world = World::healthy();
    world.report(ten_days("1000", &[]));
    world.told.clear();
    for (episode, balance) in [(2, "700"), (3, "400")] {
        world.report(ten_days(balance, &[]));
        assert_eq!(world.take_events(), ["main/balance_drop/account opened"]);
        assert_eq!(world.incident(Kind::BalanceDrop, "account").episode, episode);
    }
    let incident = world.incident(Kind::BalanceDrop, "account");
    assert_eq!(incident.detail, "forecast 700.00 RUB, actual 400.00 RUB");
    assert_eq!(incident.words(), "Balance dropped 300 RUB more than expected");
    assert!(!incident.phase.is_open(), "nothing is left to recover");
}
