//! Cron expressions that mean what crontab(5) says: when a collector polls and when the digest goes out.
//! Pure: parsing and arithmetic, no clock, no timers, nothing of ours imported.
//!
//! The `cron` crate walks the calendar; what differs from crontab(5) there is translated here: five fields,
//! weekdays from 0 = Sunday, and a day that matches EITHER day field where both are restricted.
//!
//! Days on which the clock changes follow cron(8): an expression whose minute or hour starts with `*` runs
//! by the passing of time (the skipped hour has no ticks, the repeated hour has its ticks twice); any other
//! is about times of day and runs once (at the moment of the jump where its time is skipped, at the first
//! of two where it is told twice).

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use chrono::{DateTime, Datelike, LocalResult, NaiveDate, NaiveDateTime, TimeDelta, TimeZone, Timelike, Utc};
use chrono_tz::Tz;

/// A parsed expression. `Display` gives it back as it was written.
#[derive(Clone, Debug)]
pub struct Schedule {
    source: String,
    fields: Fields,
    /// One, or two of which the earlier tick counts: by day of month, and by weekday.
    walkers: Vec<cron::Schedule>,
}

/// What is wrong with an expression: which field, what is allowed, an example.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct BadSchedule(String);

impl Schedule {
    /// The first tick later than `after`, in the wall clock of `zone`. `None` only past the year 2100.
    pub fn next_after(&self, after: DateTime<Utc>, zone: Tz) -> Option<DateTime<Utc>> {
        let mut wall = after.with_timezone(&zone).naive_local();
        // Where `after` stands in an hour that is told twice: when the same wall time is told again.
        let again = match zone.from_local_datetime(&wall) {
            LocalResult::Ambiguous(_, second) => Some(second.to_utc()),
            LocalResult::Single(_) | LocalResult::None => None,
        };
        let second_pass = again.is_some_and(|again| again <= after);
        if let Some(again) = again.filter(|&again| after < again)
            && self.by_elapsed_time()
            && let Some(tick) = self.next_before_repeated(wall, again - after, zone)
        {
            return Some(tick);
        }
        loop {
            wall = self.next_wall(wall)?;
            match zone.from_local_datetime(&wall) {
                LocalResult::Single(moment) => return Some(moment.to_utc()),
                LocalResult::Ambiguous(first, _) if !second_pass => return Some(first.to_utc()),
                LocalResult::Ambiguous(_, second) if self.by_elapsed_time() => return Some(second.to_utc()),
                // Ran when this time was told first.
                LocalResult::Ambiguous(..) => {}
                LocalResult::None if self.by_elapsed_time() => {}
                LocalResult::None => return jump(wall, zone),
            }
        }
    }

    /// The longest time between two ticks (an hour more where the clock goes back).
    pub fn longest_gap(&self) -> Duration {
        self.gaps().1
    }

    /// The shortest time between two ticks (an hour less where the clock goes forward).
    pub fn shortest_gap(&self) -> Duration {
        self.gaps().0
    }

    /// In the first pass of a repeated hour: the tick of the second pass that comes before any tick later on
    /// the wall, if there is one.
    fn next_before_repeated(
        &self,
        wall: NaiveDateTime,
        repeated: TimeDelta,
        zone: Tz,
    ) -> Option<DateTime<Utc>> {
        let told_again = |tick: NaiveDateTime| match zone.from_local_datetime(&tick) {
            LocalResult::Ambiguous(_, second) => Some(second.to_utc()),
            LocalResult::Single(_) | LocalResult::None => None,
        };
        if told_again(self.next_wall(wall)?).is_some() {
            return None;
        }
        let mut probe = wall - repeated;
        loop {
            probe = self.next_wall(probe).filter(|&tick| tick <= wall)?;
            if let Some(second) = told_again(probe) {
                return Some(second);
            }
        }
    }

    /// The next time of day and date that matches, whatever a zone makes of it.
    fn next_wall(&self, after: NaiveDateTime) -> Option<NaiveDateTime> {
        let after = after.and_utc();
        let ticks = self.walkers.iter().filter_map(|walker| walker.after(&after).next());
        ticks.min().map(|tick| tick.naive_utc())
    }

