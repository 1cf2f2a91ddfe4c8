//! Times of the provider (contract section 4). Every form of one time gives the same time. A time without an
//! offset is read by the account's wall clock, on the early side of a clock change.

use std::sync::LazyLock;

use crate::model::time::{Stamp, at_zone};
use chrono::{DateTime, Duration, FixedOffset, NaiveDate, NaiveDateTime, Utc};
use chrono_tz::Tz;
use proptest::prelude::*;
use proptest::sample::Index;

use crate::unit::properties::given;

fn parse_moment(text: &str, zone: Option<Tz>) -> Option<DateTime<Utc>> {
    Stamp::read(text)?.at(zone)
}

/// The times at which a zone's clock changed, found hour by hour over some years. Samoa left out a day of 2011.
static CHANGES: LazyLock<Vec<Vec<DateTime<Utc>>>> = LazyLock::new(|| {
    let hours = |year: i32| {
        let start = NaiveDate::from_ymd_opt(year, 1, 1).unwrap().and_time(chrono::NaiveTime::MIN).and_utc();
        (0..366 * 24).map(move |hour| start + Duration::hours(hour))
    };
    let of = |zone: Tz| {
        let offset = |at: DateTime<Utc>| at.with_timezone(&zone).naive_local() - at.naive_utc();
        let changed = |at: &DateTime<Utc>| offset(*at) != offset(*at - Duration::hours(1));
        [2011, 2026, 2027].into_iter().flat_map(hours).filter(changed).collect()
    };
    given::ZONES.into_iter().map(of).collect()
});

/// A zone and a time, mostly within hours of a change of its clock. Since 1975 zones change on whole minutes.
fn there() -> impl Strategy<Value = (Tz, DateTime<Utc>)> {
    let near = (0..given::ZONES.len(), any::<Index>(), -10_000..10_000_i64, any::<Index>());
    let anywhere = 157_766_400..4_000_000_000_i64;
    (near, anywhere, prop_oneof![3 => Just(0), 1 => 0..1_000_000_000_u32]).prop_map(
        |((zone, change, off, far), anywhere, nanos)| {
            let changes = &CHANGES[zone];
            let at = match changes.is_empty() || far.index(4) == 0 {
                true => anywhere,
                false => changes[change.index(changes.len())].timestamp() + off,
            };
            (given::ZONES[zone], DateTime::from_timestamp(at, nanos).unwrap())
        },
    )
}

/// A local time of that zone as a wall clock shows it, or would show it without the change.
fn wall() -> impl Strategy<Value = (Tz, NaiveDateTime)> {
    (there(), any::<bool>()).prop_map(|((zone, at), before)| {
        let as_of = if before { at - Duration::hours(30) } else { at };
        let offset = as_of.with_timezone(&zone).naive_local() - as_of.naive_utc();
        (zone, at.naive_utc() + offset)
    })
}

/// The right result of `at_zone`, found from the other side: the times at which the zone's wall clock shows
/// this.
fn oracle(naive: NaiveDateTime, zone: Tz) -> DateTime<Utc> {
    let shows = |at: DateTime<Utc>| at.with_timezone(&zone).naive_local();
    // Since 1975 all offsets are multiples of a quarter of an hour.
    let quarters = (-26 * 4..=26 * 4).map(|quarters| (naive - Duration::minutes(quarters * 15)).and_utc());
    if let Some(first) = quarters.filter(|&at| shows(at) == naive).min() {
        return first;
    }
    // Skipped: the first minute at which the wall clock shows more.
    let mut at = (naive - Duration::hours(27)).and_utc();
    at = DateTime::from_timestamp(at.timestamp() / 60 * 60, 0).unwrap();
    while shows(at) < naive {
        at += Duration::minutes(1);
    }
    at
}

