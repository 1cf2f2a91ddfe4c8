//! Times, amounts and counts as the terminal shows them. Pure.

use chrono::{DateTime, Datelike as _, NaiveDate, Utc};
use chrono_tz::Tz;

use super::text;
use crate::model::Money;
use crate::model::phrase::span;
pub(super) use crate::model::phrase::{count, distance};

/// `Wed 4 March`, with the year when it is not this one.
pub(super) fn day(date: NaiveDate, zone: Tz, now: DateTime<Utc>) -> String {
    let this_year = now.with_timezone(&zone).year() == date.year();
    date.format(if this_year { "%a %-d %B" } else { "%a %-d %B %Y" }).to_string()
}

/// `Wed 4 March 14:00 MSK`.
pub(super) fn moment(at: DateTime<Utc>, zone: Tz, now: DateTime<Utc>) -> String {
    let local = at.with_timezone(&zone);
    format!("{} {}", day(local.date_naive(), zone, now), local.format("%H:%M %Z"))
}

/// `5 min`: how long since.
pub(super) fn age(since: DateTime<Utc>, now: DateTime<Utc>) -> String {
    span((now - since).num_seconds().max(0).unsigned_abs())
}

/// `-44.50 RUB`: two places. Without marks between thousands, so that it can be copied.
pub(super) fn amount(money: Money, currency: &str) -> String {
    with_unit(&format!("{:.2}", money.rounded().decimal()), currency)
}

/// `45 RUB`: rounded up to whole units, as amounts to pay are.
pub(super) fn to_pay(money: Money, currency: &str) -> String {
    with_unit(&money.ceil_units().to_string(), currency)
}

fn with_unit(number: &str, currency: &str) -> String {
    match text::cut(&text::plain(currency), 12) {
        unit if unit.is_empty() => number.to_owned(),
        unit => format!("{number} {unit}"),
    }
}

/// What switching an order off gains.
pub(super) fn buys(days: i64) -> String {
    match usize::try_from(days) {
        Ok(days @ 1..) => format!("buys {}", count(days, "day", "days")),
        Ok(0) | Err(_) => "buys under a day".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::forecast::tests::{money, t};

    #[test]
    fn times_and_amounts() {
        let now = t("2026-03-01T22:30:00");
        let moscow = Tz::Europe__Moscow;
        assert_eq!(moment(now, moscow, now), "Mon 2 March 01:30 MSK");
        assert_eq!(moment(t("2027-01-01T00:00:00"), Tz::UTC, now), "Fri 1 January 2027 00:00 UTC");
        assert_eq!(distance(t("2026-03-01T22:28:00"), now), "2 min ago");
        assert_eq!(distance(t("2026-03-04T22:30:00"), now), "in 3 days");
        assert_eq!(amount(money("-44.505"), "RUB"), "-44.51 RUB");
        assert_eq!(to_pay(money("44.01"), "\u{1b}[31m"), "45 [31m");
        assert_eq!(to_pay(money("44.01"), ""), "45");
    }
}
