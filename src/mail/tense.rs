//! The tense in which a mail speaks of an incident. Pure.

use crate::alert::{Cause, Event, Item, Kind};
use crate::model::AccountState;
use crate::view::forms::{self, Clause, Tense};

/// The predicate that a mail gives an item.
pub(super) fn clause(item: &Item, state: Option<&AccountState>) -> Clause {
    let incident = &item.incident;
    let of = |tense| Clause::new(incident.wrong(), tense);
    match Telling::from(&item.event) {
        Telling::Over => of(over(item, state)),
        Telling::Gone => of(Tense::NotListed),
        Telling::WasDown => of(was(item)),
        Telling::Unwatched => of(Tense::Unwatched),
        Telling::StillSo if incident.is_flapping() => of(Tense::Keeps),
        Telling::StillSo => Clause { tense: Tense::Still, ..Clause::open(incident) },
        Telling::Begun => Clause::open(incident),
    }
}

/// The tense of an end. It says what the resource is now, but never more than is known.
fn over(item: &Item, state: Option<&AccountState>) -> Tense {
    let is_right = match item.key.kind.sort() {
        Some(_) => state.is_some_and(|state| forms::is_right(&item.incident, state)),
        None => !matches!(
            item.key.kind,
            Kind::OrderSuspended | Kind::Disconnect | Kind::BalanceDrop | Kind::OrderCost
        ),
    };
    if is_right { Tense::Again } else { Tense::NoLonger }
}

/// The tense of an item that is over, in a sentence about its past.
pub(super) fn was(item: &Item) -> Tense {
    if item.why == Cause::Stable { Tense::Kept } else { Tense::Was }
}

/// The stages of an incident that sentences distinguish.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Telling {
    Begun,
    /// A reminder.
    StillSo,
    Over,
    /// The provider no longer lists it.
    Gone,
    /// The incident was over before a mail went out.
    WasDown,
    /// Nothing watches it any more, so its state is not known.
    Unwatched,
}

impl From<&Event> for Telling {
    fn from(event: &Event) -> Self {
        match event {
            Event::Resolved => Self::Over,
            Event::Removed => Self::Gone,
            Event::WasDown => Self::WasDown,
            Event::Unwatched => Self::Unwatched,
            Event::Reminder(_) | Event::Escalated | Event::Overdue(_) | Event::Deletion(_) => Self::StillSo,
            Event::Started
            | Event::Opened
            | Event::Worse
            | Event::Rung(_)
            | Event::Extended(_)
            | Event::Paid(_)
            | Event::Dearer(_)
            | Event::BalanceUsedUp
            | Event::Digest(_)
            | Event::Test => Self::Begun,
        }
    }
}
