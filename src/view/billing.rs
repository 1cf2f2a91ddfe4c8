//! Facts of billing, made once for page, JSON, terminal and mails: the balance, the cut-off, the day to pay by,
//! and the dearest orders. Pure, without layout.

use chrono::{DateTime, NaiveDate, Utc};
use chrono_tz::Tz;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

use super::chart::Chart;
use super::health;
use super::incidents::{self, IncidentRow};
use super::payer::Payer;
use super::reader::Reader;
use crate::model::forecast::{self, Disconnect, NextCharge, SPANS_DAYS};
use crate::model::{AccountState, Collector, Language, Money, OrderId, PayBy, Report, sanitize, say};

/// The number of orders that are listed.
const TOP_ORDERS: usize = 20;
/// The span whose amount a sentence names.
const SUBJECT_DAYS: u32 = 30;
/// The number of characters of a report's error that are shown.
pub(crate) const LONGEST_ERROR: usize = 200;

/// The contents of an expected-balance report. Amounts are exact decimals as text.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Billing {
    pub read_at: DateTime<Utc>,
    /// The reason why the report may not hold any more: no newer one could be read, or one contradicts it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    pub balance: Option<Money>,
    pub expected_balance: Option<Money>,
    pub horizon: Option<DateTime<Utc>>,
    #[serde(flatten)]
    pub disconnect: Disconnect,
    /// The last day, in the account's zone, on which a payment still arrives in time.
    pub pay_by: Option<NaiveDate>,
    /// That day is over, or there never was one.
    pub pay_at_once: bool,
    /// The time at which the data of a cut-off account are deleted, if it is known.
    pub data_deleted_at: Option<DateTime<Utc>>,
    /// The number of days that a payment takes to arrive.
    #[serde(default)]
    pub lead_days: u32,
    /// The date by the charges, if the report's own date differs by more than a day.
    pub disconnect_by_charges: Option<DateTime<Utc>>,
    /// The first moment whose balance is not the balance before it less its amount.
    pub does_not_add_up: Option<DateTime<Utc>>,
    #[serde(default)]
    pub moments_rejected: u64,
    pub pay: Vec<Due>,
    pub next_charge: Option<NextCharge>,
    pub per_day: Option<Money>,
    pub per_month: Option<Money>,
    #[serde(flatten)]
    pub orders: Orders,
    #[serde(skip)]
    pub(crate) chart: Option<Chart>,
}

/// The amount that keeps the account running for a number of days; 0 if that is paid for already.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Due {
    pub days: u32,
    /// The balance at the end of that time if nobody pays.
    pub balance: Option<Money>,
    pub amount: Option<Money>,
}

/// The amount that a sentence names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ToPay {
    /// An amount for a number of days.
    Amount(Money, u32),
    /// Nothing for the number of days that a sentence speaks of, but an amount for the first longer span.
    Later {
        free: u32,
        amount: Money,
        days: u32,
    },
    /// The report shows nothing to pay yet.
    Nothing,
    NotKnown,
}

/// The cost of the orders with charges ahead.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Orders {
    /// The dearest orders, at most 20.
    #[serde(rename = "orders")]
    pub dearest: Vec<OrderRow>,
    pub orders_with_charges: usize,
}

/// One order and its cost.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct OrderRow {
    pub id: u64,
    pub comment: Option<String>,
    pub tariff: Option<String>,
    pub state: String,
    pub per_day: Money,
}

impl Billing {
    /// The contents of a report that was read at this time. `incident` is the open one of the cut-off.
    pub(crate) fn new(
        report: &Report,
        read_at: DateTime<Utc>,
        incident: Option<&IncidentRow>,
        payer: &Payer<'_>,
    ) -> Self {
        let (reported, mailed) = (forecast::disconnect(report), incident.and_then(|row| row.cut_off));
        // The cut-off that was mailed holds until the reports of an hour or a payment move it. A report that proves
        // that none is ahead shows a payment at once.
        let is_clear = reported == Disconnect::NotExpected;
        let disconnect = mailed.filter(|_| !is_clear).unwrap_or(reported);
        let by = payer.by(disconnect);
        let per_day = forecast::cost_per_day(report, read_at);
        Self {
            read_at,
            error: None,
            balance: forecast::balance_now(report),
            expected_balance: report.expected_balance,
            horizon: report.date,
            disconnect,
            pay_by: by.and_then(PayBy::date),
            pay_at_once: by.is_some_and(PayBy::is_at_once),
            data_deleted_at: incident.and_then(|row| row.deleted_at),
            lead_days: payer.lead_days,
            disconnect_by_charges: forecast::date_by_charges(report),
            does_not_add_up: forecast::does_not_add_up(report),
            moments_rejected: report.moments_rejected,
            pay: Due::of(report, payer.reader.now).into(),
            next_charge: forecast::next_charge(report, payer.reader.now),
            per_day: per_day.map(Money::rounded),
            per_month: per_day.map(|day| day.times(Decimal::from(30)).rounded()),
            orders: Orders::of(report, read_at),
            chart: Chart::new(report, read_at, disconnect.at(), payer.reader.now),
        }
    }

