//! Words that only the terminal uses. Pure.

use super::layout::{Cell, Emphasis};
use crate::alert::Severity;
use crate::model::Language;
use crate::model::forecast::Disconnect;
use crate::view::{Billing, Reader};

pub(super) const EN: Language = Language::En;

/// The cut-off in full; `ahead` is the emphasis of a moment.
pub(super) fn cut_off_in_full(billing: &Billing, ahead: Emphasis, reader: Reader) -> Cell {
    match billing.disconnect {
        Disconnect::At { at, computed } => {
            let computed = if computed { ", computed: the report names no readable date" } else { "" };
            Cell::toned(format!("{} ({}){computed}", reader.moment(at), reader.distance(at)), ahead)
        }
        Disconnect::Now => Cell::toned("now: the balance is used up", Emphasis::Bad),
        Disconnect::NotExpected => {
            let until = billing.horizon.map(|end| format!(" before {}", reader.day_of(end)));
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
