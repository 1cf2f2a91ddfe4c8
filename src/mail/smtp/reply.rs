//! The reply to a command: the expected one, a refusal, or none in time. Bounds every wait.

use std::future::Future;
use std::io;

use tokio::time::{Duration, timeout};

use super::Timing;
use super::chat::{Chat, LONGEST_SAID, Reply};
use super::error::SendError;
use crate::model::sanitize;

/// The reason why no good reply came.
#[derive(Debug)]
pub(super) enum ReplyError {
    /// 4xx or 5xx (`permanent`). With a 421 the server closes the connection (`leaves`).
    Refused { reason: String, permanent: bool, leaves: bool },
    /// The connection dropped, the reply was late, or it was no SMTP.
    Broken(String),
}

impl From<String> for ReplyError {
    fn from(reason: String) -> Self {
        Self::Broken(reason)
    }
}

impl ReplyError {
    /// The error of a stage: one for a refusal, one for a missing reply.
    pub(super) fn at(
        self,
        refused: impl FnOnce(String, bool) -> SendError,
        broken: impl FnOnce(String) -> SendError,
    ) -> SendError {
        match self {
            Self::Refused { reason, permanent, .. } => refused(reason, permanent),
            Self::Broken(reason) => broken(reason),
        }
    }

    /// The error before a login: every refusal is the server's.
    pub(super) fn connecting(self, server: &str) -> SendError {
        let failed =
            |reason, permanent| SendError::Connection { reason: format!("{server}: {reason}"), permanent };
        self.at(failed, |reason| failed(reason, false))
    }

    /// The error with more words around its reason.
    pub(super) fn map(self, words: impl FnOnce(String) -> String) -> Self {
        match self {
            Self::Refused { reason, permanent, leaves } => {
                Self::Refused { reason: words(reason), permanent, leaves }
            }
            Self::Broken(reason) => Self::Broken(words(reason)),
        }
    }

    /// The reason, for stages at which a refusal means no more than a break.
    pub(super) fn into_reason(self) -> String {
        match self {
            Self::Refused { reason, .. } | Self::Broken(reason) => reason,
        }
    }

    /// The error with all `secrets` removed.
    pub(super) fn without(self, secrets: &[String]) -> Self {
        self.map(|reason| {
            let secrets = secrets.iter().filter(|secret| !secret.is_empty());
            secrets.fold(reason, |text, secret| text.replace(secret.as_str(), "[hidden]"))
        })
    }

    fn of(error: &io::Error, what: &str) -> Self {
        let is_unreadable = error.kind() == io::ErrorKind::InvalidData;
        let how = if is_unreadable { "no readable reply to" } else { "connection lost at" };
        Self::Broken(sanitize::one_line(&format!("{how} {what} ({error})"), LONGEST_SAID))
    }
}

impl Reply {
    /// The reply, if it is of the wanted kind. A server that is out of step counts as broken.
    pub(super) fn of_kind(self, what: &str, wanted: u8) -> Result<Self, ReplyError> {
        match self.kind() {
            kind if kind == wanted => Ok(self),
            kind @ (4 | 5) => {
                let leaves = self.code == *b"421";
                Err(ReplyError::Refused { reason: self.said(), permanent: kind == 5, leaves })
            }
            _ => Err(ReplyError::Broken(format!("{} is no reply to {what}", self.said()))),
        }
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
        what: &str,
        limit: Duration,
        step: impl Future<Output = io::Result<Reply>>,
    ) -> Result<Reply, ReplyError> {
        match self.bound(limit, step).await {
            Ok(replied) => replied.map_err(|error| ReplyError::of(&error, what)),
            Err(late) => Err(ReplyError::Broken(format!("waiting for the reply to {what}: {late}"))),
        }
    }

    /// Sends a command; `wanted` is the expected kind of reply, 2 or 3.
    pub(super) async fn ask(
        &self,
        chat: &mut Chat,
        what: &str,
        command: &str,
        wanted: u8,
    ) -> Result<Reply, ReplyError> {
        self.answer(what, self.reply, chat.ask(command)).await?.of_kind(what, wanted)
    }
}