    /// The last known report of an account; `None` if none was ever read.
    pub(super) fn of(state: &AccountState, incidents: &[&IncidentRow], reader: Reader) -> Option<Self> {
        let (report, read_at) = state.billing.last_known()?;
        let doubt =
            state.billing.unconfirmed().and_then(|_| match (state.billing.dateless, state.billing.error()) {
                (Some(dateless), _) => Some(dateless.doubt.to_string()),
                (None, error) => error.map(|error| sanitize::one_line(error, 200)),
            });
        let unread = health::not_read(state, Collector::ExpectedBalance, reader.of(Some(state)));
        let incident = incidents::disconnect_of(&state.profile.name, incidents.iter().copied());
        let known = Self::new(report, read_at, incident, &Payer::of(state, reader));
        Some(Self { error: unread.or(doubt), ..known })
    }

    /// Whether a payment that is made today may come too late, or nothing is left.
    pub(crate) fn is_near(&self, zone: Tz, now: DateTime<Utc>) -> bool {
        let is_used_up = self.balance.is_some_and(|balance| !balance.is_positive());
        self.disconnect.is_near(is_used_up, self.lead_days, zone, now)
    }

    /// The day to pay by, as of now.
    pub(crate) fn by(&self, reader: Reader) -> Option<PayBy> {
        PayBy::of(self.disconnect, self.lead_days, reader.zone, reader.now)
    }

    /// The amount that keeps the account running for a number of days.
    pub(crate) fn to_pay(&self, days: u32) -> Option<Money> {
        self.pay.iter().find(|pay| pay.days == days)?.amount
    }
}

impl Due {
    /// The amounts for all spans from `now` on. Charges that fell due since the report count as made.
    pub(crate) fn of(report: &Report, now: DateTime<Utc>) -> [Self; 3] {
        SPANS_DAYS.map(|days| Self {
            days,
            balance: forecast::balance_in(report, now, days),
            amount: forecast::top_up_required(report, now, days),
        })
    }

    /// The amount for a month.
    pub(crate) fn month(report: &Report, now: DateTime<Utc>) -> Self {
        let [_, month, _] = Self::of(report, now);
        month
    }

    /// The first span that has an amount to pay, with the amount.
    pub(crate) fn first(spans: &[Self]) -> Option<(u32, Money)> {
        spans.iter().find_map(|due| Some((due.days, due.amount.filter(|amount| amount.is_positive())?)))
    }
}

/// The reason why amounts of a report are not known, if it is another one than the report's end.
pub(crate) fn unknown_amounts(report: &Report, language: Language) -> Option<String> {
    if let Some(error) = &report.error {
        let error = sanitize::one_line(error, LONGEST_ERROR);
        return Some(say!(language, "the report carries an error: {error}", "в отчёте ошибка: {error}"));
    }
    let unread = language
        .pick("not all charges in the report can be read", "не все начисления в отчёте удалось прочитать");
    report.whole_until.map(|_| unread.to_owned())
}

impl ToPay {
    /// The amount for thirty days, or for as many as the report covers.
    pub(crate) fn of(report: Option<&Report>, now: DateTime<Utc>) -> Self {
        let Some(report) = report else { return Self::NotKnown };
        let spans = Due::of(report, now);
        let mut up_to_month = spans.iter().rev().filter(|due| due.days <= SUBJECT_DAYS);
        let month = up_to_month.find_map(|due| Some((due.days, due.amount?)));
        match (month, Due::first(&spans)) {
            (Some((days, amount)), _) if amount.is_positive() => Self::Amount(amount, days),
            (Some((free, _)), Some((days, amount))) => Self::Later { free, amount, days },
            (Some(_), None) => Self::Nothing,
            (None, _) => Self::NotKnown,
        }
    }
}

