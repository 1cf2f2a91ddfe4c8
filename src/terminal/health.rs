//! `hostwatch healthcheck`: one line. Pure.

use chrono::{DateTime, Utc};

use super::words;

/// All is well with the daemon itself.
pub(crate) fn text(started_at: DateTime<Utc>, now: DateTime<Utc>) -> String {
    format!("hostwatch runs, up {}; all of its loops work\n", words::lasted(now - started_at))
}
