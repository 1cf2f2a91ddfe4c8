//! The cut-off as an outsider reads it from the reports: the dates that may be believed, the rung of each date,
//! and the payments. Then the laws of the mails about it.

use crate::alert::{AlertSettings, Event};
use crate::model::Edd;
use chrono::{DateTime, Duration, NaiveDate, NaiveTime, Utc};

use super::alert_support::Told;
use super::belief::Maybe;
use super::inbox::{Heard, Inbox};
use super::life::meaning;
use super::ops::Bill;

pub struct Account {
    rungs: Vec<u32>,
    lead_days: u32,
    deletion_days: u32,
    escalate_to: Vec<String>,
    /// All dates that reports named since the last time without a cut-off.
    dates: Vec<DateTime<Utc>>,
    /// All dates that reports ever named.
    all_dates: Vec<DateTime<Utc>>,
    /// A report since then had an empty balance.
    used_up: bool,
    balances: Vec<Balance>,
    /// The number of reports before the last start.
    restarted: usize,
    is_paying: bool,
    /// The last time at which a payment may have moved the date.
    paid_at: Option<DateTime<Utc>>,
    /// A balance was below the one before it.
    pub has_dropped: bool,
}

/// One report.
#[derive(Debug)]
struct Balance {
    at: DateTime<Utc>,
    /// Each day costs 1000.
    kopecks: i64,
    /// The balance is above those of the 24 hours before.
    rose: bool,
    /// Its 24 hours are over, even if the clock is set later.
    is_old: bool,
}

impl Balance {
    fn counts(&self, now: DateTime<Utc>) -> bool {
        !self.is_old && now - self.at < DAY
    }

    /// The report's forecast of the balance for now.
    fn foreseen(&self, now: DateTime<Utc>) -> i64 {
        self.kopecks - 1000 * (now - self.at).num_days().max(0)
    }
}

const DAY: Duration = Duration::hours(24);

impl Account {
    pub fn new(settings: &AlertSettings) -> Self {
        Self {
            rungs: settings.disconnect_days.clone(),
            lead_days: settings.lead_days,
            deletion_days: settings.deletion_days,
            escalate_to: settings.escalate_to.clone(),
            dates: Vec::new(),
            all_dates: Vec::new(),
            used_up: false,
            balances: Vec::new(),
            restarted: 0,
            is_paying: false,
            paid_at: None,
            has_dropped: false,
        }
    }

    pub fn reported(&mut self, bill: Bill, at: DateTime<Utc>) {
        let (kopecks, edd) = meaning(bill, at);
        let date = match (bill, edd) {
            (_, Edd::At(date)) => Some(date),
            (Bill::RunsOut, _) => Some(at + Duration::days(3)),
            (Bill::UsedUp, _) => Some(at + Duration::days(1)),
            _ => None,
        };
        self.dates.extend(date);
        self.all_dates.extend(date);
        self.used_up |= kopecks <= 0;
        self.has_dropped |= self.balances.last().is_some_and(|last| kopecks < last.kopecks);
        self.balances.iter_mut().for_each(|one| one.is_old |= at - one.at >= DAY);
        self.is_paying |= self.is_payment(kopecks, at);
        if self.is_paying && date.is_some() {
            (self.is_paying, self.paid_at) = (false, Some(at));
        }
        let of_day = self.balances.iter().filter(|one| one.counts(at)).map(|one| one.kopecks);
        let rose = of_day.max().is_none_or(|highest| kopecks > highest);
        self.balances.push(Balance { at, kopecks, rose, is_old: false });
    }

    /// Is the balance above the forecast of the last report?
    fn is_payment(&self, kopecks: i64, at: DateTime<Utc>) -> bool {
        let known = &self.balances[self.restarted..];
        known.last().is_some_and(|last| kopecks > last.foreseen(at))
    }

    /// The forecasts of earlier reports are forgotten.
    pub fn restarts(&mut self) {
        self.restarted = self.balances.len();
    }

