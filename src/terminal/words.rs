//! Words that only the terminal uses. Pure.

use super::layout::{Cell, Emphasis};
use crate::alert::Severity;
use crate::model::Language;
use crate::model::forecast::Disconnect;
use crate::view::{Billing, Reader};

pub(super) const EN: Language = Language::En;

/// The cut-off in full; `ahead` is the emphasis of a moment.
pub(super) fn cut_off_in_full(billing: &Billing, ahead: Emphasis, reader: Reader) -> Cell {
    let tone = match billing.disconnect {
        Disconnect::At { .. } => ahead,
        Disconnect::Now => Emphasis::Bad,
        Disconnect::NotExpected => Emphasis::Good,
        Disconnect::Unknown => Emphasis::Warn,
    };
    let (when, beside) = reader.cut_off_in_full(billing.disconnect, billing.horizon);
    Cell::toned(format!("{when} ({beside})"), tone)
}

/// The sign of a severity, shown beside its word.
pub(super) fn severity(severity: Severity) -> (&'static str, Emphasis) {
    match severity {
        Severity::Critical => ("✕", Emphasis::Bad),
        Severity::Warning => ("!", Emphasis::Warn),
        Severity::Info => ("i", Emphasis::Plain),
    }
}
