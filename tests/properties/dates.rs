//! Datetimes of the provider (contract section 4): every form of one moment is that moment, naive ones in the wall clock
//! of the account, on the early side of a clock change.

use chrono::{DateTime, Duration, FixedOffset, NaiveDateTime, Utc};
use chrono_tz::Tz;
use hostwatch::model::time::{at_zone, parse_moment};
use proptest::prelude::*;

use crate::given;

/// A naive moment, often near a change of the clock; since 1975 zones change on whole minutes.
fn wall() -> impl Strategy<Value = NaiveDateTime> {
    // Of Berlin, New York, Lord Howe, Cairo, Santiago in 2026; Samoa left out a day of 2011.
    let changes = [
        1_774_746_000_i64,
        1_792_890_000,
        1_772_953_200,
        1_793_512_800,
        1_775_314_800,
        1_791_039_600,
        1_777_000_000,
        1_793_307_600,
        1_775_358_000,
        1_788_667_200,
        1_325_239_200,
    ];
    let near = (proptest::sample::select(changes.to_vec()), -100_000..100_000_i64)
        .prop_map(|(change, off)| change + off);
    let seconds = prop_oneof![2 => near, 1 => 157_766_400..4_000_000_000_i64];
    (seconds, prop_oneof![3 => Just(0), 1 => 0..1_000_000_000_u32])
        .prop_map(|(seconds, nanos)| DateTime::from_timestamp(seconds, nanos).unwrap().naive_utc())
}

/// What `at_zone` is to find, by asking the zone from the other side: which moments show this on the wall?
fn oracle(naive: NaiveDateTime, zone: Tz) -> DateTime<Utc> {
    let shows = |at: DateTime<Utc>| at.with_timezone(&zone).naive_local();
    // No offset has parts of a quarter of an hour since 1975.
    let quarters = (-26 * 4..=26 * 4).map(|quarters| (naive - Duration::minutes(quarters * 15)).and_utc());
    if let Some(first) = quarters.filter(|&at| shows(at) == naive).min() {
        return first;
    }
    // Skipped: the first minute whose wall is past it.
    let mut at = (naive - Duration::hours(27)).and_utc();
    at = DateTime::from_timestamp(at.timestamp() / 60 * 60, 0).unwrap();
    while shows(at) < naive {
        at += Duration::minutes(1);
    }
    at
}

proptest! {
    #![proptest_config(crate::quick!("dates", 256))]

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
    fn a_moment_without_offset_is_what_the_wall_of_the_account_shows(naive in wall(), zone in given::zone()) {
        let got = at_zone(naive, zone);
        prop_assert_eq!(got, oracle(naive, zone), "{} in {}", naive, zone);
        let shown = got.with_timezone(&zone).naive_local();
        prop_assert!(shown >= naive, "{} shows as {}", naive, shown);
    }

    #[test]
    fn every_naive_form_is_read_alike(naive in wall(), zone in given::zone()) {
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

    /// What a wall showed first is read as that moment; what it showed again, as the first time it did.
    #[test]
    fn a_moment_shown_on_the_wall_reads_back(naive in wall(), zone in given::zone()) {
        let at = naive.and_utc();
        let shown = at.with_timezone(&zone).naive_local();
        let back = at_zone(shown, zone);
        prop_assert!(back <= at && back.with_timezone(&zone).naive_local() == shown);
    }

    #[test]
    fn any_text_is_a_moment_of_four_digits_or_none(
        text in prop_oneof!["(?s).{0,40}", "[+-]?[0-9]{1,7}-[0-9]{1,2}-[0-9]{1,2}([T ][0-9]{1,2}:[0-9]{2}(:[0-9]{2}(\\.[0-9]{1,12})?)?)?(Z|[+-][0-9]{2}:?[0-9]{2})?"],
        zone in given::zone(),
    ) {
        if let Some(at) = parse_moment(&text, Some(zone)) {
            // Arithmetic on years beyond would overflow, and nobody could read again what is told of them.
            prop_assert!((0..=9999).contains(&chrono::Datelike::year(&at)), "{} is {}", text, at);
            prop_assert_eq!(parse_moment(&at.to_rfc3339(), None), Some(at));
        }
    }
}

/// Found by the properties: years that no calendar has made the search for a moment that exists run past the end of
/// time, and what is left of a second within a skipped hour was kept.
#[test]
fn years_have_four_digits() {
    for text in [
        "+262142-12-31T23:59:59",
        "+262142-12-31",
        "-262143-01-01",
        "+10000-01-01T00:00:00Z",
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
