//! Decides when a group is left alone: its credentials are refused, or the provider asked for a long pause.
//! Pure: results and the time in.
//!
//! One refusal proves little (a 403 may be about one container, or about the number of requests). After five polls
//! in a row that were refused and never accepted, further requests would look like an attack.

use std::time::Duration;

use tokio::time::Instant;

use super::error::{ErrorKind, Why};
use crate::failpoint;

/// The number of refused polls in a row after which the group is left alone.
const REFUSED_POLLS: u32 = 5;
/// A longer pause is cut to this; then the group is asked again.
const LONGEST_PAUSE: Duration = Duration::from_secs(60 * 60);
/// The interval at which a group that refuses the credentials is asked.
const REFUSED_FOR: Duration = Duration::from_secs(5 * 60);
/// The number of refusals after which a poll that was always refused sends no further requests.
const REFUSALS_A_POLL: u32 = 3;

/// The standing of one group with the provider.
#[derive(Debug, Default)]
pub(super) struct Standing {
    refused_polls: u32,
    /// Whether a request ever succeeded with these credentials.
    accepted: bool,
    /// The time until which the group is left alone.
    until: Option<(Instant, Why)>,
}

impl Standing {
    /// Notes the pause that the provider asked for, and returns the part that is kept, at most an hour.
    pub(super) fn pause(&mut self, wait: Duration, now: Instant) -> Duration {
        let kept = wait.min(LONGEST_PAUSE);
        self.leave_alone(now + kept / failpoint::haste(), Why::AskedToWait);
        kept
    }

    fn leave_alone(&mut self, until: Instant, why: Why) {
        if self.until.is_none_or(|(before, _)| before <= until) {
            self.until = Some((until, why));
        }
    }

    fn left_alone(&self, now: Instant) -> Option<(Why, Duration)> {
        let (until, why) = self.until.filter(|&(until, _)| now < until)?;
        Some((why, until - now))
    }

    /// Notes that a request with these credentials succeeded before the start: a 403 is then no matter of credentials.
    pub(super) fn was_accepted(&mut self) {
        self.accepted = true;
    }

    /// Lets the next poll begin although the last ones were refused, whose reason stays known. A pause that the provider
    /// asked for stays.
    pub(super) fn ask_anew(&mut self, now: Instant) {
        if let Some((until, _)) = self.until.as_mut().filter(|(_, why)| *why != Why::AskedToWait) {
            *until = now;
        }
    }

    /// Lets a poll begin, or returns why the group is not asked.
    pub(super) fn begin(&mut self, now: Instant) -> Result<PollCount, ErrorKind> {
        if let Some((why, retry_in)) = self.left_alone(now) {
            return Err(ErrorKind::NotAsked { why, retry_in });
        }
        let is_refused = self.refused_polls >= REFUSED_POLLS;
        if is_refused {
            // This poll alone is let through. Meanwhile the last reason counts.
            let is_rejected = self.until.is_some_and(|(_, why)| why == Why::Rejected);
            let why = if is_rejected { Why::Rejected } else { Why::Refused };
            self.leave_alone(now + REFUSED_FOR / failpoint::haste(), why);
        }
        let tolerance = if is_refused { 1 } else { REFUSALS_A_POLL };
        Ok(PollCount { began: now, refused: 0, why: Why::Refused, accepted: false, tolerance })
    }

    /// Lets a request be sent, which may belong to a poll.
    pub(super) fn may_ask(&self, poll: Option<&PollCount>, now: Instant) -> Result<(), ErrorKind> {
        if let Some((why @ Why::AskedToWait, retry_in)) = self.left_alone(now) {
            return Err(ErrorKind::NotAsked { why, retry_in });
        }
        match poll {
            Some(poll) if !poll.accepted && poll.refused >= poll.tolerance => {
                Err(ErrorKind::NotAsked { why: poll.why, retry_in: Duration::ZERO })
            }
            _ => Ok(()),
        }
    }

    /// The meaning of an answer that refuses: of the credentials, or of the request for now.
    pub(super) fn refusal(&self, status: u16) -> Option<Why> {
        match status {
            401 => Some(Why::Rejected),
            403 if !self.accepted => Some(Why::Rejected),
            402 | 403 => Some(Why::Refused),
            _ => None,
        }
    }

    /// Takes in the status of an answer, which may belong to a poll.
    pub(super) fn answered(&mut self, poll: Option<&mut PollCount>, status: u16) {
        let is_accepted = (200..300).contains(&status);
        if is_accepted {
            (self.refused_polls, self.accepted) = (0, true);
            self.until.take_if(|(_, why)| *why != Why::AskedToWait);
        }
        if let Some(poll) = poll {
            poll.accepted |= is_accepted;
            if let Some(why) = self.refusal(status) {
                (poll.refused, poll.why) = (poll.refused + 1, why);
            }
        }
    }

    /// Ends a poll. A poll that got no answer is ignored.
    pub(super) fn end(&mut self, poll: &PollCount) {
        if poll.refused > 0 && !poll.accepted {
            self.refused_polls += 1;
            if self.refused_polls >= REFUSED_POLLS {
                self.leave_alone(poll.began + REFUSED_FOR / failpoint::haste(), poll.why);
            }
        }
    }
}

/// The answers to one poll.
#[derive(Debug)]
pub(super) struct PollCount {
    began: Instant,
    refused: u32,
    /// The meaning of the last refusal.
    why: Why,
    accepted: bool,
    /// The number of refusals after which further requests are pointless, unless one was accepted.
    tolerance: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn poll(standing: &mut Standing, now: Instant, statuses: &[u16]) -> Result<(), ErrorKind> {
        let mut count = standing.begin(now)?;
        for &status in statuses {
            standing.answered(Some(&mut count), status);
        }
        standing.end(&count);
        Ok(())
    }

