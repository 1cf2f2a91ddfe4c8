//! How mails say the day to pay by. Pure.

use chrono::{DateTime, NaiveDate, Utc};
use chrono_tz::Tz;

use crate::model::PayBy;
use crate::model::pay_by::friday_before;
use crate::view::words;

impl PayBy {
    /// In a sentence: `pay 45 RUB …`.
    pub(super) fn in_sentence(self) -> String {
        match self {
            Self::Now => "now".to_owned(),
            Self::Missed(_) => "at once".to_owned(),
            Self::Today(date) => format!("today ({})", words::iso_weekday(date)),
            Self::On(date) => format!("by {}", words::iso_weekday(date)),
        }
    }

    /// In a column of days.
    pub(super) fn in_table(self) -> String {
        match self {
            Self::Now => "now".to_owned(),
            Self::Missed(_) => "at once".to_owned(),
            Self::Today(_) => "today".to_owned(),
            Self::On(date) => words::iso_weekday(date),
        }
    }

    /// In a narrow column: `2026-03-01`.
    pub(super) fn in_column(self) -> String {
        match self {
            Self::Now | Self::Missed(_) | Self::Today(_) => self.in_table(),
            Self::On(date) => date.to_string(),
        }
    }

    /// In full, with how it was counted.
    pub(super) fn in_full(self, lead_days: u32, now: DateTime<Utc>, zone: Tz) -> String {
        let days = words::count(lead_days as usize, "day", "days");
        match self {
            Self::Now => "Overdue: pay now".to_owned(),
            Self::Missed(date) => format!(
                "Overdue: {} was the last safe day (a payment takes {days}); pay at once",
                words::iso_weekday(date)
            ),
            Self::Today(date) => {
                format!(
                    "Today, {} (a payment takes {days}){}",
                    words::iso_weekday(date),
                    weekend(date, today(now, zone))
                )
            }
            Self::On(date) => {
                format!(
                    "{} (a payment takes {days}){}",
                    words::iso_weekday(date),
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
    match friday_before(date) {
        Some(friday) if friday >= today => {
            format!(". That is a weekend: better by {}", words::iso_weekday(friday))
        }
        Some(_) => ". That is a weekend: banks may be slower".to_owned(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::forecast::tests::t;

    #[test]
    fn weekends_are_said() {
        let now = t("2026-03-25T12:00:00");
        let words = |edd| {
            let by = PayBy::before(t(edd), 3, Tz::UTC, now).unwrap();
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
