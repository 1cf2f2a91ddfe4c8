//! What all pages have at their top: title, icon, when it was made, whether it loads itself anew.

use chrono::{DateTime, Utc};
use chrono_tz::Tz;

use crate::view::{Urgency, words};

/// The style sheet, served beside the pages.
pub(super) const STYLE: &str = include_str!("templates/style.css");

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Head {
    pub title: String,
    pub icon: String,
    /// It loads itself anew each minute.
    pub refresh: bool,
    /// The same page, that does not where this one does.
    pub other: String,
    /// `Tue 24 Nov 07:15 MSK`.
    pub made: String,
}

impl Head {
    pub(super) fn new(
        level: Urgency,
        title: &str,
        refresh: bool,
        other: String,
        zone: Tz,
        now: DateTime<Utc>,
    ) -> Self {
        Self {
            title: title.to_owned(),
            icon: icon(level),
            refresh,
            other,
            made: words::sentence_moment(now, zone, now),
        }
    }
}

/// A round picture in the colour of the level, and with a sign of its own.
fn icon(level: Urgency) -> String {
    let (colour, inner) = match level {
        Urgency::Attention => ("b3261e", "M5 5l6 6M11 5l-6 6"),
        Urgency::Unknown => ("8a5a00", "M6 6a2 2 0 1 1 2 2v2M8 12v.1"),
        Urgency::Notice => ("8a5a00", "M8 4v5M8 12v.1"),
        Urgency::Fine => ("1b6e3c", "M4.500 8.500l2.500 2.500 4.500-5"),
    };
    format!(
        "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Ccircle cx='8' cy='8' \
         r='8' fill='%23{colour}'/%3E%3Cpath d='{inner}' fill='none' stroke='%23fff' stroke-width='2' \
         stroke-linecap='round'/%3E%3C/svg%3E"
    )
}
