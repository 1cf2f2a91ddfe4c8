//! Times, amounts and counts as people read them, made once: one form a value. Only subjects have no marks between
//! thousands. Pure.

use chrono::{DateTime, Duration, Utc};
use chrono_tz::Tz;

use crate::model::forecast::Disconnect;
use crate::model::money::{self, Money};
use crate::model::sanitize::one_line;
pub(crate) use crate::model::when::{day as subject_day, moment as sentence_moment, short_day};

/// `Wed 4 Mar`: the day of a moment.
pub(crate) fn day_of(at: DateTime<Utc>, zone: Tz, now: DateTime<Utc>) -> String {
    subject_day(at.with_timezone(&zone).date_naive(), zone, now)
}

/// `4 Mar`: the same in short.
pub(crate) fn short_day_of(at: DateTime<Utc>, zone: Tz, now: DateTime<Utc>) -> String {
    short_day(at.with_timezone(&zone).date_naive(), zone, now)
}

/// `1 thing`, `2 things`.
pub(crate) fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// A zone by its name; UTC where this binary does not know it.
pub(crate) fn zone_named(name: &str) -> Tz {
    name.parse().unwrap_or(Tz::UTC)
}

/// The first letter as a capital.
pub(crate) fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// `Cannot` inside of a sentence; `VM` stays.
pub(crate) fn small(text: &str) -> String {
    let is_word = text.chars().nth(1).is_some_and(char::is_lowercase);
    let mut chars = text.chars();
    match chars.next() {
        Some(first) if is_word => first.to_lowercase().chain(chars).collect(),
        _ => text.to_owned(),
    }
}

/// `5 min ago`, `in 2 d 5 h`.
pub(crate) fn distance(at: DateTime<Utc>, now: DateTime<Utc>) -> String {
    if (now - at).num_seconds() >= 0 {
        format!("{} ago", lasted(now - at))
    } else {
        format!("in {}", lasted(at - now))
    }
}

/// `14:10-15:00`, with the day where it is not today, with both where it passed midnight; within a minute that one alone.
pub(crate) fn from_to(from: DateTime<Utc>, to: DateTime<Utc>, zone: Tz, now: DateTime<Utc>) -> String {
    let day = |at: DateTime<Utc>| at.with_timezone(&zone).date_naive();
    let time = |at: DateTime<Utc>| at.with_timezone(&zone).format("%H:%M").to_string();
    let named = |at| format!("{} {}", day_of(at, zone, now), time(at));
    let until = if is_one_minute(from, to) { String::new() } else { format!("-{}", time(to)) };
    if day(from) == day(now) && day(to) == day(now) {
        format!("{}{until}", time(from))
    } else if day(from) == day(to) {
        format!("{}{until}", named(from))
    } else {
        format!("{} - {}", named(from), named(to))
    }
}

/// Both are shown alike.
pub(crate) fn is_one_minute(from: DateTime<Utc>, to: DateTime<Utc>) -> bool {
    from.timestamp().div_euclid(60) == to.timestamp().div_euclid(60)
}

/// `Sun 1 Mar 14:10-15:00 MSK`, with the second day where it passed midnight; within a minute that one alone.
pub(crate) fn period(from: DateTime<Utc>, to: DateTime<Utc>, zone: Tz, now: DateTime<Utc>) -> String {
    if is_one_minute(from, to) {
        return sentence_moment(from, zone, now);
    }
    let local = |at: DateTime<Utc>| at.with_timezone(&zone);
    let (first, last) = (local(from).date_naive(), local(to).date_naive());
    let start = format!("{} {}", subject_day(first, zone, now), local(from).format("%H:%M"));
    if first == last {
        format!("{start}-{}", local(to).format("%H:%M %Z"))
    } else {
        format!("{start} - {}", sentence_moment(to, zone, now))
    }
}

/// `Data deleted Tue 1 Dec 12:00 MSK, in 5 d`: of an account that is cut off.
pub(crate) fn deletion(at: DateTime<Utc>, zone: Tz, now: DateTime<Utc>) -> String {
    let (verb, when) =
        if at > now { ("deleted", distance(at, now)) } else { ("were to be deleted", distance(at, now)) };
    format!("Data {verb} {}, {when}", sentence_moment(at, zone, now))
}

/// `< 1 min`, `23 min`, `2 h 5 min`, `2 d 5 h`.
pub(crate) fn lasted(span: Duration) -> String {
    let (minutes, hours, days) = (span.num_minutes(), span.num_hours(), span.num_days());
    let with = |whole: String, part: i64, unit: &str| {
        if part == 0 { whole } else { format!("{whole} {part} {unit}") }
    };
    match minutes {
        ..1 => "< 1 min".to_owned(),
        1..60 => format!("{minutes} min"),
        60..1440 => with(format!("{hours} h"), minutes % 60, "min"),
        _ => with(format!("{days} d"), hours % 24, "h"),
    }
}

/// `1 234.50 RUB`, or that it is not known.
pub(crate) fn known_spaced_amount(money: Option<Money>, currency: &str) -> String {
    money.map_or_else(|| "not known".to_owned(), |money| spaced_amount(money, currency))
}

