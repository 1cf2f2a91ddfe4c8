//! The reply to a command: the expected one, a refusal, or none in time. Bounds every wait.

use std::future::Future;
use std::io;

use tokio::time::{Duration, timeout};

use super::Timing;
use super::blame::{Blame, Stage};
use super::chat::{Chat, LONGEST_SAID, Reply};
use super::error::{End, SendError};
use crate::model::sanitize;

impl Reply {
    /// The reply, if it is of the wanted kind. A server that is out of step counts as broken.
    pub(super) fn of_kind(self, stage: Stage, what: &str, wanted: u8) -> Result<Self, SendError> {
        let (end, reason) = match self.kind() {
            kind if kind == wanted => return Ok(self),
            4 => (End::Refused(Blame::Later), self.said()),
            5 => (End::Refused(Blame::Server), self.said()),
            _ => (End::Broken, format!("{} is no reply to {what}", self.said())),
        };
        Err(SendError { stage, end, reason })
    }
}

/// Each step of a conversation has a limit. The whole has none: a slow server is no broken one.
impl Timing {
    /// The result of `step`, unless `limit` is over first.
    pub(super) async fn bound<T>(&self, limit: Duration, step: impl Future<Output = T>) -> Result<T, String> {
        timeout(limit, step).await.map_err(|_| format!("nothing within {limit:?}"))
    }

    /// The reply to a step within its limit.
    pub(super) async fn answer(
        &self,
        stage: Stage,
        what: &str,
        limit: Duration,
        step: impl Future<Output = io::Result<Reply>>,
    ) -> Result<Reply, SendError> {
        let reason = match self.bound(limit, step).await {
            Ok(Ok(reply)) => return Ok(reply),
            Ok(Err(error)) => {
                let is_unreadable = error.kind() == io::ErrorKind::InvalidData;
                let how = if is_unreadable { "no readable reply to" } else { "connection lost at" };
                sanitize::one_line(&format!("{how} {what} ({error})"), LONGEST_SAID)
            }
            Err(late) => format!("waiting for the reply to {what}: {late}"),
        };
        Err(SendError { stage, end: End::Broken, reason })
    }

    /// Sends a command; `wanted` is the expected kind of reply, 2 or 3.
    pub(super) async fn ask(
        &self,
        chat: &mut Chat,
        stage: Stage,
        command: &str,
        wanted: u8,
    ) -> Result<Reply, SendError> {
        // `MAIL FROM` of an address, `EHLO` of a name.
        let named = command.split_once(":<").or_else(|| command.split_once(' '));
        let what = named.map_or(command, |(what, _)| what);
        self.answer(stage, what, self.reply, chat.ask(command)).await?.of_kind(stage, what, wanted)
    }
}
