//! The reply to a command: the one that was wanted, a refusal, or none in time. Bounds every wait.

use std::error::Error as _;
use std::fmt::Display;
use std::future::Future;

use lettre::transport::smtp::Error;
use lettre::transport::smtp::client::AsyncSmtpConnection;
use lettre::transport::smtp::response::{Response, Severity};
use tokio::time::{Duration, Instant, timeout_at};

use super::Timing;
use super::error::SendError;
use super::lenient::as_sent;

/// Longest text kept of what a server said.
const MOST_CHARS: usize = 400;

/// Why there is no good reply.
#[derive(Debug)]
pub(super) enum ReplyError {
    /// 4xx or 5xx (`permanent`).
    Refused { reason: String, permanent: bool },
    /// Dropped, late, or no SMTP.
    Broken(String),
}

impl ReplyError {
    /// The error of a stage: one for a refusal, one for no reply.
    pub(super) fn at(
        self,
        refused: impl FnOnce(String, bool) -> SendError,
        broken: impl FnOnce(String) -> SendError,
    ) -> SendError {
        match self {
            Self::Refused { reason, permanent } => refused(reason, permanent),
            Self::Broken(reason) => broken(reason),
        }
    }

    /// What happened, where a refusal means no more than a break.
    pub(super) fn into_reason(self) -> String {
        match self {
            Self::Refused { reason, .. } | Self::Broken(reason) => reason,
        }
    }

    /// The same with each of `secrets` taken out.
    pub(super) fn without(self, secrets: &[String]) -> Self {
        let redact = |reason: String| {
            secrets
                .iter()
                .filter(|secret| !secret.is_empty())
                .fold(reason, |text, secret| text.replace(secret.as_str(), "[hidden]"))
        };
        match self {
            Self::Refused { reason, permanent } => Self::Refused { reason: redact(reason), permanent },
            Self::Broken(reason) => Self::Broken(redact(reason)),
        }
    }

    fn of(error: &Error, what: &str) -> Self {
        let cause = error.source().map_or_else(|| error.to_string(), ToString::to_string);
        if let Some(code) = error.status() {
            return Self::Refused {
                reason: tidy(&as_sent(&code.to_string(), &cause)),
                permanent: error.is_permanent(),
            };
        }
        if error.is_client() {
            // `lettre` itself gave up, as on a login challenge that it does not know.
            return Self::Refused { reason: tidy(&format!("{what}: {cause}")), permanent: true };
        }
        let reason = if error.is_response() {
            format!("no readable reply to {what} ({cause})")
        } else {
            format!("connection lost at {what} ({cause})")
        };
        Self::Broken(tidy(&reason))
    }
}

/// The limits of one conversation: of each step, and of all together.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimeLimits {
    timing: Timing,
    deadline: Instant,
}

impl TimeLimits {
    /// From now on.
    pub(super) fn start(timing: Timing) -> Self {
        Self { timing, deadline: Instant::now() + timing.total }
    }

    pub(super) fn timing(&self) -> &Timing {
        &self.timing
    }

    /// The outcome of `step`, unless `limit` or the whole conversation's time is up first.
    pub(super) async fn bound<T>(&self, limit: Duration, step: impl Future<Output = T>) -> Result<T, String> {
        let step_ends = Instant::now() + limit;
        let all_ends = self.deadline;
        timeout_at(step_ends.min(all_ends), step).await.map_err(|_| {
            if step_ends <= all_ends {
                format!("nothing within {limit:?}")
            } else {
                format!("the whole took longer than {:?}", self.timing.total)
            }
        })
    }

    /// The reply to a step of `lettre`'s, in time.
    pub(super) async fn reply<T>(
        &self,
        what: &str,
        limit: Duration,
        step: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, ReplyError> {
        match self.bound(limit, step).await {
            Ok(Ok(reply)) => Ok(reply),
            Ok(Err(error)) => Err(ReplyError::of(&error, what)),
            Err(late) => Err(ReplyError::Broken(format!("waiting for the reply to {what}: {late}"))),
        }
    }

    /// Sends a command; `wanted` is 2xx or 3xx, and the other of them is no answer to it.
    pub(super) async fn ask(
        &self,
        chat: &mut AsyncSmtpConnection,
        what: &str,
        command: impl Display,
        wanted: Severity,
    ) -> Result<Response, ReplyError> {
        let response = self.reply(what, self.timing.reply, chat.command(command)).await?;
        of_kind(response, what, wanted)
    }
}

/// The response, if it is of the kind that answers `what`. A server out of step is as good as none.
pub(super) fn of_kind(response: Response, what: &str, wanted: Severity) -> Result<Response, ReplyError> {
    if response.code().severity == wanted {
        return Ok(response);
    }
    let text = response.message().collect::<Vec<_>>().join(" ");
    let said = as_sent(&response.code().to_string(), &text);
    Err(ReplyError::Broken(tidy(&format!("{said} is no reply to {what}"))))
}

/// One line without control characters, of bounded length.
fn tidy(text: &str) -> String {
    let line: String =
        text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MOST_CHARS + 1).collect();
    let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() > MOST_CHARS {
        return line.chars().take(MOST_CHARS).chain(['…']).collect();
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_servers_say_is_one_line_of_bounded_length() {
        assert_eq!(tidy("550 a\r\nlevel=error\tmsg=\u{1b}[31mx "), "550 a level=error msg= [31mx");
        assert_eq!(tidy(&"x".repeat(MOST_CHARS)).chars().count(), MOST_CHARS);
        let cut = tidy(&"x".repeat(9_000));
        assert!(cut.ends_with('…') && cut.chars().count() == MOST_CHARS + 1);
    }
}
