//! A recipient's knowledge of a cut-off, from the old ladder, which notes the mails to everybody. A recipient
//! that missed one of them knows the mails before it.

use chrono::{DateTime, Utc};

use super::old::{OldIncident, OldLadder};
use super::telling::Telling;
use crate::alert::Event;
use crate::alert::Money;

pub(super) fn told(incident: &OldIncident, tellings: &[Telling<'_>]) -> Money {
    let ladder = incident.ladder();
    let its = || tellings.iter().filter(|one| one.item.episode == incident.episode);
    let has_missed = its().next_back().is_some_and(|last| !last.is_told());
    let base = Money {
        date: ladder.told,
        extended_at: ladder.mailed.extended.max(latest(&ladder.mailed.earlier)),
        paid_at: latest(&ladder.mailed.paid),
        ..Money::default()
    };
    if !has_missed {
        return of_ladder(&ladder, &base);
    }
    let base = Money { date: ladder.told_before.or(ladder.told), ..base };
    its().filter(|one| one.is_told()).fold(base, by_event)
}

fn latest(moves: &[(DateTime<Utc>, DateTime<Utc>)]) -> Option<DateTime<Utc>> {
    moves.iter().map(|(_, at)| *at).max()
}

fn of_ladder(ladder: &OldLadder, base: &Money) -> Money {
    let overdue = ladder.overdue.as_ref();
    let of_day = ladder.mailed.rungs.iter().next().map(|(rung, at)| (*rung, *at));
    Money {
        rung: ladder.rung,
        used_up: ladder.used_up_told,
        tightest: overdue.map(|overdue| (0, overdue.told_at)).or(of_day),
        deletion: overdue.and_then(|overdue| overdue.deletions.iter().min().copied()),
        ..base.clone()
    }
}

#[allow(clippy::wildcard_enum_match_arm)] // the others say nothing of the date
fn by_event(mut money: Money, telling: &Telling<'_>) -> Money {
    match telling.item.event {
        Event::Rung(rung) => {
            (money.rung, money.tightest) = (Some(rung), Some((rung, telling.mail.made_at)));
        }
        Event::Extended(_) | Event::Paid(_) => (money.rung, money.used_up) = (None, false),
        Event::BalanceUsedUp => money.used_up = true,
        Event::Deletion(left) => money.deletion = Some(left),
        _ => {}
    }
    money
}
