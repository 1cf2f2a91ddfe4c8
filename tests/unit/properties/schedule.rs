//! Cron expressions against an oracle that knows neither the `cron` crate nor our fields. It walks a year
//! minute by minute, with clock changes, and applies crontab(5) to each minute.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::provider::cron::Schedule;
use chrono::{DateTime, Datelike, Duration, NaiveDate, NaiveDateTime, Timelike, Utc};
use chrono_tz::Tz;
use proptest::collection::vec;
use proptest::prelude::*;

/// A field as written, its values, and whether it begins with a star.
#[derive(Clone, Debug)]
struct Written {
    text: String,
    /// The values as bits.
    values: u64,
    starred: bool,
}

fn bits(values: impl Iterator<Item = u32>) -> u64 {
    values.fold(0, |bits, value| bits | 1 << value)
}

/// One item of a field: its text and its values. `names` are those of the values from `low` on.
fn item(low: u32, high: u32, names: &'static [&'static str]) -> impl Strategy<Value = (String, u64)> {
    let spelled = move |value: u32, named: bool, upper: bool| match names.get((value - low) as usize) {
        Some(name) if named => {
            if upper {
                name.to_ascii_uppercase()
            } else {
                (*name).to_owned()
            }
        }
        _ => value.to_string(),
    };
    let steps = |from: u32, to: u32, step: u32| {
        bits((from..=to).filter(move |value| (value - from).is_multiple_of(step)))
    };
    prop_oneof![
        1 => Just(("*".to_owned(), bits(low..=high))),
        2 => (1..=high).prop_map(move |step| (format!("*/{step}"), steps(low, high, step))),
        4 => (low..=high, any::<bool>(), any::<bool>()).prop_map(move |(value, named, upper)| (spelled(value, named, upper), 1 << value)),
        2 => (low..=high, low..=high, any::<bool>(), any::<bool>()).prop_map(move |(a, b, named, upper)| {
            let (from, to) = (a.min(b), a.max(b));
            (format!("{}-{}", spelled(from, named, upper), spelled(to, named, false)), bits(from..=to))
        }),
        1 => (low..=high, low..=high, 1..=high).prop_map(move |(a, b, step)| {
            let (from, to) = (a.min(b), a.max(b));
            (format!("{from}-{to}/{step}"), steps(from, to, step))
        }),
    ]
}

fn field(low: u32, high: u32, names: &'static [&'static str]) -> impl Strategy<Value = Written> {
    let star = Just(Written { text: "*".into(), values: bits(low..=high), starred: true });
    let some = vec(item(low, high, names), 1..4).prop_map(|items| {
        let text = items.iter().map(|(text, _)| text.as_str()).collect::<Vec<_>>().join(",");
        let starred = text.starts_with('*');
        Written { text, values: items.into_iter().fold(0, |all, (_, values)| all | values), starred }
    });
    prop_oneof![2 => star, 3 => some]
}

