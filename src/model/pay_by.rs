//! THE last day on which a payment still arrives before the cut-off, for every medium. Pure.

use chrono::{DateTime, Datelike as _, Duration, NaiveDate, NaiveTime, Utc, Weekday};
use chrono_tz::Tz;

use super::forecast::Disconnect;
use super::time::at_zone;

/// The day to pay by.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum PayBy {
    /// The account is cut off already, or its balance is used up: any payment is late.
    Now,
    /// The last safe day is over: a payment may or may not arrive in time.
    Missed(NaiveDate),
    Today(NaiveDate),
    On(NaiveDate),
}

impl PayBy {
    /// The day to pay by; `None` if no cut-off is known. `lead_days` is the number of days that a payment takes
    /// to arrive.
    pub(crate) fn of(disconnect: Disconnect, lead_days: u32, zone: Tz, now: DateTime<Utc>) -> Option<Self> {
        match disconnect {
            Disconnect::At { at, .. } => Self::before(at, lead_days, zone, now),
            Disconnect::Now => Some(Self::Now),
            Disconnect::NotExpected | Disconnect::Unknown => None,
        }
    }

    /// The day for a cut-off at a known moment.
    pub(crate) fn before(
        cut_off: DateTime<Utc>,
        lead_days: u32,
        zone: Tz,
        now: DateTime<Utc>,
    ) -> Option<Self> {
        if cut_off <= now {
            return Some(Self::Now);
        }
        let last = last_day(cut_off, lead_days, zone)?;
        Some(match last.cmp(&now.with_timezone(&zone).date_naive()) {
            std::cmp::Ordering::Less => Self::Missed(last),
            std::cmp::Ordering::Equal => Self::Today(last),
            std::cmp::Ordering::Greater => Self::On(last),
        })
    }

    /// The day, if there is one.
    pub(crate) fn date(self) -> Option<NaiveDate> {
        match self {
            Self::Now => None,
            Self::Missed(date) | Self::Today(date) | Self::On(date) => Some(date),
        }
    }

    /// Whether there is no day left on which a payment surely arrives in time.
    pub(crate) fn is_at_once(self) -> bool {
        matches!(self, Self::Now | Self::Missed(_))
    }
}

impl Disconnect {
    /// Whether a payment that is made today may come too late, or nothing is left.
    pub(crate) fn is_near(self, is_used_up: bool, lead_days: u32, zone: Tz, now: DateTime<Utc>) -> bool {
        match self {
            Self::At { at, .. } => is_used_up || near_from(at, lead_days, zone) <= now,
            Self::Now => true,
            Self::NotExpected | Self::Unknown => false,
        }
    }
}

/// The time from which on a cut-off is near: the first moment of the last safe day, or `lead_days` + 1 times 24
/// hours before the cut-off, whichever is earlier.
pub(crate) fn near_from(cut_off: DateTime<Utc>, lead_days: u32, zone: Tz) -> DateTime<Utc> {
    let periods = before(cut_off, lead_days.saturating_add(1)).unwrap_or(cut_off);
    last_day(cut_off, lead_days, zone).map_or(periods, |day| begins(day, zone).min(periods))
}

/// The first moment of a day.
fn begins(day: NaiveDate, zone: Tz) -> DateTime<Utc> {
    at_zone(day.and_time(NaiveTime::MIN), zone)
}

/// The last safe day, in the account's calendar. It ends at least `lead_days` times 24 hours before the
/// cut-off, so a payment made at any time of that day arrives.
pub(crate) fn last_day(cut_off: DateTime<Utc>, lead_days: u32, zone: Tz) -> Option<NaiveDate> {
    before(cut_off, lead_days)?.with_timezone(&zone).date_naive().pred_opt()
}

/// The moment `days` times 24 hours before.
fn before(at: DateTime<Utc>, days: u32) -> Option<DateTime<Utc>> {
    at.checked_sub_signed(Duration::days(days.into()))
}