/// `1 235 RUB`, `nothing`, or that it is not known: what to pay, in a column.
pub(crate) fn known_to_pay(money: Option<Money>, currency: &str) -> String {
    match money {
        Some(money) if money.is_positive() => spaced_to_pay(money, currency),
        Some(_) => "nothing".to_owned(),
        None => "not known".to_owned(),
    }
}

/// When the account is cut off, in a column; `day` writes a moment.
pub(crate) fn cut_off(disconnect: Disconnect, day: impl Fn(DateTime<Utc>) -> String) -> String {
    match disconnect {
        Disconnect::At { at, .. } => day(at),
        Disconnect::Now => "now".to_owned(),
        Disconnect::NotExpected => "not expected".to_owned(),
        Disconnect::Unknown => "not known".to_owned(),
    }
}

/// `45 RUB`: of a subject; rounded up to whole units, as amounts to pay are.
pub(crate) fn to_pay(money: Money, currency: &str) -> String {
    with_unit(&money.ceil_units().to_string(), currency)
}

fn with_unit(number: &str, currency: &str) -> String {
    if currency.is_empty() { number.to_owned() } else { format!("{number} {}", one_line(currency, 12)) }
}

/// What switching an order off gains while a cut-off is ahead; `None` where the report then names none.
pub(crate) fn without_order(days: Option<i64>) -> String {
    days.map_or_else(|| "no cut-off in this report".to_owned(), more_days)
}

/// `23 more days`: what switching an order off gains.
pub(crate) fn more_days(days: i64) -> String {
    match usize::try_from(days) {
        Ok(days @ 1..) => count(days, "more day", "more days"),
        Ok(0) | Err(_) => "< 1 more day".to_owned(),
    }
}

/// `1 235 RUB`: an amount to pay as people read it, rounded up to whole units.
pub(crate) fn spaced_to_pay(money: Money, currency: &str) -> String {
    spaced_amount(money.ceil_units(), currency).replacen(".00", "", 1)
}

/// `1 234.50 RUB`: two places, thousands apart by a narrow space, and none of it broken.
pub(crate) fn spaced_amount(money: Money, currency: &str) -> String {
    let mut out = money.spaced();
    if !currency.is_empty() {
        out.push('\u{a0}');
        out.push_str(&one_line(currency, 12));
    }
    out
}

/// `21 312`.
pub(crate) fn thousands(number: u64) -> String {
    money::apart(&number.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::forecast::tests::{money, t};

    #[test]
    fn times() {
        let now = t("2026-03-01T22:30:00");
        let moscow = Tz::Europe__Moscow;
        assert_eq!(sentence_moment(now, moscow, now), "Mon 2 Mar 01:30 MSK");
        assert_eq!(sentence_moment(t("2027-01-01T00:00:00"), Tz::UTC, now), "Fri 1 Jan 2027 00:00 UTC");
        assert_eq!(period(t("2026-03-01T12:00:00"), now, Tz::UTC, now), "Sun 1 Mar 12:00-22:30 UTC");
        let soon = t("2026-03-01T22:30:59");
        assert_eq!(period(now, soon, Tz::UTC, now), "Sun 1 Mar 22:30 UTC");
        assert_eq!(
            period(now, soon + chrono::Duration::seconds(1), Tz::UTC, now),
            "Sun 1 Mar 22:30-22:31 UTC"
        );
        assert_eq!(
            [from_to(now, soon, Tz::UTC, now), from_to(now, soon, Tz::UTC, t("2026-03-05T12:00:00"))],
            ["22:30", "Sun 1 Mar 22:30"]
        );
        let midnight = "Sun 1 Mar 15:00 - Mon 2 Mar 01:30 MSK";
        assert_eq!(period(t("2026-03-01T12:00:00"), now, moscow, now), midnight);
        let table = [
            (-3, "in < 1 min"),
            (0, "< 1 min ago"),
            (119, "1 min ago"),
            (7260, "2 h 1 min ago"),
            (176_400, "2 d 1 h ago"),
        ];
        for (seconds, want) in table {
            assert_eq!(distance(now - chrono::Duration::seconds(seconds), now), want);
        }
        assert_eq!(distance(now + chrono::Duration::days(3), now), "in 3 d");
    }

    #[test]
    fn amounts() {
        let table = [
            ("0", "0.00 RUB"),
            ("-44.505", "\u{2212}44.51 RUB"),
            ("999.9", "999.90 RUB"),
            ("1234567.891", "1 234 567.89 RUB"),
        ];
        for (text, want) in table {
            let got = spaced_amount(money(text), "RUB").replace(['\u{202f}', '\u{a0}'], " ");
            assert_eq!(got, want);
        }
        assert_eq!(spaced_amount(money("5"), ""), "5.00");
        assert_eq!(
            [-1, 0, 1, 23].map(more_days),
            ["< 1 more day", "< 1 more day", "1 more day", "23 more days"]
        );
        for (text, currency, want) in [
            ("44.51", "RUB", "45 RUB"),
            ("12345.01", "RUB", "12346 RUB"),
            ("0", "", "0"),
            ("44.01", "\u{1b}[31m", "45 [31m"),
        ] {
            assert_eq!(to_pay(money(text), currency), want);
        }
    }
}
