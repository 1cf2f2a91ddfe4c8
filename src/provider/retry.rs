//! Decides whether and when a request is repeated. Pure: a result and the time in, a decision with its reason
//! out.

use std::time::Duration;

use chrono::{DateTime, Utc};

/// The pauses before the second and the third attempt.
pub(super) const BACKOFF: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(3)];
/// The longest `Retry-After` that a request waits for. After a longer one the group is not asked until then.
pub(super) const LONGEST_WAIT: Duration = Duration::from_secs(5 * 60);

/// The result of an attempt that failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AttemptEnd {
    /// An answer without success, and the pause that it asks for.
    Status(u16, Option<Duration>),
    /// There was no connection, or it ended before an answer began. A GET can safely be repeated.
    NoAnswer,
    Timeout,
}

/// The decision.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Retry {
    /// Repeat after this time.
    Again(Duration),
    /// A repeat would not help, or all attempts are used up.
    Stop,
    /// The provider wants a longer pause than a poll can wait.
    LeaveAlone(Duration),
}

/// Decides after attempt number `attempt`, counted from 1. `jitter` is from 0 to 1 and spreads the pauses by up to
/// a tenth, so that requests that failed together are not repeated together.
pub(super) fn decide(attempt: u32, end: AttemptEnd, backoff: &[Duration; 2], jitter: f64) -> Retry {
    let asked = match end {
        AttemptEnd::Status(429 | 500..=599, asked) => asked,
        AttemptEnd::Status(402 | 403, Some(wait)) => return Retry::LeaveAlone(wait),
        AttemptEnd::Status(..) | AttemptEnd::Timeout => return Retry::Stop,
        AttemptEnd::NoAnswer => None,
    };
    if let Some(wait) = asked.filter(|&wait| wait > LONGEST_WAIT) {
        return Retry::LeaveAlone(wait);
    }
    let Some(pause) = backoff.get(attempt as usize - 1) else { return Retry::Stop };
    let pause = pause.mul_f64(1.0 + 0.1 * jitter.clamp(0.0, 1.0));
    Retry::Again(asked.unwrap_or_default().max(pause))
}

/// The first moment that is a number of seconds since 1970 rather than a span.
const FIRST_MOMENT: f64 = 1e9;

/// `Retry-After`: seconds, or an HTTP date (RFC 9110, 10.2.3). A fraction counts as a second, and limits of rates may end
/// at a Unix time. Any other value is ignored. `now` is the provider's time.
pub(super) fn wait_of(text: &str, now: DateTime<Utc>) -> Option<Duration> {
    let text = text.trim();
    if let Some(seconds) = text.parse::<f64>().ok().filter(|seconds| seconds.is_finite()) {
        let is_moment = (FIRST_MOMENT..10.0 * FIRST_MOMENT).contains(&seconds);
        let span = if is_moment { seconds - now.timestamp() as f64 } else { seconds };
        return (seconds >= 0.0).then(|| Duration::from_secs(span.ceil() as u64));
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

    /// The decision about a status with this `Retry-After`.
    fn told(attempt: u32, status: u16, retry_after: &str) -> Retry {
        let wait = wait_of(retry_after, at("2026-03-01T12:00:00Z"));
        decide(attempt, AttemptEnd::Status(status, wait), &BACKOFF, 0.0)
    }

    #[test]
    fn retries_and_their_delays() {
        let again = |seconds| Retry::Again(Duration::from_secs(seconds));
        let alone = |seconds| Retry::LeaveAlone(Duration::from_secs(seconds));
        let stop = Retry::Stop;
        let table = [
            (1, AttemptEnd::NoAnswer, again(1)),
            (2, AttemptEnd::NoAnswer, again(3)),
            (3, AttemptEnd::NoAnswer, stop),
            (1, AttemptEnd::Status(500, None), again(1)),
            (2, AttemptEnd::Status(503, None), again(3)),
            (3, AttemptEnd::Status(599, None), stop),
            (1, AttemptEnd::Status(429, None), again(1)),
            (1, AttemptEnd::Timeout, stop),
            (1, AttemptEnd::Status(403, None), stop),
            (1, AttemptEnd::Status(404, None), stop),
            (1, AttemptEnd::Status(400, None), stop),
        ];
        for (attempt, end, want) in table {
            assert_eq!(decide(attempt, end, &BACKOFF, 0.0), want, "{attempt} {end:?}");
        }
        let table = [
            (1, 401, "1", stop),
            (1, 302, "1", stop),
            // The provider's pause counts, unless ours is longer.
            (1, 429, "17", again(17)),
            (2, 503, " 17 ", again(17)),
            (1, 429, "0", again(1)),
            (1, 429, "300", again(300)),
            (1, 429, "20.5", again(21)),
            (1, 429, "0.2", again(1)),
            // Three minutes later, as a Unix time.
            (1, 429, "1772366580", again(180)),
            (1, 403, "5", alone(5)),
            (1, 402, "soon", stop),
            (1, 429, "301", alone(301)),
            (3, 429, "1", stop),
            (3, 503, "3600", alone(3600)),
            (1, 429, "Sun, 01 Mar 2026 12:00:20 GMT", again(20)),
            (1, 429, "Sun, 01 Mar 2026 11:00:00 GMT", again(1)),
            // Nonsense is ignored.
            (1, 429, "soon", again(1)),
            (1, 429, "-5", again(1)),
            (1, 429, "inf", again(1)),
            (1, 429, "", again(1)),
        ];
        for (attempt, status, retry_after, want) in table {
            assert_eq!(told(attempt, status, retry_after), want, "{attempt} {status} {retry_after}");
        }
        let endless = told(1, 429, "99999999999999999999999");
        assert!(matches!(endless, Retry::LeaveAlone(_)), "{endless:?}");
    }

    #[test]
    fn jitter_adds_at_most_a_tenth() {
        for jitter in [0.0, 0.5, 1.0, 7.0] {
            let Retry::Again(after) = decide(2, AttemptEnd::NoAnswer, &BACKOFF, jitter) else {
                panic!("no other try")
            };
            assert!((3.0..=3.3).contains(&after.as_secs_f64()), "{after:?}");
        }
    }
}
