//! What is to be mailed of a cut-off, and what the ladder remembers once it was. Pure.

use chrono::{DateTime, Utc};
use chrono_tz::Tz;

use super::ladder::{Ladder, Mailed, ONCE_IN, was_within_a_day};
use super::overdue::{Again, Overdue, ReminderPlan, days, deletion};
use super::settings::AlertSettings;

/// Something to be mailed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Move {
    /// This rung, newly crossed and the tightest.
    Rung(u32),
    /// Payments take longer than when the last mail went out: this is the last safe day now.
    LastSafeDay(u32),
    /// Cut off, which was not mailed of this date.
    CutOff,
    /// It still is, or the data are about to be deleted.
    Again(Again),
    /// The balance is used up, the cut-off is ahead.
    UsedUp,
    /// Somebody paid, and the cut-off is ahead.
    Paid,
    /// The date moved back past what was mailed.
    Later,
    /// The date came nearer at a jump without crossing a rung.
    Earlier,
}

/// What the ladder is judged by.
#[derive(Clone, Copy)]
pub(super) struct Judge<'a> {
    pub settings: &'a AlertSettings,
    pub zone: Tz,
    /// People were mailed of this date, and it is not over.
    pub is_open: bool,
    pub acknowledged: bool,
    pub now: DateTime<Utc>,
}

impl Judge<'_> {
    fn is_free(&self, mailed: Option<DateTime<Utc>>) -> bool {
        mailed.is_none_or(|at| self.now - at >= ONCE_IN)
    }

    fn plan(&self) -> ReminderPlan {
        let deletion_days = self.settings.deletion_days;
        ReminderPlan { deletion_days, zone: self.zone, acknowledged: self.acknowledged }
    }
}

/// A rung counts as left behind once the date is a day beyond it.
const REARM_MARGIN_DAYS: u32 = 1;

impl Ladder {
    /// What is to be mailed now, each by itself.
    pub(super) fn decide(&self, judge: &Judge<'_>) -> Vec<Move> {
        let Judge { settings, now, .. } = *judge;
        if self.is_overdue(now) {
            return self.past_cut_off(judge).into_iter().collect();
        }
        let mut moves = Vec::new();
        if judge.is_open && self.paid && self.edd.is_some() {
            return vec![Move::Paid];
        }
        if self.moved_back(now) && judge.is_free(self.mailed.extended) {
            moves.push(Move::Later);
        }
        if self.used_up && !self.used_up_told && judge.is_free(self.mailed.used_up) {
            moves.push(Move::UsedUp);
        }
        let (Some(current), Some(edd)) = (self.current_rung(&settings.disconnect_days, now), self.edd) else {
            return moves;
        };
        let told_near = was_within_a_day(&self.mailed.earlier, |told| told <= edd, now);
        if self.rung.is_none_or(|told| current < told) {
            let free = judge.is_free(self.mailed.rungs.get(&current).copied());
            moves.extend(free.then_some(Move::Rung(current)));
        } else if self.last_safe_day_is_new(edd, judge) {
            moves.push(Move::LastSafeDay(settings.lead_days + 1));
        } else if self.fell_from.is_some() && !told_near && !moves.contains(&Move::Later) {
            moves.push(Move::Earlier);
        }
        moves
    }

    /// Cut off: told once of each date, and again while it lasts.
    fn past_cut_off(&self, judge: &Judge<'_>) -> Option<Move> {
        let cut_off = self.edd.filter(|_| !self.gone);
        let Some(told) = &self.overdue else {
            // A date that comes and goes is told once, and a new one always.
            let same = cut_off.is_some() && cut_off == self.mailed.cut_off;
            let free = !same || judge.is_free(self.mailed.rungs.get(&0).copied());
            return free.then_some(Move::CutOff);
        };
        // Since that mail it was paid, and is cut off anew. Some reports name the present moment as its date.
        let anew = cut_off.is_some_and(|at| {
            let apart = told.cut_off.is_none_or(|before| at - before >= ONCE_IN);
            let paid = told.balance.zip(self.balance).is_some_and(|(then, now)| now > then);
            at > told.told_at && (apart || paid)
        });
        if anew {
            return Some(Move::CutOff);
        }
        told.due(cut_off, judge.plan(), judge.now).map(Move::Again)
    }

