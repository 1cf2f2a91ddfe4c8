//! The tense in which a mail speaks of an incident. Pure.

use super::context::Context;
use crate::alert::{Event, Item, Kind, Subject};
use crate::model::forecast::Disconnect;
use crate::view::forms::{self, Clause, Tense};

/// The predicate that a mail gives an item.
pub(super) fn clause(item: &Item, context: &Context<'_>) -> Clause {
    let incident = &item.incident;
    let of = |tense| Clause::new(incident.wrong(), tense);
    match item.event {
        Event::Resolved => of(over(item, context)),
        Event::Removed => of(Tense::NotListed),
        Event::WasDown => of(Tense::Was),
        Event::Unwatched => of(Tense::Unwatched),
        Event::Reminder(_) | Event::Escalated | Event::Overdue(_) | Event::Deletion(_) => {
            let open = Clause::open(incident);
            if incident.is_flapping() { open } else { Clause { tense: Tense::Still, ..open } }
        }
        Event::Started
        | Event::Opened
        | Event::Worse
        | Event::Rung(_)
        | Event::Extended(_)
        | Event::Paid(_)
        | Event::Dearer(_)
        | Event::BalanceUsedUp
        | Event::Digest(_)
        | Event::Test => Clause::open(incident),
    }
}

/// The tense of an end. It says what the resource is now, but never more than is known.
fn over(item: &Item, context: &Context<'_>) -> Tense {
    let is_right = match item.key.kind.sort() {
        Some(_) => {
            context.account(&item.key.account).is_some_and(|state| forms::is_right(&item.incident, state))
        }
        None if matches!(item.incident.subject, Subject::NoDate { .. }) => {
            let cut_off = context.account(&item.key.account).and_then(|state| state.billing.disconnect());
            cut_off.is_some_and(Disconnect::is_cut_off)
        }
        None => !matches!(
            item.key.kind,
            Kind::OrderSuspended | Kind::Disconnect | Kind::BalanceDrop | Kind::OrderCost
        ),
    };
    if is_right { Tense::Again } else { Tense::NoLonger }
}
