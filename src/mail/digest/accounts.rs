//! What a digest knows of one account: money and dates, and what could not be read. Pure.

use chrono::{DateTime, Days, NaiveDate, Utc};
use chrono_tz::Tz;

use crate::alert::{Item, Kind, Ladder};
use crate::mail::context::Context;
use crate::model::forecast::{self, Disconnect};
use crate::model::freshness::{is_read, state_collectors};
use crate::model::sanitize;
use crate::model::{AccountName, AccountState, Collector, Money, PayBy, Report};
use crate::view::cut_off::Payer;
use crate::view::sentence::Part;
use crate::view::{self, Due, words};

/// For how long the amounts to pay are to last.
pub(super) const PAY_DAYS: u32 = 30;

/// One account in the digest.
pub(super) struct AccountWeek<'a> {
    pub name: &'a AccountName,
    pub state: Option<&'a AccountState>,
    pub zone: Tz,
    pub lead_days: u32,
    pub currency: &'a str,
    /// The last report and when it was read.
    pub report: Option<(&'a Report, DateTime<Utc>)>,
    /// What is to be paid for which span; none without a report.
    due: Vec<Due>,
    pub cut_off: DueOn,
    pub by: Option<PayBy>,
    /// As the incident has it, else the report.
    disconnect: Disconnect,
    /// A disconnect incident is open.
    pub on_ladder: bool,
    pub now: DateTime<Utc>,
}

/// When the account is cut off, as far as is known; the soonest first, what nobody watches last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum DueOn {
    Now,
    At(DateTime<Utc>),
    NotKnown,
    /// Not before this date, the end of the report.
    Beyond(DateTime<Utc>),
    NotWatched,
}

impl<'a> AccountWeek<'a> {
    pub(super) fn of(name: &'a AccountName, items: &'a [Item], context: &'a Context<'_>) -> Self {
        let state = context.account(name);
        let Payer { zone, lead_days, currency, .. } = context.payer(name);
        let report = state.and_then(|state| state.billing.last_known());
        let disconnect = items.iter().find(|item| {
            item.key.kind == Kind::Disconnect && &item.key.account == name && item.ended.is_none()
        });
        let cut_off = cut_off(state, report.map(|(report, _)| report), disconnect);
        let by = match cut_off {
            DueOn::Now => Some(PayBy::Now),
            DueOn::At(edd) => PayBy::before(edd, lead_days, zone, context.now),
            DueOn::NotKnown | DueOn::Beyond(_) | DueOn::NotWatched => None,
        };
        let ladder = disconnect.and_then(|item| item.ladder.as_ref());
        let known = ladder.map(Ladder::disconnect);
        let known = known.or_else(|| report.map(|(report, _)| forecast::disconnect(report)));
        let due = report.map_or_else(Vec::new, |(report, _)| Due::of(report, context.now).into());
        let on_ladder = disconnect.is_some();
        Self {
            name,
            state,
            zone,
            lead_days,
            currency,
            report,
            due,
            cut_off,
            by,
            disconnect: known.unwrap_or(Disconnect::Unknown),
            on_ladder,
            now: context.now,
        }
    }

    /// Overdue without an incident: its rule is off, or it became so just now.
    pub(super) fn is_overdue_without_incident(&self) -> bool {
        !self.on_ladder && self.by == Some(PayBy::Now)
    }

    /// `Cut-off Wed 4 Mar: pay 275 RUB today`, where it is near or has come.
    pub(super) fn near_cut_off(&self) -> Option<Part> {
        let is_near = self.on_ladder || self.is_overdue_without_incident();
        let report = self.report.map(|(report, _)| report);
        let Self { currency, lead_days, zone, .. } = *self;
        let payer = Payer { report, currency, lead_days, zone };
        let text = is_near.then(|| view::CutOff::of(self.disconnect, payer, self.now).sentence())?;
        Some(Part { text, count: 1 })
    }

    pub(super) fn watches_billing(&self) -> bool {
        self.cut_off != DueOn::NotWatched
    }

    /// What keeps it online for [`PAY_DAYS`]; `None` where that is not known.
    pub(super) fn to_pay(&self) -> Option<Money> {
        self.due(PAY_DAYS)?.amount.map(Money::ceil_units)
    }

    pub(super) fn balance(&self) -> Option<Money> {
        forecast::balance_now(self.report?.0)
    }

    pub(super) fn cost_per_day(&self) -> Option<Money> {
        let (report, read_at) = self.report?;
        forecast::cost_per_day(report, read_at)
    }

    /// What is to be paid for so many days, and the balance of then.
    pub(super) fn due(&self, days: u32) -> Option<&Due> {
        self.due.iter().find(|due| due.days == days)
    }

