//! The one sentence about a cut-off: when, how much, by which day. Subject, headline, title, terminal and the first line
//! of a mail say it alike. Pure.

use chrono::{DateTime, Duration, NaiveDate, Utc};
use chrono_tz::Tz;

use super::billing::{Due, ToPay};
use super::words;
use crate::model::forecast::{self, Disconnect};
use crate::model::pay_by::friday_before;
use crate::model::{AccountState, Money, PayBy, Report};

const DAY: Duration = Duration::days(1);

/// What such a sentence is made from.
#[derive(Clone, Debug)]
pub(crate) struct CutOff<'a> {
    disconnect: Disconnect,
    to_pay: ToPay,
    by: Option<PayBy>,
    /// Nothing is left on the account.
    used_up: bool,
    payer: Payer<'a>,
    now: DateTime<Utc>,
    /// What a first line says behind the date. A subject has neither room for it nor for the time of day.
    aside: Option<String>,
}

/// An account as far as its cut-off is concerned.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Payer<'a> {
    /// The last that could be read.
    pub report: Option<&'a Report>,
    pub currency: &'a str,
    pub lead_days: u32,
    pub zone: Tz,
}

impl<'a> Payer<'a> {
    pub(crate) fn of(state: &'a AccountState) -> Self {
        let profile = &state.profile;
        Self {
            report: state.billing.last_known().map(|(report, _)| report),
            currency: &profile.currency,
            lead_days: profile.lead_days,
            zone: profile.zone(),
        }
    }
}

impl<'a> CutOff<'a> {
    /// Of a date as it is known at `now`.
    pub(crate) fn of(disconnect: Disconnect, payer: Payer<'a>, now: DateTime<Utc>) -> Self {
        Self {
            disconnect,
            to_pay: ToPay::of(payer.report, now),
            by: PayBy::of(disconnect, payer.lead_days, payer.zone, now),
            used_up: payer.report.and_then(forecast::is_used_up) == Some(true),
            payer,
            now,
            aside: None,
        }
    }

    /// The same as one of the mails about it has it: that nothing is left has a mail of its own.
    pub(crate) fn telling(self, used_up: bool) -> Self {
        Self { used_up, ..self }
    }

    /// The same as a mail's first line has it: with the time of day, `aside` behind the date, and the least that helps.
    pub(crate) fn in_full(self, aside: String) -> Self {
        Self { aside: Some(aside), ..self }
    }

    /// `Cut-off Sat 28 Nov: pay 6488 RUB by Wed 25 Nov`, `Balance used up, cut-off …`, `OVERDUE since Tue 24 Nov: …`.
    pub(crate) fn sentence(&self) -> String {
        let what = match self.disconnect {
            Disconnect::At { at, .. } if at <= self.now => {
                let since = Some(self.now - at).filter(|since| *since >= DAY && self.says_the_same_amount());
                let since = since.map(|since| format!(", for {}", words::lasted(since)));
                format!("OVERDUE since {}{}", self.day(at), since.unwrap_or_default())
            }
            Disconnect::Now => "OVERDUE, balance used up".to_owned(),
            Disconnect::At { at, .. } => {
                let what = if self.used_up { "Balance used up, cut-off" } else { "Cut-off" };
                let left =
                    self.says_the_same_amount().then(|| format!(", in {}", words::lasted(at - self.now)));
                format!("{what} {}{}", self.day(at), left.unwrap_or_default())
            }
            Disconnect::NotExpected | Disconnect::Unknown => "Cut-off, date not known".to_owned(),
        };
        self.with_amount(&what)
    }

    /// As a day ago: without the time that is left, two mails about one date would be the same.
    fn says_the_same_amount(&self) -> bool {
        self.to_pay == ToPay::of(self.payer.report, self.now - DAY)
    }

    /// `Cut-off now Tue 24 Mar, was 4 Mar: …`; `None` where that is the same day.
    pub(crate) fn moved(&self, before: Option<DateTime<Utc>>) -> Option<String> {
        let (at, before) = (self.disconnect.at()?, before?);
        let date = |at: DateTime<Utc>| at.with_timezone(&self.payer.zone).date_naive();
        let was = words::short_day(date(before), self.payer.zone, self.now);
        let what = format!("Cut-off now {}, was {was}", self.day(at));
        (date(before) != date(at)).then(|| self.with_amount(&what))
    }

    /// Whatever is said, with what to pay: `…: pay 75 RUB by Sat 21 Mar`.
    pub(crate) fn with_amount(&self, what: &str) -> String {
        let by = by(self.by, self.payer.zone, self.now);
        match (&self.aside, self.to_pay) {
            (Some(aside), to_pay) => format!("{what}{aside}{}", self.amount_in_full(to_pay, &by)),
            (None, ToPay::Amount(amount, _)) => {
                format!("{what}: pay {} {by}", words::to_pay(amount, self.payer.currency))
            }
            (None, ToPay::NotKnown | ToPay::Later { .. }) => format!("{what}: pay {by}"),
            (None, ToPay::Nothing) => what.to_owned(),
        }
    }

