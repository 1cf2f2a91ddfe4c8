//! Billing (interface 2.8, 2.9) as metrics. The model does the arithmetic; days count from now.

use chrono::{DateTime, Utc};

use super::family::{Family, facts};
use super::given::Given;
use super::states;
use super::text::{Label, Lines, Value};
use crate::model::forecast::{self, Disconnect, OrderCost, SPANS_DAYS};
use crate::model::{Collector, Money, OrderState, Report};

pub(super) const FAMILIES: &[Family] = facts! {
    Of(ExpectedBalance) "hosting_billing_balance" [] "Balance now, in the account's currency."
        => |given, lines| one(given, lines, forecast::balance_now);
    Of(ExpectedBalance) "hosting_billing_expected_balance" []
        "Balance expected at the end of the report, in the account's currency."
        => |given, lines| one(given, lines, |report| report.expected_balance);
    Of(ExpectedBalance) "hosting_billing_horizon_timestamp_seconds" []
        "End of the expected-balance report, in seconds since the Unix epoch."
        => |given, lines| one(given, lines, |report| report.date);
    Disconnect "hosting_billing_disconnect_expected" []
        "Whether the account is or will be cut off for non-payment before the end of the report (0 or 1), \
         absent where the report does not tell."
        => |given, lines| {
            let known = last_disconnect(given).filter(|known| *known != Disconnect::Unknown);
            lines.maybe(&[], known.map(Disconnect::is_cut_off));
        };
    Disconnect "hosting_billing_disconnect_timestamp_seconds" []
        "When the account is expected to be cut off for non-payment, in seconds since the Unix epoch, \
         absent when none is expected."
        => |given, lines| lines.maybe(&[], last_disconnect(given).and_then(Disconnect::at));
    Disconnect "hosting_billing_disconnect_computed_timestamp_seconds" []
        "When the charges will use the balance up, in seconds since the Unix epoch, absent when they will \
         not or have already; the report's own date may differ."
        => |given, lines| {
            let report = given.state.billing.report.as_deref();
            lines.maybe(&[], report.and_then(forecast::used_up_at));
        };
    Of(ExpectedBalance) "hosting_billing_forecast_balance" ["days"]
        "Balance after the last charge within so many days, in the account's currency."
        => |given, lines| by_days(given, lines, forecast::balance_in);
    Of(ExpectedBalance) "hosting_billing_top_up_required" ["days"]
        "Least payment that keeps the balance above 0 through every charge within so many days, in the \
         account's currency."
        => |given, lines| by_days(given, lines, forecast::top_up_required);
    Of(ExpectedBalance) "hosting_billing_next_charge_timestamp_seconds" []
        "When the next charge is due, in seconds since the Unix epoch."
        => |given, lines| one(given, lines, |report| Some(forecast::next_charge(report, given.now)?.at));
    Of(ExpectedBalance) "hosting_billing_next_charge_amount" []
        "All that is charged at the moment of the next charge, in the account's currency."
        => |given, lines| one(given, lines, |report| Some(forecast::next_charge(report, given.now)?.amount));
    Of(ExpectedBalance) "hosting_billing_order_info" ["order", "comment", "tariff", "generic_type", "state"]
        "Descriptions of the billing order with this id, always 1."
        => order_info;
    Of(ExpectedBalance) "hosting_billing_order_charges_amount" ["order"]
        "Sum of the order's charges up to the end of the report, in the account's currency."
        => |given, lines| by_order(given, lines, |cost| cost.charges);
    Of(ExpectedBalance) "hosting_billing_order_cost_per_day" ["order"]
        "Cost of the order a day, on the average up to the end of the report, in the account's currency."
        => |given, lines| by_order(given, lines, |cost| cost.per_day);
    Of(ExpectedBalance) "hosting_billing_orders" ["state"] "Billing orders with charges ahead, by state." => orders;
    Of(Charges) "hosting_billing_charged_amount" []
        "Sum of what was charged in the last 30 days, in the account's currency."
        => |given, lines| lines.maybe(&[], charged(given));
};

/// The report and its time, unless it is stale.
fn report<'a>(given: &Given<'a>) -> Option<(&'a Report, DateTime<Utc>)> {
    let billing = &given.state.billing;
    let read_at = billing.read_at.filter(|&at| given.is_fresh(Collector::ExpectedBalance, Some(at)))?;
    Some((billing.report.as_deref()?, read_at))
}

/// One value of the report, if it has the value.
fn one<V: Value>(given: &Given<'_>, lines: &mut Lines<'_>, value: impl Fn(&Report) -> Option<V>) {
    lines.maybe(&[], report(given).and_then(|(report, _)| value(report)));
}

fn by_days(
    given: &Given<'_>,
    lines: &mut Lines<'_>,
    value: impl Fn(&Report, DateTime<Utc>, u32) -> Option<Money>,
) {
    let Some((report, _)) = report(given) else { return };
    for days in SPANS_DAYS {
        lines.maybe(&[Label::Id(days.into())], value(report, given.now, days));
    }
}

/// Whether and when the account is cut off. A cut-off stands until a report takes it back, also through a restart. That none is
/// ahead is known by a fresh report alone.
fn last_disconnect(given: &Given<'_>) -> Option<Disconnect> {
    let known = given.state.billing.disconnect()?;
    (known.is_cut_off() || report(given).is_some()).then_some(known)
}

fn order_info(given: &Given<'_>, lines: &mut Lines<'_>) {
    let Some((report, _)) = report(given) else { return };
    lines.info(&report.orders, |order| {
        let tariff = order.tariff.as_ref();
        [
            Label::Id(order.id.get()),
            Label::maybe(order.comment.as_deref()),
            Label::maybe(order.tariff_name()),
            Label::maybe(tariff.and_then(|tariff| tariff.generic_type.as_deref())),
            Label::Text(order.state.as_str()),
        ]
    });
}

/// An amount of each order.
fn by_order(given: &Given<'_>, lines: &mut Lines<'_>, amount: impl Fn(&OrderCost) -> Money) {
    let Some((report, from)) = report(given) else { return };
    for cost in forecast::order_costs(report, from) {
        lines.put(&[Label::Id(cost.order.get())], amount(&cost));
    }
}

fn orders(given: &Given<'_>, lines: &mut Lines<'_>) {
    // If charges may be missing, an order without any may have some.
    let Some((report, from)) = report(given).filter(|(report, _)| report.whole_until.is_none()) else {
        return;
    };
    let costs = forecast::order_costs(report, from).into_iter().filter(|cost| cost.charges.is_positive());
    let ahead = costs.filter_map(|cost| report.orders.get(cost.index as usize));
    states::count(lines, OrderState::known_names(), ahead.map(|order| order.state.as_str()));
}

/// The sum of the last charges, unless it is stale.
fn charged(given: &Given<'_>) -> Option<Money> {
    let charges = given.state.charges;
    charges.amount.filter(|_| given.is_fresh(Collector::Charges, charges.read_at))
}
