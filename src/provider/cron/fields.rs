//! Spells the fields of crontab(5) for the `cron` crate, and names the field that it cannot read.

use std::sync::Arc;

/// The error of an expression: the field, the allowed values, an example.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct BadSchedule(pub(super) String);

/// One walker, or two of which the earlier tick counts: by day of month, and by weekday.
pub(super) type Walkers = Arc<[cron::Schedule]>;

/// The name of each field, its values, and an example.
const FIELDS: [(&str, &str, &str); 6] = [
    ("second", "0 to 59", "*/30"),
    ("minute", "0 to 59", "*/15"),
    ("hour", "0 to 23", "8-18/2"),
    ("day of month", "1 to 31", "1,15"),
    ("month", "1 to 12 or jan to dec", "jan-mar"),
    ("day of week", "0 to 7 or sun to sat", "mon-fri"),
];

const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// The walkers of an expression.
pub(super) fn read(text: &str) -> Result<Walkers, BadSchedule> {
    if text.starts_with('@') {
        let walker = text.to_ascii_lowercase().parse::<cron::Schedule>().map_err(|_| {
            let known = "@hourly, @daily, @weekly, @monthly, @yearly";
            BadSchedule(format!("nickname '{text}' is none of {known}"))
        })?;
        return Ok([walker].into());
    }
    let mut written: Vec<&str> = text.split_whitespace().collect();
    if written.len() == 5 {
        written.insert(0, "0");
    }
    let &[second, minute, hour, day, month, weekday] = written.as_slice() else {
        return Err(BadSchedule(format!(
            "'{text}' has {} fields; allowed are five (minute, hour, day of month, month, day of week) or six \
             (seconds first), such as '*/5 * * * *'",
            written.len()
        )));
    };
    let numbers = weekdays(weekday).unwrap_or_default();
    let fields = [second, minute, hour, day, month, &numbers];
    let walker = |day: &str, weekday: &str| {
        [second, minute, hour, day, month, weekday].join(" ").parse::<cron::Schedule>().ok()
    };
    // In crontab(5) a day that matches either day field suffices unless a field starts with `*`.
    let walkers: Option<Walkers> = if !written.iter().all(|field| is_field(field)) {
        None
    } else if day.starts_with('*') || weekday.starts_with('*') {
        walker(day, &numbers).map(|both| [both].into())
    } else {
        walker(day, "*").zip(walker("*", &numbers)).map(|(one, other)| [one, other].into())
    };
    walkers.ok_or_else(|| {
        let is_wrong = |&place: &usize| {
            let mut alone = ["*"; 6];
            alone[place] = fields[place];
            !is_field(written[place]) || alone.join(" ").parse::<cron::Schedule>().is_err()
        };
        let place = (0..6).find(is_wrong).unwrap_or(0);
        let (name, values, example) = FIELDS[place];
        BadSchedule(format!(
            "{name} '{}' cannot be read; allowed are {values}, '*', ranges from low to high, lists and steps, such \
             as '{example}'",
            written[place]
        ))
    })
}

/// Whether a field has the form of crontab(5). The crate reads more, and would split some words in two.
fn is_field(field: &str) -> bool {
    let word = |text: &str| {
        let is_all = |test: fn(&u8) -> bool| text.bytes().all(|byte| test(&byte));
        !text.is_empty() && (is_all(u8::is_ascii_digit) || is_all(u8::is_ascii_alphabetic))
    };
    let range = |text: &str| text.split_once('-').is_some_and(|(low, high)| word(low) && word(high));
    field.split(',').all(|item| match item.split_once('/') {
        Some((from, step)) => word(step) && (from == "*" || range(from)),
        None => item == "*" || word(item) || range(item),
    })
}

/// A field of weekdays in the numbers of the crate, where Sunday is 1. Here it is 0 or 7.
fn weekdays(field: &str) -> Option<String> {
    let number = |text: &str| {
        let named = WEEKDAYS.iter().position(|name| name.eq_ignore_ascii_case(text));
        named.or_else(|| text.parse().ok()).filter(|&day| day <= 7)
    };
    let days = |item: &str| {
        let (range, step) = item.split_once('/').unwrap_or((item, "1"));
        let (low, high) =
            if range == "*" { ("0", "6") } else { range.split_once('-').unwrap_or((range, range)) };
        let (low, high, step) = (number(low)?, number(high)?, step.parse::<usize>().ok()?);
        let is_right = low <= high && (1..=7).contains(&step);
        is_right.then(|| (low..=high).step_by(step).map(|day| (day % 7 + 1).to_string()).collect())
    };
    let all: Option<Vec<Vec<String>>> = field.split(',').map(days).collect();
    Some(all?.concat().join(","))
}
