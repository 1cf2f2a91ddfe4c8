//! After the cut-off: on which days an overdue account is mailed again, and how the day comes on which the provider
//! deletes the data. Pure.

use chrono::{DateTime, Days, Duration, NaiveDate, TimeZone, Utc};
use chrono_tz::Tz;
use serde::{Deserialize, Serialize};

use crate::model::Money;

/// What was mailed of one cut-off.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Overdue {
    /// `None` where nothing names its moment.
    pub cut_off: Option<DateTime<Utc>>,
    /// When it was first mailed, and last.
    pub told_at: DateTime<Utc>,
    pub mailed_at: DateTime<Utc>,
    /// The balance when it was first mailed: a higher one later means that somebody paid in between.
    pub balance: Option<Money>,
    /// The day of the last reminder.
    #[serde(default)]
    pub reminded: Option<NaiveDate>,
    /// How many days before the deletion was mailed.
    #[serde(default)]
    pub deletions: Vec<u32>,
}

/// A mail that is due while the account stays cut off.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Again {
    /// Still overdue; of this day.
    Overdue(NaiveDate),
    /// The data are deleted in so many days.
    Deletion(u32),
}

/// How it is reminded of.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReminderPlan {
    /// From the cut-off until the data are deleted; 0 where that is not known.
    pub deletion_days: u32,
    pub zone: Tz,
    /// Somebody works on it: only the deletion is mailed.
    pub acknowledged: bool,
}

/// Daily for a week, then every third day for thirty days.
const DAILY: u32 = 7;
const EVERY: u32 = 3;
const LAST: u32 = DAILY + 30;
/// Days before the deletion.
const DELETION_RUNGS: [u32; 4] = [7, 3, 1, 0];
/// A reminder that is due sooner after the last mail than this is left out.
const LEAST_PAUSE: Duration = Duration::hours(12);

impl Overdue {
    /// A cut-off that is mailed now.
    pub(super) fn told(cut_off: Option<DateTime<Utc>>, balance: Option<Money>, now: DateTime<Utc>) -> Self {
        Self { cut_off, told_at: now, mailed_at: now, balance, reminded: None, deletions: Vec::new() }
    }

    /// What is due at `now`, of the days since the last mail. `cut_off` as the last report has it.
    pub(super) fn due(
        &self,
        cut_off: Option<DateTime<Utc>>,
        plan: ReminderPlan,
        now: DateTime<Utc>,
    ) -> Option<Again> {
        let from = cut_off.unwrap_or(self.told_at);
        let since_last = |at: DateTime<Utc>| at <= now && at > self.mailed_at;
        let deletion = Some(plan.deletion_days).filter(|&days| days > 0 && cut_off.is_some());
        // The nearest comes last; a mail that was missed is not made up for by a later one.
        let near = DELETION_RUNGS.iter().rev().copied().find(|&left| {
            let day = deletion.and_then(|deletion| deletion.checked_sub(left));
            day.is_some_and(|day| day > 0 && since_last(from + days(day))) && !self.deletions.contains(&left)
        });
        if near.is_some() {
            return near.map(Again::Deletion);
        }
        if plan.acknowledged {
            return None;
        }
        let last = deletion.map_or(LAST, |deletion| deletion.min(LAST));
        let is_on = |day: &u32| *day <= DAILY || (*day - DAILY).is_multiple_of(EVERY);
        let mut days = (1..=last).rev().filter(is_on).map(|day| (day, days_later(from, day, plan.zone)));
        let (day, at) = days.find(|&(_, at)| since_last(at))?;
        let date = at.with_timezone(&plan.zone).date_naive();
        let soon = at - self.mailed_at < LEAST_PAUSE;
        // Where clocks change, that day's mail about the deletion is an hour earlier or later.
        let gives_way =
            DELETION_RUNGS.iter().any(|left| deletion == Some(day + left) && !self.deletions.contains(left));
        (!soon && !gives_way && self.reminded != Some(date)).then_some(Again::Overdue(date))
    }

    /// When something is due next, after `now`; `plan` is one that is acknowledged until then at most.
    pub(super) fn next_due(
        &self,
        cut_off: Option<DateTime<Utc>>,
        plan: ReminderPlan,
        acknowledged_until: Option<DateTime<Utc>>,
        now: DateTime<Utc>,
    ) -> Option<DateTime<Utc>> {
        let from = cut_off.unwrap_or(self.told_at);
        let last = LAST.max(plan.deletion_days);
        let ends = acknowledged_until.filter(|&at| at > now);
        let moments = (1..=last).flat_map(|day| [from + days(day), days_later(from, day, plan.zone)]);
        let ahead = moments.filter(|&at| at > now).chain(ends);
        let plan =
            |at| ReminderPlan { acknowledged: plan.acknowledged && ends.is_none_or(|end| at < end), ..plan };
        ahead.filter(|&at| self.due(cut_off, plan(at), at).is_some()).min()
    }

