//! What an attempt to send means for the mail, and for the queue behind it. Pure: both clocks are arguments.

use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};

use crate::failpoint;
use crate::mail::smtp::SendError;
use crate::store::{SendResult, retry_delay};

/// A held queue is tried again for a new mail, but not sooner than this after the last attempt.
const HOLD_AT_LEAST: Duration = Duration::from_secs(30);
/// After the server refused us by name or password; no sooner, whatever is queued.
const REFUSED_HOLD: Duration = Duration::from_secs(300);
/// The outbox is checked this often even without a signal.
const CHECK_EVERY: Duration = Duration::from_secs(30);
/// Further back than two readings of the clocks differ by themselves.
const STEP_SECONDS: i64 = 5;

/// Why a mail was not sent, as far as is known.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{error}")]
pub(super) struct SendFailure {
    pub(super) fault: Fault,
    pub(super) error: String,
}

/// Whose fault it was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fault {
    /// The connection, the login, the address: the next mail would fail, too. `refused`: it said so itself.
    Carrier { refused: bool },
    /// This mail alone was not taken.
    Mail { for_good: bool },
    /// It went out whole, and the reply was lost.
    ReplyLost,
}

impl SendFailure {
    /// The next mail would fail, too.
    pub(super) fn is_of_carrier(&self) -> bool {
        matches!(self.fault, Fault::Carrier { .. })
    }

    /// It said itself that it takes nothing from us.
    pub(super) fn is_refusal(&self) -> bool {
        self.fault == Fault::Carrier { refused: true }
    }
}

impl From<SendError> for SendFailure {
    fn from(error: SendError) -> Self {
        let permanent = error.permanent();
        let fault = match &error {
            SendError::Connection { .. } | SendError::Login { .. } | SendError::Sender { .. } => {
                Fault::Carrier { refused: permanent }
            }
            SendError::Recipient { .. } | SendError::Message { .. } | SendError::Interrupted { .. } => {
                Fault::Mail { for_good: permanent }
            }
            SendError::ReplyLost { .. } => Fault::ReplyLost,
        };
        Self { fault, error: error.to_string() }
    }
}

/// What becomes of a mail after an attempt that followed `attempts` others.
pub(super) fn result(sent: &Result<(), SendFailure>, attempts: u32, now: DateTime<Utc>) -> SendResult {
    let Err(SendFailure { fault, error }) = sent else { return SendResult::Sent };
    let error = error.clone();
    match fault {
        Fault::Carrier { .. } => SendResult::Untried { error },
        Fault::Mail { for_good: true } => SendResult::Dead { error },
        Fault::Mail { for_good: false } | Fault::ReplyLost => SendResult::Retry {
            due_at: now + retry_delay(attempts),
            error,
            perhaps: *fault == Fault::ReplyLost,
        },
    }
}

/// The queue waits because of the server, not of one mail.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Hold {
    failures: u32,
    since: Instant,
    until: Instant,
    refused: bool,
}

impl Hold {
    /// The hold after one that `before` was, for an error that waits for the server.
    pub(super) fn after(before: Option<&Self>, error: &SendFailure, now: Instant) -> Self {
        let failures = before.map_or(0, |hold| hold.failures);
        let refused = error.is_refusal();
        let pause = if refused {
            REFUSED_HOLD / failpoint::haste()
        } else {
            retry_delay(failures).to_std().unwrap_or(HOLD_AT_LEAST)
        };
        Self { failures: failures + 1, since: now, until: now + pause, refused }
    }

    /// So much of it passed while nothing ran: the machine slept.
    pub(super) fn sleep(&mut self, time: Duration) {
        self.until = self.until.checked_sub(time).unwrap_or(self.since);
    }

    pub(super) fn is_on(&self, now: Instant) -> bool {
        now < self.until
    }

    /// The server refused our login or our address.
    pub(super) fn is_refusal(&self) -> bool {
        self.refused
    }

    /// Something new is worth an attempt, unless the last one was just now or the server refused us.
    pub(super) fn shorten(&mut self) {
        if !self.refused {
            self.until = self.until.min(self.since + HOLD_AT_LEAST / failpoint::haste());
        }
    }
}

/// How long nothing need be done, with the next mail due at `due`.
pub(super) fn pause(
    hold: Option<&Hold>,
    due: Option<DateTime<Utc>>,
    wall: DateTime<Utc>,
    now: Instant,
) -> Duration {
    let left = match (hold.filter(|hold| hold.is_on(now)), due) {
        (Some(hold), _) => hold.until - now,
        (None, Some(due)) => (due - wall).to_std().unwrap_or_default(),
        (None, None) => CHECK_EVERY,
    };
    left.min(CHECK_EVERY)
}

/// Notices a wall clock that went otherwise than the steady one.
pub(super) struct Clocks {
    wall: DateTime<Utc>,
    steady: Instant,
}

/// What it did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    None,
    Back,
    /// By so much: set, or the machine slept.
    Ahead(Duration),
}

impl Clocks {
    pub(super) fn new(wall: DateTime<Utc>, steady: Instant) -> Self {
        Self { wall, steady }
    }

