//! What only the terminal says. Pure.

use chrono::{DateTime, Utc};
use chrono_tz::Tz;

use super::layout::{Cell, Tone};
use super::text;
use crate::model::Money;
use crate::model::forecast::Disconnect;
use crate::view::Facts;
use crate::view::billing::OrderRow;

pub(super) use crate::view::words::*;

/// `5 min`: how long since.
pub(super) fn age(since: DateTime<Utc>, now: DateTime<Utc>) -> String {
    span(now - since)
}

/// When the account is cut off, in a column.
pub(super) fn cut_off_day(disconnect: Disconnect, zone: Tz, now: DateTime<Utc>) -> String {
    match disconnect {
        Disconnect::At { at, .. } => short_weekday(at.with_timezone(&zone).date_naive(), zone, now),
        Disconnect::Now => "now".to_owned(),
        Disconnect::NotExpected => "not expected".to_owned(),
        Disconnect::Unknown => "not known".to_owned(),
    }
}

/// The same in full; `ahead` is the tone of a moment.
pub(super) fn cut_off(facts: &Facts, ahead: Tone, zone: Tz, now: DateTime<Utc>) -> Cell {
    match facts.disconnect {
        Disconnect::At { at, computed } => {
            let when = short_moment(at, zone, now);
            let computed = if computed { ", computed: the report names no date" } else { "" };
            Cell::toned(format!("{when} ({}){computed}", distance(at, now)), ahead)
        }
        Disconnect::Now => Cell::toned("now: the balance is used up", Tone::Bad),
        Disconnect::NotExpected => {
            let until = facts.horizon.map(|end| end.with_timezone(&zone).date_naive());
            let until = until.map(|date| format!(" before {}", short_weekday(date, zone, now)));
            Cell::toned(format!("not expected{}", until.unwrap_or_default()), Tone::Good)
        }
        Disconnect::Unknown => Cell::toned("not known: the report does not tell", Tone::Warn),
    }
}

pub(super) fn to_pay_or_nothing(amount: Money, currency: &str) -> String {
    if amount.is_positive() { to_pay(amount, currency) } else { "nothing".to_owned() }
}

/// `shop (71)`: what it is called, and its number.
pub(super) fn order(order: &OrderRow) -> String {
    match order.name() {
        Some(name) => format!("{} ({})", text::name(name), order.id),
        None => format!("order {}", order.id),
    }
}

/// What switching an order off gains.
pub(super) fn buys(days: i64) -> String {
    match usize::try_from(days) {
        Ok(days @ 1..) => format!("buys {}", count(days, "day", "days")),
        Ok(0) | Err(_) => "buys under a day".to_owned(),
    }
}
