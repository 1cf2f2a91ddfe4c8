//! A forecast as a value, for the text and for `--json` (docs/api.md). Pure.

use std::cmp::Reverse;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use serde::Serialize;

use crate::alert::deletion;
use crate::model::forecast::Disconnect;
use crate::model::{AccountName, Collector, Profile, Report};
use crate::terminal::Answer;
use crate::terminal::words::EN;
use crate::view::incidents::soonest;
use crate::view::{AccountStatus, Billing, Payer, Reader};

/// The remedy of an account without billing.
pub(crate) const BILLING_OFF: &str =
    "billing is off; set panel_url, billing_username and billing_password to read the balance";

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
    pub account: AccountName,
    pub currency: String,
    #[serde(rename = "time_zone")]
    pub zone: Tz,
    pub answer: Answer,
    /// The reason why nothing is known, or why the report may not hold any more.
    pub error: Option<String>,
    pub billing: Option<Billing>,
}

impl Forecasts {
    /// Puts accounts in the order of urgency.
    pub(crate) fn new(mut accounts: Vec<AccountForecast>, now: DateTime<Utc>) -> Self {
        accounts.sort_by_cached_key(|account| {
            let cut_off = account.billing.as_ref().map(|billing| billing.disconnect);
            (Reverse(account.answer), soonest(cut_off), account.account.clone())
        });
        let answer = accounts.iter().map(|account| account.answer).max().unwrap_or(Answer::Unknown);
        Self { generated_at: now, answer, accounts }
    }
}

impl AccountForecast {
    /// A forecast from a report that was read just now, or the reason why none could be.
    pub(crate) fn new(profile: &Profile, report: Result<Arc<Report>, String>, now: DateTime<Utc>) -> Self {
        let payer = Payer::new(profile, None, Reader::new(EN, now));
        let billing = report.map(|report| Billing::new(&report, now, None, &payer));
        let error = billing.as_ref().err().cloned();
        Self {
            account: profile.name.clone(),
            currency: profile.currency.clone(),
            zone: profile.zone(),
            answer: Answer::Unknown,
            error,
            billing: billing.ok(),
        }
        .answered(now)
    }

    /// Adds the day on which the data are deleted, this many days after the cut-off.
    pub(crate) fn deleted_after(mut self, deletion_days: u32, now: DateTime<Utc>) -> Self {
        if let Some(billing) = &mut self.billing {
            billing.data_deleted_at = deletion(billing.disconnect.at(), deletion_days, now);
        }
        self
    }

    /// The forecast of the running daemon.
    pub(crate) fn of_daemon(account: AccountStatus, now: DateTime<Utc>) -> Self {
        let AccountStatus { name, currency, time_zone: zone, mut billing, collectors, .. } = account;
        let error = match &mut billing {
            Some(billing) => billing.error.take(),
            None => {
                let row = collectors.into_iter().find(|row| row.collector == Collector::ExpectedBalance);
                // Without such a row billing is off, or its schedule is.
                let unread = || format!("{BILLING_OFF}, and schedule.expected_balance");
                let error = row.map_or_else(|| Some(unread()), |row| row.error);
                Some(error.unwrap_or_else(|| "the daemon has not read the balance".to_owned()))
            }
        };
        Self { account: name, currency, zone, answer: Answer::Unknown, error, billing }.answered(now)
    }

    fn answered(self, now: DateTime<Utc>) -> Self {
        let answer = match &self.billing {
            Some(billing) if billing.is_near(self.zone, now) => Answer::NeedsYou,
            // An older report may not hold any more.
            Some(billing) if self.error.is_none() && billing.disconnect != Disconnect::Unknown => {
                Answer::Fine
            }
            Some(_) | None => Answer::Unknown,
        };
        Self { answer, ..self }
    }
}
