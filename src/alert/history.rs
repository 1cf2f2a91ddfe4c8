//! What was: episodes of incidents, and when nobody watched. Kept by the store, shown on the page. Pure.

use chrono::{DateTime, Utc};

use super::key::Key;
use super::kind::Severity;

/// One episode of an incident, from its opening to its end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Episode {
    pub key: Key,
    /// In words for people.
    pub title: String,
    pub severity: Severity,
    pub since: DateTime<Utc>,
    /// `None` while it is open.
    pub ended: Option<DateTime<Utc>>,
}

/// Which episodes are asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Past {
    /// What ended before is left out.
    pub from: DateTime<Utc>,
    /// Of these incidents alone.
    pub keys: Option<Vec<Key>>,
    /// Of this account alone.
    pub account: Option<String>,
    pub most: usize,
}

/// The answer.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct History {
    /// The latest first.
    pub episodes: Vec<Episode>,
    /// There are more than were asked for.
    pub more: bool,
    /// When it was first watched; `None` where that is not known.
    pub watched_since: Option<DateTime<Utc>>,
    /// When the daemon did not run, from and to.
    pub gaps: Vec<(DateTime<Utc>, DateTime<Utc>)>,
}
