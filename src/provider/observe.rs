//! The events that the client reports, for metrics in another layer.

use std::time::Duration;

use crate::model::Group;

/// Receives the client's events. It is called on the client's own tasks and must not block.
pub(crate) trait Observer: Send + Sync {
    /// One HTTP attempt ended; retries count one by one. `code` is the status of an answer that was read to its end, or
    /// `timeout`, `connect`, `closed` (before or within the answer), `too_large`, or `cancelled` if the caller gave up.
    /// `took` is the time from sending to the end of the body, without waiting for limits.
    fn request(&self, group: Group, code: &str, took: Duration);

    /// A request waited for the rate limits or for a place in flight.
    fn throttled(&self, group: Group, waited: Duration);

    /// `count` values of one field (one of [`super::FIELDS`]) were missing, null, of another type, or an
    /// unknown state. It is called once a page.
    fn field_problem(&self, field: &'static str, count: u64);
}
