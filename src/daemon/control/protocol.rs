//! The requests of commands to a running daemon, and its replies: JSON both ways, for this release and its
//! neighbours. A daemon refuses requests that it does not know; the command then uses the store.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::http::RELOAD_AT_MOST;
use crate::model::{AccountName, Collector};
use crate::view::records::{IncidentRecords, OutboxRecords, SilenceRecords};
use crate::view::why::WhyRecord;

/// The longest wait for a requested poll.
pub(super) const POLL_AT_MOST: Duration = Duration::from_secs(60);

/// A request: a question, or something to be done.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Request {
    /// Whether the daemon's loops run.
    Health,
    /// Takes up the configuration.
    Reload,
    /// Polls an account now, or all.
    Poll {
        account: Option<String>,
    },
    Incidents,
    Outbox,
    Silences,
    /// `what`: a key, or the name or number of one resource.
    Why {
        what: String,
    },
    Ack {
        what: String,
        comment: String,
    },
    TakeBackAck {
        what: String,
    },
    Silence {
        pattern: String,
        seconds: u64,
        comment: String,
    },
    EndSilence {
        id: i64,
    },
    /// Sends what is owed to one recipient, or to all, now. It is not called by its old name, since a daemon of
    /// release 0.2 would take "no numbers" for "every mail".
    #[serde(rename = "retry_owed")]
    Retry {
        to: Option<String>,
    },
    /// Drops what is owed to a recipient: this episode of an incident, or everything.
    #[serde(rename = "drop_owed")]
    Drop {
        to: String,
        key: Option<String>,
    },
}

/// A request as it is sent.
#[derive(Serialize, Deserialize)]
pub(crate) struct Asked {
    /// The store whose daemon is meant, if only that one may answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) store: Option<PathBuf>,
    pub(crate) request: Request,
}

impl Request {
    /// Whether the request reads or writes the store.
    pub(crate) fn is_of_the_store(&self) -> bool {
        !matches!(self, Self::Health | Self::Reload | Self::Poll { .. })
    }

    /// Whether the request goes to the store while no daemon runs. The outbox is the daemon's: nobody else changes it.
    pub(crate) fn needs_no_daemon(&self) -> bool {
        self.is_of_the_store() && !matches!(self, Self::Retry { .. } | Self::Drop { .. })
    }

    /// Whether the request changes the store.
    pub(crate) fn changes(&self) -> bool {
        let reads = matches!(self, Self::Incidents | Self::Outbox | Self::Silences | Self::Why { .. });
        self.is_of_the_store() && !reads
    }

    /// How long a command waits for the answer.
    pub(crate) fn patience(&self) -> Duration {
        if self.is_of_the_store() {
            Duration::from_secs(20)
        } else if matches!(self, Self::Poll { .. }) {
            POLL_AT_MOST + Duration::from_secs(10)
        } else if *self == Self::Reload {
            RELOAD_AT_MOST + Duration::from_secs(10)
        } else {
            Duration::from_secs(5)
        }
    }
}

/// A store's path for comparisons: without symbolic links, even if only its directory exists.
pub(crate) fn whole(store: &Path) -> PathBuf {
    let in_directory = || Some(store.parent()?.canonicalize().ok()?.join(store.file_name()?));
    let found = store.canonicalize().ok().or_else(in_directory).or_else(|| std::path::absolute(store).ok());
    found.unwrap_or_else(|| store.to_owned())
}

/// The reply.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Reply {
    /// `stuck`: the loops that have not run for too long.
    Health {
        stuck: Vec<String>,
    },
    /// The collectors that did not finish in time.
    Polled(Vec<(AccountName, Collector)>),
    Incidents(IncidentRecords),
    Outbox(OutboxRecords),
    Silences(SilenceRecords),
    Why(Box<WhyRecord>),
    /// It was done: a sentence, and lines below it.
    Done(String),
}
