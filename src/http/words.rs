//! Times, amounts and counts as people read them. Pure.

use chrono::{DateTime, Datelike as _, Utc};
use chrono_tz::Tz;

use crate::model::Money;
pub(super) use crate::model::phrase::{count, distance};

/// `3 March`, with the year when it is not this one.
pub(super) fn day(at: DateTime<Utc>, zone: Tz, now: DateTime<Utc>) -> String {
    let (at, now) = (at.with_timezone(&zone), now.with_timezone(&zone));
    at.format(if at.year() == now.year() { "%-d %B" } else { "%-d %B %Y" }).to_string()
}

/// `3 March 14:05 MSK`.
pub(super) fn moment(at: DateTime<Utc>, zone: Tz, now: DateTime<Utc>) -> String {
    format!("{} {}", day(at, zone, now), at.with_timezone(&zone).format("%H:%M %Z"))
}

/// `1 234.50 RUB`: two places, thousands apart by a narrow space that does not break.
pub(super) fn amount(money: Money, currency: &str) -> String {
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
