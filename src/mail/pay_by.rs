//! How mails say the day to pay by. Pure.

use chrono::{DateTime, NaiveDate, Utc};
use chrono_tz::Tz;

use crate::model::PayBy;
use crate::model::pay_by::friday_before;

use crate::view::words;

impl PayBy {
    /// In full, with how it was counted; `None` where there is nothing to count.
    pub(super) fn in_full(self, lead_days: u32, now: DateTime<Utc>, zone: Tz) -> Option<String> {
        let takes = words::count(lead_days as usize, "day", "days");
        let day = |date| words::subject_day(date, zone, now);
        let weekend = |date| weekend(date, now.with_timezone(&zone).date_naive(), day);
        match self {
            Self::Now => None,
            Self::Missed(date) => {
                Some(format!("Too late to be safe ({} was the last safe day): pay now.", day(date)))
            }
            Self::Today(date) => {
                Some(format!("Today is the last safe day: a payment takes {takes}.{}", weekend(date)))
            }
            Self::On(date) => {
                Some(format!("{} is the last safe day: a payment takes {takes}.{}", day(date), weekend(date)))
            }
        }
    }
}

/// A payment made on a weekend may lie until Monday.
fn weekend(date: NaiveDate, today: NaiveDate, day: impl Fn(NaiveDate) -> String) -> String {
    match friday_before(date) {
        Some(friday) if friday >= today => format!(" That is a weekend: better by {}.", day(friday)),
        Some(_) => " That is a weekend: banks may be slower.".to_owned(),
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
            by.in_full(3, now, Tz::UTC).unwrap()
        };
        let safe = "is the last safe day: a payment takes 3 days.";
        assert_eq!(words("2026-03-30T12:00:00"), format!("Fri 27 Mar {safe}"));
        let better = "That is a weekend: better by Fri 27 Mar.";
        assert_eq!(words("2026-03-31T12:00:00"), format!("Sat 28 Mar {safe} {better}"));
        assert_eq!(words("2026-04-01T12:00:00"), format!("Sun 29 Mar {safe} {better}"));
    }
}
