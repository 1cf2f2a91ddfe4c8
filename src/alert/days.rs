//! Days: those of an account's calendar between two moments, periods of 24 hours, and the day of the deletion.

use chrono::{DateTime, Duration, Utc};
use chrono_tz::Tz;

/// The time at which the data of an account that is cut off at `cut_off` are deleted; `None` before the
/// cut-off, and if it is not known.
pub(crate) fn deletion(
    cut_off: Option<DateTime<Utc>>,
    deletion_days: u32,
    now: DateTime<Utc>,
) -> Option<DateTime<Utc>> {
    let is_known = |at: &DateTime<Utc>| *at <= now && deletion_days > 0;
    cut_off.filter(is_known)?.checked_add_signed(days(deletion_days))
}

/// The number of the account's days from that of `now` to that of `at`; negative if that day is past.
pub(crate) fn days_until(at: DateTime<Utc>, now: DateTime<Utc>, zone: Tz) -> i64 {
    let day = |at: DateTime<Utc>| at.with_timezone(&zone).date_naive();
    (day(at) - day(now)).num_days()
}

/// This number of periods of 24 hours.
pub(super) fn days(count: u32) -> Duration {
    Duration::days(i64::from(count))
}
