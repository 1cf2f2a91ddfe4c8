//! Past incidents as rows and as a bar. The time in which the daemon did not run is shown as unwatched, and
//! never as good. Pure.

use chrono::{DateTime, Duration, NaiveDate, NaiveTime, TimeZone as _, Utc};
use chrono_tz::Tz;

use super::reader::Reader;
use super::{forms, words};
use crate::alert::{Episode, History, Key, Kind, Severity};
use crate::model::{Language, say};

/// One incident, past or open.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct PastRow {
    pub key: Key,
    pub title: String,
    pub severity: Severity,
    pub began: String,
    /// `23 min`; for an open incident until now.
    pub lasted: String,
    pub is_open: bool,
}

/// Days from left to right, the last of them today.
#[derive(Clone, Debug)]
pub(crate) struct Bar {
    pub days: Vec<Day>,
    pub first_day: String,
    /// The bar in words, for people who do not see it.
    pub summary: String,
}

/// One day of a bar. A day before hostwatch began to watch is blank.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Day {
    /// The highest severity of the incidents that were open.
    pub worst: Option<Severity>,
    /// The part of the day that was watched, and the part that was missed.
    pub watched: f64,
    pub missed: f64,
}

type Span = (DateTime<Utc>, DateTime<Utc>);

/// The rows, the latest first, each in its account's zone.
pub(crate) fn rows(episodes: &[Episode], zone_of: impl Fn(&Key) -> Tz, reader: Reader) -> Vec<PastRow> {
    let row = |episode: &Episode| PastRow {
        key: episode.key.clone(),
        title: forms::title(&episode.title, &episode.key, reader.language),
        severity: episode.severity,
        began: reader.within(zone_of(&episode.key)).moment(episode.since),
        lasted: words::lasted(episode.ended.unwrap_or(reader.now) - episode.since, reader.language),
        is_open: episode.ended.is_none(),
    };
    episodes.iter().map(row).collect()
}

/// Whether incidents of this kind are about reading, and not about the state that is read.
pub(crate) const fn is_about_reading(kind: Kind) -> bool {
    matches!(kind, Kind::CollectorFailing | Kind::CredentialsRejected | Kind::BillingReport)
}

/// The facts that a bar shows.
pub(crate) struct BarOf<'a> {
    /// The incidents of the resource and of reading it.
    pub episodes: Vec<&'a Episode>,
    pub history: &'a History,
    /// Whether the resource is known to be fine now.
    pub is_fine: bool,
}

impl BarOf<'_> {
    /// The days up to `now`. While reading failed, the time counts as not watched.
    pub(crate) fn bar(&self, days: i64, reader: Reader) -> Bar {
        let Reader { zone, now, .. } = reader;
        let today = reader.date(now);
        let begin = |ago: i64| day_begins(today - Duration::days(ago), zone).min(now);
        let from = begin(days - 1);
        let (reading, wrong): (Vec<&Episode>, Vec<&Episode>) =
            self.episodes.iter().partition(|episode| is_about_reading(episode.key.kind));
        let span = |episode: &&Episode| (episode.since, episode.ended.unwrap_or(now));
        let watched_from = self.history.watched_since.map_or(from, |since| since.clamp(from, now));
        let unwatched: Vec<Span> =
            self.history.gaps.iter().copied().chain(reading.iter().map(span)).collect();
        let day = |ago: i64| {
            let (begin, end) = (begin(ago), if ago == 0 { now } else { begin(ago - 1) });
            let is_open =
                |episode: &&&Episode| episode.since < end && episode.ended.is_none_or(|at| at > begin);
            let worst = wrong.iter().filter(is_open).map(|episode| episode.severity).max();
            let whole = (end - begin).num_seconds().max(1) as f64;
            let part = |time: Duration| time.num_seconds() as f64 / whole;
            let seen = part((end - watched_from.clamp(begin, end)).max(Duration::zero()));
            let missed = part(together(&unwatched, watched_from.clamp(begin, end), end));
            match ago == 0 && !self.is_fine {
                true => Day { worst, watched: 0.0, missed: 1.0 },
                false => Day { worst, watched: seen - missed, missed },
            }
        };
        let wrong_spans: Vec<Span> = wrong.iter().map(span).collect();
        let since = (watched_from > from).then(|| reader.day_of(watched_from));
        Bar {
            days: (0..days).rev().map(day).collect(),
            first_day: reader.day_of(from),
            summary: summary((days, since), &wrong_spans, &unwatched, (watched_from, now), reader.language),
        }
    }
}

