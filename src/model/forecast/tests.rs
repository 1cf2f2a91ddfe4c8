//! The billing arithmetic of the contract, and reports that other tests use.

use std::sync::Arc;

use super::*;
use crate::model::{ChargeMoment, Moments, Order, OrderState};

pub(crate) use crate::unit::account::{money, t};

/// One charge a day at 11:00 from 2 March 2026 on, by two orders in turn.
pub(crate) fn report(balance: &str, per_day: &str, days: i64, edd: Edd) -> Report {
    let orders = (1..=2).map(|id| {
        Arc::new(Order { id: OrderId::new(id), state: OrderState::Ordered, comment: None, tariff: None })
    });
    let mut left = money(balance);
    let moments = (0..days).map(|day| {
        left -= money(per_day);
        ChargeMoment {
            at: t("2026-03-02T11:00:00") + Duration::days(day),
            amount: money(per_day),
            balance: left,
            positive: Some(left.is_positive()),
            order: Some((day % 2) as u32),
        }
    });
    let moments: Vec<_> = moments.collect();
    Report {
        date: Some(t("2026-03-01T12:00:00") + Duration::days(days)),
        edd,
        error: None,
        expected_balance: Some(left),
        moments: moments.into_iter().collect(),
        orders: orders.collect(),
        made: None,
        moments_rejected: 0,
        whole_until: None,
    }
}

/// tests/unit/properties/forecast.rs compares with an oracle which reports are an all-clear.
#[test]
fn a_report_that_proves_nothing_says_why() {
    let healthy = report("5000", "10", 90, Edd::Null);
    let but = |change: fn(&mut Report)| {
        let mut report = healthy.clone();
        change(&mut report);
        report
    };
    let at = healthy.moments.get(3).unwrap().at;
    for (report, known, want) in [
        (healthy.clone(), None, Ok(())),
        // Up to the known date is far enough.
        (healthy.clone(), healthy.date, Ok(())),
        (healthy.clone(), Some(t("2026-07-01")), Err(Doubt::TooShort)),
        (but(|it| it.date = None), healthy.date, Err(Doubt::TooShort)),
        (but(|it| it.date = None), None, Err(Doubt::TooShort)),
        (but(|it| it.error = Some("no data".into())), None, Err(Doubt::Error)),
        (but(|it| it.edd = Edd::Unknown), None, Err(Doubt::DateUnknown)),
        (but(|it| it.edd = Edd::At(t("2026-09-01"))), None, Err(Doubt::DateGiven)),
        (but(|it| it.moments_rejected = 1), None, Err(Doubt::MomentsRejected)),
        (but(|it| it.moments.edit(|all| all[3].positive = Some(false))), None, Err(Doubt::Moment(at))),
        (report("25.50", "10.00", 90, Edd::Null), None, Err(Doubt::ExpectedBalance)),
        // Money that is foreseen to come back does not pay a present debt.
        (but(|it| it.moments.edit(|all| all[0].amount = money("-6000"))), None, Err(Doubt::BalanceNow)),
    ] {
        assert_eq!(all_clear(&report, known), want, "{report:?}");
    }
}

#[test]
fn charges_up_to_the_reading_are_made_and_cut_nothing_off() {
    let mut paid = report("1000", "10", 40, Edd::Null);
    // A day and five hours before the reading: below 0, and a payment.
    paid.moments.edit(|moments| {
        let made = |at: &str, amount: &str, balance: &str| ChargeMoment {
            at: t(at),
            amount: money(amount),
            balance: money(balance),
            positive: None,
            order: Some(0),
        };
        let before = [made("2026-02-28T12:00:00", "10", "-5"), made("2026-03-01T07:00:00", "-1005", "1000")];
        drop(moments.splice(..0, before));
    });
    assert_eq!(disconnect(&paid).at(), Some(t("2026-02-28T12:00:00")));
    let paid = paid.at(t("2026-03-01T12:00:00"));
    assert_eq!((disconnect(&paid), balance_now(&paid)), (Disconnect::NotExpected, Some(money("1000"))));
    assert_eq!((paid.moments.len(), cost_per_day(&paid, t("2026-03-01T12:00:00"))), (40, Some(money("10"))));
    // A payment is no charge: the next one begins with it, and the sum does not add up.
    let unlisted = Report { made: Some((t("2026-02-28T12:00:00"), money("-5"))), ..paid.clone() };
    assert_eq!((disconnect(&unlisted), balance_now(&unlisted)), (Disconnect::NotExpected, Some(money("-5"))));
    assert_eq!(
        [&paid, &unlisted].map(does_not_add_up),
        [None, unlisted.moments.first().map(|first| first.at)]
    );
    // The last charge is made, too: its balance is the one of now.
    let late = paid.at(t("2026-05-01T00:00:00"));
    assert_eq!((balance_now(&late), late.moments.is_empty()), (Some(money("600")), true));
}