    fn not_asked(why: Why, seconds: u64) -> Result<(), ErrorKind> {
        Err(ErrorKind::NotAsked { why, retry_in: Duration::from_secs(seconds) })
    }

    #[test]
    fn five_refused_polls_hold_the_group_until_one_is_accepted() {
        let mut standing = Standing::default();
        let start = Instant::now();
        let minute = |n: u64| start + Duration::from_secs(60 * n);
        for n in 0..5 {
            assert_eq!(poll(&mut standing, minute(n), &[if n % 2 == 0 { 401 } else { 403 }]), Ok(()), "{n}");
        }
        // It was asked at minute 4, so it is asked again at minute 9 at the earliest, and then once.
        assert_eq!(poll(&mut standing, minute(5), &[401]), not_asked(Why::Rejected, 240));
        assert!(poll(&mut standing, minute(8), &[401]).is_err());
        assert_eq!(poll(&mut standing, minute(9), &[401]), Ok(()));
        assert_eq!(poll(&mut standing, minute(10), &[200]), not_asked(Why::Rejected, 240));
        assert_eq!(poll(&mut standing, minute(14), &[200]), Ok(()));
        assert_eq!(poll(&mut standing, minute(15), &[401]), Ok(()));
        assert_eq!(poll(&mut standing, minute(16), &[401]), Ok(()));
    }

    #[test]
    fn a_403_is_about_credentials_until_a_request_succeeded_and_402_never_is() {
        let mut standing = Standing::default();
        let table = [
            (401, Why::Rejected, Why::Rejected),
            (403, Why::Rejected, Why::Refused),
            (402, Why::Refused, Why::Refused),
        ];
        for (status, before, after) in table {
            assert_eq!(standing.refusal(status), Some(before), "{status}");
            let mut accepted = Standing::default();
            accepted.answered(None, 200);
            assert_eq!(accepted.refusal(status), Some(after), "{status}");
        }
        standing.answered(None, 404);
        assert_eq!((standing.refusal(403), standing.refusal(404)), (Some(Why::Rejected), None));
        standing.answered(None, 200);
        let now = Instant::now();
        for _ in 0..5 {
            assert_eq!(poll(&mut standing, now, &[402]), Ok(()));
        }
        assert_eq!(poll(&mut standing, now, &[402]), not_asked(Why::Refused, 300));
        standing.ask_anew(now);
        assert_eq!(poll(&mut standing, now, &[402]), Ok(()), "a person asks");
        for _ in 0..5 {
            assert_eq!(poll(&mut standing, now + REFUSED_FOR, &[401]), Ok(()));
            standing.ask_anew(now + REFUSED_FOR);
        }
        let first = standing.begin(now + REFUSED_FOR);
        assert!(first.is_ok(), "all collectors are asked after a sleep, and one is let through");
        assert_eq!(poll(&mut standing, now + REFUSED_FOR, &[]), not_asked(Why::Rejected, 300));
        let mut standing = Standing::default();
        standing.pause(Duration::from_secs(60), now);
        standing.ask_anew(now);
        assert_eq!(poll(&mut standing, now, &[200]), not_asked(Why::AskedToWait, 60));
    }

    #[test]
    fn a_pause_that_was_asked_for_is_kept_for_an_hour_at_most() {
        let start = Instant::now();
        let minute = |n: u64| start + Duration::from_secs(60 * n);
        for (asked, kept) in [(6, 6), (60, 60), (24 * 60, 60)] {
            let mut standing = Standing::default();
            standing.pause(Duration::from_secs(60 * asked), start);
            // A shorter pause for other requests does not end it.
            standing.pause(Duration::from_secs(60), start);
            assert_eq!(poll(&mut standing, minute(kept - 1), &[200]), not_asked(Why::AskedToWait, 60));
            assert_eq!(poll(&mut standing, minute(kept), &[200]), Ok(()), "{asked}");
        }
    }

    #[test]
    fn a_success_breaks_the_row_and_silence_does_not() {
        let mut standing = Standing::default();
        let now = Instant::now();
        for statuses in [&[401][..], &[401], &[401], &[401], &[403, 200], &[401], &[401], &[401], &[401]] {
            assert_eq!(poll(&mut standing, now, statuses), Ok(()));
        }
        assert_eq!(poll(&mut standing, now, &[]), Ok(()), "no answer, no verdict");
        assert_eq!(poll(&mut standing, now, &[500]), Ok(()));
        assert_eq!(poll(&mut standing, now, &[401]), Ok(()), "the fifth in a row");
        assert!(poll(&mut standing, now, &[401]).is_err());
    }

    #[test]
    fn a_poll_is_given_up_after_refusals_alone() {
        let (mut standing, now) = (Standing::default(), Instant::now());
        let mut count = standing.begin(now).unwrap();
        for status in [401, 403] {
            standing.answered(Some(&mut count), status);
        }
        assert_eq!(standing.may_ask(Some(&count), now), Ok(()));
        standing.answered(Some(&mut count), 401);
        assert_eq!(standing.may_ask(Some(&count), now), not_asked(Why::Rejected, 0));
        assert_eq!(standing.may_ask(None, now), Ok(()));
        standing.answered(Some(&mut count), 200);
        assert_eq!(
            standing.may_ask(Some(&count), now),
            Ok(()),
            "one container may be forbidden and the others not"
        );
    }
}
