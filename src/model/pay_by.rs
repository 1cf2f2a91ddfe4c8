//! The last day on which a payment still arrives before the account is cut off: THE one, for every surface. Pure.

use chrono::{DateTime, Datelike as _, Days, Duration, NaiveDate, NaiveTime, Utc, Weekday};
use chrono_tz::Tz;

use super::forecast::Disconnect;
use super::time::at_zone;

/// By when to pay.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum PayBy {
    /// Cut off already, or nothing is left: whatever is paid is paid late.
    Now,
    /// The last safe day is over: a payment may or may not arrive in time.
    Missed(NaiveDate),
    Today(NaiveDate),
    On(NaiveDate),
}

impl PayBy {
    /// The day by which to pay; `None` where no disconnect is known. `lead_days` is how long a payment
    /// takes to arrive.
    pub(crate) fn of(disconnect: Disconnect, lead_days: u32, zone: Tz, now: DateTime<Utc>) -> Option<Self> {
        match disconnect {
            Disconnect::At { at, .. } => Self::before(at, lead_days, zone, now),
            Disconnect::Now => Some(Self::Now),
            Disconnect::NotExpected | Disconnect::Unknown => None,
        }
    }

    /// The same for a cut-off at a known moment.
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

    /// The same, of which only the day was kept.
    pub(crate) fn seen_at(self, zone: Tz, now: DateTime<Utc>) -> Self {
        match self {
            Self::On(date) if date == now.with_timezone(&zone).date_naive() => Self::Today(date),
            Self::Now | Self::Missed(_) | Self::Today(_) | Self::On(_) => self,
        }
    }

    /// The day, where there is one.
    pub(crate) fn date(self) -> Option<NaiveDate> {
        match self {
            Self::Now => None,
            Self::Missed(date) | Self::Today(date) | Self::On(date) => Some(date),
        }
    }

    /// No day is left on which a payment is sure to arrive in time.
    pub(crate) fn is_at_once(self) -> bool {
        matches!(self, Self::Now | Self::Missed(_))
    }
}

/// From when on a payment comes too late: the midnight after the last day, and never after the cut-off.
pub(crate) fn too_late_from(cut_off: DateTime<Utc>, lead_days: u32, zone: Tz) -> Option<DateTime<Utc>> {
    let next = last_day(cut_off, lead_days, zone)?.succ_opt()?;
    Some(at_zone(next.and_time(NaiveTime::MIN), zone).min(cut_off))
}

/// Counted in the calendar of the account's zone, so that a change of clocks in between moves nothing; a cut-off
/// at midnight belongs to the day that it ends.
pub(crate) fn last_day(cut_off: DateTime<Utc>, lead_days: u32, zone: Tz) -> Option<NaiveDate> {
    let day = cut_off.checked_sub_signed(Duration::seconds(1))?.with_timezone(&zone).date_naive();
    day.checked_sub_days(Days::new(lead_days.into()))
}

/// The Friday before a day of the weekend, on which a payment may lie until Monday; `None` for a
/// working day.
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
            ("2026-03-10T12:00:00", Tz::UTC, Some(PayBy::On(date("2026-03-07")))),
            // 22:30 in UTC is the next day in Moscow.
            ("2026-03-09T22:30:00", Tz::Europe__Moscow, Some(PayBy::On(date("2026-03-07")))),
            ("2026-03-04T08:00:00", Tz::UTC, Some(PayBy::Today(date("2026-03-01")))),
            ("2026-03-02T12:00:00", Tz::UTC, Some(PayBy::Missed(date("2026-02-27")))),
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
            let kept = want.map(|by| if let PayBy::Today(day) = by { PayBy::On(day) } else { by });
            assert_eq!(kept.map(|by| by.seen_at(zone, now)), want, "{at}");
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
        assert_eq!(too_late_from(cut_off, 0, Tz::UTC), Some(cut_off));
    }

    #[test]
    fn days_are_those_of_the_accounts_calendar() {
        let (berlin, moscow) = (chrono_tz::Europe::Berlin, chrono_tz::Europe::Moscow);
        let table = [
            ("2026-03-09T20:30:00", moscow, "2026-03-06"),
            ("2026-03-09T21:30:00", moscow, "2026-03-07"),
            // Midnight at Moscow, as of a report that gives a date alone: the 10th begins in the dark.
            ("2026-03-09T21:00:00", moscow, "2026-03-06"),
            // Clocks go forward on 29 March: 72 hours before 00:30 on the 30th it was 23:30 on the 26th.
            ("2026-03-29T22:30:00", berlin, "2026-03-27"),
            ("2026-03-29T12:00:00", berlin, "2026-03-26"),
            // Clocks go back on 25 October: 72 hours before 23:30 that day it was 00:30 on the 23rd.
            ("2026-10-25T22:30:00", berlin, "2026-10-22"),
            ("2026-10-25T23:30:00", berlin, "2026-10-23"),
            // 02:30 comes twice that night.
            ("2026-10-25T00:30:00", berlin, "2026-10-22"),
            ("2026-10-25T01:30:00", berlin, "2026-10-22"),
        ];
        for (edd, zone, want) in table {
            let by = PayBy::before(t(edd), 3, zone, t("2026-01-01T12:00:00"));
            let want: NaiveDate = want.parse().unwrap();
            assert_eq!(by, Some(PayBy::On(want)), "{edd} in {zone}");
            // Only from the next day on it is too late.
            let late = too_late_from(t(edd), 3, zone).unwrap().with_timezone(&zone);
            assert_eq!(late.date_naive().pred_opt(), Some(want), "{edd} in {zone}");
        }
    }

    #[test]
    fn today_begins_and_ends_at_the_accounts_midnight() {
        let berlin = chrono_tz::Europe::Berlin;
        let edd = t("2026-03-30T10:00:00");
        let date = |text: &str| text.parse().unwrap();
        for (now, want) in [
            ("2026-03-26T22:59:59", PayBy::On(date("2026-03-27"))),
            ("2026-03-26T23:00:00", PayBy::Today(date("2026-03-27"))),
            ("2026-03-27T22:59:59", PayBy::Today(date("2026-03-27"))),
            ("2026-03-27T23:00:00", PayBy::Missed(date("2026-03-27"))),
            ("2026-03-30T10:00:00", PayBy::Now),
        ] {
            assert_eq!(PayBy::before(edd, 3, berlin, t(now)), Some(want), "{now}");
        }
    }
}
