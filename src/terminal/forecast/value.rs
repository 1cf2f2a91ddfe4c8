//! A forecast as a value, for the text and for `--json` (docs/api.md). Pure.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use rust_decimal::Decimal;
use serde::Serialize;

use crate::alert::deletion;
use crate::model::forecast::{self, Disconnect, NextCharge};
use crate::model::{Money, Profile, Report};
use crate::terminal::Answer;
use crate::terminal::words::EN;
use crate::view::incidents::soonest;
use crate::view::{BillingFacts, Due, LastReading, Orders, Payer, Reader};

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
    #[serde(rename = "time_zone")]
    pub zone: Tz,
    pub answer: Answer,
    /// `Err` holds the reason why nothing is known.
    #[serde(flatten, serialize_with = "billing_or_error")]
    pub billing: Result<Outlook, String>,
}

/// The contents of a report. Amounts are exact decimals as text.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Outlook {
    /// The time of the daemon's report; `None` if the provider was asked.
    pub as_of: Option<DateTime<Utc>>,
    /// The reason why the daemon's report may not hold any more.
    #[serde(skip)]
    pub not_read: Option<String>,
    #[serde(flatten)]
    pub facts: BillingFacts,
    /// The time at which the data of a cut-off account are deleted, if it is known.
    pub data_deleted_at: Option<DateTime<Utc>>,
    /// The number of days that a payment takes to arrive.
    pub lead_days: u32,
    /// The date by the charges, if the report's own date differs by more than a day.
    #[serde(rename = "disconnect_by_charges")]
    pub disagrees: Option<DateTime<Utc>>,
    /// The first moment whose balance is not the balance before it less its amount.
    pub does_not_add_up: Option<DateTime<Utc>>,
    pub moments_rejected: u64,
    pub pay: [Due; 3],
    pub next_charge: Option<NextCharge>,
    pub per_day: Option<Money>,
    pub per_month: Option<Money>,
    #[serde(flatten)]
    pub orders: Orders,
}

impl Forecasts {
    /// Puts accounts in the order of urgency.
    pub(crate) fn new(mut accounts: Vec<AccountForecast>, now: DateTime<Utc>) -> Self {
        accounts.sort_by_cached_key(|account| {
            let cut_off = account.billing.as_ref().ok().map(|billing| billing.facts.disconnect);
            (
                account.answer != Answer::NeedsYou,
                account.answer != Answer::Unknown,
                soonest(cut_off),
                account.account.clone(),
            )
        });
        let answers = accounts.iter().map(|account| account.answer);
        Self { generated_at: now, answer: Answer::of_all(answers), accounts }
    }
}

impl AccountForecast {
    /// A forecast from a report that was read just now, or the reason why none could be.
    pub(crate) fn new(profile: &Profile, report: Result<Arc<Report>, String>, now: DateTime<Utc>) -> Self {
        let billing = report.map(|report| Outlook::new(&report, now, profile, now));
        Self::of(profile, billing, now)
    }

    /// A forecast from the daemon's last report and the cut-off that it mailed.
    pub(crate) fn of_daemon(profile: &Profile, last: LastReading, now: DateTime<Utc>) -> Self {
        let LastReading { report: last, orders, cut_off, error } = last;
        let mut outlook = Outlook::new(&last.report, last.read_at, profile, now);
        outlook.facts = outlook.facts.knowing(cut_off, &payer(profile, now));
        (outlook.as_of, outlook.not_read, outlook.orders) = (Some(last.read_at), error, orders);
        if last.by_the_hour {
            // The order of charges within an hour is not known.
            outlook.next_charge = None;
        }
        Self::of(profile, Ok(outlook), now)
    }

    /// Adds the day on which the data are deleted, this many days after the cut-off.
    pub(crate) fn deleted_after(mut self, deletion_days: u32, now: DateTime<Utc>) -> Self {
        if let Ok(billing) = &mut self.billing {
            billing.data_deleted_at = deletion(billing.facts.disconnect.at(), deletion_days, now);
        }
        self
    }

    fn of(profile: &Profile, billing: Result<Outlook, String>, now: DateTime<Utc>) -> Self {
        let answer = match &billing {
            Ok(billing) if payer(profile, now).is_near(billing.facts.disconnect, billing.facts.balance) => {
                Answer::NeedsYou
            }
            // An older report may not hold any more.
            Ok(billing) if billing.not_read.is_some() => Answer::Unknown,
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
    /// The contents of a report that was read at this time.
    fn new(report: &Report, read_at: DateTime<Utc>, profile: &Profile, now: DateTime<Utc>) -> Self {
        let per_day = forecast::cost_per_day(report, read_at);
        Self {
            as_of: None,
            not_read: None,
            facts: BillingFacts::of(report, &payer(profile, now)),
            data_deleted_at: None,
            lead_days: profile.lead_days,
            disagrees: forecast::date_by_charges(report),
            does_not_add_up: forecast::does_not_add_up(report),
            moments_rejected: report.moments_rejected,
            pay: Due::of(report, now),
            next_charge: forecast::next_charge(report, now),
            per_day: per_day.map(Money::rounded),
            per_month: per_day.map(|day| day.times(Decimal::from(30)).rounded()),
            orders: Orders::of(report, read_at),
        }
    }
}

fn payer(profile: &Profile, now: DateTime<Utc>) -> Payer<'_> {
    Payer::new(profile, None, Reader::new(EN, now))
}

/// `error` is null beside a report that holds. Without any report everything but `error` is missing.
fn billing_or_error<S: serde::Serializer>(
    billing: &Result<Outlook, String>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Shown<'a> {
        error: Option<&'a str>,
        billing: Option<&'a Outlook>,
    }
    let error = match billing {
        Ok(outlook) => outlook.not_read.as_deref(),
        Err(error) => Some(error.as_str()),
    };
    Shown { error, billing: billing.as_ref().ok() }.serialize(serializer)
}
