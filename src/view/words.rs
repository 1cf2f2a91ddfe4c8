//! Times, amounts and counts as people read them. Pure.

use chrono::{DateTime, Datelike as _, NaiveDate, Utc};
use chrono_tz::Tz;

use crate::model::Money;
pub(crate) use crate::model::phrase::{count, distance};

/// `3 March`, with the year when it is not this one.
pub(crate) fn day(at: DateTime<Utc>, zone: Tz, now: DateTime<Utc>) -> String {
    date(at.with_timezone(&zone).date_naive(), zone, now)
}

/// The same of a day of the zone.
pub(crate) fn date(date: NaiveDate, zone: Tz, now: DateTime<Utc>) -> String {
    let this_year = now.with_timezone(&zone).year() == date.year();
    date.format(if this_year { "%-d %B" } else { "%-d %B %Y" }).to_string()
}

/// `3 March 14:05 MSK`.
pub(crate) fn moment(at: DateTime<Utc>, zone: Tz, now: DateTime<Utc>) -> String {
    format!("{} {}", day(at, zone, now), at.with_timezone(&zone).format("%H:%M %Z"))
}

/// `1 234.50 RUB`: two places, thousands apart by a narrow space that does not break.
pub(crate) fn amount(money: Money, currency: &str) -> String {
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

/// Text whose every letter is seen and stands where it was written: control characters become spaces, and what
/// turns the direction of writing or is not seen goes. Escapes of HTML don't reach these, and a page may be read
/// in a terminal.
pub(crate) fn harmless(text: String) -> String {
    let is_control = |c: char| (c.is_control() && c != '\n') || matches!(c, '\u{2028}' | '\u{2029}');
    let is_unseen = |c: char| {
        matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}')
            || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
    };
    if !text.contains(|c| is_control(c) || is_unseen(c)) {
        return text;
    }
    text.chars().filter(|&c| !is_unseen(c)).map(|c| if is_control(c) { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::forecast::tests::{money, t};

    #[test]
    fn what_is_not_seen_does_nothing() {
        let table = [
            ("1\u{202f}234.50\u{a0}RUB\n<p>имя", "1\u{202f}234.50\u{a0}RUB\n<p>имя"),
            ("evil\u{202e}gpj.exe\u{2066}\u{feff}\u{e0041}", "evilgpj.exe"),
            ("a\0\r\n\u{1b}[31m\u{9b}\u{2028}b", "a  \n [31m  b"),
        ];
        for (text, want) in table {
            assert_eq!(harmless(text.to_owned()), want);
        }
    }

    #[test]
    fn times() {
        let now = t("2026-03-01T22:30:00");
        let moscow = Tz::Europe__Moscow;
        assert_eq!(day(now, moscow, now), "2 March");
        assert_eq!(day(t("2027-01-01T00:00:00"), Tz::UTC, now), "1 January 2027");
        assert_eq!(moment(now, moscow, now), "2 March 01:30 MSK");
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
            let got = amount(money(text), "RUB").replace(['\u{202f}', '\u{a0}'], " ");
            assert_eq!(got, want);
        }
        assert_eq!(amount(money("5"), ""), "5.00");
    }
}