    /// What was charged in the last days, today among them; `None` where charges were never read or those
    /// kept do not reach so far.
    pub(super) fn spent(&self, days: u64) -> Option<Money> {
        let state = self.state?;
        let read_at = state.charges.read_at?;
        let today = self.local_day(read_at);
        let before = today.checked_sub_days(Days::new(days))?;
        let within = state.charges.rows.iter().map(|charge| (charge.event_date, charge.total));
        let within = within.filter(|(date, _)| *date > before && *date <= today);
        Some(within.map(|(_, total)| total).sum())
    }

    /// When it was last read, where the collector's last poll failed: what is shown is of then.
    pub(super) fn as_of(&self, collector: Collector) -> Option<DateTime<Utc>> {
        let status = self.state?.collectors.get(&collector)?;
        // Also what an earlier life of the daemon read.
        let report = self.report.filter(|_| collector == Collector::ExpectedBalance).map(|(_, at)| at);
        let failed = status.last_success.or(report).filter(|_| !status.success);
        let unconfirmed = || self.state?.billing.unconfirmed().filter(|_| report.is_some());
        failed.or_else(unconfirmed)
    }

    /// Collectors that see states or the balance and have nothing recent: `cannot read sites: why`.
    pub(super) fn unread(&self) -> Vec<String> {
        let Some(state) = self.state else { return vec!["nothing was read yet".to_owned()] };
        let unread = state_collectors(&state.profile).filter(|&seeing| !is_read(state, seeing, self.now));
        let unread = unread.map(|collector| {
            let status = state.collectors.get(&collector);
            let last = status.and_then(|status| status.last_success);
            let failure = status.and_then(|status| status.failure.as_ref());
            let what = collector.words();
            let why = match failure {
                Some(failure) => format!("cannot read {what}: {}", sanitize::one_line(&failure.message, 200)),
                None => format!("{what} not read yet"),
            };
            let last = last.map_or_else(String::new, |at| {
                format!("; last read {}", words::sentence_moment(at, self.zone, self.now))
            });
            format!("{why}{last}")
        });
        unread.collect()
    }

    pub(super) fn local_day(&self, at: DateTime<Utc>) -> NaiveDate {
        at.with_timezone(&self.zone).date_naive()
    }

    /// `Wed 4 Mar`.
    pub(super) fn day(&self, at: DateTime<Utc>) -> String {
        words::day_of(at, self.zone, self.now)
    }

    pub(super) fn money(&self, money: Option<Money>) -> String {
        words::known_spaced_amount(money, self.currency)
    }
}

fn cut_off(state: Option<&AccountState>, report: Option<&Report>, incident: Option<&Item>) -> DueOn {
    let watched = state.is_none_or(|state| state.profile.collectors.contains(&Collector::ExpectedBalance));
    if !watched && report.is_none() {
        return DueOn::NotWatched;
    }
    let ladder = incident.and_then(|item| item.ladder.as_ref());
    if report.and_then(forecast::is_used_up) == Some(true) {
        return DueOn::Now;
    }
    match report.map(forecast::disconnect) {
        Some(Disconnect::At { at, .. }) => DueOn::At(at),
        Some(Disconnect::Now) => DueOn::Now,
        // Until the incident is over, its date stands.
        Some(Disconnect::NotExpected | Disconnect::Unknown) | None if ladder.is_some() => {
            let used_up = ladder.is_some_and(|ladder| ladder.used_up);
            let edd = ladder.and_then(|ladder| ladder.edd).map(DueOn::At);
            if used_up { DueOn::Now } else { edd.unwrap_or(DueOn::NotKnown) }
        }
        Some(Disconnect::NotExpected) => {
            report.and_then(|report| report.date).map_or(DueOn::NotKnown, DueOn::Beyond)
        }
        Some(Disconnect::Unknown) | None => DueOn::NotKnown,
    }
}

/// Amounts by currency, in the order of their first: one total each.
#[derive(Default)]
pub(super) struct Totals(Vec<(String, Money, usize)>);

impl Totals {
    pub(super) fn add(&mut self, currency: &str, amount: Money) {
        match self.0.iter_mut().find(|(known, _, _)| known == currency) {
            Some((_, sum, count)) => {
                *sum += amount;
                *count += 1;
            }
            None => self.0.push((currency.to_owned(), amount, 1)),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many amounts went into all of them.
    pub(super) fn count(&self) -> usize {
        self.0.iter().map(|(_, _, count)| count).sum()
    }

    /// `275 RUB and 12 EUR`, written as `write` does.
    pub(super) fn words(&self, write: impl Fn(Money, &str) -> String) -> String {
        let sums: Vec<String> = self.0.iter().map(|(currency, sum, _)| write(*sum, currency)).collect();
        match sums.split_last() {
            Some((last, [])) => last.clone(),
            Some((last, others)) => format!("{} and {last}", others.join(", ")),
            None => "nothing".to_owned(),
        }
    }
}