    fn by_elapsed_time(&self) -> bool {
        self.fields.minute.starred || self.fields.hour.starred
    }

    /// Shortest and longest gap.
    fn gaps(&self) -> (Duration, Duration) {
        let day = self.fields.within_a_day();
        let (nearest, farthest) = self.fields.day_gaps();
        let (shortest, longest) = day.repeated(86_400, [nearest, farthest].into_iter()).unwrap_or_default();
        (Duration::from_secs(shortest), Duration::from_secs(longest))
    }
}

/// The moment the clock jumped over `wall`: the first whole minute after it that exists.
fn jump(wall: NaiveDateTime, zone: Tz) -> Option<DateTime<Utc>> {
    let mut probe = wall.with_second(0)?;
    // No zone has skipped more than a day.
    for _ in 0..25 * 60 {
        probe += TimeDelta::minutes(1);
        if let Some(moment) = zone.from_local_datetime(&probe).earliest() {
            return Some(moment.to_utc());
        }
    }
    None
}

/// A fixed place within the tick for an account, from its name alone, so that many accounts don't fire in
/// the same second: at least 0, less than `gap` and less than 5 min; whole milliseconds.
pub fn offset(account: &str, gap: Duration) -> Duration {
    let range = gap.min(Duration::from_secs(300)).as_millis();
    // FNV-1a, then a mix: names differ in their last characters, the multiplication below wants the first bits.
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in account.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^= hash >> 33;
    let part = (u128::from(hash) * range) >> 64;
    Duration::from_millis(u64::try_from(part).unwrap_or(0))
}

impl FromStr for Schedule {
    type Err = BadSchedule;

    fn from_str(text: &str) -> Result<Self, BadSchedule> {
        let fields = Fields::parse(text.trim())?;
        let walkers = fields.expressions().into_iter().map(|expression| expression.parse());
        let walkers = walkers
            .collect::<Result<Vec<cron::Schedule>, _>>()
            .map_err(|error| BadSchedule(format!("'{text}' is not understood: {error}")))?;
        let schedule = Self { source: text.trim().to_owned(), fields, walkers };
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
        self.fields == other.fields
    }
}

impl Eq for Schedule {}

/// What each field takes in.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Fields {
    second: Field,
    minute: Field,
    hour: Field,
    day: Field,
    month: Field,
    weekday: Field,
}

/// Values of one field as bits, and whether it was written with a leading `*`: crontab(5) looks at that.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Field {
    bits: u64,
    starred: bool,
}

/// How a field reads.
struct Syntax {
    name: &'static str,
    low: u32,
    high: u32,
    names: &'static [&'static str],
    example: &'static str,
}

