//! Whether a request is made again, and when. Pure: the end and the time in, a decision with its
//! reason out.

use std::time::Duration;

use chrono::{DateTime, Utc};

/// How long to wait before the second and the third try.
pub(super) const BACKOFF: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(3)];
/// The longest `Retry-After` that a request waits out; for a longer one the group is left alone.
pub(super) const LONGEST_WAIT: Duration = Duration::from_secs(5 * 60);

/// How one attempt went wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AttemptEnd<'a> {
    /// An answer that is no success, with its `Retry-After`.
    Status(u16, Option<&'a str>),
    /// No connection, or none that lasted until an answer began. A GET can be sent again safely.
    NoAnswer,
    Timeout,
}

/// What to do about it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Retry {
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

/// Decides after the `attempt`th try (the first is 1). `now` is the provider's time, `jitter` is from 0 to 1 and spreads the pauses
/// by up to a tenth, so that many requests that failed together do not return together.
pub(super) fn decide(
    attempt: u32,
    end: AttemptEnd<'_>,
    backoff: &[Duration; 2],
    jitter: f64,
    now: DateTime<Utc>,
) -> Retry {
    let asked = match end {
        AttemptEnd::Timeout => return Retry::Stop(Stop::Final),
        AttemptEnd::Status(429 | 500..=599, retry_after) => retry_after.and_then(|text| wait_of(text, now)),
        AttemptEnd::Status(..) => return Retry::Stop(Stop::Final),
        AttemptEnd::NoAnswer => None,
    };
    if let Some(wait) = asked.filter(|&wait| wait > LONGEST_WAIT) {
        return Retry::Stop(Stop::AskedToWait(wait));
    }
    let Some(pause) = backoff.get(attempt as usize - 1) else {
        return Retry::Stop(Stop::Spent);
    };
    let pause = pause.mul_f64(1.0 + 0.1 * jitter.clamp(0.0, 1.0));
    match asked {
        Some(wait) => Retry::Again { after: wait.max(pause), asked: true },
        None => Retry::Again { after: pause, asked: false },
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

    fn decision(attempt: u32, end: AttemptEnd<'_>) -> Retry {
        decide(attempt, end, &BACKOFF, 0.0, at("2026-03-01T12:00:00Z"))
    }

    #[test]
    fn what_is_asked_again_and_when() {
        let again = |seconds, asked| Retry::Again { after: Duration::from_secs(seconds), asked };
        let stop = Retry::Stop;
        let table = [
            (1, AttemptEnd::NoAnswer, again(1, false)),
            (2, AttemptEnd::NoAnswer, again(3, false)),
            (3, AttemptEnd::NoAnswer, stop(Stop::Spent)),
            (1, AttemptEnd::Status(500, None), again(1, false)),
            (2, AttemptEnd::Status(503, None), again(3, false)),
            (3, AttemptEnd::Status(599, None), stop(Stop::Spent)),
            (1, AttemptEnd::Status(429, None), again(1, false)),
            (1, AttemptEnd::Timeout, stop(Stop::Final)),
            (1, AttemptEnd::Status(401, Some("1")), stop(Stop::Final)),
            (1, AttemptEnd::Status(403, None), stop(Stop::Final)),
            (1, AttemptEnd::Status(404, None), stop(Stop::Final)),
            (1, AttemptEnd::Status(302, Some("1")), stop(Stop::Final)),
            (1, AttemptEnd::Status(400, None), stop(Stop::Final)),
            // What the provider asks for, but never sooner than the pause of ours.
            (1, AttemptEnd::Status(429, Some("17")), again(17, true)),
            (2, AttemptEnd::Status(503, Some(" 17 ")), again(17, true)),
            (1, AttemptEnd::Status(429, Some("0")), again(1, true)),
            (1, AttemptEnd::Status(429, Some("300")), again(300, true)),
            (1, AttemptEnd::Status(429, Some("301")), stop(Stop::AskedToWait(Duration::from_secs(301)))),
            (3, AttemptEnd::Status(429, Some("1")), stop(Stop::Spent)),
            (3, AttemptEnd::Status(503, Some("3600")), stop(Stop::AskedToWait(Duration::from_secs(3600)))),
            (1, AttemptEnd::Status(429, Some("Sun, 01 Mar 2026 12:00:20 GMT")), again(20, true)),
            (1, AttemptEnd::Status(429, Some("Sun, 01 Mar 2026 11:00:00 GMT")), again(1, true)),
            // Nonsense is as good as nothing.
            (1, AttemptEnd::Status(429, Some("soon")), again(1, false)),
            (1, AttemptEnd::Status(429, Some("-5")), again(1, false)),
            (1, AttemptEnd::Status(429, Some("")), again(1, false)),
        ];
        for (attempt, end, want) in table {
            assert_eq!(decision(attempt, end), want, "{attempt} {end:?}");
        }
        let endless = decision(1, AttemptEnd::Status(429, Some("99999999999999999999999")));
        assert!(matches!(endless, Retry::Stop(Stop::AskedToWait(_))), "{endless:?}");
    }

    #[test]
    fn jitter_adds_at_most_a_tenth() {
        let now = at("2026-03-01T12:00:00Z");
        for jitter in [0.0, 0.5, 1.0, 7.0] {
            let Retry::Again { after, .. } = decide(2, AttemptEnd::NoAnswer, &BACKOFF, jitter, now) else {
                panic!("no other try")
            };
            assert!((3.0..=3.3).contains(&after.as_secs_f64()), "{after:?}");
        }
    }
}
