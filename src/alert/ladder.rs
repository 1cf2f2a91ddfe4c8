//! The disconnect ladder: which rung a date stands on, and what is to be told when it moves. Pure.

use chrono::{DateTime, Duration, Utc};
use serde::{Deserialize, Serialize};

use super::kind::Severity;

/// What the ladder remembers between reports.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Ladder {
    /// When the account is cut off, as last known; kept through failed polls.
    pub edd: Option<DateTime<Utc>>,
    /// The report named no date; this is its first moment that leaves nothing.
    pub computed: bool,
    /// The last report found the balance used up.
    pub used_up: bool,
    /// When the report was read that `edd` and `used_up` come from.
    pub read_at: Option<DateTime<Utc>>,
    /// The tightest rung told, in days; 0 is overdue.
    pub rung: Option<u32>,
    /// The date that the last mail gave.
    pub told: Option<DateTime<Utc>>,
}

/// What is to be told now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Move {
    /// Nothing new.
    Stay,
    /// This rung, newly crossed and the tightest.
    Rung(u32),
    /// The date moved back past a rung that was told; the ladder is armed again down from here.
    Later { rearmed: Option<u32> },
    /// The date came nearer by more than three days without crossing a rung.
    Earlier,
}

/// A rung counts as left behind once the date is a day beyond it.
const REARM_MARGIN_DAYS: i64 = 1;
/// A date that comes nearer by more than this is told even between two rungs.
const JUMP_DAYS: i64 = 3;

impl Ladder {
    /// Past its date, or nothing left on the account.
    pub(crate) fn is_overdue(&self, now: DateTime<Utc>) -> bool {
        self.used_up || self.edd.is_some_and(|edd| edd <= now)
    }

    /// The rung that the date stands on at `now`: the tightest of `rungs` (days) that holds it.
    pub(crate) fn current_rung(&self, rungs: &[u32], now: DateTime<Utc>) -> Option<u32> {
        if self.is_overdue(now) {
            return Some(0);
        }
        let left = self.edd? - now;
        rungs.iter().copied().filter(|&rung| left <= days(rung)).min()
    }

    /// What is to be told at `now`.
    pub(crate) fn decide(&self, rungs: &[u32], now: DateTime<Utc>) -> Move {
        let current = self.current_rung(rungs, now);
        let Some(told) = self.rung else {
            return current.map_or(Move::Stay, Move::Rung);
        };
        if let Some(current) = current
            && current < told
        {
            return Move::Rung(current);
        }
        let Some(edd) = self.edd else { return Move::Stay };
        let left = edd - now;
        let margin = Duration::days(REARM_MARGIN_DAYS);
        if current != Some(0) && left > days(told) + margin {
            let rearmed = rungs.iter().copied().filter(|&rung| left <= days(rung) + margin).min();
            return Move::Later { rearmed };
        }
        let jumped = self.told.is_some_and(|told| told - edd > Duration::days(JUMP_DAYS));
        if jumped && current.is_some_and(|rung| rung > 0) { Move::Earlier } else { Move::Stay }
    }

    /// The severity that goes with what is left: critical from the last day on which a payment still
    /// arrives, info at thirty days or more.
    pub(crate) fn severity(&self, lead_days: u32, now: DateTime<Utc>) -> Severity {
        if self.is_overdue(now) {
            return Severity::Critical;
        }
        match self.edd.map(|edd| edd - now) {
            Some(left) if left <= days(lead_days + 1) => Severity::Critical,
            Some(left) if left >= days(30) => Severity::Info,
            _ => Severity::Warning,
        }
    }
}

/// The severity of a rung.
pub(super) fn rung_severity(rung: u32, lead_days: u32) -> Severity {
    if rung <= lead_days + 1 {
        Severity::Critical
    } else if rung >= 30 {
        Severity::Info
    } else {
        Severity::Warning
    }
}

