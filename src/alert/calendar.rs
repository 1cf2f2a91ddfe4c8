//! What calendars have to be told of a cut-off: its date, and how often that moved. Pure.

use chrono::{DateTime, NaiveDate, Utc};
use serde::{Deserialize, Serialize};

/// The cut-off of one account as a calendar has it. Kept for as long as the incident's number is, so that a calendar that
/// missed a year still takes the next date for the newer one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct CalendarEntry {
    /// Up by one at each move (RFC 5545, 3.8.7.4).
    pub sequence: u32,
    /// The last that was known.
    pub cut_off: DateTime<Utc>,
    /// The last day to pay; `None` where none was ever entered.
    #[serde(default)]
    pub pay_by: Option<NaiveDate>,
    /// No cut-off is expected any more, or nothing looks for one.
    pub cancelled: bool,
}

impl CalendarEntry {
    /// The entry once these are the date and the last day to pay, or none is known; nothing where there never was one.
    pub(super) fn follow(
        entry: Option<Self>,
        date: Option<DateTime<Utc>>,
        pay_by: Option<NaiveDate>,
    ) -> Option<Self> {
        let Some(old) = entry else {
            return date.map(|cut_off| Self { sequence: 0, cut_off, pay_by, cancelled: false });
        };
        // One of an older release learns its day, which is no move.
        let old = Self { pay_by: old.pay_by.or(pay_by), ..old };
        let cut_off = date.unwrap_or(old.cut_off);
        let new = Self { cut_off, pay_by: pay_by.or(old.pay_by), cancelled: date.is_none(), ..old };
        Some(if new == old { old } else { Self { sequence: old.sequence + 1, ..new } })
    }
}

#[cfg(test)]
mod tests {
    use chrono::Duration;

    use super::*;

    #[test]
    fn each_move_counts_and_nothing_else_does() {
        let now = DateTime::from_timestamp(1_800_000_000, 0).unwrap();
        let mut entry = None;
        let mut step = |days: Option<i64>, lead_days: i64| {
            let day = |days: i64| (now + Duration::days(days - lead_days)).date_naive();
            entry = CalendarEntry::follow(entry, days.map(|days| now + Duration::days(days)), days.map(day));
            entry.map(|entry| (entry.sequence, (entry.cut_off - now).num_days(), entry.cancelled))
        };
        assert_eq!(step(None, 3), None);
        assert_eq!(step(Some(9), 3), Some((0, 9, false)));
        assert_eq!(step(Some(9), 3), Some((0, 9, false)));
        assert_eq!(step(Some(4), 3), Some((1, 4, false)));
        assert_eq!(step(None, 3), Some((2, 4, true)));
        assert_eq!(step(None, 3), Some((2, 4, true)));
        // The same date again is news to a calendar that took it out.
        assert_eq!(step(Some(4), 3), Some((3, 4, false)));
        // And so is another last day to pay before it.
        assert_eq!(step(Some(4), 5), Some((4, 4, false)));
    }
}
