//! The differences between two expected-balance reports that move the date of the cut-off: orders that are new,
//! gone or repriced, a payment, a charge that nobody foresaw. Pure and exact.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Duration, Utc};
use rust_decimal::Decimal;

use super::billing::{Order, Report};
use super::forecast::{self, Disconnect};
use super::ids::OrderId;
use super::money::Money;

/// One difference.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Change {
    /// The balance is this much above the forecast.
    Paid(Money),
    /// The balance is this much below the forecast.
    Charged(Money),
    /// An order that was not charged before, and its cost a day.
    New { order: OrderId, per_day: Money },
    /// An order that is no longer charged, and its former cost a day.
    Gone { order: OrderId, per_day: Money },
    /// The next charge of an order, before and now.
    Repriced { order: OrderId, from: Money, to: Money },
    /// The cut-off, before and now.
    Moved { from: Disconnect, to: Disconnect },
}

/// A charge this much earlier or later than foreseen is no surprise.
const TOLERANCE_HOURS: i64 = 24;

/// The differences from `previous` to `report`, which was read at `at`. The move of the date comes first, then
/// possible reasons for it, the dearest order first.
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

/// The balance compared with the forecast for this moment.
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

/// An order that costs more a day than in the report before, and both costs.
pub(crate) struct Dearer<'a> {
    pub order: &'a Order,
    pub from: Money,
    pub to: Money,
}

/// Orders that became dearer under the same tariff. The charges of the days that both reports cover are compared, so that a
/// charge that only the later report reaches does not look like a new price.
pub(crate) fn dearer<'a>(previous: &Report, report: &'a Report, at: DateTime<Utc>) -> Vec<Dearer<'a>> {
    let from = at + Duration::hours(TOLERANCE_HOURS);
    let Some(to) = forecast::end(previous).min(forecast::end(report)).filter(|to| *to > from) else {
        return Vec::new();
    };
    if previous.whole_until.is_some() || report.whole_until.is_some() {
        return Vec::new();
    }
    let days = Decimal::from(forecast::days_between(report, from, to));
    let (before, after) = (charged(previous, from, to), charged(report, from, to));
    let known: BTreeMap<OrderId, &Order> = previous.orders.iter().map(|order| (order.id, &**order)).collect();
    let costs = forecast::order_costs(report, at).into_iter();
    let found = costs.filter_map(|cost| {
        let order = report.orders.get(cost.index as usize)?;
        let is_same = known.get(&order.id)?.tariff_name() == order.tariff_name();
        let (before, after) = (*before.get(&order.id)?, *after.get(&order.id)?);
        let from = cost.per_day.times(before.decimal()).over(after.decimal())?.rounded();
        let is_found = is_same && is_risen(before, after, days);
        is_found.then_some(Dearer { order, from, to: cost.per_day.rounded() })
    });
    found.collect()
}

/// Whether a cost a day rose by more than 5 % and by more than one unit.
pub(crate) fn is_dearer(from: Money, to: Money) -> bool {
    is_risen(from, to, Decimal::ONE)
}

/// The same of the charges of so many days.
fn is_risen(from: Money, to: Money, days: Decimal) -> bool {
    let rise = to - from;
    rise > Money::new(days) && rise.times(Decimal::from(20)) > from
}

/// The charges of each order in a time.
fn charged(report: &Report, from: DateTime<Utc>, to: DateTime<Utc>) -> BTreeMap<OrderId, Money> {
    let mut sums = BTreeMap::new();
    for moment in report.moments.iter().filter(|moment| moment.at > from && moment.at <= to) {
        if let Some(order) = report.order_of(&moment) {
            *sums.entry(order.id).or_insert(Money::ZERO) += moment.amount;
        }
    }
    sums
}

fn orders(previous: &Report, report: &Report, at: DateTime<Utc>) -> Vec<Change> {
    // A report from before the start is kept without its orders.
    let is_kept = previous.orders.is_empty() && !forecast::is_bare(previous);
    if is_kept || previous.whole_until.is_some() || report.whole_until.is_some() {
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
        // Charges on different days are not two prices of one charge.
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

/// Orders with charges ahead, and the cost of each a day.
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

    /// A day after the first report, when its first charge was made.
    fn later() -> DateTime<Utc> {
        t("2026-03-02T12:00:00")
    }

    /// The same report a day later: its first charge is in the past.
    fn a_day_on(mut report: Report) -> Report {
        report.moments = report.moments.iter_from(1).collect();
        report
    }

    #[test]
    fn a_day_that_went_as_foreseen_changes_nothing() {
        let first = report("250", "10", 90, Edd::Null);
        assert_eq!(changes(&first, &first, t("2026-03-01T12:00:00")), []);
        assert_eq!(changes(&first, &a_day_on(first.clone()), later()), []);
        // The charge that was due has not been made yet.
        assert_eq!(changes(&first, &first, later()), []);
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
