//! What commands ask a running daemon, and what it answers: JSON both ways, for this release and its neighbours. What
//! a daemon does not know it refuses, and the command goes to the store.

use std::path::{Path, PathBuf};
use std::time::Duration;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::view::PolledRecords;
use crate::view::records::{IncidentRecords, OutboxRecords, SilenceRecords};
use crate::view::why::WhyRecord;

/// For so long a poll that was asked for is waited for.
pub(super) const POLL_AT_MOST: Duration = Duration::from_secs(60);

/// Something that a command wants to know, or wants done.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Request {
    /// Do its loops run?
    Health,
    /// Polls an account now, or all.
    Poll {
        account: Option<String>,
    },
    Incidents,
    Outbox,
    Silences,
    /// `what`: a key, or the name or number of one thing.
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
    /// `None`: all of them.
    Retry {
        mails: Option<Vec<i64>>,
    },
    Drop {
        mails: Option<Vec<i64>>,
    },
}

/// A request and the store that it is about.
#[derive(Serialize, Deserialize)]
pub(crate) struct Addressed {
    store: String,
    request: Request,
}

/// As it comes: whoever does not know of a store names none.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Asked {
    Addressed(Addressed),
    Bare(Request),
}

impl Asked {
    /// The request, and its store where it names one.
    pub(super) fn parts(self) -> (Request, Option<PathBuf>) {
        match self {
            Self::Addressed(Addressed { store, request }) => (request, Some(store.into())),
            Self::Bare(request) => (request, None),
        }
    }
}

impl Request {
    /// For the daemon of this store alone.
    pub(crate) fn addressed(self, store: &Path) -> Addressed {
        Addressed { store: whole(store).to_string_lossy().into_owned(), request: self }
    }

    /// Does it read or write the store?
    pub(crate) fn is_of_the_store(&self) -> bool {
        !matches!(self, Self::Health | Self::Poll { .. })
    }

    /// Does it change what the store holds?
    pub(crate) fn changes(&self) -> bool {
        let reads = matches!(self, Self::Incidents | Self::Outbox | Self::Silences | Self::Why { .. });
        self.is_of_the_store() && !reads
    }

    /// How long a command waits for the answer.
    pub(crate) fn patience(&self) -> Duration {
        if self.is_of_the_store() {
            Duration::from_secs(20)
        } else if *self == Self::Health {
            Duration::from_secs(5)
        } else {
            POLL_AT_MOST + Duration::from_secs(10)
        }
    }
}

/// A store's path by which two can be compared: without links, also where only its directory is there.
pub(crate) fn whole(store: &Path) -> PathBuf {
    let in_directory = || Some(store.parent()?.canonicalize().ok()?.join(store.file_name()?));
    let found = store.canonicalize().ok().or_else(in_directory).or_else(|| std::path::absolute(store).ok());
    found.unwrap_or_else(|| store.to_owned())
}

/// What it gets.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Reply {
    Health(DaemonHealth),
    Polled(Box<PolledRecords>),
    Incidents(IncidentRecords),
    Outbox(OutboxRecords),
    Silences(SilenceRecords),
    Why(Box<WhyRecord>),
    /// It was done: a sentence, and lines below it.
    Done(String),
}

/// How the daemon itself is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct DaemonHealth {
    pub started_at: DateTime<Utc>,
    pub now: DateTime<Utc>,
    /// Loops that have not run for too long.
    pub stuck: Vec<String>,
}
