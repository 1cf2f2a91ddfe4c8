//! The past: episodes of incidents. The store keeps it and the page shows it. Pure.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::key::Key;
use super::kind::Severity;
use super::subject::{Subject, Wrong};

/// The title of an episode.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Title {
    pub subject: Subject,
    pub wrong: Wrong,
}

impl Title {
    /// The text form, which `of_stored` reads.
    pub(crate) fn stored(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// A text that is not JSON is a sentence from an older store.
    pub(crate) fn of_stored(text: String) -> Self {
        let sentence = |text| Self { subject: Subject::Text(text), wrong: Wrong::Itself };
        serde_json::from_str(&text).unwrap_or_else(|_| sentence(text))
    }
}

/// One episode of an incident, from its opening to its end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Episode {
    pub key: Key,
    pub title: Title,
    pub severity: Severity,
    pub since: DateTime<Utc>,
    /// `None` while it is open.
    pub ended: Option<DateTime<Utc>>,
}

/// The episodes that are asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Past {
    /// Episodes that ended before this are left out.
    pub from: DateTime<Utc>,
    /// Only these incidents.
    pub keys: Option<Vec<Key>>,
    /// Only this account.
    pub account: Option<String>,
    pub most: usize,
}

/// The answer.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct History {
    /// The latest first.
    pub episodes: Vec<Episode>,
    /// The store has more episodes than were asked for.
    pub more: bool,
}