    /// It is mailed now.
    pub(super) fn took(&mut self, again: Again, now: DateTime<Utc>) {
        self.mailed_at = now;
        match again {
            Again::Overdue(date) => self.reminded = Some(date),
            Again::Deletion(left) => self.deletions.push(left),
        }
    }
}

/// When the data of an account that was cut off then are deleted; `None` before the cut-off, and where that is not known.
pub(crate) fn deletion(
    cut_off: Option<DateTime<Utc>>,
    deletion_days: u32,
    now: DateTime<Utc>,
) -> Option<DateTime<Utc>> {
    let is_known = |at: &DateTime<Utc>| *at <= now && deletion_days > 0;
    cut_off.filter(is_known)?.checked_add_signed(days(deletion_days))
}

/// How many days are left until then: periods of 24 hours, the one that runs counted as a whole; 0 once it has come.
pub(crate) fn days_left(at: DateTime<Utc>, now: DateTime<Utc>) -> u32 {
    let left = at - now;
    let begun = i64::from(left > Duration::days(left.num_days()));
    u32::try_from(left.num_days() + begun).unwrap_or(0)
}

/// So many days later, at the same time of the day there: each has a date of its own, also where clocks change. A time that
/// they skip counts by hours.
fn days_later(from: DateTime<Utc>, count: u32, zone: Tz) -> DateTime<Utc> {
    let local = from.with_timezone(&zone).naive_local().checked_add_days(Days::new(count.into()));
    let at = local.and_then(|local| zone.from_local_datetime(&local).earliest());
    at.map_or(from + days(count), |at| at.to_utc())
}

