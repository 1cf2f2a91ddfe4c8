//! The last day on which a payment still arrives, and how mails say it. Pure.

use chrono::{DateTime, Datelike as _, Days, Duration, NaiveDate, Utc, Weekday};
use chrono_tz::Tz;

use super::words;

/// By when to pay.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum PayBy {
    /// Overdue: whatever is paid, is paid late.
    Now,
    Missed(NaiveDate),
    Today(NaiveDate),
    On(NaiveDate),
}

impl PayBy {
    /// For a disconnect at `edd`, with so many days for a payment. Counted in the calendar of the account's
    /// zone, so that a change of clocks in between moves nothing; a cut-off at midnight belongs to the day
    /// that it ends.
    pub(super) fn before(edd: DateTime<Utc>, lead_days: u32, now: DateTime<Utc>, zone: Tz) -> Option<Self> {
        if edd <= now {
            return Some(Self::Now);
        }
        let cut_off = (edd - Duration::seconds(1)).with_timezone(&zone).date_naive();
        let last = cut_off.checked_sub_days(Days::new(lead_days.into()))?;
        Some(match last.cmp(&today(now, zone)) {
            std::cmp::Ordering::Less => Self::Missed(last),
            std::cmp::Ordering::Equal => Self::Today(last),
            std::cmp::Ordering::Greater => Self::On(last),
        })
    }

    /// In a sentence: `pay 45 RUB …`.
    pub(super) fn in_sentence(self) -> String {
        match self {
            Self::Now => "now".to_owned(),
            Self::Missed(_) => "at once".to_owned(),
            Self::Today(date) => format!("today ({})", words::weekday(date)),
            Self::On(date) => format!("by {}", words::weekday(date)),
        }
    }

    /// In a column of days.
    pub(super) fn in_table(self) -> String {
        match self {
            Self::Now => "now".to_owned(),
            Self::Missed(_) => "at once".to_owned(),
            Self::Today(_) => "today".to_owned(),
            Self::On(date) => words::weekday(date),
        }
    }

    /// In a narrow column: `2026-03-01`.
    pub(super) fn in_column(self) -> String {
        match self {
            Self::Now | Self::Missed(_) | Self::Today(_) => self.in_table(),
            Self::On(date) => date.to_string(),
        }
    }

    /// The day itself; `None` once overdue.
    pub(super) fn date(self) -> Option<NaiveDate> {
        match self {
            Self::Now => None,
            Self::Missed(date) | Self::Today(date) | Self::On(date) => Some(date),
        }
    }

    /// In full, with how it was counted.
    pub(super) fn in_full(self, lead_days: u32, now: DateTime<Utc>, zone: Tz) -> String {
        let days = words::count(lead_days as usize, "day", "days");
        match self {
            Self::Now => "Overdue: pay now".to_owned(),
            Self::Missed(date) => format!(
                "Overdue: {} was the last safe day (a payment takes {days}); pay at once",
                words::weekday(date)
            ),
            Self::Today(date) => {
                format!(
                    "Today, {} (a payment takes {days}){}",
                    words::weekday(date),
                    weekend(date, today(now, zone))
                )
            }
            Self::On(date) => {
                format!(
                    "{} (a payment takes {days}){}",
                    words::weekday(date),
                    weekend(date, today(now, zone))
                )
            }
        }
    }
}

fn today(now: DateTime<Utc>, zone: Tz) -> NaiveDate {
    now.with_timezone(&zone).date_naive()
}

/// A payment made on a weekend may lie until Monday.
fn weekend(date: NaiveDate, today: NaiveDate) -> String {
    let back = match date.weekday() {
        Weekday::Sat => 1,
        Weekday::Sun => 2,
        Weekday::Mon | Weekday::Tue | Weekday::Wed | Weekday::Thu | Weekday::Fri => return String::new(),
    };
    let friday = date - Duration::days(back);
    if friday >= today {
        format!(". That is a weekend: better by {}", words::weekday(friday))
    } else {
        ". That is a weekend: banks may be slower".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::forecast::tests::t;

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
            let by = PayBy::before(t(edd), 3, t("2026-01-01T12:00:00"), zone);
            assert_eq!(by, Some(PayBy::On(want.parse().unwrap())), "{edd} in {zone}");
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
            assert_eq!(PayBy::before(edd, 3, t(now), berlin), Some(want), "{now}");
        }
    }

    #[test]
    fn weekends_are_said() {
        let now = t("2026-03-25T12:00:00");
        let words = |edd| {
            let by = PayBy::before(t(edd), 3, now, Tz::UTC).unwrap();
            by.in_full(3, now, Tz::UTC)
        };
        assert_eq!(words("2026-03-30T12:00:00"), "Friday 2026-03-27 (a payment takes 3 days)");
        assert_eq!(
            words("2026-03-31T12:00:00"),
            "Saturday 2026-03-28 (a payment takes 3 days). That is a weekend: better by Friday 2026-03-27"
        );
        assert_eq!(
            words("2026-04-01T12:00:00"),
            "Sunday 2026-03-29 (a payment takes 3 days). That is a weekend: better by Friday 2026-03-27"
        );
    }
}
