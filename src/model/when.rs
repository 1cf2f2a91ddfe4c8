//! Days and moments for people: THE one form of each, for mails, page, terminal, reasons and logs. Pure.

use chrono::{DateTime, Datelike as _, NaiveDate, Utc};
use chrono_tz::Tz;

use super::language::Language;

const WEEKDAYS: [&str; 7] = ["пн", "вт", "ср", "чт", "пт", "сб", "вс"];
const MONTHS: [&str; 12] =
    ["янв", "фев", "мар", "апр", "мая", "июн", "июл", "авг", "сен", "окт", "ноя", "дек"];

/// `Wed 4 Mar`, `ср 4 мар`; with the year when it is not this one.
pub(crate) fn day(date: NaiveDate, zone: Tz, now: DateTime<Utc>, language: Language) -> String {
    format!("{} {}", weekday(date, language), short_day(date, zone, now, language))
}

/// `on Wed 4 Mar`, `в ср 4 мар`, `во вт 3 мар`.
pub(crate) fn on_day(date: NaiveDate, zone: Tz, now: DateTime<Utc>, language: Language) -> String {
    format!("{} {}", preposition(date, language), day(date, zone, now, language))
}

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

/// `4 Mar`, with the year when it is not this one.
pub(crate) fn short_day(date: NaiveDate, zone: Tz, now: DateTime<Utc>, language: Language) -> String {
    let this_year = now.with_timezone(&zone).year() == date.year();
    let year = if this_year { String::new() } else { format!(" {}", date.year()) };
    format!("{} {}{year}", date.day(), month(date, language))
}

/// `Tue 24 Nov 07:15 MSK`, `вт 24 ноя 07:15 МСК`; with the year when it is not this one.
pub(crate) fn moment(at: DateTime<Utc>, zone: Tz, now: DateTime<Utc>, language: Language) -> String {
    format!("{} {}", day(at.with_timezone(&zone).date_naive(), zone, now, language), time(at, zone, language))
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

/// `Tue 24 Nov 07:15 MSK`: a moment for stored texts.
pub(crate) fn kept_moment(at: DateTime<Utc>, zone: Tz, language: Language) -> String {
    format!("{} {}", kept_day(at.with_timezone(&zone).date_naive(), language), time(at, zone, language))
}

fn weekday(date: NaiveDate, language: Language) -> String {
    match language {
        Language::En => date.weekday().to_string(),
        Language::Ru => WEEKDAYS[date.weekday().num_days_from_monday() as usize].to_owned(),
    }
}

fn month(date: NaiveDate, language: Language) -> String {
    match language {
        Language::En => date.format("%b").to_string(),
        Language::Ru => MONTHS[date.month0() as usize].to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn russian_days_have_their_prepositions_months_and_zone() {
        let now = "2026-03-01T12:00:00Z".parse().unwrap();
        let zone = Tz::Europe__Moscow;
        let at = |text: &str| text.parse::<DateTime<Utc>>().unwrap();
        let ru = Language::Ru;
        assert_eq!(moment(at("2026-11-24T04:15:00Z"), zone, now, ru), "вт 24 ноя 07:15 МСК");
        assert_eq!(moment(at("2027-05-05T00:00:00Z"), Tz::UTC, now, ru), "ср 5 мая 2027 00:00 UTC");
        let on = |text: &str| on_day(at(text).date_naive(), zone, now, ru);
        assert_eq!([on("2026-03-03T00:00:00Z"), on("2026-03-04T00:00:00Z")], ["во вт 3 мар", "в ср 4 мар"]);
    }
}
