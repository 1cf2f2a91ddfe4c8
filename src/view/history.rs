//! Past incidents as rows. Pure.

use chrono_tz::Tz;

use super::reader::Reader;
use super::{forms, words};
use crate::alert::{Episode, Key};

/// One incident, past or open.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct PastRow {
    pub key: Key,
    pub title: String,
    pub severity: String,
    pub began: String,
    /// `23 min`; for an open incident until now.
    pub lasted: String,
    pub is_open: bool,
}

/// The rows, the latest first, each in its account's zone.
pub(crate) fn rows(episodes: &[Episode], zone_of: impl Fn(&Key) -> Tz, reader: Reader) -> Vec<PastRow> {
    let row = |episode: &Episode| PastRow {
        key: episode.key.clone(),
        title: forms::title(&episode.title, &episode.key, reader.language),
        severity: words::severity(episode.severity, reader.language),
        began: reader.within(zone_of(&episode.key)).moment(episode.since),
        lasted: words::lasted(episode.ended.unwrap_or(reader.now) - episode.since, reader.language),
        is_open: episode.ended.is_none(),
    };
    episodes.iter().map(row).collect()
}
