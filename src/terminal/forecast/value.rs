//! A forecast as a value: what is shown, and what `--json` prints (docs/api.md). Pure.

use std::sync::Arc;

use chrono::{DateTime, Duration, NaiveDate, Utc};
use chrono_tz::Tz;
use rust_decimal::Decimal;
use serde::Serialize;

use crate::model::forecast::{self, Disconnect, SPANS_DAYS};
use crate::model::{Money, PayBy, Profile, Report};
use crate::terminal::Answer;

/// The dearest orders that are listed.
const TOP_ORDERS: usize = 20;

/// The forecasts of accounts, the most urgent first.
#[derive(Clone, Debug, Serialize)]
pub struct Forecasts {
    pub generated_at: DateTime<Utc>,
    pub answer: Answer,
    pub accounts: Vec<AccountForecast>,
}

/// The forecast of one account.
#[derive(Clone, Debug, Serialize)]
pub struct AccountForecast {
    pub account: String,
    pub currency: String,
    #[serde(rename = "time_zone", serialize_with = "super::zone_name")]
    pub zone: Tz,
    pub answer: Answer,
    /// `Err` says why nothing is known.
    #[serde(flatten, serialize_with = "billing_or_error")]
    pub billing: Result<Billing, String>,
}

/// What an expected-balance report says. Amounts are exact decimals as text.
#[derive(Clone, Debug, Serialize)]
pub struct Billing {
    pub balance: Option<Money>,
    pub expected_balance: Option<Money>,
    pub horizon: Option<DateTime<Utc>>,
    #[serde(flatten, serialize_with = "basis")]
    pub basis: Basis,
    /// Where the report's own date and its charges differ by more than a day: the one by its charges.
    #[serde(rename = "disconnect_by_charges")]
    pub disagrees: Option<DateTime<Utc>>,
    /// The first moment whose balance is not the one before less its amount.
    pub does_not_add_up: Option<DateTime<Utc>>,
    pub moments_rejected: u64,
    pub pay: Vec<Pay>,
    pub next_charge: Option<NextCharge>,
    pub per_day: Option<Money>,
    pub per_month: Option<Money>,
    /// The dearest, at most 20 of them.
    pub orders: Vec<OrderRow>,
    pub orders_with_charges: usize,
    /// What it was made from, for the chart.
    #[serde(skip)]
    pub report: Arc<Report>,
}

/// When the account is cut off, and what that is judged by.
#[derive(Clone, Copy, Debug)]
pub struct Basis {
    pub disconnect: Disconnect,
    pub pay_by: Option<PayBy>,
    /// How long a payment takes to arrive.
    pub lead_days: u32,
    /// The first rung of the ladder.
    pub top_rung_days: u32,
}

/// What keeps the account up for so many days; 0 where it is paid for already.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Pay {
    pub days: u32,
    /// Then, if nobody pays.
    pub balance: Option<Money>,
    pub amount: Option<Money>,
}

/// The next charge, with all that falls on the same moment.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct NextCharge {
    pub at: DateTime<Utc>,
    pub amount: Money,
}

/// One order and what it costs.
#[derive(Clone, Debug, Serialize)]
pub struct OrderRow {
    pub id: u64,
    pub comment: Option<String>,
    pub tariff: Option<String>,
    pub state: String,
    pub per_day: Money,
    pub per_month: Money,
    /// Of all charges within the report's span.
    pub share_percent: String,
    /// By how many days the disconnect moves back without it; `None` where none is expected, or it
    /// would go past the report's end.
    pub buys_days: Option<i64>,
}

impl Forecasts {
    /// Puts accounts in the order of urgency.
    pub fn new(mut accounts: Vec<AccountForecast>, now: DateTime<Utc>) -> Self {
        accounts.sort_by_cached_key(|account| {
            let at = account.billing.as_ref().ok().and_then(|billing| match billing.basis.disconnect {
                Disconnect::At { at, .. } => Some(at),
                Disconnect::Now => Some(DateTime::<Utc>::MIN_UTC),
                Disconnect::NotExpected | Disconnect::Unknown => None,
            });
            (
                account.answer != Answer::NeedsYou,
                account.answer != Answer::Unknown,
                at.is_none(),
                at,
                account.account.clone(),
            )
        });
        let answers = accounts.iter().map(|account| account.answer);
        Self { generated_at: now, answer: Answer::of_all(answers), accounts }
    }
}