    /// Certainly no cut-off is ahead any more.
    pub fn looked(&mut self, cut_off: &Maybe) {
        if !cut_off.may_be_open {
            self.dates.clear();
            self.used_up = false;
        }
    }

    pub fn wakes(&mut self, now: DateTime<Utc>) {
        let moments = self.balances.iter_mut().map(|one| &mut one.at).chain(&mut self.paid_at);
        moments.filter(|at| **at > now).for_each(|at| *at = now);
    }

    /// The tightest rung that the date has reached, as section 6 counts. The last safe day is counted in the
    /// account's calendar or in spans of 24 hours, whichever is earlier. The other rungs are counted in spans
    /// of 24 hours.
    pub fn tightest(&self, date: DateTime<Utc>, now: DateTime<Utc>) -> Option<u32> {
        if date <= now {
            return Some(0);
        }
        let is_within = |rung: u32| {
            date - now <= Duration::days(rung.into())
                || (rung == self.lead_days + 1 && self.is_near(date, now))
        };
        self.rungs.iter().copied().filter(|&rung| is_within(rung)).min()
    }

    fn is_near(&self, date: DateTime<Utc>, now: DateTime<Utc>) -> bool {
        let lead = i64::from(self.lead_days);
        let pay_by = (date - Duration::days(lead)).date_naive().pred_opt().unwrap();
        date - now <= Duration::days(lead + 1) || now >= pay_by.and_time(NaiveTime::MIN).and_utc()
    }