/// The first moment of a day, also on a day whose midnight the clocks skip.
fn day_begins(day: NaiveDate, zone: Tz) -> DateTime<Utc> {
    let hours = (0..4).filter_map(|hour| day.and_hms_opt(hour, 0, 0));
    let found = hours.filter_map(|at| zone.from_local_datetime(&at).earliest()).next();
    found.map_or_else(|| day.and_time(NaiveTime::MIN).and_utc(), |at| at.with_timezone(&Utc))
}

/// `Last 30 days: 2 incidents, 3 h 5 min together; not watched for 2 h`; `Watched since Mon 16 Mar: no incident` where that
/// is less.
fn summary(
    (days, since): (i64, Option<String>),
    wrong: &[Span],
    unwatched: &[Span],
    (from, now): Span,
    language: Language,
) -> String {
    let wrong_words = match wrong.len() {
        0 => language.pick("no incident", "проблем не было").to_owned(),
        count => {
            let incidents = language.count(count, words::INCIDENTS);
            let lasted = words::lasted(together(wrong, from, now), language);
            say!(language, "{incidents}, {lasted} together", "{incidents}, в сумме {lasted}")
        }
    };
    let missed = together(unwatched, from, now);
    let missed = match missed.num_minutes() {
        ..1 => String::new(),
        _ => {
            let span = words::lasted(missed, language);
            say!(language, "; not watched for {span}", "; без наблюдения {span}")
        }
    };
    let days = language.count(usize::try_from(days).unwrap_or(0), words::DAYS);
    match since {
        Some(since) => say!(
            language,
            "Since hostwatch began to watch ({since}): {wrong_words}{missed}",
            "С начала наблюдения ({since}): {wrong_words}{missed}"
        ),
        None => say!(language, "Last {days}: {wrong_words}{missed}", "За {days}: {wrong_words}{missed}"),
    }
}

/// The total time of these spans; overlaps count once.
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
    use crate::alert::Title;
    use crate::model::forecast::tests::t;

    fn episode(kind: Kind, since: &str, ended: Option<&str>) -> Episode {
        Episode {
            key: Key::new(&"main".parse().unwrap(), kind, 17),
            title: Title::of_stored("VM web-1 in error".into()),
            severity: Severity::Critical,
            since: t(since),
            ended: ended.map(t),
        }
    }

    #[test]
    fn unwatched_time_does_not_count_as_good() {
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
        let bar = |history: &History, is_fine| {
            let episodes = history.episodes.iter().collect();
            BarOf { episodes, history, is_fine }.bar(30, Reader::english(Tz::UTC, now))
        };
        let seen = bar(&history, false);
        assert_eq!(
            seen.summary,
            "Since hostwatch began to watch (Mon 16 Mar): 2 incidents, 4 h together; not watched for 2 d",
            "what two share counts once"
        );
        let day = |worst, watched, missed| Day { worst, watched, missed };
        // From 2 to 31 March.
        assert_eq!(seen.days.len(), 30);
        assert_eq!((seen.days[13], seen.days[14]), (day(None, 0.0, 0.0), day(None, 0.5, 0.0)));
        assert_eq!((seen.days[17], seen.days[18]), (day(None, 1.0, 0.0), day(None, 0.0, 1.0)));
        assert_eq!((seen.days[19], seen.days[20]), (day(None, 0.0, 1.0), day(None, 1.0, 0.0)));
        assert_eq!(seen.days[29].worst, Some(Severity::Critical), "what is open goes on to now");
        let none = bar(&History::default(), true);
        assert_eq!(none.summary, "Last 30 days: no incident");
        assert!(none.days.iter().all(|day| day.watched == 1.0 && day.worst.is_none()));
        let unknown = bar(&History::default(), false).days;
        assert_eq!((unknown[28].watched, unknown[29].watched), (1.0, 0.0), "today is not known to be fine");
    }
}