/// The Friday before a day of a weekend, on which a payment may wait until Monday; `None` for a working day.
pub(crate) fn friday_before(date: NaiveDate) -> Option<NaiveDate> {
    let back = match date.weekday() {
        Weekday::Sat => 1,
        Weekday::Sun => 2,
        Weekday::Mon | Weekday::Tue | Weekday::Wed | Weekday::Thu | Weekday::Fri => return None,
    };
    date.checked_sub_signed(Duration::days(back))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::forecast::tests::t;

    #[test]
    fn a_payment_takes_its_time() {
        let now = t("2026-03-01T12:00:00");
        let date = |text: &str| text.parse::<NaiveDate>().unwrap();
        let table = [
            // A payment on the evening of Saturday the 7th would arrive after noon on the 10th.
            ("2026-03-10T12:00:00", Tz::UTC, Some(PayBy::On(date("2026-03-06")))),
            // 22:30 in UTC is the next day in Moscow.
            ("2026-03-09T22:30:00", Tz::Europe__Moscow, Some(PayBy::On(date("2026-03-06")))),
            ("2026-03-05T08:00:00", Tz::UTC, Some(PayBy::Today(date("2026-03-01")))),
            ("2026-03-02T12:00:00", Tz::UTC, Some(PayBy::Missed(date("2026-02-26")))),
            ("2026-03-01T12:00:00", Tz::UTC, Some(PayBy::Now)),
        ];
        for (at, zone, want) in table {
            let disconnect = Disconnect::At { at: t(at), computed: false };
            assert_eq!(PayBy::of(disconnect, 3, zone, now), want, "{at}");
            let day = match want {
                Some(PayBy::On(day) | PayBy::Today(day) | PayBy::Missed(day)) => Some(day),
                Some(PayBy::Now) | None => None,
            };
            assert_eq!(want.and_then(PayBy::date), day, "{at}");
        }
        assert_eq!(PayBy::of(Disconnect::Now, 3, Tz::UTC, now), Some(PayBy::Now));
        assert_eq!(PayBy::of(Disconnect::NotExpected, 3, Tz::UTC, now), None);
        assert_eq!(friday_before(date("2026-03-07")), Some(date("2026-03-06")));
        assert_eq!(friday_before(date("2026-03-08")), Some(date("2026-03-06")));
        assert_eq!(friday_before(date("2026-03-09")), None);
    }

    #[test]
    fn a_payment_that_takes_no_time_is_never_too_late() {
        let cut_off = t("2026-03-10T12:00:00");
        let by = |now: &str| PayBy::before(cut_off, 0, Tz::UTC, t(now));
        let day = "2026-03-09".parse().unwrap();
        assert_eq!(by("2026-03-08T23:59:59"), Some(PayBy::On(day)));
        assert_eq!(by("2026-03-09T00:00:00"), Some(PayBy::Today(day)));
        assert_eq!(by("2026-03-10T00:00:00"), Some(PayBy::Missed(day)), "now");
        assert_eq!(near_from(cut_off, 0, Tz::UTC), t("2026-03-09T00:00:00"));
    }

    #[test]
    fn days_are_those_of_the_accounts_calendar() {
        let (berlin, moscow) = (chrono_tz::Europe::Berlin, chrono_tz::Europe::Moscow);
        let table = [
            ("2026-03-09T20:30:00", moscow, "2026-03-05"),
            ("2026-03-09T21:30:00", moscow, "2026-03-06"),
            // Midnight in Moscow, from a report with a date alone: the 6th ends 72 hours before.
            ("2026-03-09T21:00:00", moscow, "2026-03-06"),
            ("2026-03-10T06:00:00", moscow, "2026-03-06"),
            // Clocks go forward on 29 March: 72 hours before 00:30 on the 30th it was 23:30 on the 26th.
            ("2026-03-29T22:30:00", berlin, "2026-03-25"),
            ("2026-03-29T12:00:00", berlin, "2026-03-25"),
            // From the end of the 27th to midnight on the 31st it is 71 hours.
            ("2026-03-30T22:00:00", berlin, "2026-03-26"),
            // Clocks go back on 25 October: 72 hours before 23:30 that day it was 00:30 on the 23rd.
            ("2026-10-25T22:30:00", berlin, "2026-10-22"),
            ("2026-10-25T23:30:00", berlin, "2026-10-22"),
            // 02:30 comes twice that night.
            ("2026-10-25T00:30:00", berlin, "2026-10-21"),
            ("2026-10-25T01:30:00", berlin, "2026-10-21"),
        ];
        for (edd, zone, want) in table {
            let by = PayBy::before(t(edd), 3, zone, t("2026-01-01T12:00:00"));
            let want: NaiveDate = want.parse().unwrap();
            assert_eq!(by, Some(PayBy::On(want)), "{edd} in {zone}");
            // A payment on the evening of that day arrives.
            assert!(t(edd) - begins(want.succ_opt().unwrap(), zone) >= Duration::days(3), "{edd} in {zone}");
        }
    }

    #[test]
    fn a_cut_off_is_near_from_the_first_moment_of_the_last_day() {
        let (berlin, moscow) = (chrono_tz::Europe::Berlin, chrono_tz::Europe::Moscow);
        for (cut_off, zone, want) in [
            ("2026-03-10T09:00:00", Tz::UTC, "2026-03-06T00:00:00"),
            ("2026-03-10T00:00:00", Tz::UTC, "2026-03-06T00:00:00"),
            ("2026-03-10T09:00:00", moscow, "2026-03-05T21:00:00"),
            // The last day has 23 hours: the fourth period of 24 hours begins an hour before it.
            ("2026-04-01T22:00:00", berlin, "2026-03-28T22:00:00"),
            ("2026-04-01T23:00:00", berlin, "2026-03-28T23:00:00"),
            // The last day has 25 hours.
            ("2026-10-28T23:00:00", berlin, "2026-10-24T22:00:00"),
        ] {
            assert_eq!(near_from(t(cut_off), 3, zone), t(want), "{cut_off} in {zone}");
        }
    }

    #[test]
    fn today_begins_and_ends_at_the_accounts_midnight() {
        let berlin = chrono_tz::Europe::Berlin;
        let edd = t("2026-03-30T10:00:00");
        let date = |text: &str| text.parse().unwrap();
        for (now, want) in [
            ("2026-03-25T22:59:59", PayBy::On(date("2026-03-26"))),
            ("2026-03-25T23:00:00", PayBy::Today(date("2026-03-26"))),
            ("2026-03-26T22:59:59", PayBy::Today(date("2026-03-26"))),
            ("2026-03-26T23:00:00", PayBy::Missed(date("2026-03-26"))),
            ("2026-03-30T10:00:00", PayBy::Now),
        ] {
            assert_eq!(PayBy::before(edd, 3, berlin, t(now)), Some(want), "{now}");
        }
    }
}