    /// `: pay 275 RUB today for 30 days, at least 45 RUB for 7`.
    fn amount_in_full(&self, to_pay: ToPay, by: &str) -> String {
        let money = |money: Money| words::spaced_to_pay(money, self.payer.currency);
        match (to_pay, self.payer.report) {
            (ToPay::Amount(amount, days), Some(report)) => {
                let least = Due::first(&Due::of(report, self.now)).filter(|(least, _)| *least < days);
                let least = least.map(|(days, amount)| format!(", at least {} for {days}", money(amount)));
                format!(": pay {} {by} for {days} days{}", money(amount), least.unwrap_or_default())
            }
            (ToPay::Later { free, amount, days }, _) => {
                format!(": pay {} {by} for {days} days, nothing for {free}", money(amount))
            }
            (ToPay::Nothing, _) => "; by its report nothing needs to be paid yet".to_owned(),
            (ToPay::NotKnown, Some(_)) => {
                format!(": pay {by}; how much is not known, the report does not reach far enough")
            }
            (ToPay::NotKnown | ToPay::Amount(..), None) => {
                format!(": pay {by}; how much is not known, no report could be read yet")
            }
        }
    }

    /// `Tue 24 Nov`, in the account's zone; with the time of day in full.
    pub(crate) fn day(&self, at: DateTime<Utc>) -> String {
        let zone = self.payer.zone;
        match self.aside {
            Some(_) => words::sentence_moment(at, zone, self.now),
            None => words::day_of(at, zone, self.now),
        }
    }
}

/// `by Wed 25 Nov`, `today`, `now`: behind an amount to pay.
pub(crate) fn by(by: Option<PayBy>, zone: Tz, now: DateTime<Utc>) -> String {
    match by {
        Some(by @ PayBy::On(_)) => format!("by {}", day_to_pay(by, zone, now)),
        Some(by) => day_to_pay(by, zone, now),
        None => "now".to_owned(),
    }
}

/// `better by Fri 27 Mar`: of a day to pay by that is on a weekend, when a payment may lie until Monday.
pub(crate) fn weekend_advice(date: NaiveDate, zone: Tz, now: DateTime<Utc>) -> Option<String> {
    let friday = friday_before(date)?;
    let is_ahead = friday >= now.with_timezone(&zone).date_naive();
    let better = || format!("better by {}", words::subject_day(friday, zone, now));
    Some(if is_ahead { better() } else { "banks may be slower".to_owned() })
}

/// `Wed 25 Nov`, `today`, `now`: in a column of days.
pub(crate) fn day_to_pay(by: PayBy, zone: Tz, now: DateTime<Utc>) -> String {
    match by {
        PayBy::On(date) => words::subject_day(date, zone, now),
        PayBy::Today(_) => "today".to_owned(),
        PayBy::Now | PayBy::Missed(_) => "now".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Edd;
    use crate::model::forecast::tests::{report, t};

    /// One charge of 300 a month: what is to be paid is the same on many days.
    #[test]
    fn no_two_days_have_the_same_sentence() {
        let at = t("2026-03-20T12:00:00");
        let mut monthly = report("250", "300", 3, Edd::At(at));
        let moments = ["2026-03-20T12:00:00", "2026-04-20T12:00:00", "2026-05-20T12:00:00"].into_iter();
        monthly.moments = monthly
            .moments
            .iter()
            .zip(moments)
            .map(|(mut moment, at)| {
                moment.at = t(at);
                moment
            })
            .collect();
        monthly.date = Some(t("2026-06-01T12:00:00"));
        let payer = Payer { report: Some(&monthly), currency: "RUB", lead_days: 3, zone: Tz::UTC };
        let on = |day: &str| CutOff::of(Disconnect::At { at, computed: false }, payer, t(day)).sentence();
        assert_eq!(on("2026-03-06T12:00:00"), "Cut-off Fri 20 Mar, in 14 d: pay 51 RUB by Tue 17 Mar");
        assert_eq!(on("2026-03-13T12:00:00"), "Cut-off Fri 20 Mar, in 7 d: pay 51 RUB by Tue 17 Mar");
        assert_eq!(on("2026-03-18T12:00:00"), "Cut-off Fri 20 Mar, in 2 d: pay 51 RUB now");
        assert_eq!(on("2026-03-19T12:00:00"), "Cut-off Fri 20 Mar, in 1 d: pay 51 RUB now");
        assert_eq!(on("2026-03-23T12:00:00"), "OVERDUE since Fri 20 Mar, for 3 d: pay 351 RUB now");
        // What grows each day says enough.
        let daily = report("250", "10", 90, Edd::At(at));
        let payer = Payer { report: Some(&daily), ..payer };
        let sentence =
            CutOff::of(Disconnect::At { at, computed: false }, payer, t("2026-03-18T12:00:00")).sentence();
        assert!(sentence.starts_with("Cut-off Fri 20 Mar: pay "), "{sentence}");
    }
}