#[test]
fn a_daily_charge_costs_the_same_a_day_wherever_the_report_ends() {
    let at = t("2026-03-01T12:00:00");
    let cost = |hours, of: &Report| {
        let report = Report { date: Some(at + Duration::hours(hours)), ..of.clone() };
        cost_per_day(&report, at).map(Money::rounded)
    };
    let (daily, weekly) = (report("5000", "10", 30, Edd::Null), {
        let mut report = report("5000", "10", 5, Edd::Null);
        report.moments.edit(|moments| {
            for (moment, week) in moments.iter_mut().zip(0..) {
                moment.at += Duration::days(6 * week);
            }
        });
        report
    });
    let ten = Some(money("10"));
    for hours in [29 * 24 + 23, 30 * 24 + 11, 30 * 24 + 13, 30 * 24 + 22] {
        assert_eq!(cost(hours, &daily), ten, "{hours}");
    }
    assert_eq!(
        (cost(30 * 24, &weekly), cost(30 * 24 + 13, &weekly)),
        (Some(money("1.67")), Some(money("1.61")))
    );
}

#[test]
fn an_account_with_nothing_to_pay_for_owes_nothing() {
    let now = t("2026-03-01T12:00:00");
    let free = Report { date: Some(t("2026-07-01")), ..report("0", "0", 30, Edd::Null) };
    let bare = Report { moments: Moments::default(), ..free.clone() };
    for report in [&free, &bare, &Report { expected_balance: None, ..free.clone() }] {
        assert_eq!((disconnect(report), is_used_up(report)), (Disconnect::NotExpected, Some(false)));
        assert_eq!((all_clear(report, None), top_up_required(report, now, 30)), (Ok(()), Some(Money::ZERO)));
    }
    let edited = |change: fn(&mut Report)| {
        let mut report = free.clone();
        change(&mut report);
        report
    };
    for (what, owing) in [
        ("a debt", report("-5", "0", 30, Edd::Null)),
        ("a debt at the end", edited(|it| it.expected_balance = Some(money("-5")))),
        ("a charge", report("0", "10", 30, Edd::Null)),
        ("an unreadable charge", edited(|it| (it.moments_rejected, it.whole_until) = (1, it.date))),
        ("an unreadable date", edited(|it| it.edd = Edd::Unknown)),
        ("an error", edited(|it| it.error = Some("no data".into()))),
    ] {
        assert_ne!(disconnect(&owing), Disconnect::NotExpected, "{what}");
        assert!(!owes_nothing(&owing) && all_clear(&owing, None).is_err(), "{what}");
    }
}

