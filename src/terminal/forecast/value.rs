//! A forecast as a value: what is shown, and what `--json` prints (docs/api.md). Pure.

use std::sync::Arc;

use chrono::{DateTime, Duration, Utc};
use chrono_tz::Tz;
use rust_decimal::Decimal;
use serde::Serialize;

use crate::model::forecast::{self, Disconnect, SPANS_DAYS};
use crate::model::{Money, Profile, Report};
use crate::terminal::Answer;
use crate::view::{Facts, Orders};

/// The forecasts of accounts, the most urgent first.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Forecasts {
    pub generated_at: DateTime<Utc>,
    pub answer: Answer,
    pub accounts: Vec<AccountForecast>,
}

/// The forecast of one account.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct AccountForecast {
    pub account: String,
    pub currency: String,
    #[serde(rename = "time_zone", serialize_with = "super::zone_name")]
    pub zone: Tz,
    pub answer: Answer,
    /// `Err` says why nothing is known.
    #[serde(flatten, serialize_with = "billing_or_error")]
    pub billing: Result<Outlook, String>,
}

/// What a report that was just read says. Amounts are exact decimals as text.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Outlook {
    #[serde(flatten)]
    pub facts: Facts,
    /// How long a payment takes to arrive.
    pub lead_days: u32,
    /// Where the report's own date and its charges differ by more than a day: the one by its charges.
    #[serde(rename = "disconnect_by_charges")]
    pub disagrees: Option<DateTime<Utc>>,
    /// The first moment whose balance is not the one before less its amount.
    pub does_not_add_up: Option<DateTime<Utc>>,
    pub moments_rejected: u64,
    pub pay: Vec<Span>,
    pub next_charge: Option<NextCharge>,
    pub per_day: Option<Money>,
    pub per_month: Option<Money>,
    #[serde(flatten)]
    pub orders: Orders,
    /// The first rung of the ladder.
    #[serde(skip)]
    pub top_rung_days: u32,
    /// What it was made from, for the chart.
    #[serde(skip)]
    pub report: Arc<Report>,
}

/// What keeps the account up for so many days; 0 where it is paid for already.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Span {
    pub days: u32,
    /// Then, if nobody pays.
    pub balance: Option<Money>,
    pub amount: Option<Money>,
}

/// The next charge, with all that falls on the same moment.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct NextCharge {
    pub at: DateTime<Utc>,
    pub amount: Money,
}

impl Forecasts {
    /// Puts accounts in the order of urgency.
    pub(crate) fn new(mut accounts: Vec<AccountForecast>, now: DateTime<Utc>) -> Self {
        accounts.sort_by_cached_key(|account| {
            let at = account.billing.as_ref().ok().and_then(|billing| match billing.facts.disconnect {
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
    pub(crate) fn new(
        profile: &Profile,
        report: Result<Arc<Report>, String>,
        top_rung_days: u32,
        now: DateTime<Utc>,
    ) -> Self {
        let billing =
            report.map(|report| Outlook::new(report, profile.zone(), profile.lead_days, top_rung_days, now));
        let answer = match &billing {
            Ok(billing) if billing.is_near(now) => Answer::NeedsYou,
            Ok(billing) if billing.facts.disconnect != Disconnect::Unknown => Answer::Fine,
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

impl Outlook {
    fn new(report: Arc<Report>, zone: Tz, lead_days: u32, top_rung_days: u32, now: DateTime<Utc>) -> Self {
        let far = forecast::edd_disagreement(&report).is_some_and(|by| by > Duration::days(1));
        let per_day = forecast::cost_per_day(&report, now);
        Self {
            facts: Facts::of(&report, zone, lead_days, now),
            lead_days,
            disagrees: if far { forecast::first_unpaid(&report) } else { None },
            does_not_add_up: forecast::does_not_add_up(&report),
            moments_rejected: report.moments_rejected,
            pay: SPANS_DAYS
                .map(|days| Span {
                    days,
                    balance: forecast::balance_in(&report, now, days),
                    amount: forecast::top_up_required(&report, now, days),
                })
                .into(),
            next_charge: forecast::next_charge(&report, now)
                .map(|next| NextCharge { at: next.at, amount: next.amount }),
            per_day: per_day.map(Money::rounded),
            per_month: per_day.map(|day| day.times(Decimal::from(30)).rounded()),
            orders: Orders::of(&report, now),
            top_rung_days,
            report,
        }
    }
}

/// `error` is null beside what is known; without a report everything but `error` is missing.
fn billing_or_error<S: serde::Serializer>(
    billing: &Result<Outlook, String>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Shown<'a> {
        error: Option<&'a str>,
        billing: Option<&'a Outlook>,
    }
    let error = billing.as_ref().err().map(String::as_str);
    Shown { error, billing: billing.as_ref().ok() }.serialize(serializer)
}
