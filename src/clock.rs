//! The only place that reads the wall clock. Everything else is told the time.

use chrono::{DateTime, Utc};

/// The time now, in UTC.
#[allow(clippy::disallowed_methods)]
pub(crate) fn now() -> DateTime<Utc> {
    Utc::now()
}