impl AccountForecast {
    /// Of a report that was just read, or why none could be.
    pub fn new(
        profile: &Profile,
        report: Result<Arc<Report>, String>,
        top_rung_days: u32,
        now: DateTime<Utc>,
    ) -> Self {
        let billing =
            report.map(|report| Billing::new(report, profile.zone(), profile.lead_days, top_rung_days, now));
        let answer = match &billing {
            Ok(billing) if billing.basis.is_near(now) => Answer::NeedsYou,
            Ok(billing) if billing.basis.disconnect != Disconnect::Unknown => Answer::Fine,
            Ok(_) | Err(_) => Answer::Unknown,
        };
        Self {
            account: profile.name.to_string(),
            currency: profile.currency.clone(),
            zone: profile.zone(),
            answer,
            billing,
        }
    }
}

impl Billing {
    fn new(report: Arc<Report>, zone: Tz, lead_days: u32, top_rung_days: u32, now: DateTime<Utc>) -> Self {
        let disconnect = forecast::disconnect(&report);
        let pay_by = PayBy::of(disconnect, lead_days, zone, now);
        let far = forecast::edd_disagreement(&report).is_some_and(|by| by > Duration::days(1));
        let costs = forecast::order_costs(&report, now);
        let per_day = forecast::cost_per_day(&report, now);
        let cut_off = match disconnect {
            Disconnect::At { at, .. } => Some(at),
            Disconnect::Now | Disconnect::NotExpected | Disconnect::Unknown => None,
        };
        let charged = costs.iter().filter(|cost| cost.charges != Money::ZERO);
        let orders_with_charges = charged.clone().count();
        let orders = charged.take(TOP_ORDERS).filter_map(|cost| {
            let order = report.orders.get(cost.index as usize)?;
            let tariff = order.tariff.as_ref();
            let tariff = tariff.and_then(|tariff| tariff.name.as_deref().or(tariff.short_name.as_deref()));
            Some(OrderRow {
                id: order.id.get(),
                comment: order.comment.as_deref().map(Into::into),
                tariff: tariff.map(Into::into),
                state: order.state.to_string(),
                per_day: cost.per_day.rounded(),
                per_month: cost.per_month.rounded(),
                share_percent: format!("{:.1}", cost.share * Decimal::ONE_HUNDRED),
                buys_days: cut_off
                    .and_then(|at| forecast::days_bought(&report, cost.index, at))
                    .map(|days| days.max(0)),
            })
        });
        let orders: Vec<OrderRow> = orders.collect();
        Self {
            balance: forecast::balance_now(&report),
            expected_balance: report.expected_balance,
            horizon: report.date,
            basis: Basis { disconnect, pay_by, lead_days, top_rung_days },
            disagrees: if far { forecast::first_unpaid(&report) } else { None },
            does_not_add_up: forecast::does_not_add_up(&report),
            moments_rejected: report.moments_rejected,
            pay: SPANS_DAYS
                .map(|days| Pay {
                    days,
                    balance: forecast::balance_in(&report, now, days),
                    amount: forecast::top_up_required(&report, now, days),
                })
                .into(),
            next_charge: forecast::next_charge(&report, now)
                .map(|next| NextCharge { at: next.at, amount: next.amount }),
            per_day: per_day.map(Money::rounded),
            per_month: per_day.map(|day| day.times(Decimal::from(30)).rounded()),
            orders,
            orders_with_charges,
            report,
        }
    }
}

/// `error` is null beside what is known; without a report everything but `error` is missing.
fn billing_or_error<S: serde::Serializer>(
    billing: &Result<Billing, String>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Shown<'a> {
        error: Option<&'a str>,
        billing: Option<&'a Billing>,
    }
    let error = billing.as_ref().err().map(String::as_str);
    Shown { error, billing: billing.as_ref().ok() }.serialize(serializer)
}

fn basis<S: serde::Serializer>(basis: &Basis, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Shown {
        disconnect: &'static str,
        disconnect_at: Option<DateTime<Utc>>,
        disconnect_computed: bool,
        pay_by: Option<NaiveDate>,
        pay_at_once: bool,
        lead_days: u32,
    }
    let (disconnect, disconnect_at, disconnect_computed) = match basis.disconnect {
        Disconnect::At { at, computed } => ("at", Some(at), computed),
        Disconnect::Now => ("now", None, false),
        Disconnect::NotExpected => ("not_expected", None, false),
        Disconnect::Unknown => ("unknown", None, false),
    };
    Shown {
        disconnect,
        disconnect_at,
        disconnect_computed,
        pay_by: basis.pay_by.and_then(PayBy::date),
        pay_at_once: basis.pay_by.is_some_and(PayBy::is_at_once),
        lead_days: basis.lead_days,
    }
    .serialize(serializer)
}
