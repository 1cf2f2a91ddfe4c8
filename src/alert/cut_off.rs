//! The cut-off of one account as it is believed: its date, following reports and time, and its stage.
//!
//! The stages are one scale: far, the rungs, used up, overdue, deleted. This module does not know which of them
//! recipients were told.

use chrono::{DateTime, Duration, Utc};
use serde::{Deserialize, Serialize};

use super::calendar::CalendarEntry;
use super::kind::Severity;
use super::reason::Cause;
use super::settings::AlertSettings;
use super::subject::Wrong;
use crate::model::forecast::{self, BARE, Disconnect, Doubt};
use crate::model::freshness::is_fresh;
use crate::model::pay_by::last_day;
use crate::model::{AccountState, Collector, Money, PayBy, Report};

/// The belief about one account. It outlives failed polls and restarts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct CutOff {
    /// The date of the cut-off, as last believed.
    pub edd: Option<DateTime<Utc>>,
    /// No report named `edd`: it is the first charge that the balance does not cover.
    pub computed: bool,
    /// The balance is at or below 0.
    pub used_up: bool,
    /// The account is cut off and no date is known.
    pub gone: bool,
    /// The end of the last time that the account was overdue.
    pub overdue_until: Option<DateTime<Utc>>,
    /// The time of the report that these values come from.
    pub read_at: Option<DateTime<Utc>>,
    /// The highest balance of the last 24 hours, and after it each balance that no later one reaches.
    highest: Vec<(DateTime<Utc>, Money)>,
    /// The last time that the balance rose above its highest value of the 24 hours before.
    pub rose_at: Option<DateTime<Utc>>,
    /// The last time that a payment moved the date away.
    pub paid_at: Option<DateTime<Utc>>,
    /// The last payment: the time of the report that showed it, and its amount.
    pub arrived: Option<(DateTime<Utc>, Money)>,
    /// A payment was seen, and no report with a date has followed yet.
    is_paying: bool,
    /// A later date that no payment explains and that has not held for an hour yet.
    later: Option<LaterDate>,
    /// The first of the reports without any charge that came in a row up to now.
    pub bare_since: Option<DateTime<Utc>>,
    /// The number of reports in a row that prove that no cut-off is ahead.
    pub clear: u32,
    pub calendar: Option<CalendarEntry>,
    /// Each collector that sees states has read the account once.
    pub is_read: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct LaterDate {
    since: DateTime<Utc>,
    /// The earliest of the later dates that were seen since then.
    earliest: DateTime<Utc>,
    last: DateTime<Utc>,
}

/// A later date that no payment explains counts once it has held for an hour.
const HOLD: Duration = Duration::hours(1);
const DAY: Duration = Duration::hours(24);

/// The contents of one report, and the other facts that the belief depends on.
pub(crate) struct Observation<'a> {
    pub report: &'a Report,
    /// The amount by which the balance is above what was foreseen.
    pub payment: Option<Money>,
    /// The incident of the cut-off is open.
    pub is_open: bool,
    /// The first of the reports without any charge that came in a row up to this one.
    pub bare_since: Option<DateTime<Utc>>,
    pub at: DateTime<Utc>,
}

impl CutOff {
    /// The cut-off is past, or the balance is used up and no date is known.
    pub(crate) fn is_overdue(&self, now: DateTime<Utc>) -> bool {
        self.gone || self.edd.map_or(self.used_up, |edd| edd <= now)
    }

    /// The belief that follows from a cut-off that is known from elsewhere.
    pub(super) fn of_known(known: Disconnect) -> Self {
        let is_now = known == Disconnect::Now;
        let computed = matches!(known, Disconnect::At { computed: true, .. });
        Self { edd: known.at(), computed, used_up: true, gone: is_now, ..Self::default() }
    }

    /// How the account is wrong.
    pub(crate) fn wrong(&self, now: DateTime<Utc>) -> Wrong {
        if self.is_overdue(now) { Wrong::CutOff } else { Wrong::CutOffAhead }
    }

    /// The believed moment of the cut-off; `None` if it is not known.
    pub(crate) fn date(&self) -> Option<DateTime<Utc>> {
        self.edd.filter(|_| !self.gone)
    }

    /// The cut-off as it is believed.
    pub(crate) fn disconnect(&self) -> Disconnect {
        match self.date() {
            Some(at) => Disconnect::At { at, computed: self.computed },
            None if self.gone || self.used_up => Disconnect::Now,
            None => Disconnect::Unknown,
        }
    }

    /// The tightest rung that is crossed at `now`, in days; 0 means overdue.
    pub(crate) fn rung(&self, settings: &AlertSettings, now: DateTime<Utc>) -> Option<u32> {
        if self.is_overdue(now) {
            return Some(0);
        }
        let edd = self.edd?;
        let is_crossed = |rung: &u32| settings.crossed_at(*rung, edd) <= now;
        settings.disconnect_days.iter().copied().filter(is_crossed).min()
    }

