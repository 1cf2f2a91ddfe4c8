//! The calendar entry of a cut-off: its date, and how often that date moved. Pure.

use chrono::{DateTime, NaiveDate, Utc};
use serde::{Deserialize, Serialize};

/// The cut-off of one account as calendars show it. The entry is kept for as long as its incident number, so
/// that a calendar that was offline for a year still accepts the next date as newer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct CalendarEntry {
    /// Increased by one at each move (RFC 5545, 3.8.7.4).
    pub sequence: u32,
    /// The last known date.
    pub cut_off: DateTime<Utc>,
    /// The last day to pay; `None` if no day was ever entered.
    pub pay_by: Option<NaiveDate>,
    /// No cut-off is expected any more, or nothing watches for one.
    pub cancelled: bool,
    /// The time of the last move.
    #[serde(default)]
    pub changed_at: DateTime<Utc>,
}

impl CalendarEntry {
    /// The entry after the date and the last day to pay changed to these; `None` if there never was an entry.
    pub(super) fn follow(
        entry: Option<Self>,
        date: Option<DateTime<Utc>>,
        pay_by: Option<NaiveDate>,
        now: DateTime<Utc>,
    ) -> Option<Self> {
        let Some(old) = entry else {
            let sequence = first_sequence(now);
            return date.map(|cut_off| Self { sequence, cut_off, pay_by, cancelled: false, changed_at: now });
        };
        // An entry of an older release gets its last day to pay; that is no move.
        let old = Self { pay_by: old.pay_by.or(pay_by), ..old };
        let cut_off = date.unwrap_or(old.cut_off);
        let new = Self { cut_off, pay_by: pay_by.or(old.pay_by), cancelled: date.is_none(), ..old };
        Some(if new == old { old } else { Self { sequence: old.sequence + 1, changed_at: now, ..new } })
    }
}

/// The first number of a new entry: the seconds since 2000. If the store was lost, calendars still hold the
/// numbers given out before. The seconds grow faster than dates move, so the new numbers are higher.
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
    fn each_move_of_the_date_counts_once() {
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
        // The same date is a change for a calendar that removed the entry.
        assert_eq!(step(Some(4), 3), Some((3, 4, false)));
        // A different last day to pay is a change too.
        assert_eq!(step(Some(4), 5), Some((4, 4, false)));
    }

    /// After ten moves the daemon starts without its store ten seconds later: its first number is higher.
    #[test]
    fn entries_after_a_lost_store_are_newer() {
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