const MONTHS: &[&str] = &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS: &[&str] = &["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// Minute, hour, day, month, weekday.
fn expression() -> impl Strategy<Value = [Written; 5]> {
    let fields =
        (field(0, 59, &[]), field(0, 23, &[]), field(1, 31, &[]), field(1, 12, MONTHS), field(0, 7, DAYS));
    fields.prop_map(|(minute, hour, day, month, mut weekday)| {
        // 7 is Sunday, as 0 is.
        weekday.values = (weekday.values | weekday.values >> 7) & 0x7f;
        [minute, hour, day, month, weekday]
    })
}

fn text(fields: &[Written; 5]) -> String {
    fields.each_ref().map(|field| field.text.as_str()).join(" ")
}

/// Minute, hour, day, month and weekday on a wall clock.
type Shown = [u32; 5];

fn shown(wall: NaiveDateTime) -> Shown {
    [wall.minute(), wall.hour(), wall.day(), wall.month(), wall.weekday().num_days_from_sunday()]
}

/// crontab(5): if both day fields are restricted, either may match. A field is unrestricted if it begins with a
/// star.
fn takes_in(fields: &[Written; 5], shown: Shown) -> bool {
    let has = |place: usize| fields[place].values >> shown[place] & 1 == 1;
    let either = !fields[2].starred && !fields[4].starred;
    has(0) && has(1) && has(3) && if either { has(2) || has(4) } else { has(2) && has(4) }
}

/// A year of a zone, minute by minute.
struct Year {
    zone: Tz,
    start: DateTime<Utc>,
    minutes: Vec<Minute>,
    /// Indexes in `minutes` at which the clock changed.
    changes: Vec<usize>,
    /// The local times that were skipped at such an index.
    left_out: BTreeMap<usize, Vec<Shown>>,
}

struct Minute {
    shown: Shown,
    /// The wall clock showed this time before.
    again: bool,
}

impl Year {
    fn new(zone: Tz, year: i32) -> Self {
        let start = NaiveDate::from_ymd_opt(year, 1, 1).unwrap().and_time(chrono::NaiveTime::MIN).and_utc();
        let wall = |minute: i64| (start + Duration::minutes(minute)).with_timezone(&zone).naive_local();
        let (mut latest, mut before) = (wall(-1), wall(-1));
        let mut new =
            Self { zone, start, minutes: Vec::new(), changes: Vec::new(), left_out: BTreeMap::new() };
        for minute in 0..366 * 24 * 60 {
            let now = wall(minute);
            let place = new.minutes.len();
            if now - before != Duration::minutes(1) {
                new.changes.push(place);
                let skipped =
                    (1..).map(|minutes| before + Duration::minutes(minutes)).take_while(|left| *left < now);
                new.left_out.insert(place, skipped.map(shown).collect());
            }
            new.minutes.push(Minute { shown: shown(now), again: now <= latest });
            latest = latest.max(now);
            before = now;
        }
        new
    }

    fn at(&self, place: usize) -> DateTime<Utc> {
        self.start + Duration::minutes(i64::try_from(place).unwrap())
    }

    /// Would cron run a job in this minute? Jobs follow the time of day: once for a repeated time, and at the jump
    /// for a skipped time.
    fn runs(&self, fields: &[Written; 5], place: usize) -> bool {
        let minute = &self.minutes[place];
        let is_shown = takes_in(fields, minute.shown);
        let mut left_out = self.left_out.get(&place).into_iter().flatten();
        (is_shown && !minute.again) || left_out.any(|&left_out| takes_in(fields, left_out))
    }

    fn next(&self, fields: &[Written; 5], after: usize) -> Option<usize> {
        (after + 1..self.minutes.len()).find(|&place| self.runs(fields, place))
    }
}

/// Summer time north, south, of half an hour and at midnight; a year without a 30 December; none at all.
static YEARS: LazyLock<Vec<Year>> = LazyLock::new(|| {
    vec![
        Year::new(Tz::UTC, 2028),
        Year::new(chrono_tz::Europe::Berlin, 2026),
        Year::new(chrono_tz::Australia::Lord_Howe, 2026),
        Year::new(chrono_tz::Africa::Cairo, 2026),
        Year::new(chrono_tz::America::Santiago, 2027),
        Year::new(chrono_tz::Pacific::Apia, 2011),
    ]
});

proptest! {
    #![proptest_config(crate::unit::properties::quick!("schedule", 96))]

    #[test]
    fn ticks_are_those_of_the_oracle(
        fields in expression(), which in 0..6_usize, place in any::<proptest::sample::Index>(), near in proptest::option::weighted(0.6, -1500..100_isize),
    ) {
        let text = text(&fields);
        let Ok(schedule) = text.parse::<Schedule>() else {
            // Only an expression that never matches is refused.
            prop_assert!(fields[4].starred && fields[2].values.trailing_zeros() > 28, "{} is refused", text);
            return Ok(());
        };
        let year = &YEARS[which];
        let mut at = match near {
            Some(near) if !year.changes.is_empty() => year.changes[place.index(year.changes.len())].saturating_add_signed(near),
            _ => place.index(year.minutes.len()),
        };
        for _ in 0..60 {
            // Within the minute, too: a tick is later than now, not later than this minute.
            let now = year.at(at) + Duration::milliseconds(i64::try_from(at % 60_000).unwrap());
            let got = schedule.next_after(now, year.zone).unwrap();
            prop_assert!(got > now, "{} gives {} after {}", text, got, now);
            match year.next(&fields, at) {
                Some(want) => {
                    prop_assert_eq!(got, year.at(want), "{} in {} after {}", text, year.zone, now);
                    at = want;
                }
                None => {
                    prop_assert!(got >= year.at(year.minutes.len()), "{} gives {} after {}", text, got, now);
                    break;
                }
            }
        }
    }

    /// With seconds: every second of some minutes.
    #[test]
    fn seconds_are_those_of_the_oracle(second in field(0, 59, &[]), fields in expression(), which in 0..6_usize, place in any::<proptest::sample::Index>()) {
        let text = format!("{} {}", second.text, text(&fields));
        let Ok(schedule) = text.parse::<Schedule>() else { return Ok(()) };
        let year = &YEARS[which];
        let start = year.next(&fields, place.index(year.minutes.len() - 5000));
        // Not near clock changes, because the oracle knows skipped times only to the minute.
        let Some(start) = start.filter(|start| year.changes.iter().all(|change| change.abs_diff(*start) > 2000)) else { return Ok(()) };
        let mut now = year.at(start) - Duration::seconds(1);
        let end = year.at((start + 3).min(year.minutes.len() - 1));
        let mut probe = now;
        while probe < end {
            probe += Duration::seconds(1);
            let wall = probe.with_timezone(&year.zone).naive_local();
            if second.values >> wall.second() & 1 == 1 && takes_in(&fields, shown(wall)) {
                prop_assert_eq!(schedule.next_after(now, year.zone), Some(probe), "{} after {}", text, now);
                now = probe;
            }
        }
    }

    #[test]
    fn equal_schedules_are_equal_and_every_gap_is_within_the_stated_range(fields in expression()) {
        let Ok(schedule) = format!(" {}\n", text(&fields)).parse::<Schedule>() else { return Ok(()) };
        prop_assert_eq!(schedule.to_string(), text(&fields), "it is shown as it was written");
        let list = |field: &Written| match field.starred {
            true => field.text.clone(),
            false => (0..60).filter(|value| field.values >> value & 1 == 1).map(|value| value.to_string()).collect::<Vec<_>>().join(","),
        };
        let same = fields.each_ref().map(list).join("  ").parse::<Schedule>().unwrap();
        prop_assert_eq!(&same, &schedule);
        let year = &YEARS[0];
        let mut at = year.next(&fields, 0);
        for _ in 0..20 {
            let Some(one) = at else { break };
            at = year.next(&fields, one);
            let Some(other) = at else { break };
            let gap = (year.at(other) - year.at(one)).to_std().unwrap();
            prop_assert!((schedule.shortest_gap()..=schedule.longest_gap()).contains(&gap), "{:?}", gap);
        }
    }

    #[test]
    fn any_text_is_a_schedule_or_an_error_of_one_line(text in prop_oneof!["(?s).{0,30}", "[@*/0-9,a-zA-Z -]{0,40}"]) {
        match text.parse::<Schedule>() {
            Ok(schedule) => {
                let at = YEARS[0].start;
                prop_assert!(schedule.next_after(at, Tz::UTC).is_some_and(|next| next > at));
                prop_assert_eq!(schedule.to_string(), text.trim());
            }
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }
}
