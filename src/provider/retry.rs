//! Whether a request is made again, and when. Pure: the outcome and the time in, a decision with its
//! reason out.

use std::time::Duration;

use chrono::{DateTime, Utc};

/// How long to wait before the second and the third try.
pub(super) const BACKOFF: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(3)];
/// The longest `Retry-After` that a poll waits out.
pub(super) const LONGEST_WAIT: Duration = Duration::from_secs(5 * 60);

/// How one attempt went wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Outcome<'a> {
    /// An answer that is no success, with its `Retry-After`.
    Status(u16, Option<&'a str>),
    /// No connection, or none that lasted until an answer began. A GET can be sent again safely.
    NoAnswer,
    Timeout,
}

/// What to do about it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Decision {
    /// Try again after this long; `asked` when the provider named it.
    Again {
        after: Duration,
        asked: bool,
    },
    Stop(Stop),
}

/// Why there is no other try.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stop {
    /// Asking again would not change it: a refusal, a redirect, a time out.
    Final,
    /// The tries are used up.
    Spent,
    /// The provider wants a longer pause than a poll can wait.
    AskedToWait(Duration),
}

/// Decides after the `attempt`th try (the first is 1). `jitter` is from 0 to 1 and spreads the pauses
/// by up to a tenth, so that many requests that failed together do not return together.
pub(super) fn decide(
    attempt: u32,
    outcome: Outcome<'_>,
    backoff: &[Duration; 2],
    jitter: f64,
    now: DateTime<Utc>,
) -> Decision {
    let asked = match outcome {
        Outcome::Timeout => return Decision::Stop(Stop::Final),
        Outcome::Status(429 | 500..=599, retry_after) => retry_after.and_then(|text| wait_of(text, now)),
        Outcome::Status(..) => return Decision::Stop(Stop::Final),
        Outcome::NoAnswer => None,
    };
    let Some(pause) = backoff.get(attempt as usize - 1) else {
        return Decision::Stop(Stop::Spent);
    };
    let pause = pause.mul_f64(1.0 + 0.1 * jitter.clamp(0.0, 1.0));
    match asked {
        Some(wait) if wait > LONGEST_WAIT => Decision::Stop(Stop::AskedToWait(wait)),
        Some(wait) => Decision::Again { after: wait.max(pause), asked: true },
        None => Decision::Again { after: pause, asked: false },
    }
}

/// `Retry-After`: seconds, or an HTTP date (RFC 9110, 10.2.3). Anything else is as if it were absent.
fn wait_of(text: &str, now: DateTime<Utc>) -> Option<Duration> {
    let text = text.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(Duration::from_secs(text.parse().unwrap_or(u64::MAX)));
    }
    let then = DateTime::parse_from_rfc2822(text).ok()?;
    Some((then.with_timezone(&Utc) - now).to_std().unwrap_or(Duration::ZERO))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> DateTime<Utc> {
        DateTime::parse_from_rfc3339(text).unwrap().with_timezone(&Utc)
    }

    fn decision(attempt: u32, outcome: Outcome<'_>) -> Decision {
        decide(attempt, outcome, &BACKOFF, 0.0, at("2026-03-01T12:00:00Z"))
    }

    #[test]
    fn what_is_asked_again_and_when() {
        let again = |seconds, asked| Decision::Again { after: Duration::from_secs(seconds), asked };
        let stop = Decision::Stop;
        let table = [
            (1, Outcome::NoAnswer, again(1, false)),
            (2, Outcome::NoAnswer, again(3, false)),
            (3, Outcome::NoAnswer, stop(Stop::Spent)),
            (1, Outcome::Status(500, None), again(1, false)),
            (2, Outcome::Status(503, None), again(3, false)),
            (3, Outcome::Status(599, None), stop(Stop::Spent)),
            (1, Outcome::Status(429, None), again(1, false)),
            (1, Outcome::Timeout, stop(Stop::Final)),
            (1, Outcome::Status(401, Some("1")), stop(Stop::Final)),
            (1, Outcome::Status(403, None), stop(Stop::Final)),
            (1, Outcome::Status(404, None), stop(Stop::Final)),
            (1, Outcome::Status(302, Some("1")), stop(Stop::Final)),
            (1, Outcome::Status(400, None), stop(Stop::Final)),
            // What the provider asks for, but never sooner than the pause of ours.
            (1, Outcome::Status(429, Some("17")), again(17, true)),
            (2, Outcome::Status(503, Some(" 17 ")), again(17, true)),
            (1, Outcome::Status(429, Some("0")), again(1, true)),
            (1, Outcome::Status(429, Some("300")), again(300, true)),
            (1, Outcome::Status(429, Some("301")), stop(Stop::AskedToWait(Duration::from_secs(301)))),
            (3, Outcome::Status(429, Some("1")), stop(Stop::Spent)),
            (1, Outcome::Status(429, Some("Sun, 01 Mar 2026 12:00:20 GMT")), again(20, true)),
            (1, Outcome::Status(429, Some("Sun, 01 Mar 2026 11:00:00 GMT")), again(1, true)),
            // Nonsense is as good as nothing.
            (1, Outcome::Status(429, Some("soon")), again(1, false)),
            (1, Outcome::Status(429, Some("-5")), again(1, false)),
            (1, Outcome::Status(429, Some("")), again(1, false)),
        ];
        for (attempt, outcome, want) in table {
            assert_eq!(decision(attempt, outcome), want, "{attempt} {outcome:?}");
        }
        let endless = decision(1, Outcome::Status(429, Some("99999999999999999999999")));
        assert!(matches!(endless, Decision::Stop(Stop::AskedToWait(_))), "{endless:?}");
    }

    #[test]
    fn jitter_adds_at_most_a_tenth() {
        let now = at("2026-03-01T12:00:00Z");
        for jitter in [0.0, 0.5, 1.0, 7.0] {
            let Decision::Again { after, .. } = decide(2, Outcome::NoAnswer, &BACKOFF, jitter, now) else {
                panic!("no other try")
            };
            assert!((3.0..=3.3).contains(&after.as_secs_f64()), "{after:?}");
        }
    }
}
