//! What only the terminal says. Pure.

use chrono::{DateTime, Utc};

pub(super) use crate::view::words::*;

/// `5 min`: how long since.
pub(super) fn age(since: DateTime<Utc>, now: DateTime<Utc>) -> String {
    span(now - since)
}

/// What switching an order off gains.
pub(super) fn buys(days: i64) -> String {
    match usize::try_from(days) {
        Ok(days @ 1..) => format!("buys {}", count(days, "day", "days")),
        Ok(0) | Err(_) => "buys under a day".to_owned(),
    }
}
