//! The last day on which a payment still arrives before the account is cut off. Pure.

use chrono::{DateTime, Datelike as _, Duration, NaiveDate, Utc, Weekday};
use chrono_tz::Tz;

use super::forecast::Disconnect;

/// By when to pay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PayBy {
    /// Cut off already, or nothing is left: whatever is paid is paid late.
    Now,
    /// The last safe day is over: a payment may or may not arrive in time.
    Missed(NaiveDate),
    Today(NaiveDate),
    On(NaiveDate),
}

impl PayBy {
    /// The day by which to pay; `None` where no disconnect is known. `lead_days` is how long a payment
    /// takes to arrive; the day is one of `zone`.
    pub fn of(disconnect: Disconnect, lead_days: u32, zone: Tz, now: DateTime<Utc>) -> Option<Self> {
        let at = match disconnect {
            Disconnect::At { at, .. } if at > now => at,
            Disconnect::At { .. } | Disconnect::Now => return Some(Self::Now),
            Disconnect::NotExpected | Disconnect::Unknown => return None,
        };
        let last = at.checked_sub_signed(Duration::days(i64::from(lead_days)))?;
        let last = last.with_timezone(&zone).date_naive();
        let today = now.with_timezone(&zone).date_naive();
        Some(match last.cmp(&today) {
            std::cmp::Ordering::Less => Self::Missed(last),
            std::cmp::Ordering::Equal => Self::Today(last),
            std::cmp::Ordering::Greater => Self::On(last),
        })
    }

    /// The day, where there is one.
    pub fn date(self) -> Option<NaiveDate> {
        match self {
            Self::Now => None,
            Self::Missed(date) | Self::Today(date) | Self::On(date) => Some(date),
        }
    }
}

/// The Friday before a day of the weekend, on which a payment may lie until Monday; `None` for a
/// working day.
pub fn friday_before(date: NaiveDate) -> Option<NaiveDate> {
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
        }
        assert_eq!(PayBy::of(Disconnect::Now, 3, Tz::UTC, now), Some(PayBy::Now));
        assert_eq!(PayBy::of(Disconnect::NotExpected, 3, Tz::UTC, now), None);
        assert_eq!(friday_before(date("2026-03-07")), Some(date("2026-03-06")));
        assert_eq!(friday_before(date("2026-03-08")), Some(date("2026-03-06")));
        assert_eq!(friday_before(date("2026-03-09")), None);
    }
}