    /// Its stage, as a reason. The rung of the last safe day is crossed before its periods of 24 hours are.
    pub(super) fn stage(&self, settings: &AlertSettings, now: DateTime<Utc>) -> Cause {
        let pay_by = PayBy::of(self.disconnect(), settings.lead_days, settings.zone, now);
        match (self.rung(settings, now), self.date()) {
            (Some(0), Some(_)) => Cause::DatePassed,
            (Some(rung), _) if rung == settings.lead_days + 1 && matches!(pay_by, Some(PayBy::Today(_))) => {
                Cause::LastSafeDay
            }
            (Some(days), _) if days > 0 => Cause::Rung { days: i64::from(days) },
            (None, Some(date)) if !self.used_up => {
                Cause::MovedBack { to: date.with_timezone(&settings.zone).date_naive() }
            }
            _ => Cause::UsedUp,
        }
    }

    /// The moment at which `rung` is crossed; rung 0 is overdue.
    pub(crate) fn crosses(&self, rung: u32, settings: &AlertSettings) -> Option<DateTime<Utc>> {
        self.date().map(|edd| settings.crossed_at(rung, edd))
    }

    /// Whether a payment that is made today may come too late.
    pub(crate) fn is_near(&self, settings: &AlertSettings, now: DateTime<Utc>) -> bool {
        self.disconnect().is_near(self.used_up, settings.lead_days, settings.zone, now)
    }

    /// The severity at `now`.
    pub(crate) fn severity(&self, settings: &AlertSettings, now: DateTime<Utc>) -> Severity {
        if self.is_near(settings, now) {
            return Severity::Critical;
        }
        match self.rung(settings, now) {
            Some(rung) if rung < 30 => Severity::Warning,
            Some(_) | None => Severity::Info,
        }
    }

    /// The severity of a mail about a moved date, which may be beyond all rungs.
    pub(crate) fn severity_of_move(&self, settings: &AlertSettings, now: DateTime<Utc>) -> Severity {
        let is_far = self.edd.is_some_and(|edd| edd - now >= Duration::days(30));
        self.severity(settings, now).max(if is_far { Severity::Info } else { Severity::Warning })
    }

    /// The time of the report that the date comes from, if nothing newer confirms it.
    pub(crate) fn as_of(&self, state: &AccountState, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let collector = Collector::ExpectedBalance;
        let failed = state.collectors.get(&collector).is_none_or(|status| !status.success);
        let old = state.billing.latest().map(|(_, at)| at) != self.read_at;
        let stale = !is_fresh(&state.profile, collector, self.read_at, now);
        self.read_at.filter(|_| failed || old || stale)
    }

    /// Whether the cut-off is within a rung or the balance is used up.
    pub(crate) fn is_due(&self, settings: &AlertSettings, now: DateTime<Utc>) -> bool {
        self.used_up || self.rung(settings, now).is_some()
    }

    /// The last date that a report named, whether it is believed yet or not.
    pub(crate) fn last_named(&self) -> Option<DateTime<Utc>> {
        self.later.map(|later| later.last).or(self.edd)
    }

    /// Whether reports without a charge are the only ones for so long that they prove something.
    pub(super) fn is_bare(&self, now: DateTime<Utc>) -> bool {
        self.bare_since.is_some_and(|since| now - since >= BARE)
    }

    /// Whether reports without a charge are still too new to prove anything.
    pub(crate) fn doubts_bare(&self, now: DateTime<Utc>) -> bool {
        self.bare_since.is_some_and(|since| now - since < BARE)
    }

    /// The moment at which the data are deleted; `None` before the cut-off, and if it is not known.
    pub(crate) fn deletion(&self, settings: &AlertSettings, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        super::days::deletion(self.date(), settings.deletion_days, now)
    }

