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
        now: DateTime<Utc>,
    ) -> Option<Self> {
        let Some(old) = entry else {
            let sequence = first_sequence(now);
            return date.map(|cut_off| Self { sequence, cut_off, pay_by, cancelled: false });
        };
        // One of an older release learns its day, which is no move.
        let old = Self { pay_by: old.pay_by.or(pay_by), ..old };
        let cut_off = date.unwrap_or(old.cut_off);
        let new = Self { cut_off, pay_by: pay_by.or(old.pay_by), cancelled: date.is_none(), ..old };
        Some(if new == old { old } else { Self { sequence: old.sequence + 1, ..new } })
    }
}

/// Where the store was lost, or there is none, calendars still have what was entered before: it counts on from a number that
/// grows faster than dates move, the seconds of this century.
fn first_sequence(now: DateTime<Utc>) -> u32 {
    const BEGIN: i64 = 946_684_800;
    const MOST: i64 = 1 << 30;
    u32::try_from((now.timestamp() - BEGIN).clamp(0, MOST)).unwrap_or(0)
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
            let date = days.map(|days| now + Duration::days(days));
            entry = CalendarEntry::follow(entry, date, days.map(day), now);
            entry.map(|entry| {
                (entry.sequence - first_sequence(now), (entry.cut_off - now).num_days(), entry.cancelled)
            })
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

    /// Ten moves, and ten seconds later another run that knows none of them.
    #[test]
    fn what_is_entered_anew_is_newer_than_what_was_lost() {
        let now = DateTime::from_timestamp(1_800_000_000, 0).unwrap();
        let mut entry = None;
        for day in 0..10 {
            let at = now + Duration::days(20 - day);
            entry = CalendarEntry::follow(entry, Some(at), None, now + Duration::seconds(day));
        }
        let anew = CalendarEntry::follow(None, Some(now), None, now + Duration::seconds(10)).unwrap();
        assert!(anew.sequence > entry.unwrap().sequence);
        assert_eq!(first_sequence(DateTime::<Utc>::MAX_UTC), 1 << 30, "what every calendar can count");
        assert_eq!(first_sequence(DateTime::UNIX_EPOCH), 0);
    }
}
