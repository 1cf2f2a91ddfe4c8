//! Billing (interface 2.8, 2.9) as metrics. The arithmetic is the model's.

use chrono::{DateTime, Days, Utc};

use super::encoder::Sink;
use super::text::Label;
use super::{states, table};
use crate::model::forecast::{self, Disconnect, SPANS_DAYS};
use crate::model::freshness::is_fresh;
use crate::model::{AccountState, Collector, Money, OrderState, Report};

/// The balance now and to come, and what the orders cost; days count from when the report was read.
pub(super) fn balance(state: &AccountState, now: DateTime<Utc>, sink: &mut Sink<'_>) {
    let billing = &state.billing;
    let (Some(report), Some(read_at)) = (&billing.report, billing.read_at) else { return };
    if !is_fresh(&state.profile, Collector::ExpectedBalance, Some(read_at), now) {
        return;
    }
    sink.family(&table::BILLING_BALANCE, |lines| lines.maybe(&[], forecast::balance_now(report)));
    sink.family(&table::BILLING_EXPECTED_BALANCE, |lines| lines.maybe(&[], report.expected_balance));
    sink.family(&table::BILLING_HORIZON, |lines| lines.maybe(&[], report.date.map(|date| date.timestamp())));
    sink.family(&table::BILLING_FORECAST, |lines| {
        for days in SPANS_DAYS {
            let balance = forecast::balance_in(report, read_at, days);
            lines.maybe(&[Label::Id(days.into())], balance);
        }
    });
    sink.family(&table::BILLING_TOP_UP, |lines| {
        for days in SPANS_DAYS {
            let required = forecast::top_up_required(report, read_at, days);
            lines.maybe(&[Label::Id(days.into())], required);
        }
    });
    let next = forecast::next_charge(report, read_at);
    sink.family(&table::BILLING_NEXT_CHARGE, |lines| {
        lines.maybe(&[], next.map(|next| next.at.timestamp()));
    });
    sink.family(&table::BILLING_NEXT_CHARGE_AMOUNT, |lines| lines.maybe(&[], next.map(|next| next.amount)));
    orders(report, read_at, sink);
}

fn orders(report: &Report, from: DateTime<Utc>, sink: &mut Sink<'_>) {
    if report.moments.is_empty() && report.moments_rejected > 0 {
        // There are orders, and none is known.
        return;
    }
    sink.family(&table::BILLING_ORDER_INFO, |lines| {
        for order in &report.orders {
            let tariff = order.tariff.as_ref();
            let name = tariff.and_then(|tariff| tariff.name.as_deref().or(tariff.short_name.as_deref()));
            let labels = [
                Label::Id(order.id.get()),
                Label::maybe(order.comment.as_deref()),
                Label::maybe(name),
                Label::maybe(tariff.and_then(|tariff| tariff.generic_type.as_deref())),
                Label::Text(order.state.as_str()),
            ];
            lines.put(&labels, true);
        }
    });
    let mut sums = vec![Money::ZERO; report.orders.len()];
    let mut ahead = vec![false; report.orders.len()];
    for moment in report.moments.iter() {
        let Some(index) = moment.order.map(|index| index as usize).filter(|&index| index < sums.len()) else {
            continue;
        };
        sums[index] += moment.amount;
        ahead[index] |= moment.at >= from;
    }
    sink.family(&table::BILLING_ORDER_CHARGES, |lines| {
        for (order, sum) in report.orders.iter().zip(sums) {
            lines.put(&[Label::Id(order.id.get())], sum);
        }
    });
    sink.family(&table::BILLING_ORDERS, |lines| {
        let known = OrderState::KNOWN.iter().map(OrderState::as_str);
        let ahead = report.orders.iter().zip(ahead).filter(|(_, ahead)| *ahead);
        states::count(lines, known, ahead.map(|(order, _)| order.state.as_str()));
    });
}

/// Whether and when the account is cut off, from the last report that was read, however old.
pub(super) fn disconnect(state: &AccountState, sink: &mut Sink<'_>) {
    let Some(report) = &state.billing.report else { return };
    let (expected, at) = match forecast::disconnect(report) {
        Disconnect::At { at, .. } => (Some(true), Some(at)),
        Disconnect::Now => (Some(true), None),
        Disconnect::NotExpected => (Some(false), None),
        Disconnect::Unknown => (None, None),
    };
    sink.family(&table::BILLING_DISCONNECT_EXPECTED, |lines| lines.maybe(&[], expected));
    sink.family(&table::BILLING_DISCONNECT, |lines| lines.maybe(&[], at.map(|at| at.timestamp())));
    let computed = forecast::first_unpaid(report);
    sink.family(&table::BILLING_DISCONNECT_COMPUTED, |lines| {
        lines.maybe(&[], computed.map(|at| at.timestamp()));
    });
}

/// What was charged in the 30 days up to the day on which the charges were read, in the account's zone.
pub(super) fn charged(state: &AccountState, now: DateTime<Utc>, sink: &mut Sink<'_>) {
    let charges = &state.charges;
    let Some(read_at) = charges.read_at else { return };
    if !is_fresh(&state.profile, Collector::Charges, Some(read_at), now) {
        return;
    }
    let today = read_at.with_timezone(&state.profile.zone()).date_naive();
    let Some(before) = today.checked_sub_days(Days::new(30)) else { return };
    let recent =
        charges.rows.iter().filter(|charge| charge.event_date > before && charge.event_date <= today);
    let sum: Money = recent.map(|charge| charge.total).sum();
    sink.family(&table::BILLING_CHARGED, |lines| lines.put(&[], sum));
}
