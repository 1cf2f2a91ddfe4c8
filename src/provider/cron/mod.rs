//! Cron expressions with the meaning of crontab(5), for the schedules of collectors and of the digest. Pure:
//! parsing and arithmetic, without clock and timers.
//!
//! The `cron` crate reads the fields and walks the calendar. `fields` translates the parts in which it differs from
//! crontab(5): five fields, weekdays from 0 = Sunday, and days that match EITHER day field if both are restricted.
//!
//! On days on which the clock changes, a skipped time runs at the moment of the jump, and a repeated time runs at its
//! first occurrence. In a repeated hour the scheduler polls at the longest gap.

mod fields;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Datelike, NaiveDate, NaiveDateTime, Utc};
use chrono_tz::Tz;
use cron::TimeUnitSpec as _;
use ring::digest::{SHA256, digest};

pub(crate) use fields::BadSchedule;
use fields::Walkers;

use crate::model::time::at_zone;

/// A parsed expression. `Display` prints it as it was written. Clones share it, since every collector of every
/// account holds some.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    source: Arc<str>,
    walkers: Walkers,
    /// The shortest and the longest time between two ticks. They are kept because finding them walks the
    /// calendar.
    gaps: (Duration, Duration),
}

impl Schedule {
    /// The first tick later than `after`, by the wall clock of `zone`. `None` only past the year 2100.
    pub(crate) fn next_after(&self, after: DateTime<Utc>, zone: Tz) -> Option<DateTime<Utc>> {
        let mut wall = after.with_timezone(&zone).naive_local();
        loop {
            wall = self.next_wall(wall)?;
            let tick = at_zone(wall, zone);
            if tick > after {
                return Some(tick);
            }
        }
    }

    /// The longest time between two ticks. It is an hour more if the clock goes back, and twice as long if a
    /// tick falls into a skipped hour.
    pub(crate) fn longest_gap(&self) -> Duration {
        self.gaps.1
    }

    /// The shortest time between two ticks; an hour less if the clock goes forward.
    pub(crate) fn shortest_gap(&self) -> Duration {
        self.gaps.0
    }

    /// The next matching time of day and date, without a zone.
    fn next_wall(&self, after: NaiveDateTime) -> Option<NaiveDateTime> {
        let after = after.and_utc();
        let ticks = self.walkers.iter().filter_map(|walker| walker.after(&after).next());
        ticks.min().map(|tick| tick.naive_utc())
    }
}

/// The shortest and the longest time between two ticks.
fn gaps(walkers: &[cron::Schedule]) -> (Duration, Duration) {
    let Some(times) = walkers.first() else { return (Duration::ZERO, Duration::ZERO) };
    let ticks: Vec<u32> = times
        .hours()
        .iter()
        .flat_map(|hour| times.minutes().iter().map(move |minute| 60 * hour + minute))
        .flat_map(|minute| times.seconds().iter().map(move |second| 60 * minute + second))
        .collect();
    let (first, last) = (ticks.first().copied().unwrap_or(0), ticks.last().copied().unwrap_or(0));
    let (nearest, farthest) = day_gaps(walkers);
    let over_night = [nearest, farthest].map(|days| days * 86_400 + first - last);
    let all = ticks.windows(2).map(|pair| pair[1] - pair[0]).chain(over_night);
    let (shortest, longest) = (all.clone().min().unwrap_or_default(), all.max().unwrap_or_default());
    (Duration::from_secs(shortest.into()), Duration::from_secs(longest.into()))
}

/// The least and the greatest distance in days between neighbouring days that match. It looks at the time after
/// which all cases repeat: a week for weekdays, 4 years for dates (8 around 2100), 28 for both.
fn day_gaps(walkers: &[cron::Schedule]) -> (u32, u32) {
    let is_any_date = |walker: &cron::Schedule| walker.days_of_month().is_all() && walker.months().is_all();
    let window = if walkers.iter().all(is_any_date) {
        15
    } else if walkers.iter().all(|walker| walker.days_of_week().is_all()) {
        9 * 366
    } else {
        40 * 366
    };
    let matches = |date: NaiveDate| {
        let weekday = date.weekday().number_from_sunday();
        walkers.iter().any(|walker| {
            walker.months().includes(date.month())
                && walker.days_of_month().includes(date.day())
                && walker.days_of_week().includes(weekday)
        })
    };
    let days = (0..window).zip(NaiveDate::default().iter_days());
    let hits: Vec<u32> = days.filter(|&(_, date)| matches(date)).map(|(index, _)| index).collect();
    let gaps = hits.windows(2).map(|pair| pair[1] - pair[0]);
    (gaps.clone().min().unwrap_or(window), gaps.max().unwrap_or(window))
}

/// A fixed delay of an account's polls after the tick, which depends on its name alone, so that many accounts
/// do not poll in the same second. It is at least 0, less than `gap` and less than 5 min, in whole
/// milliseconds.
pub(crate) fn offset(account: &str, gap: Duration) -> Duration {
    let range = gap.min(Duration::from_secs(300)).as_millis();
    let digest = digest(&SHA256, account.as_bytes());
    let hash = digest.as_ref().iter().take(8).fold(0u128, |hash, byte| hash << 8 | u128::from(*byte));
    let part = (hash * range) >> 64;
    Duration::from_millis(u64::try_from(part).unwrap_or(0))
}

impl FromStr for Schedule {
    type Err = BadSchedule;

    fn from_str(text: &str) -> Result<Self, BadSchedule> {
        let text = text.trim();
        let walkers = fields::read(text)?;
        let gaps = gaps(&walkers);
        let schedule = Self { source: text.into(), walkers, gaps };
        if schedule.next_wall(DateTime::UNIX_EPOCH.naive_utc()).is_none() {
            let text = format!("'{text}' never comes: no such day in these months; such as '0 9 28 2 *'");
            return Err(BadSchedule(text));
        }
        Ok(schedule)
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source)
    }
}

impl PartialEq for Schedule {
    fn eq(&self, other: &Self) -> bool {
        let mut walkers = self.walkers.iter().zip(&*other.walkers);
        self.walkers.len() == other.walkers.len() && walkers.all(|(one, other)| one.timeunitspec_eq(other))
    }
}

impl Eq for Schedule {}

#[cfg(test)]
mod tests;
