//! What only the terminal says. Pure.

use chrono::{DateTime, Utc};
use chrono_tz::Tz;

use super::layout::{Cell, Emphasis};
use super::text;
use crate::alert::Severity;
use crate::model::forecast::Disconnect;
use crate::view::BillingFacts;
use crate::view::billing::OrderRow;

pub(super) use crate::view::words::*;

/// `5 min`: how long since.
pub(super) fn age(since: DateTime<Utc>, now: DateTime<Utc>) -> String {
    lasted(now - since)
}

/// When the account is cut off, in a column.
pub(super) fn cut_off_day(disconnect: Disconnect, zone: Tz, now: DateTime<Utc>) -> String {
    cut_off(disconnect, |at| day_of(at, zone, now))
}

/// The same in full; `ahead` is the tone of a moment.
pub(super) fn cut_off_in_full(facts: &BillingFacts, ahead: Emphasis, zone: Tz, now: DateTime<Utc>) -> Cell {
    match facts.disconnect {
        Disconnect::At { at, computed } => {
            let when = sentence_moment(at, zone, now);
            let computed = if computed { ", computed: the report names no date" } else { "" };
            Cell::toned(format!("{when} ({}){computed}", distance(at, now)), ahead)
        }
        Disconnect::Now => Cell::toned("now: the balance is used up", Emphasis::Bad),
        Disconnect::NotExpected => {
            let until = facts.horizon.map(|end| format!(" before {}", day_of(end, zone, now)));
            Cell::toned(format!("not expected{}", until.unwrap_or_default()), Emphasis::Good)
        }
        Disconnect::Unknown => Cell::toned("not known: the report does not tell", Emphasis::Warn),
    }
}

/// The sign of a severity, shown beside its word.
pub(super) fn severity(severity: Severity) -> (&'static str, Emphasis) {
    match severity {
        Severity::Critical => ("✕", Emphasis::Bad),
        Severity::Warning => ("!", Emphasis::Warn),
        Severity::Info => ("i", Emphasis::Plain),
    }
}

/// What it is called, and its number.
pub(super) fn order(order: &OrderRow) -> String {
    text::name(&order.words())
}
