//! Incidents of the past as rows and as a bar. Time in which nobody watched is no good time: it is said. Pure.

use chrono::{DateTime, Duration, Utc};
use chrono_tz::Tz;

use super::words;
use crate::alert::{Episode, History, Key, Kind, Severity};
use crate::model::AccountState;

/// One incident of the past, or one that is open.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct PastRow {
    pub key: Key,
    pub title: String,
    pub severity: Severity,
    pub began: String,
    /// `23 min`; of an open one so far.
    pub lasted: String,
    pub is_open: bool,
}

/// A span of time from left to right, 0 to 1.
#[derive(Clone, Debug)]
pub(crate) struct Bar {
    pub spans: Vec<BarSpan>,
    pub first_day: String,
    /// The same for who does not see it.
    pub summary: String,
}

/// A part of a bar.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct BarSpan {
    /// What was wrong, how badly; `None`: not watched.
    pub severity: Option<Severity>,
    pub from: f64,
    pub to: f64,
}

type Span = (DateTime<Utc>, DateTime<Utc>);

/// Rows, the latest first, each in its account's zone.
pub(crate) fn rows(episodes: &[Episode], zone_of: impl Fn(&Key) -> Tz, now: DateTime<Utc>) -> Vec<PastRow> {
    let row = |episode: &Episode| PastRow {
        key: episode.key.clone(),
        title: episode.title.clone(),
        severity: episode.severity,
        began: words::sentence_moment(episode.since, zone_of(&episode.key), now),
        lasted: words::lasted(episode.ended.unwrap_or(now) - episode.since),
        is_open: episode.ended.is_none(),
    };
    episodes.iter().map(row).collect()
}

/// What an account's zone is; UTC where it is not there any more.
pub(crate) fn zone(accounts: &[&AccountState], key: &Key) -> Tz {
    let account = accounts.iter().find(|state| state.profile.name == key.account);
    account.map_or(Tz::UTC, |state| state.profile.zone())
}

/// Is this about reading, not about what is read?
pub(crate) const fn is_about_reading(kind: Kind) -> bool {
    matches!(kind, Kind::CollectorFailing | Kind::CredentialsRejected | Kind::BillingReport)
}

impl Bar {
    /// Of the time up to `now`. What is about reading is time in which nobody could watch.
    pub(crate) fn of(history: &History, days: i64, zone: Tz, now: DateTime<Utc>) -> Self {
        let from = now - Duration::days(days);
        let mut unwatched: Vec<Span> = history.gaps.clone();
        unwatched.extend(history.watched_since.filter(|&since| since > from).map(|since| (from, since)));
        let (reading, wrong): (Vec<&Episode>, Vec<&Episode>) =
            history.episodes.iter().partition(|episode| is_about_reading(episode.key.kind));
        let span = |episode: &&Episode| (episode.since, episode.ended.unwrap_or(now));
        unwatched.extend(reading.iter().map(span));
        let whole = (now - from).num_seconds().max(1) as f64;
        let x = |at: DateTime<Utc>| ((at - from).num_seconds() as f64 / whole).clamp(0.0, 1.0);
        let part = |severity, (from, to): Span| BarSpan { severity, from: x(from), to: x(to) };
        // The worst is painted last.
        let mut sorted = wrong.clone();
        sorted.sort_by_key(|episode| episode.severity);
        let mut spans: Vec<BarSpan> = unwatched.iter().map(|&gap| part(None, gap)).collect();
        spans.extend(sorted.iter().map(|episode| part(Some(episode.severity), span(episode))));
        spans.retain(|span| span.to > 0.0);
        let wrong: Vec<Span> = wrong.iter().map(span).collect();
        Self {
            spans,
            first_day: words::day_of(from, zone, now),
            summary: summary(&wrong, &unwatched, days, from, now),
        }
    }
}

/// `Last 30 days: 2 incidents, 3 h 5 min together; not watched for 2 h`.
fn summary(wrong: &[Span], unwatched: &[Span], days: i64, from: DateTime<Utc>, now: DateTime<Utc>) -> String {
    let wrong_words = match wrong.len() {
        0 => "no incident".to_owned(),
        count => {
            let incidents = words::count(count, "incident", "incidents");
            format!("{incidents}, {} together", words::lasted(together(wrong, from, now)))
        }
    };
    let missed = together(unwatched, from, now);
    let missed = match missed.num_minutes() {
        ..1 => String::new(),
        _ => format!("; not watched for {}", words::lasted(missed)),
    };
    format!("Last {days} days: {wrong_words}{missed}")
}

/// How long these last together; what two of them share counts once.
fn together(spans: &[Span], from: DateTime<Utc>, to: DateTime<Utc>) -> Duration {
    let mut sorted: Vec<Span> = spans.iter().map(|span| (span.0.max(from), span.1.min(to))).collect();
    sorted.sort_unstable();
    let (mut total, mut counted) = (Duration::zero(), from);
    for (begin, end) in sorted {
        let begin = begin.max(counted);
        if end > begin {
            total += end - begin;
            counted = end;
        }
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::forecast::tests::t;

    fn episode(kind: Kind, since: &str, ended: Option<&str>) -> Episode {
        Episode {
            key: Key::new(&"main".parse().unwrap(), kind, 17),
            title: "VM web-1 in error".into(),
            severity: Severity::Critical,
            since: t(since),
            ended: ended.map(t),
        }
    }

    #[test]
    fn what_was_not_watched_is_no_good_time() {
        let now = t("2026-03-31T12:00:00");
        let history = History {
            episodes: vec![
                episode(Kind::VmError, "2026-03-31T09:00:00", None),
                episode(Kind::VmStuck, "2026-03-31T08:00:00", Some("2026-03-31T10:00:00")),
                episode(Kind::CollectorFailing, "2026-03-20T00:00:00", Some("2026-03-21T00:00:00")),
            ],
            gaps: vec![(t("2026-03-20T12:00:00"), t("2026-03-22T00:00:00"))],
            watched_since: Some(t("2026-03-16T12:00:00")),
            more: false,
        };
        let bar = Bar::of(&history, 30, Tz::UTC, now);
        assert_eq!(
            bar.summary, "Last 30 days: 2 incidents, 4 h together; not watched for 17 d",
            "what two share counts once"
        );
        let before = bar.spans.iter().find(|span| span.from == 0.0).unwrap();
        assert_eq!((before.severity, before.to), (None, 0.5));
        assert!(bar.spans.iter().any(|span| span.to == 1.0), "what is open goes on to now");
        let none = Bar::of(&History::default(), 30, Tz::UTC, now);
        assert_eq!((none.summary.as_str(), none.spans.len()), ("Last 30 days: no incident", 0));
    }
}
