//! Recognises a payment: compares a balance with what the good reports of the last 24 hours foresaw for now.

use std::sync::Arc;

use chrono::{DateTime, Duration, Utc};

use crate::model::forecast::{self, LATE_CHARGE};
use crate::model::{Money, Report};

/// The forecasts of good reports. They are not stored; after a start the stored last report takes their place.
#[derive(Clone, Debug, Default)]
pub(crate) struct Foreseen {
    /// The forecasts of the last 24 hours, the oldest first, each for a day.
    of_day: Vec<Line>,
    /// The newest report, of any age.
    newest: Option<Arc<Report>>,
}

/// The balances that one report foresees, from its reading on.
#[derive(Clone, Debug)]
struct Line {
    read_at: DateTime<Utc>,
    /// The cut-off that it foresees.
    date: Option<DateTime<Utc>>,
    balance: Money,
    /// The balance after each moment of the day ahead at which something is charged.
    steps: Vec<(DateTime<Utc>, Money)>,
}

/// A report counts for this long.
const DAY: Duration = Duration::hours(24);
/// A charge is late only if the cut-off stays where it was; a payment of a day's charge moves it by more than this.
const SAME_DATE: Duration = Duration::hours(12);

impl Foreseen {
    /// Takes in a good report that was read at `now`. Returns the amount by which its balance is above what every
    /// report of the last 24 hours foresaw for now: a payment. If there is none, the last report counts, of any age; `last`
    /// is the one from before the start. A report without charges counts if `is_sure`.
    pub(crate) fn payment(
        &mut self,
        report: &Arc<Report>,
        last: Option<&Report>,
        is_sure: bool,
        now: DateTime<Utc>,
    ) -> Option<Money> {
        let is_good = report.moments_rejected == 0 && (is_sure || !forecast::is_bare(report));
        let balance = forecast::balance_now(report).filter(|_| is_good)?;
        let line = Line::of(report, balance, now);
        self.of_day.retain(|before| now - before.read_at < DAY);
        let of_day = self.of_day.iter().map(|before| before.highest(now, &line)).max();
        let newest = self.newest.replace(report.clone());
        let of_newest = || {
            let before = newest.as_deref().or(last)?;
            let late = late(forecast::disconnect(before).at(), line.date);
            forecast::highest_foreseen(before, now, late)
        };
        let highest = of_day.or_else(of_newest);
        // A report that foresaw this very balance adds nothing to this one.
        self.of_day.retain(|before| before.at(now) != balance);
        self.of_day.push(line);
        highest.map(|highest| balance - highest).filter(|paid| paid.is_positive())
    }

    /// All past moments. The caller corrects those that lie ahead of the clock.
    pub(super) fn moments(&mut self) -> impl Iterator<Item = &mut DateTime<Utc>> {
        self.of_day.iter_mut().map(|line| &mut line.read_at)
    }
}

impl Line {
    fn of(report: &Report, balance: Money, now: DateTime<Utc>) -> Self {
        let mut steps: Vec<(DateTime<Utc>, Money)> = Vec::new();
        for moment in report.moments.iter().take_while(|moment| moment.at <= now + DAY) {
            match steps.last_mut().filter(|(at, _)| *at == moment.at) {
                Some((_, left)) => *left = moment.balance,
                None => steps.push((moment.at, moment.balance)),
            }
        }
        steps.shrink_to_fit();
        Self { read_at: now, date: forecast::disconnect(report).at(), balance, steps }
    }

    fn at(&self, at: DateTime<Utc>) -> Money {
        let made = self.steps.partition_point(|(step, _)| *step <= at);
        made.checked_sub(1).map_or(self.balance, |last| self.steps[last].1)
    }

    /// The highest balance that it foresaw for `now`, as a later report is compared with it.
    fn highest(&self, now: DateTime<Utc>, later: &Self) -> Money {
        self.at(now).max(self.at(now - late(self.date, later.date)))
    }
}

/// A charge may be late by so much, if the cut-off moved from one date to another.
fn late(before: Option<DateTime<Utc>>, after: Option<DateTime<Utc>>) -> Duration {
    let has_moved = before.zip(after).is_some_and(|(before, after)| after - before > SAME_DATE);
    if has_moved { Duration::zero() } else { LATE_CHARGE }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Edd;
    use crate::model::forecast::tests::{money, report, t};

    /// A report with this balance and charges of 10 a day, read after this number of days.
    fn read(balance: &str, days: i64) -> (Arc<Report>, DateTime<Utc>) {
        let mut report = report(balance, "10", 30, Edd::Null);
        report.moments = report
            .moments
            .iter()
            .map(|mut moment| {
                moment.at += Duration::days(days);
                moment
            })
            .collect();
        (Arc::new(report), t("2026-03-01T12:00:00") + Duration::days(days))
    }

    #[test]
    fn a_balance_above_every_forecast_of_a_day_is_a_payment() {
        // Balance and day of each report, and whether it shows a payment.
        let table: [&[(&str, i64, bool)]; 5] = [
            &[("100", 0, false), ("90", 1, false), ("80", 2, false)],
            // Two days of failed polls cost as much as was paid meanwhile.
            &[("100", 0, false), ("100", 2, true)],
            &[("100", 0, false), ("81", 2, true), ("80", 2, false)],
            // Two backends that answer in turn show no payment.
            &[("100", 0, false), ("60", 0, false), ("100", 0, false), ("60", 0, false), ("100", 0, false)],
            &[("100", 0, false), ("60", 0, false), ("101", 0, true)],
        ];
        for story in table {
            let (mut foreseen, mut last) = (Foreseen::default(), None);
            for &(balance, days, want) in story {
                let (report, now) = read(balance, days);
                assert_eq!(
                    foreseen.payment(&report, last.as_deref(), false, now).is_some(),
                    want,
                    "{story:?}: {balance} on day {days}"
                );
                last = Some(report);
            }
        }
        let (paid, now) = read("50", 0);
        assert!(Foreseen::default().payment(&paid, None, false, now).is_none(), "no report before it");
        assert_eq!(Foreseen::default().payment(&paid, Some(&read("40", 0).0), false, now), Some(money("10")));
    }

    #[test]
    fn a_charge_that_is_made_within_an_hour_of_its_time_is_no_payment() {
        let (report, now) = read("100", 0);
        let due = report.moments.get(0).map(|moment| moment.at).unwrap();
        let cut_off = |days| Edd::At(due + Duration::days(days));
        let before = Arc::new(Report { edd: cut_off(1), ..(*report).clone() });
        // A payment of that charge brings the balance back too, and moves the date.
        for (minutes, days, want) in [(10, 1, false), (61, 1, true), (10, 2, true)] {
            let mut foreseen = Foreseen::default();
            foreseen.payment(&before, None, false, now);
            // The balance is the one from before the charge.
            let later = Arc::new(Report { edd: cut_off(days), ..(*before).clone() });
            let paid = foreseen.payment(&later, Some(&before), false, due + Duration::minutes(minutes));
            assert_eq!(paid.is_some(), want, "{minutes} min, {days} d");
        }
    }
}