#[test]
fn charges_that_cannot_be_read_use_up_no_balance() {
    // 25.50 is left for two days; the report's end is 90 days away.
    let at = t("2026-03-04T11:00:00");
    let mut report = report("25.50", "10.00", 90, Edd::At(at));
    assert_eq!((balance_now(&report), is_used_up(&report)), (Some(money("25.5")), Some(false)));
    let (now, second) = (t("2026-03-01T12:00:00"), t("2026-03-03T12:00:00"));
    let known = |report: &Report| {
        (
            balance_now(report),
            balance_in(report, now, 7),
            top_up_required(report, now, 7),
            next_charge(report, now).map(|next| next.amount),
            cost_per_day(report, now),
            order_costs(report, now).len(),
        )
    };
    let seven = Some(money("-44.5"));
    let (balance, ten) = (Some(money("25.5")), Some(money("10")));
    assert_eq!(known(&report), (balance, seven, Some(money("44.51")), ten, ten, 2));
    // The third charge and those after it.
    (report.moments_rejected, report.whole_until) = (1, Some(second));
    assert_eq!(known(&report), (balance, None, None, ten, None, 0));
    assert_eq!(balance_in(&report, now, 1), Some(money("15.5")));
    assert_eq!(balance_now(&report.clone().at(t("2026-03-02T13:00:00"))), Some(money("15.5")));
    assert_eq!(balance_now(&report.clone().at(second)), None, "another charge of the moment may be missing");
    report.moments.edit(|moments| drop(moments.drain(..5)));
    (report.moments_rejected, report.whole_until) = (5, Some(DateTime::<Utc>::MIN_UTC));
    assert_eq!(known(&report), (None, None, None, None, None, 0));
    assert_eq!(is_used_up(&report), None, "what is left begins after the date");
    report.moments.edit(Vec::clear);
    report.moments_rejected = 90;
    assert_eq!((balance_now(&report), is_used_up(&report)), (None, None));
    assert_eq!(disconnect(&report), Disconnect::At { at, computed: false });
    report.edd = Edd::Null;
    assert_eq!(disconnect(&report), Disconnect::Unknown);
}

#[test]
fn a_later_date_that_is_computed_past_an_unreadable_charge_proves_nothing() {
    let mut report = report("25.50", "10.00", 90, Edd::Null);
    let seen = disconnect(&report);
    let at = seen.at().unwrap();
    // In hours from the computed date: all charges are read until then, the known date.
    let table = [
        (None, Some(-24), seen),
        (Some(0), Some(-24), seen),
        (Some(-24), Some(-24), Disconnect::Unknown),
        (Some(-24), Some(0), seen),
        (Some(-24), Some(24), seen),
        (Some(-24), None, seen),
    ];
    for (until, known, want) in table {
        let moment = |hours: Option<i64>| hours.map(|hours| at + Duration::hours(hours));
        report.whole_until = moment(until);
        assert_eq!(disconnect_after(&report, moment(known), false), want, "{until:?} {known:?}");
    }
}

#[test]
fn reports_that_do_not_add_up_are_noticed() {
    let mut report = report("100", "10", 5, Edd::Null);
    report.moments.edit(|moments| moments[2].balance = money("70.00000000000001"));
    assert_eq!(does_not_add_up(&report), None);
    report.moments.edit(|moments| moments[2].balance = money("1"));
    assert_eq!(does_not_add_up(&report), report.moments.get(2).map(|moment| moment.at));
    report.edd = Edd::At(t("2026-03-09T11:00:00"));
    report.moments.edit(|moments| moments[4].balance = money("-1"));
    assert_eq!(date_by_charges(&report), Some(t("2026-03-06T11:00:00")));
}

#[test]
fn charges_use_up_no_balance_that_is_used_up_already() {
    let used_up = report("-5", "10", 5, Edd::At(t("2026-03-09T11:00:00")));
    assert!(used_up.moments.first_unpaid().is_some());
    assert_eq!((used_up_at(&used_up), date_by_charges(&used_up)), (None, None));
}

#[test]
fn a_charge_that_is_made_within_an_hour_of_its_time_is_no_payment() {
    let before = report("100", "10", 30, Edd::At(t("2026-03-03T11:00:00")));
    let due = t("2026-03-02T11:00:00");
    // (minutes after the charge, days by which the cut-off moves, the highest balance that was foreseen)
    for (minutes, days, want) in [(-60, 0, "100"), (10, 0, "100"), (61, 0, "90"), (10, 1, "90")] {
        let later =
            Report { edd: Edd::At(t("2026-03-03T11:00:00") + Duration::days(days)), ..before.clone() };
        let at = due + Duration::minutes(minutes);
        assert_eq!(highest_foreseen(&before, &later, at), Some(money(want)), "{minutes} min, {days} d");
    }
    let clear = report("5000", "10", 30, Edd::Null);
    assert_eq!(highest_foreseen(&before, &clear, due + Duration::minutes(10)), Some(money("90")));
    let end = highest_foreseen(&before, &before, t("2027-01-01"));
    assert_eq!(end, Some(money("-200")), "of any age");
}