/// So many periods of 24 hours.
pub(super) fn days(count: u32) -> Duration {
    Duration::days(i64::from(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut_off() -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000, 0).unwrap()
    }

    /// What is mailed on which day after the cut-off, looked at every hour.
    fn walk(plan: ReminderPlan, dated: bool, mut overdue: Overdue, until: u32) -> Vec<(i64, Again)> {
        let mut told = Vec::new();
        for hour in 0..i64::from(until) * 24 + 2 {
            let now = cut_off() + Duration::hours(hour);
            if let Some(again) = overdue.due(dated.then(cut_off), plan, now) {
                overdue.took(again, now);
                told.push((hour / 24, again));
            }
        }
        told
    }

    fn plan(deletion_days: u32) -> ReminderPlan {
        ReminderPlan { deletion_days, zone: Tz::UTC, acknowledged: false }
    }

    fn told() -> Overdue {
        Overdue::told(Some(cut_off()), None, cut_off() + Duration::minutes(1))
    }

    #[test]
    fn daily_for_a_week_then_every_third_day_for_thirty_days() {
        let told = walk(plan(0), true, told(), 60);
        let days: Vec<i64> = told.iter().map(|(day, _)| *day).collect();
        assert_eq!(days, [1, 2, 3, 4, 5, 6, 7, 10, 13, 16, 19, 22, 25, 28, 31, 34, 37]);
        assert!(told.iter().all(|(_, again)| matches!(again, Again::Overdue(_))), "no date, no deletion");
        let of_a_date = cut_off().date_naive() + Duration::days(1);
        assert_eq!(told[0].1, Again::Overdue(of_a_date));
    }

    #[test]
    fn the_deletion_takes_the_place_of_that_days_mail() {
        let left = |told: Vec<(i64, Again)>| -> Vec<(i64, Option<u32>)> {
            let left = |again| match again {
                Again::Deletion(left) => Some(left),
                Again::Overdue(_) => None,
            };
            told.into_iter().map(|(day, again)| (day, left(again))).collect()
        };
        let of = |days| left(walk(plan(days), true, told(), 60));
        let none = |day| (day, None);
        let fourteen = [
            (1..7).map(none).collect::<Vec<_>>(),
            vec![(7, Some(7)), none(10), (11, Some(3)), (13, Some(1)), (14, Some(0))],
        ];
        assert_eq!(of(14), fourteen.concat());
        assert_eq!(of(2), [(1, Some(1)), (2, Some(0))]);
        assert_eq!(of(7)[..4], [none(1), none(2), none(3), (4, Some(3))]);
        assert_eq!(of(1), [(1, Some(0))]);
        // An ack stops none of them, and nothing else is mailed.
        let acknowledged = ReminderPlan { acknowledged: true, ..plan(8) };
        let want = [(1, Some(7)), (5, Some(3)), (7, Some(1)), (8, Some(0))];
        assert_eq!(left(walk(acknowledged, true, told(), 60)), want);
        // No date is invented where nobody knows the moment of the cut-off.
        let undated = left(walk(plan(8), false, Overdue::told(None, None, cut_off()), 60));
        assert!(undated.len() == 17 && undated.iter().all(|(_, left)| left.is_none()), "{undated:?}");
    }

    /// Off since midnight, where a day has 25 hours or 23: a mail a day, each of its own date.
    #[test]
    fn where_clocks_change_each_day_has_its_mail() {
        for (from, zone) in
            [("2027-11-06T04:00:00Z", Tz::America__New_York), ("2027-03-26T23:00:00Z", Tz::Europe__Berlin)]
        {
            let from: DateTime<Utc> = from.parse().unwrap();
            let mut overdue = Overdue::told(Some(from), None, from);
            let plan = ReminderPlan { deletion_days: 0, zone, acknowledged: false };
            let mut told = Vec::new();
            for minute in 0..8 * 24 * 60 {
                let now = from + Duration::minutes(minute);
                if let Some(again) = overdue.due(Some(from), plan, now) {
                    let Again::Overdue(date) = again else { unreachable!() };
                    assert_eq!(now.with_timezone(&zone).time(), chrono::NaiveTime::MIN, "{now}");
                    told.push(date);
                    overdue.took(again, now);
                }
            }
            let first = from.with_timezone(&zone).date_naive();
            assert_eq!(told, (1..=7).map(|day| first + Days::new(day)).collect::<Vec<_>>());
        }
    }

    /// A deletion is a number of 24-hour periods away, a day's mail comes at the same time of the day.
    #[test]
    fn where_clocks_change_the_deletion_takes_the_place_of_that_days_mail_too() {
        for (from, zone) in
            [("2027-11-06T16:00:00Z", Tz::America__New_York), ("2027-03-26T13:00:00Z", Tz::Europe__Berlin)]
        {
            let from: DateTime<Utc> = from.parse().unwrap();
            let mut overdue = Overdue::told(Some(from), None, from);
            let plan = ReminderPlan { deletion_days: 7, zone, acknowledged: false };
            let mut told = Vec::new();
            for minute in 0..9 * 24 * 60 {
                let now = from + Duration::minutes(minute);
                if let Some(again) = overdue.due(Some(from), plan, now) {
                    let left = match again {
                        Again::Deletion(left) => Some(left),
                        Again::Overdue(_) => None,
                    };
                    told.push(((now + Duration::hours(1) - from).num_days(), left));
                    overdue.took(again, now);
                }
            }
            let want = [(1, None), (2, None), (3, None), (4, Some(3)), (5, None), (6, Some(1)), (7, Some(0))];
            assert_eq!(told, want, "{zone}");
        }
    }

    #[test]
    fn a_day_that_runs_is_counted_as_a_whole() {
        let of = |left: Duration| days_left(cut_off(), cut_off() - left);
        let (day, second) = (Duration::days(1), Duration::seconds(1));
        assert_eq!([of(day * 7), of(day * 7 - second), of(day * 6 + second), of(day * 6)], [7, 7, 7, 6]);
        assert_eq!([of(day), of(second), of(Duration::zero()), of(-second), of(-day * 3)], [1, 1, 0, 0, 0]);
    }

    #[test]
    fn what_is_due_next_knows_when_an_acknowledgement_ends() {
        let now = |hours| cut_off() + Duration::hours(hours);
        let overdue = Overdue::told(Some(cut_off()), None, now(0));
        let acknowledged = |days| ReminderPlan { acknowledged: true, ..plan(days) };
        let next = |plan, until| overdue.next_due(Some(cut_off()), plan, until, now(2));
        assert_eq!(next(plan(0), None), Some(now(24)));
        // The day that passed meanwhile is made up for at once.
        assert_eq!(next(acknowledged(0), Some(now(73))), Some(now(73)));
        assert_eq!(next(acknowledged(0), None), None);
        assert_eq!(next(acknowledged(4), Some(now(73))), Some(now(24)), "3 days before the deletion");
    }

    #[test]
    fn after_a_time_without_mails_only_the_nearest_is_mailed() {
        let now = |hours| cut_off() + Duration::hours(hours);
        let mut overdue = told();
        assert_eq!(overdue.due(Some(cut_off()), plan(6), now(5 * 24 + 1)), Some(Again::Deletion(1)));
        overdue.took(Again::Deletion(1), now(5 * 24 + 1));
        assert_eq!(overdue.due(Some(cut_off()), plan(6), now(5 * 24 + 2)), None);
        // First mailed late: the reminder of an hour later is left out.
        let late = Overdue::told(Some(cut_off()), None, now(23));
        assert_eq!(late.due(Some(cut_off()), plan(0), now(25)), None);
        assert!(late.due(Some(cut_off()), plan(0), now(49)).is_some());
    }
}