    /// The dates on this day that reports named since the last time without a cut-off.
    fn named(&self, day: NaiveDate) -> impl Iterator<Item = DateTime<Utc>> + '_ {
        self.dates.iter().copied().filter(move |date| date.date_naive() == day)
    }

    /// Did the balance rise since then above its highest of 24 hours?
    fn rose_since(&self, at: DateTime<Utc>) -> bool {
        self.balances.iter().any(|one| one.rose && one.at >= at)
    }

    /// Judges one mail about the cut-off.
    pub fn judge(
        &self,
        at: DateTime<Utc>,
        to: &str,
        item: &Told,
        inbox: &Inbox,
        maybe: &Maybe,
        what: &dyn Fn() -> String,
    ) {
        let (key, event) = (&item.key, &item.event);
        let all = inbox.of(to, key);
        // The mails since the ladder was last armed, if the server took them.
        let arms = |heard: &Heard| {
            heard.event.is_end() || matches!(heard.event, Event::Extended(_) | Event::Paid(_))
        };
        let since = all.iter().rposition(arms).map_or(0, |last| last + 1);
        let armed =
            all[since..].iter().filter(|heard| heard.is_sure && !maybe.may_have_been_over_since(heard.at));
        let mut armed = armed.peekable();
        let is_off = self.used_up || self.dates.iter().any(|date| *date <= at);
        // A recipient who was told the end is told the next cut-off at once.
        let ended = all.iter().rposition(|heard| heard.event.is_end()).map_or(0, |last| last + 1);
        let lately = || all[ended..].iter().filter(|heard| heard.is_sure && at - heard.at < DAY);
        let guarded = |is_kind: &dyn Fn(&Event) -> bool| {
            let last = lately().rfind(|heard| is_kind(&heard.event));
            let free = last.is_none_or(|last| self.rose_since(last.at));
            assert!(free, "once in 24 hours: {}\n{:?}", what(), self.balances);
        };
        match event {
            Event::Rung(0) => {
                assert!(is_off, "no date has passed: {}\n{:?}", what(), self.dates);
                let is_told = armed.any(|heard| heard.event == Event::Rung(0));
                assert!(!is_told, "once an arming: {}", what());
            }
            Event::Rung(rung) => {
                let is_on = |date: &DateTime<Utc>| self.tightest(*date, at) == Some(*rung);
                assert!(self.dates.iter().any(is_on), "no date is on it: {}\n{:?}", what(), self.dates);
                let told = armed.find(|heard| matches!(heard.event, Event::Rung(told) if told <= *rung));
                assert!(told.is_none(), "after {told:?}: {}", what());
                guarded(&|event| matches!(event, Event::Rung(told) if told <= rung));
            }
            Event::BalanceUsedUp => {
                assert!(self.used_up, "{}", what());
                assert!(!armed.any(|heard| heard.event == Event::BalanceUsedUp), "twice: {}", what());
            }
            Event::Extended(day) => {
                assert!(self.named(*day).any(|date| date > at), "{}\n{:?}", what(), self.dates);
                guarded(&|event| matches!(event, Event::Extended(_)));
            }
            Event::Paid(day) => {
                assert!(self.named(*day).any(|date| date > at), "{}\n{:?}", what(), self.dates);
                let last = all.iter().rfind(|heard| heard.is_sure).map(|heard| heard.at);
                assert!(self.paid_at > last, "nobody paid: {}\n{:?}", what(), self.balances);
                guarded(&|event| matches!(event, Event::Paid(_)));
            }
            Event::Overdue(day) => {
                assert!(is_off && *day == at.date_naive(), "{}", what());
                let is_told = lately().any(|heard| heard.at.date_naive() == *day);
                assert!(!is_told, "twice in a day: {}", what());
            }
            Event::Deletion(left) => {
                let comes = Duration::days(i64::from(self.deletion_days) - i64::from(*left));
                // A machine that woke today mails it before its time of day.
                let is_due = self.dates.iter().any(|date| at.date_naive() >= (*date + comes).date_naive());
                assert!(self.deletion_days > 0 && is_due, "{}\n{:?}", what(), self.dates);
                let told = armed.find(|heard| matches!(heard.event, Event::Deletion(told) if told <= *left));
                assert!(told.is_none(), "after {told:?}: {}", what());
            }
            _ => {}
        }
        if self.escalate_to.iter().any(|one| one == to) && all.is_empty() {
            let is_near = is_off || self.dates.iter().any(|date| self.is_near(*date, at));
            assert!(is_near || event.is_end(), "it is not near: {}\n{:?}", what(), self.dates);
        }
    }

    /// At the end, after one date was reported for more than a day: does this recipient know the rung of that
    /// date?
    pub fn is_known(&self, date: DateTime<Utc>, heard: &[Heard], now: DateTime<Utc>) -> Result<(), String> {
        let want = self.tightest(date, now);
        // A mail about a moved date names only its day, so several dates may be meant.
        let mut known: Vec<Option<u32>> = vec![None];
        for one in heard {
            match one.event {
                Event::Rung(rung) => known = vec![Some(rung)],
                Event::Escalated => known = vec![self.tightest(date, one.said_at)],
                Event::Overdue(_) | Event::Deletion(_) => known = vec![Some(0)],
                Event::Extended(day) | Event::Paid(day) => {
                    let is_meant = |date: &&DateTime<Utc>| date.date_naive() == day && **date > one.said_at;
                    let of_day = self.all_dates.iter().filter(is_meant);
                    known = of_day.map(|date| self.tightest(*date, one.said_at)).collect();
                }
                ref event if event.is_end() => known = vec![None],
                _ => {}
            }
        }
        // The same rung, or a tighter one, was told within a day.
        let is_guarded = heard.iter().any(|one| {
            let rung = if let Event::Rung(rung) = one.event { Some(rung) } else { None };
            now - one.at < DAY && rung.is_some_and(|rung| want.is_some_and(|want| want > 0 && rung <= want))
        });
        let is_so = |known: &Option<u32>| match (want, *known) {
            (Some(want), known) if known.is_none_or(|known| known > want) => false,
            // A date that moved back by less than a day and a half may be no news.
            (_, Some(known)) => date - now - Duration::days(known.into()) <= Duration::hours(38),
            (_, None) => true,
        };
        if is_guarded || known.iter().any(is_so) {
            return Ok(());
        }
        Err(format!("rung {want:?} of {date}, and told is {known:?}"))
    }
}