    /// Takes in a good report. An error is the reason why the report does not prove that the account is safe.
    pub(crate) fn take(&mut self, observation: &Observation<'_>) -> Result<(), Doubt> {
        let Observation { report, at, .. } = *observation;
        let was_overdue = self.is_overdue(at);
        // An earlier payment is used up once the account is cut off.
        self.paid_at = self.paid_at.filter(|_| !was_overdue);
        self.arrived = observation.payment.map(|amount| (at, amount)).or(self.arrived);
        let is_payment = observation.payment.is_some() || self.is_paying;
        self.is_paying = is_payment;
        self.bare_since = observation.bare_since;
        let is_doubtful = self.doubts_bare(at) && !forecast::is_settled(report, self.last_named());
        if !is_doubtful {
            self.take_balance(report, at);
        }
        let disconnect = forecast::disconnect_after(report, self.edd, is_doubtful);
        let used_up = forecast::is_used_up(report).filter(|_| !is_doubtful);
        let has_money = forecast::balance_now(report).is_some_and(|balance| balance.is_positive());
        match disconnect {
            Disconnect::At { at: date, computed } if observation.is_open && self.is_overdue(at) => {
                // If the account is off, a report's date is that of the next charge, or the present moment,
                // until it has money again.
                if date > at && has_money && (!computed || is_payment) {
                    self.take_date(date, computed, observation);
                } else if !computed
                    && date <= at
                    && self.edd.is_some_and(|known| self.computed || date < known)
                {
                    (self.edd, self.computed) = (Some(date), false);
                }
                // A past date begins the hour of a later one again.
                self.later = self.later.filter(|_| date > at);
                if self.is_overdue(at) {
                    self.used_up = used_up.unwrap_or(self.used_up);
                } else {
                    (self.used_up, self.gone) = (used_up.unwrap_or(false), false);
                }
                self.read_at = Some(at);
            }
            Disconnect::At { at: date, computed } => {
                self.gone = false;
                self.take_date(date, computed, observation);
                self.used_up = used_up.unwrap_or(self.used_up);
                self.read_at = Some(at);
            }
            Disconnect::Now => {
                // A past date is kept: it says since when the account is off, and when its data are deleted.
                let since = self.edd.filter(|&edd| edd <= at && !self.gone);
                (self.used_up, self.gone, self.read_at) = (true, since.is_none(), Some(at));
            }
            Disconnect::NotExpected | Disconnect::Unknown => {}
        }
        if was_overdue && !self.is_overdue(at) {
            self.overdue_until = Some(at);
        }
        self.is_paying &= matches!(disconnect, Disconnect::NotExpected | Disconnect::Unknown);
        let proof = forecast::all_clear(report, self.last_named());
        let proof = if is_doubtful { proof.and(Err(Doubt::NoCharges)) } else { proof };
        self.clear = if proof.is_ok() { self.clear + 1 } else { 0 };
        proof
    }

    /// Forgets the date. The balance and the calendar entry stay.
    pub(crate) fn forget_date(&mut self, now: DateTime<Utc>) {
        *self = Self {
            overdue_until: if self.is_overdue(now) { Some(now) } else { self.overdue_until },
            highest: std::mem::take(&mut self.highest),
            rose_at: self.rose_at,
            arrived: self.arrived,
            calendar: self.calendar,
            read_at: self.read_at,
            is_read: self.is_read,
            ..Self::default()
        };
    }

    /// Updates the calendar entry if the date moved.
    pub(crate) fn enter_in_calendar(&mut self, settings: &AlertSettings, now: DateTime<Utc>) {
        let pay_by = self.date().and_then(|edd| last_day(edd, settings.lead_days, settings.zone));
        self.calendar = CalendarEntry::follow(self.calendar, self.date(), pay_by, now);
    }

    fn take_balance(&mut self, report: &Report, at: DateTime<Utc>) {
        let Some(balance) = forecast::balance_now(report) else { return };
        let lately = self.highest.iter().filter(|(then, _)| at - *then < DAY);
        let highest = lately.map(|(_, left)| *left).max().or(self.highest.last().map(|(_, left)| *left));
        if highest.is_some_and(|highest| balance > highest) {
            self.rose_at = Some(at);
        }
        self.highest.retain(|(then, left)| at - *then < DAY && *left > balance);
        self.highest.push((at, balance));
    }

    /// Takes a date: an earlier one at once, a later one with a payment or once it has held for an hour.
    fn take_date(&mut self, date: DateTime<Utc>, computed: bool, observation: &Observation<'_>) {
        let now = observation.at;
        // If the account is off and no date is known, every date is a later one.
        let known = self.edd.or_else(|| self.gone.then_some(DateTime::<Utc>::MIN_UTC));
        if !observation.is_open || known.is_none_or(|known| date <= known) {
            self.set_date(date, computed);
        } else if self.is_paying {
            self.paid_at = if date > now { Some(now) } else { self.paid_at };
            self.set_date(date, computed);
        } else if !self.doubts_bare(now) {
            let later = self.later.unwrap_or(LaterDate { since: now, earliest: date, last: date });
            let (since, earliest) = (later.since.min(now), later.earliest.min(date));
            if now - since < HOLD {
                self.later = Some(LaterDate { since, earliest, last: date });
                return;
            }
            self.set_date(earliest, computed);
            self.later = (date > earliest).then_some(LaterDate { since: now, earliest: date, last: date });
        }
    }

    fn set_date(&mut self, date: DateTime<Utc>, computed: bool) {
        (self.edd, self.computed, self.later, self.gone) = (Some(date), computed, None, false);
    }

    /// All past moments. The caller corrects those that lie ahead of the clock.
    pub(crate) fn moments(&mut self) -> impl Iterator<Item = &mut DateTime<Utc>> {
        let Self { overdue_until, highest, rose_at, paid_at, arrived, later, bare_since, read_at, .. } = self;
        let pairs = highest.iter_mut().chain(arrived).map(|(at, _)| at);
        let later = later.iter_mut().map(|later| &mut later.since);
        pairs.chain(later).chain(overdue_until).chain(rose_at).chain(paid_at).chain(bare_since).chain(read_at)
    }
}