const SECOND: Syntax = Syntax { name: "second", low: 0, high: 59, names: &[], example: "*/30" };
const MINUTE: Syntax = Syntax { name: "minute", low: 0, high: 59, names: &[], example: "*/15" };
const HOUR: Syntax = Syntax { name: "hour", low: 0, high: 23, names: &[], example: "8-18/2" };
const DAY: Syntax = Syntax { name: "day of month", low: 1, high: 31, names: &[], example: "1,15" };
const MONTHS: &[&str] = &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const MONTH: Syntax = Syntax { name: "month", low: 1, high: 12, names: MONTHS, example: "jan-mar" };
const WEEKDAYS: &[&str] = &["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const WEEKDAY: Syntax = Syntax { name: "day of week", low: 0, high: 7, names: WEEKDAYS, example: "mon-fri" };

const NICKNAMES: [(&str, &str); 7] = [
    ("@hourly", "0 * * * *"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@weekly", "0 0 * * 0"),
    ("@monthly", "0 0 1 * *"),
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
];

impl Fields {
    fn parse(text: &str) -> Result<Self, BadSchedule> {
        let spelled = match text.strip_prefix('@') {
            None => text,
            Some(_) => {
                let known = NICKNAMES.iter().find(|(nickname, _)| nickname.eq_ignore_ascii_case(text));
                let known = known.map(|&(_, meaning)| meaning);
                known.ok_or_else(|| {
                    let all = NICKNAMES.map(|(nickname, _)| nickname).join(", ");
                    BadSchedule(format!("nickname '{text}' is none of {all}"))
                })?
            }
        };
        let mut parts: Vec<&str> = spelled.split_whitespace().collect();
        if parts.len() == 5 {
            parts.insert(0, "0");
        }
        let &[second, minute, hour, day, month, weekday] = parts.as_slice() else {
            return Err(BadSchedule(format!(
                "'{text}' has {} fields; allowed are five (minute, hour, day of month, month, day of week) or \
                 six (seconds first), such as '*/5 * * * *'",
                parts.len()
            )));
        };
        let mut fields = Self {
            second: Field::parse(second, &SECOND)?,
            minute: Field::parse(minute, &MINUTE)?,
            hour: Field::parse(hour, &HOUR)?,
            day: Field::parse(day, &DAY)?,
            month: Field::parse(month, &MONTH)?,
            weekday: Field::parse(weekday, &WEEKDAY)?,
        };
        // 7 is Sunday, as 0 is.
        let bits = &mut fields.weekday.bits;
        *bits = (*bits | *bits >> 7) & 0x7f;
        Ok(fields)
    }

    /// A day that matches either day field will do; crontab(5) asks whether a field starts with `*`.
    fn either_day(&self) -> bool {
        !self.day.starred && !self.weekday.starred
    }

    /// The expressions for the `cron` crate: six fields, weekdays by name.
    fn expressions(&self) -> Vec<String> {
        let weekdays: Vec<&str> =
            (0..7).filter(|&n| self.weekday.has(n)).map(|n| WEEKDAYS[n as usize]).collect();
        let expression = |day: &str, weekday: &str| {
            let [second, minute, hour] = [self.second, self.minute, self.hour].map(Field::list);
            format!("{second} {minute} {hour} {day} {} {weekday}", self.month.list())
        };
        let (day, weekday) = (self.day.list(), weekdays.join(","));
        if self.either_day() {
            vec![expression(&day, "*"), expression("*", &weekday)]
        } else {
            vec![expression(&day, if weekdays.len() == 7 { "*" } else { &weekday })]
        }
    }

    fn matches_day(&self, date: NaiveDate) -> bool {
        let day = self.day.has(date.day());
        let weekday = self.weekday.has(date.weekday().num_days_from_sunday());
        self.month.has(date.month()) && if self.either_day() { day || weekday } else { day && weekday }
    }

    /// Least and greatest distance in days between neighbouring days that match, over a time in which
    /// everything that can happen does: weeks repeat at once, dates after 4 years, both together after 28.
    fn day_gaps(&self) -> (u64, u64) {
        let (any_date, any_weekday) =
            (self.day.is_full(&DAY) && self.month.is_full(&MONTH), self.weekday.bits == 0x7f);
        let window = match (any_date, any_weekday) {
            (true, _) => 15,
            (false, true) => 9 * 366,
            (false, false) => 40 * 366,
        };
        let days = NaiveDate::default().iter_days().take(window).enumerate();
        let hits: Vec<u64> =
            days.filter(|&(_, date)| self.matches_day(date)).map(|(index, _)| index as u64).collect();
        let gaps = hits.windows(2).map(|pair| pair[1] - pair[0]);
        (gaps.clone().min().unwrap_or(window as u64), gaps.max().unwrap_or(window as u64))
    }

    /// The ticks of one day.
    fn within_a_day(&self) -> Ticks {
        let seconds = Ticks { first: 0, last: 0, gaps: None }.within(self.second, 1);
        seconds.within(self.minute, 60).within(self.hour, 3600)
    }
}

/// Ticks of a minute, hour or day, in seconds from its start.
#[derive(Clone, Copy)]
struct Ticks {
    first: u64,
    last: u64,
    /// Shortest and longest between two of them; `None` for a single one.
    gaps: Option<(u64, u64)>,
}

impl Ticks {
    /// These ticks at each value of a field whose unit has so many seconds.
    fn within(self, field: Field, unit: u64) -> Self {
        let values: Vec<u64> = field.values().collect();
        let distances = values.windows(2).map(|pair| pair[1] - pair[0]);
        let (first, last) = (values.first().copied(), values.last().copied());
        Self {
            first: first.unwrap_or(0) * unit + self.first,
            last: last.unwrap_or(0) * unit + self.last,
            gaps: self.repeated(unit, distances),
        }
    }

    /// Shortest and longest gap when they come again at these distances.
    fn repeated(self, unit: u64, distances: impl Iterator<Item = u64>) -> Option<(u64, u64)> {
        let between = distances.map(|distance| distance * unit + self.first - self.last);
        let inside = self.gaps.into_iter().flat_map(|(shortest, longest)| [shortest, longest]);
        let all: Vec<u64> = between.chain(inside).collect();
        Some((all.iter().copied().min()?, all.iter().copied().max()?))
    }
}

impl Field {
    fn parse(text: &str, syntax: &Syntax) -> Result<Self, BadSchedule> {
        let mut bits = 0;
        for item in text.split(',') {
            bits |= item_bits(item, syntax).map_err(|why| syntax.refuse(text, &why))?;
        }
        Ok(Self { bits, starred: text.starts_with('*') })
    }

    fn has(self, value: u32) -> bool {
        self.bits >> value & 1 == 1
    }

    fn is_full(self, syntax: &Syntax) -> bool {
        (syntax.low..=syntax.high).all(|value| self.has(value))
    }

    fn values(self) -> impl Iterator<Item = u64> {
        (0..64).filter(move |&value| self.bits >> value & 1 == 1)
    }

    fn list(self) -> String {
        self.values().map(|value| value.to_string()).collect::<Vec<_>>().join(",")
    }
}

/// `*`, `3`, `1-5`, each but the second with a step.
fn item_bits(item: &str, syntax: &Syntax) -> Result<u64, String> {
    let (range, step) = match item.split_once('/') {
        None => (item, None),
        Some((range, step)) => match step.parse::<u32>() {
            Ok(step) if step > 0 && step <= syntax.high => (range, Some(step)),
            _ => return Err(format!("the step '{step}' is not a number from 1 to {}", syntax.high)),
        },
    };
    let (low, high) = if range == "*" {
        (syntax.low, syntax.high)
    } else if let Some((low, high)) = range.split_once('-') {
        let (low_value, high_value) = (syntax.value(low)?, syntax.value(high)?);
        if low_value > high_value {
            return Err(format!("the range '{range}' runs backwards; list its parts instead"));
        }
        (low_value, high_value)
    } else if step.is_some() {
        return Err(format!("a step needs '*' or a range; write '{range}-{}/…'", syntax.high));
    } else {
        let value = syntax.value(range)?;
        (value, value)
    };
    Ok((low..=high).step_by(step.unwrap_or(1) as usize).fold(0, |bits, value| bits | 1 << value))
}

impl Syntax {
    fn value(&self, text: &str) -> Result<u32, String> {
        let named = self.names.iter().position(|name| name.eq_ignore_ascii_case(text));
        if let Some(index) = named {
            return Ok(self.low + index as u32);
        }
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let value = text.parse().ok().filter(|value| digits && (self.low..=self.high).contains(value));
        value.ok_or_else(|| format!("'{text}' is out of range"))
    }

    fn refuse(&self, text: &str, why: &str) -> BadSchedule {
        let Self { name, low, high, example, .. } = self;
        let names = match self.names {
            [] => String::new(),
            [first, .., last] => format!(" or {first} to {last}"),
            [only] => format!(" or {only}"),
        };
        BadSchedule(format!(
            "{name} '{text}': {why}; allowed are {low} to {high}{names}, '*', ranges, lists and steps, such as \
             '{example}'"
        ))
    }
}

#[cfg(test)]
mod tests;
