//! Days and moments for people: THE one form of each part; `view::Reader` puts them together. Pure.

use chrono::{DateTime, Datelike as _, NaiveDate, Utc};
use chrono_tz::Tz;

use super::language::Language;

const WEEKDAYS: [&str; 7] = ["пн", "вт", "ср", "чт", "пт", "сб", "вс"];
const MONTHS: [&str; 12] =
    ["янв", "фев", "мар", "апр", "мая", "июн", "июл", "авг", "сен", "окт", "ноя", "дек"];

/// The preposition before a day.
pub(crate) fn preposition(date: NaiveDate, language: Language) -> &'static str {
    match (language, date.weekday()) {
        (Language::En, _) => "on",
        (Language::Ru, chrono::Weekday::Tue) => "во",
        (Language::Ru, _) => "в",
    }
}

/// `since Wed 4 Mar`, `со ср 4 мар`, `с чт 5 мар`: the word before the beginning.
pub(crate) fn since_word(date: NaiveDate, language: Language) -> &'static str {
    match (language, date.weekday()) {
        (Language::En, _) => "since",
        (Language::Ru, chrono::Weekday::Tue | chrono::Weekday::Wed) => "со",
        (Language::Ru, _) => "с",
    }
}

/// `07:15 MSK`: the time of a moment.
pub(crate) fn time(at: DateTime<Utc>, zone: Tz, language: Language) -> String {
    let local = at.with_timezone(&zone);
    let zone = local.format("%Z").to_string();
    let zone = if language == Language::Ru && zone == "MSK" { "МСК" } else { &zone };
    format!("{} {zone}", local.format("%H:%M"))
}

/// `Tue 24 Nov`: for stored texts, which may be read in any year.
pub(crate) fn kept_day(date: NaiveDate, language: Language) -> String {
    format!("{} {} {}", weekday(date, language), date.day(), month(date, language))
}

pub(crate) fn weekday(date: NaiveDate, language: Language) -> String {
    match language {
        Language::En => date.weekday().to_string(),
        Language::Ru => WEEKDAYS[date.weekday().num_days_from_monday() as usize].to_owned(),
    }
}

pub(crate) fn month(date: NaiveDate, language: Language) -> String {
    match language {
        Language::En => date.format("%b").to_string(),
        Language::Ru => MONTHS[date.month0() as usize].to_owned(),
    }
}