    /// Since it was last asked.
    pub(super) fn step(&mut self, wall: DateTime<Utc>, steady: Instant) -> Step {
        let ran = chrono::Duration::from_std(steady - self.steady).unwrap_or_default();
        let step = wall - self.wall - ran;
        *self = Self::new(wall, steady);
        if step.abs() <= chrono::Duration::seconds(STEP_SECONDS) {
            return Step::None;
        }
        step.to_std().map_or(Step::Back, Step::Ahead)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wall() -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000, 0).unwrap()
    }

    fn seconds(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    /// Each error, and what it is by the contract: `untried` where the mail is not to blame.
    fn errors() -> Vec<(SendError, &'static str)> {
        let reason = || "no".to_owned();
        let mut errors = vec![
            (SendError::Connection { reason: reason() }, "untried"),
            (SendError::ReplyLost { reason: reason() }, "retry"),
            (SendError::Interrupted { reason: reason() }, "retry"),
        ];
        for permanent in [false, true] {
            let own = if permanent { "dead" } else { "retry" };
            errors.push((SendError::Login { reason: reason(), permanent }, "untried"));
            errors.push((SendError::Sender { reason: reason(), permanent }, "untried"));
            errors.push((SendError::Recipient { reason: reason(), permanent }, own));
            errors.push((SendError::Message { reason: reason(), permanent }, own));
        }
        errors
    }

    #[test]
    fn a_mail_is_given_up_only_for_what_is_its_own_fault() {
        assert_eq!(result(&Ok(()), 0, wall()), SendResult::Sent);
        for (error, want) in errors() {
            let text = error.to_string();
            let due_at = wall() + chrono::Duration::minutes(2);
            let want = match want {
                "untried" => SendResult::Untried { error: text },
                "dead" => SendResult::Dead { error: text },
                _ => SendResult::Retry {
                    due_at,
                    error: text,
                    perhaps: matches!(error, SendError::ReplyLost { .. }),
                },
            };
            let waits = matches!(want, SendResult::Untried { .. });
            let failure = SendFailure::from(error.clone());
            assert_eq!(failure.is_of_carrier(), waits, "{error:?}");
            assert_eq!(result(&Err(failure), 1, wall()), want, "{error:?}");
        }
    }

    #[test]
    fn a_server_that_cannot_be_used_is_asked_less_and_less_often() {
        let now = Instant::now();
        let error = SendFailure::from(SendError::Connection { reason: "refused".to_owned() });
        let mut hold: Option<Hold> = None;
        for pause in [30, 120, 300, 900, 1800, 1800] {
            let next = Hold::after(hold.as_ref(), &error, now);
            assert!(next.is_on(now + seconds(pause) - Duration::from_millis(1)), "{pause}");
            assert!(!next.is_on(now + seconds(pause)), "{pause}");
            hold = Some(next);
        }
        // A new mail is worth an attempt half a minute after the last one, and never moves it back.
        let mut hold = hold.unwrap();
        hold.shorten();
        assert!(hold.is_on(now + seconds(29)) && !hold.is_on(now + seconds(30)));
    }

    #[test]
    fn a_refusal_is_asked_about_every_five_minutes_whatever_is_queued() {
        let now = Instant::now();
        for permanent in [false, true] {
            let reason = "no".to_owned();
            let error = SendFailure::from(SendError::Login { reason, permanent });
            let mut hold = Hold::after(None, &error, now);
            hold.shorten();
            assert_eq!((hold.is_on(now + seconds(299)), hold.is_refusal()), (permanent, permanent));
            assert!(!hold.is_on(now + seconds(300)));
        }
    }

    #[test]
    fn nothing_is_done_until_a_mail_is_due_or_the_hold_ends_but_a_look_every_half_minute() {
        let now = Instant::now();
        let error = SendFailure::from(SendError::Connection { reason: "refused".to_owned() });
        let hold = Hold::after(None, &error, now);
        let due = |after: i64| Some(wall() + chrono::Duration::seconds(after));
        // (held, due after, seconds gone since the hold began, pause)
        let table = [
            (false, None, 0, 30),
            (false, due(7), 0, 7),
            (false, due(-7), 0, 0),
            (false, due(90), 0, 30),
            (true, due(7), 0, 30),
            (true, due(7), 20, 10),
            (true, None, 20, 10),
            // It is over.
            (true, due(7), 30, 7),
            (true, None, 31, 30),
        ];
        for (held, due, gone, want) in table {
            let hold = Some(&hold).filter(|_| held);
            let left = pause(hold, due, wall(), now + seconds(gone));
            assert_eq!(left, seconds(want), "held {held}, due {due:?}, {gone} s gone");
        }
        // A longer hold is checked on the way: a signal may have come meanwhile.
        let long = Hold::after(Some(&hold), &error, now);
        assert_eq!(pause(Some(&long), None, wall(), now), seconds(30));
    }

    #[test]
    fn what_the_machine_slept_counts_as_waited() {
        let (now, error) =
            (Instant::now(), SendFailure::from(SendError::Connection { reason: "refused".to_owned() }));
        let mut hold = Hold::after(None, &error, now);
        hold.sleep(seconds(20));
        assert!(hold.is_on(now + seconds(9)) && !hold.is_on(now + seconds(10)));
        hold.sleep(seconds(u64::MAX));
        assert!(!hold.is_on(now));
    }

    #[test]
    fn a_clock_that_went_otherwise_is_noticed_once() {
        let start = Instant::now();
        let table = [
            // (seconds later by the steady clock, by the wall clock, step)
            (60, 60, Step::None),
            (60, 56, Step::None),
            (60, 54, Step::Back),
            (60, -3600, Step::Back),
            (60, 64, Step::None),
            (60, 3660, Step::Ahead(seconds(3600))),
            (0, 3600, Step::Ahead(seconds(3600))),
            (0, 0, Step::None),
        ];
        for (steady, moved, want) in table {
            let mut clocks = Clocks::new(wall(), start);
            let (steady, moved) = (start + seconds(steady), wall() + chrono::Duration::seconds(moved));
            assert_eq!(clocks.step(moved, steady), want, "{moved}");
            let later = clocks.step(moved + chrono::Duration::seconds(9), steady + seconds(9));
            assert_eq!(later, Step::None, "{moved}");
        }
    }
}
