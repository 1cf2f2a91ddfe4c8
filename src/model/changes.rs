//! What changed from one expected-balance report to the next, as far as it moves the disconnect date:
//! orders new, gone or repriced, a payment, a charge that nobody foresaw. Pure and exact.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Duration, Utc};

use super::billing::Report;
use super::forecast::{self, Disconnect};
use super::ids::OrderId;
use super::money::Money;

/// One difference.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Change {
    /// The balance is this much above what was foreseen.
    Paid(Money),
    /// The balance is this much below what was foreseen.
    Charged(Money),
    /// An order that was not charged before, and what it costs a day.
    New { order: OrderId, per_day: Money },
    /// An order that is no longer charged, and what it cost a day.
    Gone { order: OrderId, per_day: Money },
    /// The next charge of an order, before and now.
    Repriced { order: OrderId, from: Money, to: Money },
    /// When the account is cut off, before and now.
    Moved { from: Disconnect, to: Disconnect },
}

/// A charge may come this much earlier or later than foreseen without being a surprise.
const TOLERANCE_HOURS: i64 = 24;

/// What changed from `previous` to `report`, which was read at `at`: the move of the date first, then
/// what may have moved it, the dearest order first.
pub(crate) fn changes(previous: &Report, report: &Report, at: DateTime<Utc>) -> Vec<Change> {
    let mut found = Vec::new();
    let (from, to) = (forecast::disconnect(previous), forecast::disconnect(report));
    if from != to {
        found.push(Change::Moved { from, to });
    }
    found.extend(balance(previous, report, at));
    found.extend(orders(previous, report, at));
    found
}

/// The balance against what was foreseen for this moment.
fn balance(previous: &Report, report: &Report, at: DateTime<Utc>) -> Option<Change> {
    let now = forecast::balance_now(report)?;
    let foreseen = forecast::foreseen_balance(previous, at)?;
    let tolerance = Duration::hours(TOLERANCE_HOURS);
    let around = |at| forecast::foreseen_balance(previous, at).unwrap_or(foreseen);
    let (before, after) = (around(at - tolerance), around(at + tolerance));
    if now > foreseen.max(before).max(after) {
        Some(Change::Paid(now - foreseen))
    } else if now < foreseen.min(before).min(after) {
        Some(Change::Charged(foreseen - now))
    } else {
        None
    }
}

fn orders(previous: &Report, report: &Report, at: DateTime<Utc>) -> Vec<Change> {
    if previous.orders.is_empty() && !forecast::is_bare(previous) {
        // From before the start; kept without its orders.
        return Vec::new();
    }
    let (before, after) = (per_day(previous, at), per_day(report, at));
    let new = after.iter().filter(|(order, _)| !before.contains_key(order));
    let new = new.map(|(&order, &per_day)| (per_day, Change::New { order, per_day }));
    let gone = before.iter().filter(|(order, _)| !after.contains_key(order));
    let gone = gone.map(|(&order, &per_day)| (per_day, Change::Gone { order, per_day }));
    let mut found: Vec<(Money, Change)> = new.chain(gone).collect();
    let (next_before, next_after) = (next_charges(previous, at), next_charges(report, at));
    for (&order, &(when, to)) in &next_after {
        // Two charges of different days are no two prices of one.
        let same = next_before.get(&order).filter(|(then, _)| (when - *then).abs() < Duration::days(1));
        if let Some(&(_, from)) = same
            && from != to
        {
            found.push((after.get(&order).copied().unwrap_or(to), Change::Repriced { order, from, to }));
        }
    }
    found.sort_by_key(|found| std::cmp::Reverse(found.0));
    found.into_iter().map(|(_, change)| change).collect()
}

/// Orders with charges to come, and what each costs a day.
fn per_day(report: &Report, at: DateTime<Utc>) -> BTreeMap<OrderId, Money> {
    let ahead: BTreeSet<u32> =
        report.moments.iter().filter(|moment| moment.at > at).filter_map(|moment| moment.order).collect();
    let costs = forecast::order_costs(report, at).into_iter();
    costs.filter(|cost| ahead.contains(&cost.index)).map(|cost| (cost.order, cost.per_day)).collect()
}