    /// The last mail gave a rung that the date has left behind.
    fn moved_back(&self, now: DateTime<Utc>) -> bool {
        let left = self.edd.map(|edd| edd - now);
        match self.rung {
            Some(0) => true,
            Some(rung) => left.is_some_and(|left| left > days(rung + REARM_MARGIN_DAYS)),
            None => false,
        }
    }

    /// No mail spoke of the last day on which a payment arrives, since payments took less time then.
    fn last_safe_day_is_new(&self, edd: DateTime<Utc>, judge: &Judge<'_>) -> bool {
        let (Some(before), Some(told)) = (self.lead_days, self.rung) else { return false };
        let last = judge.settings.lead_days + 1;
        last > before + 1 && told > before + 1 && told <= last && edd - judge.now <= days(last)
    }

    /// The ladder once this is mailed, and whether its rungs may be mailed once more.
    pub(super) fn took(&mut self, moved: Move, judge: &Judge<'_>) -> bool {
        let Judge { settings, now, .. } = *judge;
        let Self { edd, mailed, .. } = self;
        mailed.forget_old(now);
        let mut again = matches!(moved, Move::Paid | Move::Later | Move::LastSafeDay(_) | Move::Earlier);
        match moved {
            Move::Rung(rung) | Move::LastSafeDay(rung) => {
                again |= mailed.rungs.insert(rung, now).is_some();
                mailed.last_rung = Some(now);
            }
            Move::CutOff => {
                again |= mailed.rungs.insert(0, now).is_some() || self.overdue.is_some();
                mailed.last_rung = Some(now);
                mailed.cut_off = edd.filter(|_| !self.gone);
                self.overdue = Some(Overdue::told(mailed.cut_off, self.balance, now));
            }
            Move::Again(due) => self.overdue.iter_mut().for_each(|overdue| overdue.took(due, now)),
            Move::UsedUp => {
                again |= self.told.is_some() || self.rung.is_some();
                mailed.used_up = Some(now);
                self.used_up_told = true;
            }
            Move::Paid => mailed.paid.extend(edd.map(|edd| (edd, now))),
            Move::Later => mailed.extended = Some(now),
            Move::Earlier => mailed.earlier.extend(edd.map(|edd| (edd, now))),
        }
        self.rung = self.rung_after(moved, settings, now);
        if matches!(moved, Move::Paid | Move::Later) {
            self.overdue = None;
        }
        if !matches!(moved, Move::UsedUp) {
            (self.fell_from, self.paid) = (None, false);
            self.lead_days = Some(settings.lead_days);
        }
        (self.told_before, self.told) = (self.told, self.edd);
        self.deleted_at = self.deletion(settings, now);
        again
    }

    fn rung_after(&self, moved: Move, settings: &AlertSettings, now: DateTime<Utc>) -> Option<u32> {
        let tightest = |margin: u32| {
            let left = self.edd? - now;
            settings.disconnect_days.iter().copied().filter(|&rung| left <= days(rung + margin)).min()
        };
        match moved {
            Move::Rung(rung) => Some(rung),
            Move::CutOff => Some(0),
            // What the mail says of the date needs no other mail of the rung it is on.
            Move::Paid => tightest(0),
            Move::Later => tightest(REARM_MARGIN_DAYS),
            Move::LastSafeDay(_) | Move::Again(_) | Move::UsedUp | Move::Earlier => self.rung,
        }
    }

    /// When the data are deleted, once cut off at a known moment.
    pub(super) fn deletion(&self, settings: &AlertSettings, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        deletion(self.edd.filter(|_| !self.gone), settings.deletion_days, now)
    }

    /// None of its mails arrived.
    pub(super) fn untell(&mut self) {
        (self.rung, self.told, self.told_before) = (None, None, None);
        (self.used_up_told, self.paid, self.overdue) = (false, false, None);
        self.mailed = Mailed { last_rung: self.mailed.last_rung, ..Mailed::default() };
    }
}

impl Mailed {
    fn forget_old(&mut self, now: DateTime<Utc>) {
        for dates in [&mut self.paid, &mut self.earlier] {
            dates.retain(|(_, at)| now - *at < ONCE_IN);
        }
    }
}

#[cfg(test)]
mod tests;
