//! The events that the client reports, for metrics in another layer.

use std::fmt;
use std::time::Duration;

use crate::model::Group;

/// Receives the client's events. It is called on the client's own tasks and must not block.
pub(crate) trait Observer: Send + Sync {
    /// One HTTP attempt ended; retries count one by one. `took` is the time from sending to the end of the
    /// body, without waiting for limits.
    fn request(&self, group: Group, code: Code, took: Duration);

    /// A request waited for the rate limits or for a place in flight.
    fn throttled(&self, group: Group, waited: Duration);

    /// `count` values of one field (one of [`super::FIELDS`]) were missing, null, of another type, or an
    /// unknown state. It is called once a page.
    fn field_problem(&self, field: &'static str, count: u64);
}

/// The result of an attempt: the `code` label.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Code {
    /// The status of an answer that was read to its end.
    Status(u16),
    /// `timeout`, `connect`, `closed` (before or within the answer), `too_large`, or `cancelled` if the caller
    /// gave up.
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
