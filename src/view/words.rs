//! Times, amounts and counts as people read them, made once. A date has one form for each surface: `3 March` on
//! the page, `Wed 4 March` on the terminal, `2026-03-04` in mails, which are read years later. Amounts have marks
//! between thousands on the page alone: elsewhere they are copied. Pure.

use chrono::{DateTime, Datelike as _, Duration, NaiveDate, Utc};
use chrono_tz::Tz;

use crate::model::Money;
use crate::model::sanitize::one_line;

/// `1 thing`, `2 things`.
pub(crate) fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// The first letter as a capital.
pub(crate) fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// `40 s`, `12 min`, `5 h`, `3 days`: never less than 0.
pub(crate) fn span(span: Duration) -> String {
    match span.num_seconds().max(0) {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds @ 120..7200 => format!("{} min", seconds / 60),
        seconds @ 7200..172_800 => format!("{} h", seconds / 3600),
        seconds => format!("{} days", seconds / 86_400),
    }
}

/// The same with the hours beside the days: `3 days 4 h`.
pub(crate) fn long_span(long: Duration) -> String {
    match (long.num_days(), long.num_hours() % 24) {
        (..2, _) | (_, 0) => span(long),
        (days, hours) => format!("{days} days {hours} h"),
    }
}

/// `5 min ago`, `in 3 days`.
pub(crate) fn distance(at: DateTime<Utc>, now: DateTime<Utc>) -> String {
    if (now - at).num_seconds() >= 0 {
        format!("{} ago", span(now - at))
    } else {
        format!("in {}", span(at - now))
    }
}

/// `3 March`, with the year when it is not this one.
pub(crate) fn day(at: DateTime<Utc>, zone: Tz, now: DateTime<Utc>) -> String {
    date(at.with_timezone(&zone).date_naive(), zone, now)
}

/// The same of a day of the zone.
pub(crate) fn date(date: NaiveDate, zone: Tz, now: DateTime<Utc>) -> String {
    this_year(date, "%-d %B", zone, now)
}

/// `3 March 14:05 MSK`.
pub(crate) fn moment(at: DateTime<Utc>, zone: Tz, now: DateTime<Utc>) -> String {
    format!("{} {}", day(at, zone, now), at.with_timezone(&zone).format("%H:%M %Z"))
}

/// `Wed 4 March`, with the year when it is not this one.
pub(crate) fn short_weekday(date: NaiveDate, zone: Tz, now: DateTime<Utc>) -> String {
    this_year(date, "%a %-d %B", zone, now)
}

/// `Wed 4 March 14:00 MSK`.
pub(crate) fn short_moment(at: DateTime<Utc>, zone: Tz, now: DateTime<Utc>) -> String {
    let local = at.with_timezone(&zone);
    format!("{} {}", short_weekday(local.date_naive(), zone, now), local.format("%H:%M %Z"))
}

fn this_year(date: NaiveDate, form: &str, zone: Tz, now: DateTime<Utc>) -> String {
    let this_year = now.with_timezone(&zone).year() == date.year();
    let form = if this_year { form.to_owned() } else { format!("{form} %Y") };
    date.format(&form).to_string()
}

/// `2026-03-04` in the zone.
pub(crate) fn iso_day(at: DateTime<Utc>, zone: Tz) -> String {
    at.with_timezone(&zone).format("%Y-%m-%d").to_string()
}

/// `2026-03-04 14:00 MSK`.
pub(crate) fn iso_moment(at: DateTime<Utc>, zone: Tz) -> String {
    at.with_timezone(&zone).format("%Y-%m-%d %H:%M %Z").to_string()
}

/// `Wednesday 2026-03-04`.
pub(crate) fn iso_weekday(date: NaiveDate) -> String {
    date.format("%A %Y-%m-%d").to_string()
}

/// `Wednesday 2026-03-04 14:00 MSK`.
pub(crate) fn iso_weekday_moment(at: DateTime<Utc>, zone: Tz) -> String {
    at.with_timezone(&zone).format("%A %Y-%m-%d %H:%M %Z").to_string()
}

/// `-44.50 RUB`: two places. Without marks between thousands, so that it can be copied.
pub(crate) fn amount(money: Money, currency: &str) -> String {
    with_unit(&format!("{:.2}", money.rounded().decimal()), currency)
}

/// `45 RUB`: rounded up to whole units, as amounts to pay are.
pub(crate) fn to_pay(money: Money, currency: &str) -> String {
    with_unit(&money.ceil_units().to_string(), currency)
}

fn with_unit(number: &str, currency: &str) -> String {
    if currency.is_empty() { number.to_owned() } else { format!("{number} {}", one_line(currency, 12)) }
}

/// `1 234.50 RUB`: the same with thousands apart by a narrow space, and none of it broken.
pub(crate) fn spaced_amount(money: Money, currency: &str) -> String {
    let text = format!("{:.2}", money.rounded().decimal());
    let (sign, digits) = text.strip_prefix('-').map_or(("", text.as_str()), |digits| ("\u{2212}", digits));
    let (whole, part) = digits.split_once('.').unwrap_or((digits, "00"));
    let mut out = String::from(sign);
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    out.push('.');
    out.push_str(part);
    if !currency.is_empty() {
        out.push('\u{a0}');
        out.push_str(currency);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::forecast::tests::{money, t};

    #[test]
    fn times() {
        let now = t("2026-03-01T22:30:00");
        let moscow = Tz::Europe__Moscow;
        assert_eq!(day(now, moscow, now), "2 March");
        assert_eq!(day(t("2027-01-01T00:00:00"), Tz::UTC, now), "1 January 2027");
        assert_eq!(moment(now, moscow, now), "2 March 01:30 MSK");
        assert_eq!(short_moment(now, moscow, now), "Mon 2 March 01:30 MSK");
        assert_eq!(short_moment(t("2027-01-01T00:00:00"), Tz::UTC, now), "Fri 1 January 2027 00:00 UTC");
        assert_eq!(iso_weekday_moment(now, moscow), "Monday 2026-03-02 01:30 MSK");
        let table = [
            (0, "0 s ago"),
            (119, "119 s ago"),
            (120, "2 min ago"),
            (7200, "2 h ago"),
            (172_800, "2 days ago"),
        ];
        for (seconds, want) in table {
            assert_eq!(distance(now - chrono::Duration::seconds(seconds), now), want);
        }
        assert_eq!(distance(now + chrono::Duration::days(3), now), "in 3 days");
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
        assert_eq!(amount(money("-44.505"), "RUB"), "-44.51 RUB");
        for (text, currency, want) in [
            ("44.51", "RUB", "45 RUB"),
            ("12345.01", "RUB", "12346 RUB"),
            ("0", "", "0"),
            ("44.01", "\u{1b}[31m", "45 [31m"),
        ] {
            assert_eq!(to_pay(money(text), currency), want);
        }
    }

    #[test]
    fn spans() {
        for (seconds, want) in [
            (-5, "0 s"),
            (119, "119 s"),
            (120, "2 min"),
            (7200, "2 h"),
            (172_800, "2 days"),
            (255_600, "2 days 23 h"),
        ] {
            assert_eq!(long_span(Duration::seconds(seconds)), want);
        }
    }
}
