//! Days as mails count them. Before a cut-off they are periods of 24 hours, and a period that has begun counts as
//! a whole one. After it they are days of the account's calendar.

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

/// The number of days left until `at`, in periods of 24 hours. The current period counts as a whole; 0 once the
/// time has come.
pub(crate) fn days_left(at: DateTime<Utc>, now: DateTime<Utc>) -> u32 {
    let left = at - now;
    let begun = i64::from(left > Duration::days(left.num_days()));
    u32::try_from(left.num_days() + begun).unwrap_or(0)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_that_has_begun_counts() {
        let at = DateTime::from_timestamp(1_800_000_000, 0).unwrap();
        let of = |left: Duration| days_left(at, at - left);
        let (day, second) = (Duration::days(1), Duration::seconds(1));
        assert_eq!([of(day * 7), of(day * 7 - second), of(day * 6 + second), of(day * 6)], [7, 7, 7, 6]);
        assert_eq!([of(day), of(second), of(Duration::zero()), of(-second), of(-day * 3)], [1, 1, 0, 0, 0]);
    }
}
