//! What the client reports of itself, for metrics that live elsewhere.

use std::fmt;
use std::time::Duration;

use crate::model::Group;

/// Gets what the client does. Called on the client's own tasks: must not block.
pub(crate) trait Observer: Send + Sync {
    /// One HTTP attempt ended, retries counted one by one; `took` runs from the send to the end of
    /// the body, without any waiting for the limits.
    fn request(&self, group: Group, code: Code, took: Duration);

    /// A request waited for the rate limits or for one of the places in flight.
    fn throttled(&self, group: Group, waited: Duration);

    /// `count` values of one field (one of [`super::FIELDS`]) were missing, null, of another type, or
    /// a state that nobody here knows. Reported once a page.
    fn field_problem(&self, field: &'static str, count: u64);
}

/// How an attempt ended: the `code` label.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Code {
    /// The status of an answer that was read to its end.
    Status(u16),
    /// `timeout`, `connect`, `closed` (before or within the answer), `too_large`, or `cancelled` where whoever
    /// asked no longer wanted it.
    Error(&'static str),
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => status.fmt(f),
            Self::Error(text) => f.write_str(text),
        }
    }
}