/// The first charge after `at` of each order.
fn next_charges(report: &Report, at: DateTime<Utc>) -> BTreeMap<OrderId, (DateTime<Utc>, Money)> {
    let mut next = BTreeMap::new();
    for moment in report.moments.iter().filter(|moment| moment.at > at) {
        if let Some(order) = report.order_of(&moment) {
            next.entry(order.id).or_insert((moment.at, moment.amount));
        }
    }
    next
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Edd;
    use crate::model::forecast::tests::{money, report, t};

    /// The day after the first report, when its first charge has been taken.
    fn later() -> DateTime<Utc> {
        t("2026-03-02T12:00:00")
    }

    /// The same report a day later: its first charge is history.
    fn a_day_on(mut report: Report) -> Report {
        report.moments = report.moments.iter_from(1).collect();
        report
    }

    fn shifted(mut report: Report, by: &str) -> Report {
        report.moments.edit(|moments| {
            for moment in moments {
                moment.balance += money(by);
                moment.positive = Some(moment.balance.is_positive());
            }
        });
        report
    }

    #[test]
    fn a_day_that_went_as_foreseen_changes_nothing() {
        let first = report("250", "10", 90, Edd::Null);
        assert_eq!(changes(&first, &first, t("2026-03-01T12:00:00")), []);
        assert_eq!(changes(&first, &a_day_on(first.clone()), later()), []);
        // The charge that was due has not been taken yet.
        assert_eq!(changes(&first, &first, later()), []);
    }

    #[test]
    fn a_payment_and_an_unforeseen_charge_are_told_by_their_amount() {
        let first = report("250", "10", 90, Edd::Null);
        let at = |day: &str| Disconnect::At { at: t(day), computed: true };
        let paid = changes(&first, &a_day_on(shifted(first.clone(), "100")), later());
        let from = at("2026-03-26T11:00:00");
        let want = [Change::Moved { from, to: at("2026-04-05T11:00:00") }, Change::Paid(money("100"))];
        assert_eq!(paid, want);
        let charged = changes(&first, &a_day_on(shifted(first.clone(), "-100")), later());
        let want = [Change::Moved { from, to: at("2026-03-16T11:00:00") }, Change::Charged(money("100"))];
        assert_eq!(charged, want);
    }

    #[test]
    fn orders_new_gone_and_repriced() {
        let first = report("5000", "10", 90, Edd::Null);
        let mut second = first.clone();
        second.moments.edit(|moments| {
            for moment in moments.iter_mut().filter(|moment| moment.order == Some(0)) {
                moment.amount = money("12");
            }
        });
        let now = t("2026-03-01T12:00:00");
        assert!(changes(&first, &second, now).contains(&Change::Repriced {
            order: OrderId::new(1),
            from: money("10"),
            to: money("12"),
        }));
        let mut third = first.clone();
        third.moments.edit(|moments| moments.retain(|moment| moment.order == Some(0)));
        let gone = changes(&first, &third, now);
        assert_eq!(gone, [Change::Gone { order: OrderId::new(2), per_day: money("5") }]);
        let new = changes(&third, &first, now);
        assert_eq!(new, [Change::New { order: OrderId::new(2), per_day: money("5") }]);
    }

    #[test]
    fn a_charge_may_come_a_day_early() {
        let first = report("250", "10", 90, Edd::Null);
        assert_eq!(changes(&first, &a_day_on(first.clone()), t("2026-03-01T15:00:00")), []);
    }

    #[test]
    fn a_charge_that_falls_on_this_very_moment_is_history() {
        let now = t("2026-03-02T11:00:00");
        let last = report("5000", "10", 2, Edd::Null);
        assert_eq!(changes(&last, &a_day_on(last.clone()), now), [], "the first order had no other charge");
        let first = report("5000", "10", 90, Edd::Null);
        let mut second = first.clone();
        second.moments.edit(|moments| moments[0].amount = money("12"));
        let repriced = |found: &Change| matches!(found, Change::Repriced { .. });
        assert!(!changes(&first, &second, now).iter().any(repriced));
    }

    #[test]
    fn charges_of_different_days_are_no_two_prices() {
        let first = report("5000", "10", 90, Edd::Null);
        for (hours, want) in [(23, true), (24, false), (-24, false)] {
            let mut second = first.clone();
            second.moments.edit(|moments| {
                for moment in moments {
                    moment.at += Duration::hours(hours);
                    moment.amount = money("12");
                }
            });
            let found = changes(&first, &second, t("2026-03-01T10:00:00"));
            let repriced = found.iter().any(|found| matches!(found, Change::Repriced { .. }));
            assert_eq!(repriced, want, "{hours} hours later");
        }
    }
}