proptest! {
    #![proptest_config(crate::unit::properties::quick!("dates", 256))]

    #[test]
    fn a_moment_with_its_offset_is_the_same_in_every_form(at in given::moment(), minutes in -14 * 60..=14 * 60_i32, zone in proptest::option::of(given::zone())) {
        let there = at.with_timezone(&FixedOffset::east_opt(minutes * 60).unwrap());
        prop_assume!((0..=9999).contains(&chrono::Datelike::year(&there)));
        for form in ["%Y-%m-%dT%H:%M:%S%:z", "%Y-%m-%d %H:%M:%S%:z", "%Y-%m-%d %H:%M:%S%z", "%Y-%m-%dT%H:%M:%S.000%:z"] {
            let text = there.format(form).to_string();
            prop_assert_eq!(parse_moment(&text, zone), Some(at), "{}", text);
        }
        let text = at.format("%Y-%m-%dT%H:%M:%SZ").to_string();
        prop_assert_eq!(parse_moment(&text, zone), Some(at), "{}", text);
        prop_assert_eq!(parse_moment(&at.to_rfc3339(), zone), Some(at));
    }

    #[test]
    fn parts_of_a_second_are_kept(at in given::moment(), nanos in 0..1_000_000_000_u32) {
        let at = DateTime::from_timestamp(at.timestamp(), nanos).unwrap();
        for text in [at.format("%Y-%m-%dT%H:%M:%S%.9fZ").to_string(), at.format("%Y-%m-%d %H:%M:%S%.9f").to_string()] {
            prop_assert_eq!(parse_moment(&text, Some(Tz::UTC)), Some(at), "{}", text);
        }
    }

    #[test]
    fn a_time_without_offset_is_the_accounts_local_time((zone, naive) in wall()) {
        let got = at_zone(naive, zone);
        prop_assert_eq!(got, oracle(naive, zone), "{} in {}", naive, zone);
        let shown = got.with_timezone(&zone).naive_local();
        prop_assert!(shown >= naive, "{} shows as {}", naive, shown);
    }

    #[test]
    fn every_naive_form_is_read_alike((zone, naive) in wall()) {
        let whole = chrono::Timelike::with_nanosecond(&naive, 0).unwrap();
        let want = Some(at_zone(whole, zone));
        for form in ["%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S.0"] {
            let text = whole.format(form).to_string();
            prop_assert_eq!(parse_moment(&text, Some(zone)), want, "{}", text);
            prop_assert_eq!(parse_moment(&text, None), None, "without a zone it is no moment");
        }
        let date = whole.date();
        let midnight = Some(at_zone(date.and_time(chrono::NaiveTime::MIN), zone));
        prop_assert_eq!(parse_moment(&date.to_string(), Some(zone)), midnight);
    }

    #[test]
    fn any_text_is_a_moment_of_four_digits_or_none(
        text in prop_oneof!["(?s).{0,40}", "[+-]?[0-9]{1,7}-[0-9]{1,2}-[0-9]{1,2}([T ][0-9]{1,2}:[0-9]{2}(:[0-9]{2}(\\.[0-9]{1,12})?)?)?(Z|[+-][0-9]{2}:?[0-9]{2})?",
            "(0000-01-01|9999-12-31)(T(00|23):[0-5][0-9]:[0-5][0-9](Z|[+-]1[0-4]:00)?)?"],
        zone in given::zone(),
    ) {
        if let Some(at) = parse_moment(&text, Some(zone)) {
            // Arithmetic on later years would overflow, and their text could not be read again.
            prop_assert!((0..=9999).contains(&chrono::Datelike::year(&at)), "{} is {}", text, at);
            prop_assert_eq!(parse_moment(&at.to_rfc3339(), None), Some(at));
        }
    }
}

/// Found by the properties: for years with more than four digits, the search for a valid time ran past the last
/// possible time.
#[test]
fn other_forms_are_no_moments_and_years_have_four_digits() {
    for text in [
        "",
        "soon",
        "2026-13-01",
        "01.03.2026",
        "1767225600",
        "2026-03-01T25:00:00",
        "+262142-12-31T23:59:59",
        "+262142-12-31",
        "-262143-01-01",
        "+10000-01-01T00:00:00Z",
        "9999-12-31T23:59:59-01:00",
        "0000-01-01T00:00:00+01:00",
        "-2-1-1",
        "99-01-01",
    ] {
        for zone in given::ZONES {
            assert_eq!(parse_moment(text, Some(zone)), None, "{text}");
        }
    }
    let last = NaiveDateTime::MAX;
    assert!(given::ZONES.iter().all(|&zone| at_zone(last, zone) > DateTime::UNIX_EPOCH));
}

/// Found by the properties: the fraction of a second within a skipped hour was kept.
#[test]
fn a_skipped_time_is_the_jump_to_the_second() {
    let skipped = "2011-12-30T10:00:00.000000001".parse().unwrap();
    assert_eq!(at_zone(skipped, chrono_tz::Pacific::Apia).to_rfc3339(), "2011-12-30T10:00:00+00:00");
}