fn days(count: u32) -> Duration {
    Duration::days(i64::from(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUNGS: [u32; 5] = [14, 7, 4, 3, 1];

    fn now() -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000, 0).unwrap()
    }

    fn at(hours: i64) -> Option<DateTime<Utc>> {
        Some(now() + Duration::hours(hours))
    }

    #[test]
    fn the_tightest_newly_crossed_rung_is_told_once() {
        let table = [
            // hours left, told rung, what to tell
            (20 * 24, None, Move::Stay),
            (14 * 24, None, Move::Rung(14)),
            (53, None, Move::Rung(3)),
            (53, Some(3), Move::Stay),
            (53, Some(4), Move::Rung(3)),
            (24, Some(3), Move::Rung(1)),
            (0, Some(1), Move::Rung(0)),
            (-5, Some(0), Move::Stay),
            (-5, None, Move::Rung(0)),
        ];
        for (hours, rung, want) in table {
            let ladder = Ladder { edd: at(hours), rung, told: at(hours), ..Ladder::default() };
            assert_eq!(ladder.decide(&RUNGS, now()), want, "{hours} h left, {rung:?} told");
        }
    }

    #[test]
    fn a_date_that_moves_back_arms_the_ladder_again() {
        let table = [
            (10 * 24, Some(3), Move::Later { rearmed: Some(14) }),
            (40 * 24, Some(0), Move::Later { rearmed: None }),
            (4 * 24, Some(3), Move::Stay),
            (4 * 24 + 1, Some(3), Move::Later { rearmed: Some(4) }),
            (15 * 24, Some(14), Move::Stay),
            (15 * 24 + 1, Some(14), Move::Later { rearmed: None }),
        ];
        for (hours, rung, want) in table {
            let ladder = Ladder { edd: at(hours), rung, told: at(50), ..Ladder::default() };
            assert_eq!(ladder.decide(&RUNGS, now()), want, "{hours} h left, {rung:?} told");
        }
    }

    #[test]
    fn a_jump_inside_the_ladder_is_told() {
        let ladder =
            |hours, told| Ladder { edd: at(hours), rung: Some(14), told: at(told), ..Ladder::default() };
        assert_eq!(ladder(9 * 24, 13 * 24).decide(&RUNGS, now()), Move::Earlier);
        assert_eq!(ladder(10 * 24, 13 * 24).decide(&RUNGS, now()), Move::Stay);
        // Overdue is told once, however far back the date goes.
        let overdue = Ladder { edd: at(-200), rung: Some(0), told: at(-50), ..Ladder::default() };
        assert_eq!(overdue.decide(&RUNGS, now()), Move::Stay);
    }

    #[test]
    fn a_used_up_balance_is_overdue_whatever_the_date() {
        let ladder = Ladder { edd: at(20 * 24), used_up: true, ..Ladder::default() };
        assert_eq!(ladder.decide(&RUNGS, now()), Move::Rung(0));
        let ladder = Ladder { used_up: true, rung: Some(0), ..Ladder::default() };
        assert_eq!(ladder.decide(&RUNGS, now()), Move::Stay);
    }

    #[test]
    fn severities() {
        let table = [
            (-1, Severity::Critical),
            (4 * 24, Severity::Critical),
            (4 * 24 + 1, Severity::Warning),
            (30 * 24 - 1, Severity::Warning),
            (30 * 24, Severity::Info),
        ];
        for (hours, want) in table {
            let ladder = Ladder { edd: at(hours), ..Ladder::default() };
            assert_eq!(ladder.severity(3, now()), want, "{hours} h left");
            let used_up = Ladder { used_up: true, ..ladder };
            assert_eq!(used_up.severity(3, now()), Severity::Critical);
        }
        assert_eq!(rung_severity(4, 3), Severity::Critical);
        assert_eq!(rung_severity(7, 3), Severity::Warning);
        assert_eq!(rung_severity(30, 3), Severity::Info);
    }
}
