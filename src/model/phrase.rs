//! Distances in time and counts in the words that page and terminal share.

use chrono::{DateTime, Utc};

/// `5 min ago`, `in 3 days`.
pub fn distance(at: DateTime<Utc>, now: DateTime<Utc>) -> String {
    let seconds = (now - at).num_seconds();
    let span = span(seconds.unsigned_abs());
    if seconds >= 0 { format!("{span} ago") } else { format!("in {span}") }
}

/// `40 s`, `12 min`, `5 h`, `3 days`.
pub fn span(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}

/// `1 thing`, `2 things`.
pub fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}