impl Orders {
    pub(crate) fn of(report: &Report, from: DateTime<Utc>) -> Self {
        let mut costs = forecast::order_costs(report, from);
        costs.retain(|cost| cost.charges.is_positive());
        let rows = costs.iter().take(TOP_ORDERS).filter_map(|cost| {
            let order = report.orders.get(cost.index as usize)?;
            Some(OrderRow {
                id: order.id.get(),
                comment: order.comment.as_deref().map(Into::into),
                tariff: order.tariff_name().map(Into::into),
                state: order.state.to_string(),
                per_day: cost.per_day.rounded(),
            })
        });
        Self { dearest: rows.collect(), orders_with_charges: costs.len() }
    }
}

impl OrderRow {
    /// `shop, VPS-2 (order 71)`.
    pub(crate) fn words(&self, language: Language) -> String {
        order_words(self.comment.as_deref(), self.tariff.as_deref(), self.id, language)
    }
}

/// The name of an order of a report, or its number if the report lacks it.
pub(crate) fn order_of(report: &Report, id: OrderId, language: Language) -> String {
    let order = report.orders.iter().find(|order| order.id == id);
    order_words(
        order.and_then(|order| order.comment.as_deref()),
        order.and_then(|order| order.tariff_name()),
        id.get(),
        language,
    )
}

/// The customer's name for it, its tariff and its number, without repetitions.
fn order_words(comment: Option<&str>, tariff: Option<&str>, id: u64, language: Language) -> String {
    let number = say!(language, "order {id}", "заказ {id}");
    let mut names: Vec<String> = Vec::new();
    for text in [comment, tariff].into_iter().flatten() {
        let name = sanitize::one_line(text, 40);
        let is_number = |known: &str| name.eq_ignore_ascii_case(known);
        let says_number = is_number(&format!("order {id}")) || is_number(&number) || name == id.to_string();
        if !name.is_empty() && !says_number && !names.contains(&name) {
            names.push(name);
        }
    }
    if names.is_empty() { number } else { format!("{} ({number})", names.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::forecast::tests::{report, t};
    use crate::model::{Edd, Order};

    /// A report of 7 orders. The charges of the last order all come after the cut-off, and one order has no
    /// charges.
    fn several() -> Report {
        let mut report = report("95", "10", 90, Edd::At(t("2026-04-20T11:00:00")));
        let order = report.orders[0].clone();
        report.orders = (1..=8)
            .map(|id| std::sync::Arc::new(Order { id: OrderId::new(id), ..(*order).clone() }))
            .collect();
        let mut moments: Vec<_> = report.moments.iter().collect();
        for (place, moment) in (0_u32..).zip(&mut moments) {
            moment.order = Some(place % 7);
        }
        report.moments = moments.into_iter().collect();
        report
    }

    #[test]
    fn an_amount_that_is_not_known_has_a_reason() {
        let whole = report("95", "10", 90, Edd::Null);
        let unread = Report { whole_until: Some(t("2026-03-01")), moments_rejected: 1, ..whole.clone() };
        let erring = Report { error: Some("1 of 2 orders\ncould not be priced".into()), ..unread.clone() };
        for (report, en, ru) in [
            (&whole, None, None),
            (
                &unread,
                Some("not all charges in the report can be read"),
                Some("не все начисления в отчёте удалось прочитать"),
            ),
            (
                &erring,
                Some("the report carries an error: 1 of 2 orders could not be priced"),
                Some("в отчёте ошибка: 1 of 2 orders could not be priced"),
            ),
        ] {
            assert_eq!(unknown_amounts(report, Language::En).as_deref(), en);
            assert_eq!(unknown_amounts(report, Language::Ru).as_deref(), ru);
        }
    }

    #[test]
    fn orders_without_charges_are_left_out() {
        let orders = Orders::of(&several(), t("2026-03-01T12:00:00"));
        assert_eq!((orders.dearest.len(), orders.orders_with_charges), (7, 7));
    }

    #[test]
    fn an_order_is_named_once_by_all_that_is_known_of_it() {
        for (comment, tariff, want) in [
            (Some("shop"), Some("VPS-2"), "shop, VPS-2 (order 71)"),
            (Some("VPS-2"), Some("VPS-2"), "VPS-2 (order 71)"),
            (Some("order 71"), Some("VPS-2"), "VPS-2 (order 71)"),
            (Some("71"), None, "order 71"),
            (None, None, "order 71"),
        ] {
            assert_eq!(order_words(comment, tariff, 71, Language::En), want);
        }
    }
}
