//! When a group is left alone: its credentials are refused, or the provider asked for a long pause. Pure: outcomes and
//! the time in.
//!
//! A single refusal proves little (a 403 may be about one container); five polls in a row that were
//! refused and never once accepted mean that the credentials are wrong, and asking on would only
//! look like an attack.

use std::time::Duration;

use tokio::time::Instant;

use crate::failpoint;

/// Polls refused in a row after which the group is held.
pub(super) const REFUSED_POLLS: u32 = 5;
/// A longer pause is not kept: the group is asked again after this one.
const LONGEST_PAUSE: Duration = Duration::from_secs(60 * 60);
/// How often a held group is asked.
pub(super) const HELD_FOR: Duration = Duration::from_secs(5 * 60);
/// Refusals after which a poll that was never accepted asks no more.
const REFUSALS_A_POLL: u32 = 3;

/// One group's standing with the provider.
#[derive(Debug, Default)]
pub(super) struct Breaker {
    refused_polls: u32,
    asked_at: Option<Instant>,
    /// Until when the provider asked not to be asked.
    pause: Option<Instant>,
}

/// Why a group is left alone, and for how long.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LeftAlone {
    Refused(Duration),
    AskedToWait(Duration),
}

impl Breaker {
    /// The provider asked for this pause. None is kept for longer than an hour.
    pub(super) fn pause(&mut self, wait: Duration, now: Instant) {
        let until = now + wait.min(LONGEST_PAUSE) / failpoint::haste();
        self.pause = Some(self.pause.map_or(until, |before| before.max(until)));
    }

    /// How much of the pause is left.
    pub(super) fn paused(&self, now: Instant) -> Option<Duration> {
        self.pause.map(|until| until.saturating_duration_since(now)).filter(|left| !left.is_zero())
    }

    /// Lets a poll begin, or returns why the group is left alone.
    pub(super) fn begin(&mut self, now: Instant) -> Result<PollCount, LeftAlone> {
        if let Some(left) = self.paused(now) {
            return Err(LeftAlone::AskedToWait(left));
        }
        let held = self.refused_polls >= REFUSED_POLLS;
        if held && let Some(asked_at) = self.asked_at {
            let passed = now.saturating_duration_since(asked_at);
            let held_for = HELD_FOR / failpoint::haste();
            if passed < held_for {
                return Err(LeftAlone::Refused(held_for - passed));
            }
        }
        self.asked_at = Some(now);
        Ok(PollCount { refused: 0, accepted: false, tolerance: if held { 1 } else { REFUSALS_A_POLL } })
    }

    /// An answer that only good credentials get.
    pub(super) fn accepted(&mut self) {
        self.refused_polls = 0;
    }

    /// A poll ended. One that got no answer at all changes nothing.
    pub(super) fn end(&mut self, poll: &PollCount) {
        if poll.refused > 0 && !poll.accepted {
            self.refused_polls = self.refused_polls.saturating_add(1);
        }
    }
}

/// What one poll was answered.
#[derive(Debug)]
pub(super) struct PollCount {
    refused: u32,
    accepted: bool,
    tolerance: u32,
}

impl PollCount {
    /// Takes in the status of an answer; true where it was a success.
    pub(super) fn answered(&mut self, status: u16) -> bool {
        let success = (200..300).contains(&status);
        self.accepted |= success;
        if matches!(status, 401 | 403) {
            self.refused += 1;
        }
        success
    }

    /// Asking on in this poll is pointless.
    pub(super) fn is_given_up(&self) -> bool {
        !self.accepted && self.refused >= self.tolerance
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn poll(breaker: &mut Breaker, now: Instant, statuses: &[u16]) -> Result<(), LeftAlone> {
        let mut count = breaker.begin(now)?;
        for &status in statuses {
            if count.answered(status) {
                breaker.accepted();
            }
        }
        breaker.end(&count);
        Ok(())
    }

    #[test]
    fn five_refused_polls_hold_the_group_until_one_is_accepted() {
        let mut breaker = Breaker::default();
        let start = Instant::now();
        let minute = |n: u64| start + Duration::from_secs(60 * n);
        for n in 0..5 {
            assert_eq!(poll(&mut breaker, minute(n), &[if n % 2 == 0 { 401 } else { 403 }]), Ok(()), "{n}");
        }
        // Asked at minute 4, so not before minute 9, and only once then.
        assert_eq!(poll(&mut breaker, minute(5), &[401]), Err(LeftAlone::Refused(Duration::from_secs(240))));
        assert!(poll(&mut breaker, minute(8), &[401]).is_err());
        assert_eq!(poll(&mut breaker, minute(9), &[401]), Ok(()));
        assert!(poll(&mut breaker, minute(10), &[200]).is_err());
        assert_eq!(poll(&mut breaker, minute(14), &[200]), Ok(()));
        assert_eq!(poll(&mut breaker, minute(15), &[401]), Ok(()));
        assert_eq!(poll(&mut breaker, minute(16), &[401]), Ok(()));
    }

    #[test]
    fn a_pause_that_was_asked_for_is_kept_for_an_hour_at_most() {
        let start = Instant::now();
        let minute = |n: u64| start + Duration::from_secs(60 * n);
        for (asked, kept) in [(6, 6), (60, 60), (24 * 60, 60)] {
            let mut breaker = Breaker::default();
            breaker.pause(Duration::from_secs(60 * asked), start);
            // A shorter one that others were asked for does not end it.
            breaker.pause(Duration::from_secs(60), start);
            let left = Duration::from_secs(60);
            assert_eq!(poll(&mut breaker, minute(kept - 1), &[200]), Err(LeftAlone::AskedToWait(left)));
            assert_eq!(poll(&mut breaker, minute(kept), &[200]), Ok(()), "{asked}");
        }
    }

    #[test]
    fn a_success_breaks_the_row_and_silence_does_not() {
        let mut breaker = Breaker::default();
        let now = Instant::now();
        for statuses in [&[401][..], &[401], &[401], &[401], &[403, 200], &[401], &[401], &[401], &[401]] {
            assert_eq!(poll(&mut breaker, now, statuses), Ok(()));
        }
        assert_eq!(poll(&mut breaker, now, &[]), Ok(()), "no answer, no verdict");
        assert_eq!(poll(&mut breaker, now, &[500]), Ok(()));
        assert_eq!(poll(&mut breaker, now, &[401]), Ok(()), "the fifth in a row");
        assert!(poll(&mut breaker, now, &[401]).is_err());
    }

    #[test]
    fn a_poll_is_given_up_after_refusals_alone() {
        let mut breaker = Breaker::default();
        let mut count = breaker.begin(Instant::now()).unwrap();
        count.answered(401);
        count.answered(403);
        assert!(!count.is_given_up());
        count.answered(401);
        assert!(count.is_given_up());
        count.answered(200);
        assert!(!count.is_given_up(), "one container may be forbidden and the others not");
    }
}
