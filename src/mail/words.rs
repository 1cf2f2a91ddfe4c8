//! Times, amounts and names as mails write them: always with zone, always on one line. Pure.

use chrono::{DateTime, Duration, NaiveDate, Utc};
use chrono_tz::Tz;

use crate::alert::rules;
use crate::model::Money;

/// `2026-03-04 14:00 MSK`.
pub(super) fn moment(at: DateTime<Utc>, zone: Tz) -> String {
    at.with_timezone(&zone).format("%Y-%m-%d %H:%M %Z").to_string()
}

/// `Wednesday 2026-03-04 14:00 MSK`.
pub(super) fn long_moment(at: DateTime<Utc>, zone: Tz) -> String {
    at.with_timezone(&zone).format("%A %Y-%m-%d %H:%M %Z").to_string()
}

/// `2026-03-04` in the account's zone.
pub(super) fn day(at: DateTime<Utc>, zone: Tz) -> String {
    at.with_timezone(&zone).format("%Y-%m-%d").to_string()
}

/// `Wednesday 2026-03-04`.
pub(super) fn weekday(date: NaiveDate) -> String {
    date.format("%A %Y-%m-%d").to_string()
}

/// `25.50 RUB`: two places. Without marks between thousands, so that it can be copied.
pub(super) fn amount(money: Money, currency: &str) -> String {
    with_unit(&format!("{:.2}", money.rounded().decimal()), currency)
}

/// `45 RUB`: rounded up to whole units, as amounts to pay are.
pub(super) fn to_pay(money: Money, currency: &str) -> String {
    with_unit(&money.ceil_units().to_string(), currency)
}

fn with_unit(number: &str, currency: &str) -> String {
    if currency.is_empty() { number.to_owned() } else { format!("{number} {}", one_line(currency, 12)) }
}

/// `1 thing`, `2 things`.
pub(super) fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// `40 s`, `12 min`, `5 h`, `3 days 4 h`: never less than 0.
pub(super) fn span(span: Duration) -> String {
    match span.num_seconds().max(0) {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds @ 120..7200 => format!("{} min", seconds / 60),
        seconds @ 7200..172_800 => format!("{} h", seconds / 3600),
        seconds => match seconds % 86_400 / 3600 {
            0 => format!("{} days", seconds / 86_400),
            hours => format!("{} days {hours} h", seconds / 86_400),
        },
    }
}

/// Text of others on one line of at most `most` characters: no control characters, none that turn the
/// direction of writing, none that cannot be seen.
pub(super) fn one_line(text: &str, most: usize) -> String {
    let unseen = |c: char| {
        matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2060}' | '\u{feff}')
            || ('\u{e0000}'..='\u{e007f}').contains(&c)
    };
    // Enough for what is cut off to be seen to be there, and no more of a text of any length.
    let seen: String = text.chars().filter(|&c| !unseen(c)).take(most.saturating_mul(4)).collect();
    let plain = rules::clean(&seen, usize::MAX);
    rules::clean(&plain.split_whitespace().collect::<Vec<_>>().join(" "), most)
}

/// The first letter as a capital.
pub(super) fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_stay_one_word_and_round_up_where_they_are_to_be_paid() {
        let money = |text: &str| text.parse::<Money>().unwrap();
        assert_eq!(to_pay(money("44.51"), "RUB"), "45 RUB");
        assert_eq!(to_pay(money("12345.01"), "RUB"), "12346 RUB");
        assert_eq!(to_pay(money("0"), ""), "0");
        assert_eq!(amount(money("-44.505"), "RUB"), "-44.51 RUB");
    }

    #[test]
    fn names_lose_what_is_not_seen_and_what_turns_the_line() {
        for (text, want) in [
            ("a\r\nBcc: x@example.org", "a Bcc: x@example.org"),
            ("evil\u{202e}gpj.exe", "evil gpj.exe"),
            ("a \u{202e} b\u{2028}", "a b"),
            ("\u{200f}\u{feff}", "(no name)"),
            ("\u{7}bell\t tab", "bell tab"),
            ("имя", "имя"),
        ] {
            assert_eq!(one_line(text, 40), want, "{text:?}");
        }
        assert_eq!(one_line("abcdef", 3), "abc…");
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
            assert_eq!(span(Duration::seconds(seconds)), want);
        }
    }
}
