//! The reason for a decision, as a type with values. `view` puts it into words.

use chrono::NaiveDate;
use serde::{Deserialize, Serialize};

use super::subject::Detail;
use crate::model::forecast::Doubt;

/// The event behind a decision.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Cause {
    // A state lasts, or does not last long enough yet.
    SeenWrong,
    SeenWrongInARow {
        polls: u32,
    },
    Confirming {
        seen: u32,
        polls: u32,
    },
    Unchanged {
        minutes: u64,
    },
    Holding {
        minutes: u64,
    },
    Unconfirmed,
    // The incident goes on.
    SeenBefore,
    WrongAgain,
    NoRecovery {
        detail: Detail,
    },
    CoverEnded,
    #[serde(alias = "other_data_unread")]
    MoreThanTold,
    Reminder {
        count: u32,
        most: u32,
    },
    Escalated {
        to: String,
        /// In minutes.
        after: u64,
    },
    Flapping {
        changes: usize,
    },
    Stable,
    // The incident ends.
    Recovering {
        seen: u32,
        polls: u32,
    },
    OkInARow {
        polls: u32,
    },
    /// From a store that did not count polls yet.
    #[serde(alias = "no_disconnect")]
    SeenRight,
    NoLongerListed,
    // Nothing watches it any more.
    RuleOff,
    AccountGone,
    CollectorOff,
    LeftOut,
    CodeUnnamed,
    LeftReport,
    GoneForADay,
    WatchedAgain,
    // The first start.
    KnownAtStart,
    // The balance and the date of the cut-off.
    Doubt(Doubt),
    NoFurtherReport,
    WithoutDate {
        seen: u32,
        polls: u32,
    },
    UsedUp,
    DatePassed,
    // The aliases are those of release 0.2.
    #[serde(alias = "jumped", alias = "payments_take_longer")]
    Rung {
        days: i64,
    },
    /// The rung of the last safe day, on that day.
    LastSafeDay,
    MovedBack {
        to: NaiveDate,
    },
    Paid {
        to: NaiveDate,
    },
    StillOverdue,
    // Pages show it long afterwards too, until the next reason.
    DeletionIn {
        days: i64,
    },
    DeletionDay,
    BalanceDrop,
    Dearer,
}

/// The form of a reason in the store.
#[derive(Serialize, Deserialize)]
struct Stored {
    cause: Cause,
}

impl Cause {
    /// The text form, which `of_stored` reads.
    pub(crate) fn stored(&self) -> String {
        serde_json::to_string(&Stored { cause: self.clone() }).unwrap_or_default()
    }

    /// `None` for a sentence from an older store, and for a value of another release.
    pub(crate) fn of_stored(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok().map(|stored: Stored| stored.cause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_kept_by_type_and_values() {
        let table = [
            (Cause::SeenWrong, r#"{"cause":"seen_wrong"}"#),
            (Cause::Rung { days: 7 }, r#"{"cause":{"rung":{"days":7}}}"#),
            (Cause::OkInARow { polls: 2 }, r#"{"cause":{"ok_in_a_row":{"polls":2}}}"#),
            (Cause::Doubt(Doubt::TooShort), r#"{"cause":{"doubt":"too_short"}}"#),
        ];
        for (cause, json) in table {
            assert_eq!(cause.stored(), json);
            assert_eq!(Cause::of_stored(json), Some(cause));
        }
        // Sentences of release 0.2 stay as they are.
        let older = r#"{"cause":{"no_recovery":{"detail":"its state is now blocked"}}}"#;
        assert_eq!(Cause::of_stored(older).unwrap().stored(), older);
        // Release 0.2 also kept the reason why no mail went out.
        let older = r#"{"cause":"seen_wrong","withheld":{"folded":"main/container_disabled/10"}}"#;
        assert_eq!(Cause::of_stored(older), Some(Cause::SeenWrong));
        for other in ["the 9-day rung is crossed", "{ no JSON", r#"{"cause":{"eclipse":{"minutes":7}}}"#] {
            assert_eq!(Cause::of_stored(other), None);
        }
    }
}
