//! An order that becomes dearer: told once, by its cost in the days that both reports cover.

use std::sync::Arc;

use super::{Fate, NOTHING, World, money, rich, start};
use crate::alert::Kind;
use crate::model::{ChargeMoment, Edd, Order, OrderId, OrderState, Report, Tariff};
use chrono::Duration;

const SHOP: u64 = 71;

/// A report of so many days that charges an order once a day.
fn daily(price: &str, tariff: &str, days: i64) -> Report {
    charged(&(1..=days).map(|day| (day * 24, price)).collect::<Vec<_>>(), tariff, days)
}

/// A report whose charges come after so many hours.
fn charged(charges: &[(i64, &str)], tariff: &str, days: i64) -> Report {
    let mut left = money("90000");
    let moments = charges.iter().map(|&(hours, amount)| {
        left -= money(amount);
        let at = start() + Duration::hours(hours);
        ChargeMoment { at, amount: money(amount), balance: left, positive: None, order: Some(0) }
    });
    let moments: Vec<_> = moments.collect();
    let name = Some(tariff.into());
    let tariff = Some(Arc::new(Tariff { generic_type: None, name, short_name: None }));
    let order =
        Order { id: OrderId::new(SHOP), state: OrderState::Ordered, comment: Some("shop".into()), tariff };
    Report {
        date: Some(start() + Duration::days(days)),
        expected_balance: Some(left),
        moments: moments.into_iter().collect(),
        orders: vec![Arc::new(order)],
        ..rich()
    }
}

/// The events of the second report.
fn told(first: Report, second: Report) -> Vec<String> {
    let mut world = World::healthy();
    world.report(first);
    world.forget();
    world.report(second);
    world.take_events()
}

#[test]
fn a_dearer_order_is_told_once_with_both_prices() {
    let mut world = World::healthy();
    world.report(daily("100", "VPS", 30));
    world.forget();
    world.report(daily("150", "VPS", 30));
    assert_eq!(world.take_events(), ["main/order_cost/71 dearer:2026-03-02"]);
    let told = world.last_told();
    assert_eq!(told.words, "Order shop now costs 150 RUB a day, was 100 RUB");
    assert_eq!(told.detail, "150.00\u{a0}RUB a day, was 100.00\u{a0}RUB");
    assert!(!world.is_open(Kind::OrderCost, "71"), "nothing is left to recover");
    // Two servers that answer in turn with two prices.
    for price in ["100", "150", "100", "150"] {
        world.report(daily(price, "VPS", 30));
    }
    assert_eq!(world.take_events(), NOTHING);
    world.report(daily("170", "VPS", 30));
    assert_eq!(world.take_events(), ["main/order_cost/71 dearer:2026-03-02"]);
}

#[test]
fn a_rise_is_told_above_five_percent_and_one_unit() {
    for (from, to, want) in [
        ("100", "105", false),
        ("100", "105.01", true),
        ("10", "11", false),
        ("10", "11.01", true),
        ("100", "80", false),
    ] {
        // The report ends with a charge, and two hours after one.
        let past = |price| {
            let charges: Vec<_> = (1..=30).map(|day| (day * 24 + 1, price)).collect();
            Report { date: Some(start() + Duration::hours(30 * 24 + 2)), ..charged(&charges, "VPS", 30) }
        };
        for reports in [[from, to].map(|price| daily(price, "VPS", 30)), [from, to].map(past)] {
            let [before, after] = reports;
            let events = told(before, after);
            assert_eq!(!events.is_empty(), want, "{from} to {to}: {events:?}");
        }
    }
}

#[test]
fn another_tariff_or_a_charge_that_only_one_report_reaches_is_no_rise() {
    assert_eq!(told(daily("100", "VPS", 30), daily("150", "VPS-2", 30)), NOTHING);
    // A monthly charge: the later report reaches one more.
    let monthly = |charges: &[i64], days| {
        charged(&charges.iter().map(|day| (day * 24, "300")).collect::<Vec<_>>(), "VPS", days)
    };
    assert_eq!(told(monthly(&[10, 40], 69), monthly(&[10, 40, 70], 71)), NOTHING);
    // The charge of the first day may be made early or late.
    assert_eq!(told(charged(&[(30, "5")], "VPS", 30), charged(&[(6, "500"), (30, "5")], "VPS", 30)), NOTHING);
}

#[test]
fn a_report_without_all_of_its_charges_proves_no_rise() {
    let torn = Report { moments_rejected: 1, whole_until: Some(start()), ..daily("100", "VPS", 30) };
    assert_eq!(told(torn.clone(), daily("150", "VPS", 30)), NOTHING);
    assert_eq!(told(daily("50", "VPS", 30), torn), NOTHING);
}

const RISE: &str = "Order shop now costs 150 RUB a day, was 100 RUB";

/// A cut-off in six days, and the rise.
fn near() -> Report {
    Report { edd: Edd::At(start() + Duration::days(6)), ..daily("150", "VPS", 30) }
}

/// Mails about the cut-off, each with the incidents whose words it has.
fn said(world: &mut World) -> Vec<(String, Vec<String>)> {
    let told = world.told().into_iter();
    let said = told.map(|one| (format!("{} {}", one.key.kind, one.event), one.covers.clone())).collect();
    world.forget();
    said
}

#[test]
fn a_mail_that_waits_says_the_rise_although_a_later_report_shows_none() {
    let lost = Fate::LoseReply { arrived: false };
    for (first, then) in [(Fate::Away, Fate::Away), (lost, Fate::Away), (lost, Fate::RefuseRecipient)] {
        let mut world = World::healthy();
        world.report(daily("100", "VPS", 30));
        world.forget();
        world.server_all(first);
        world.report(near());
        world.server_all(then);
        world.report(near());
        // The bytes of a mail about money are of the day on which it leaves.
        world.pass(Duration::hours(25));
        world.server_all(Fate::Accept);
        world.report(near());
        world.live("retry ops, 1h");
        let want = [("disconnect rung:7".to_owned(), vec![RISE.to_owned()])];
        assert_eq!(said(&mut world), want, "{first:?}, {then:?}");
    }
}

#[test]
fn a_rise_is_told_alone_if_no_mail_about_the_cut_off_leaves() {
    let mut world = World::healthy();
    world.report(daily("100", "VPS", 30));
    world.forget();
    world.server_all(Fate::Away);
    world.report(near());
    world.live("drop ops disconnect/account");
    world.server_all(Fate::Accept);
    world.pass(Duration::hours(1));
    assert_eq!(world.take_events(), ["main/order_cost/71 dearer:2026-03-02"]);
}
