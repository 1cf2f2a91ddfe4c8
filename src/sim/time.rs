//! Spans as people write them ("20s", "3d"), and datetimes on the account's wall clock. The clock is read
//! elsewhere.

use chrono::{DateTime, LocalResult, NaiveDateTime, TimeDelta, TimeZone, Utc};
use chrono_tz::Tz;
use serde::{Deserialize, Deserializer};

/// A length of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span(pub TimeDelta);

impl Span {
    /// Reads "20s", "1.5h", "250ms" or a plain number of seconds.
    pub fn parse(text: &str) -> Result<Span, String> {
        let text = text.trim();
        let seconds = text.parse::<f64>().ok().map(|seconds| format!("{seconds}s"));
        let span = humantime::parse_duration(seconds.as_deref().unwrap_or(text)).ok();
        let span = span.and_then(|span| TimeDelta::from_std(span).ok());
        let span = span.ok_or_else(|| format!("`{text}` is not a span of time like 20s, 5m, 2h or 3d"))?;
        // chrono's dates reach further, but such a value is surely a mistake.
        if span > TimeDelta::days(100 * 365) {
            return Err(format!("`{text}` is longer than a hundred years"));
        }
        Ok(Span(span))
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Span, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Text(String),
            Seconds(f64),
        }
        match Written::deserialize(from)? {
            Written::Text(text) => Span::parse(&text),
            Written::Seconds(seconds) => Span::parse(&seconds.to_string()),
        }
        .map_err(serde::de::Error::custom)
    }
}

/// The moment at which the account's wall clock shows `local`. A repeated time means its first occurrence, and
/// a skipped time an hour later.
pub(super) fn local_to_utc(local: NaiveDateTime, zone: Tz) -> DateTime<Utc> {
    match zone.from_local_datetime(&local) {
        LocalResult::Single(t) | LocalResult::Ambiguous(t, _) => t.with_timezone(&Utc),
        LocalResult::None => zone
            .from_local_datetime(&(local + TimeDelta::hours(1)))
            .earliest()
            .map_or_else(|| local.and_utc(), |t| t.with_timezone(&Utc)),
    }
}

/// The time on the account's wall clock at `at`, in whole seconds.
pub(super) fn to_local(at: DateTime<Utc>, zone: Tz) -> NaiveDateTime {
    let local = at.with_timezone(&zone).naive_local();
    local - TimeDelta::nanoseconds(i64::from(local.and_utc().timestamp_subsec_nanos()))
}

/// A datetime in records: `YYYY-mm-ddTHH:MM:SS`. The interface shows this form for charge moments alone (2.8).
pub(super) fn moment(local: NaiveDateTime) -> String {
    local.format("%Y-%m-%dT%H:%M:%S").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read_and_nonsense_is_not() {
        assert_eq!(Span::parse("20s").unwrap().0, TimeDelta::seconds(20));
        assert_eq!(Span::parse("1.5h").unwrap().0, TimeDelta::minutes(90));
        assert_eq!(Span::parse("250ms").unwrap().0, TimeDelta::milliseconds(250));
        assert_eq!(Span::parse("7").unwrap().0, TimeDelta::seconds(7));
        assert!(Span::parse("soon").is_err() && Span::parse("3 moons").is_err() && Span::parse("").is_err());
    }
}
