//! The fields of an expression by crontab(5), and the gaps between ticks that follow from them. It knows days
//! and times of day, but no zones.

use chrono::{Datelike, NaiveDate};

/// The error of an expression: the field, the allowed values, an example.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct BadSchedule(pub(super) String);

/// The values of each field.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Fields {
    pub second: CronField,
    pub minute: CronField,
    pub hour: CronField,
    pub day: CronField,
    pub month: CronField,
    pub weekday: CronField,
}

/// The values of one field as bits, and whether it was written with a leading `*`, which matters in crontab(5).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct CronField {
    bits: u64,
    pub starred: bool,
}

/// The syntax of a field.
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
    pub(super) fn parse(text: &str) -> Result<Self, BadSchedule> {
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
            second: CronField::parse(second, &SECOND)?,
            minute: CronField::parse(minute, &MINUTE)?,
            hour: CronField::parse(hour, &HOUR)?,
            day: CronField::parse(day, &DAY)?,
            month: CronField::parse(month, &MONTH)?,
            weekday: CronField::parse(weekday, &WEEKDAY)?,
        };
        // 7 is Sunday, like 0.
        let bits = &mut fields.weekday.bits;
        *bits = (*bits | *bits >> 7) & 0x7f;
        Ok(fields)
    }

    /// Whether a day that matches either day field suffices. In crontab(5) it does unless a field starts with
    /// `*`.
    fn either_day(&self) -> bool {
        !self.day.starred && !self.weekday.starred
    }

    /// The expressions for the `cron` crate: six fields, weekdays by name.
    pub(super) fn expressions(&self) -> Vec<String> {
        let weekdays: Vec<&str> =
            (0..7).filter(|&n| self.weekday.has(n)).map(|n| WEEKDAYS[n as usize]).collect();
        let expression = |day: &str, weekday: &str| {
            let [second, minute, hour] = [self.second, self.minute, self.hour].map(CronField::list);
            format!("{second} {minute} {hour} {day} {} {weekday}", self.month.list())
        };
        let (day, weekday) = (self.day.list(), weekdays.join(","));
        if self.either_day() {
            vec![expression(&day, "*"), expression("*", &weekday)]
        } else {
            vec![expression(&day, if weekdays.len() == 7 { "*" } else { &weekday })]
        }
    }

    pub(super) fn matches_day(&self, date: NaiveDate) -> bool {
        let day = self.day.has(date.day());
        let weekday = self.weekday.has(date.weekday().num_days_from_sunday());
        self.month.has(date.month()) && if self.either_day() { day || weekday } else { day && weekday }
    }

    /// The least and the greatest distance in days between neighbouring days that match. It looks at the time
    /// after which all cases repeat: a week for weekdays, 4 years for dates, 28 for both.
    pub(super) fn day_gaps(&self) -> (u64, u64) {
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

    /// The ticks of one day, in seconds from its start.
    pub(super) fn within_a_day(&self) -> Vec<u64> {
        let of = |field: CronField, unit: u64| field.values().map(move |value| value * unit);
        let minutes =
            of(self.hour, 3600).flat_map(|hour| of(self.minute, 60).map(move |minute| hour + minute));
        minutes.flat_map(|minute| of(self.second, 1).map(move |second| minute + second)).collect()
    }
}

impl CronField {
    fn parse(text: &str, syntax: &Syntax) -> Result<Self, BadSchedule> {
        let mut bits = 0;
        for item in text.split(',') {
            bits |= item_bits(item, syntax).map_err(|why| syntax.refuse(text, &why))?;
        }
        Ok(Self { bits, starred: text.starts_with('*') })
    }

    pub(super) fn has(self, value: u32) -> bool {
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

/// `*`, `3`, `1-5`; the first and the last also with a step.
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
