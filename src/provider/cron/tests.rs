//! What expressions mean, held against crontab(5) by tables; tests/unit/properties/schedule.rs holds them to an oracle.

use chrono_tz::Europe::Berlin;

use super::*;

fn schedule(text: &str) -> Schedule {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn moment(text: &str) -> DateTime<Utc> {
    let text = if text.len() == 16 { format!("{text}:00Z") } else { format!("{text}Z") };
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The next ticks as the wall clock of `zone` shows them, with its offset where that can be either.
fn ticks(schedule: &Schedule, from: &str, zone: Tz, count: usize) -> Vec<String> {
    let mut at = moment(from);
    let mut ticks = Vec::new();
    for _ in 0..count {
        at = schedule.next_after(at, zone).unwrap();
        ticks.push(at.with_timezone(&zone).format("%a %Y-%m-%dT%H:%M:%S").to_string());
    }
    ticks
}

/// Expressions, and their first ticks.
const MEANINGS: &[(&str, &[&str])] = &[
    ("* * * * *", &["Thu 2026-01-01T00:01:00", "Thu 2026-01-01T00:02:00"]),
    (
        "*/15 * * * *",
        &[
            "Thu 2026-01-01T00:15:00",
            "Thu 2026-01-01T00:30:00",
            "Thu 2026-01-01T00:45:00",
            "Thu 2026-01-01T01:00:00",
        ],
    ),
    ("7 6 * * *", &["Thu 2026-01-01T06:07:00", "Fri 2026-01-02T06:07:00"]),
    // Six fields: seconds first.
    ("*/20 * * * * *", &["Thu 2026-01-01T00:00:20", "Thu 2026-01-01T00:00:40", "Thu 2026-01-01T00:01:00"]),
    ("30 0 9 * * 1", &["Mon 2026-01-05T09:00:30"]),
    // Weekdays: 0 and 7 are Sunday, names in any case, ranges up to 7.
    ("0 9 * * 7", &["Sun 2026-01-04T09:00:00", "Sun 2026-01-11T09:00:00"]),
    ("0 9 * * sun", &["Sun 2026-01-04T09:00:00"]),
    (
        "0 9 * * 5-7",
        &[
            "Fri 2026-01-02T09:00:00",
            "Sat 2026-01-03T09:00:00",
            "Sun 2026-01-04T09:00:00",
            "Fri 2026-01-09T09:00:00",
        ],
    ),
    ("0 9 * * 1-5/2", &["Fri 2026-01-02T09:00:00", "Mon 2026-01-05T09:00:00", "Wed 2026-01-07T09:00:00"]),
    // Months.
    ("0 0 29 2 *", &["Tue 2028-02-29T00:00:00", "Sun 2032-02-29T00:00:00"]),
    // Both days restricted: either matches.
    (
        "30 4 1,15 * 5",
        &[
            "Thu 2026-01-01T04:30:00",
            "Fri 2026-01-02T04:30:00",
            "Fri 2026-01-09T04:30:00",
            "Thu 2026-01-15T04:30:00",
            "Fri 2026-01-16T04:30:00",
        ],
    ),
    // One of them starts with a star: both must match.
    ("0 0 */2 * fri", &["Fri 2026-01-09T00:00:00", "Fri 2026-01-23T00:00:00"]),
    ("0 0 1-7 * */7", &["Sun 2026-01-04T00:00:00", "Sun 2026-02-01T00:00:00"]),
    ("0 0 *,5 * fri", &["Fri 2026-01-02T00:00:00", "Fri 2026-01-09T00:00:00"]),
    // Nicknames.
    ("@hourly", &["Thu 2026-01-01T01:00:00", "Thu 2026-01-01T02:00:00"]),
    ("@Daily", &["Fri 2026-01-02T00:00:00"]),
    ("@weekly", &["Sun 2026-01-04T00:00:00"]),
    ("@monthly", &["Sun 2026-02-01T00:00:00"]),
    ("@yearly", &["Fri 2027-01-01T00:00:00"]),
];

#[test]
fn expressions_mean_what_crontab_5_says() {
    // 2026-01-01 is a Thursday.
    let from = "2026-01-01T00:00";
    for (text, want) in MEANINGS {
        assert_eq!(ticks(&schedule(text), from, Tz::UTC, want.len()), *want, "{text}");
    }
}

#[test]
fn a_tick_is_never_now_and_parts_of_a_second_do_not_lose_one() {
    let every_minute = schedule("* * * * *");
    let next = |after: &str| every_minute.next_after(moment(after), Tz::UTC).unwrap();
    assert_eq!(next("2026-01-01T00:01"), moment("2026-01-01T00:02"));
    assert_eq!(next("2026-01-01T00:00:59.999"), moment("2026-01-01T00:01"));
    assert_eq!(next("2026-01-01T00:01:00.001"), moment("2026-01-01T00:02"));
    let every_second = schedule("* * * * * *");
    let next = every_second.next_after(moment("2026-01-01T00:00:00.500"), Tz::UTC);
    assert_eq!(next, Some(moment("2026-01-01T00:00:01")));
}

#[test]
fn days_when_the_clock_changes() {
    // Berlin 2026: 29 March 02:00 becomes 03:00 (01:00Z); 25 October 03:00 becomes 02:00 (01:00Z).
    let table: &[(&str, &str, &[&str])] = &[
        // By elapsed time: no ticks in the hour that is not, both rounds of the one that is twice.
        ("*/30 * * * *", "2026-03-29T00:15", &["2026-03-29T00:30", "2026-03-29T01:00", "2026-03-29T01:30"]),
        (
            "*/30 * * * *",
            "2026-10-24T23:45",
            &[
                "2026-10-25T00:00",
                "2026-10-25T00:30",
                "2026-10-25T01:00",
                "2026-10-25T01:30",
                "2026-10-25T02:00",
            ],
        ),
        (
            "*/10 * * * * *",
            "2026-10-25T00:59:45",
            &["2026-10-25T00:59:50", "2026-10-25T01:00", "2026-10-25T01:00:10"],
        ),
        // By the time of day: once, at the jump or at the first of two.
        ("30 2 * * *", "2026-03-28T12:00", &["2026-03-29T01:00", "2026-03-30T00:30"]),
        ("30 2 * * *", "2026-10-24T12:00", &["2026-10-25T00:30", "2026-10-26T01:30"]),
        ("30 2 * * *", "2026-10-25T01:15", &["2026-10-26T01:30"]),
        ("0 3 * * *", "2026-03-28T12:00", &["2026-03-29T01:00", "2026-03-30T01:00"]),
    ];
    for (text, from, want) in table {
        let schedule = schedule(text);
        let mut at = moment(from);
        for want in *want {
            at = schedule.next_after(at, Berlin).unwrap();
            assert_eq!(at, moment(want), "{text} from {from}");
        }
    }
}

#[test]
fn what_is_not_crontab_is_refused_with_field_allowance_and_example() {
    let table = [
        (
            "",
            "'' has 0 fields; allowed are five (minute, hour, day of month, month, day of week) or six (seconds first), such as '*/5 * * * *'",
        ),
        ("* * * *", "'* * * *' has 4 fields"),
        (
            "60 * * * *",
            "minute '60': '60' is out of range; allowed are 0 to 59, '*', ranges, lists and steps, such as '*/15'",
        ),
        ("* 24 * * *", "hour '24': '24' is out of range; allowed are 0 to 23"),
        ("* * 0 * *", "day of month '0': '0' is out of range; allowed are 1 to 31"),
        ("* * * 13 *", "month '13': '13' is out of range; allowed are 1 to 12 or jan to dec"),
        ("* * * * 8", "day of week '8': '8' is out of range; allowed are 0 to 7 or sun to sat"),
        (
            "* * * * fri-sun",
            "day of week 'fri-sun': the range 'fri-sun' runs backwards; list its parts instead",
        ),
        ("5/15 * * * *", "minute '5/15': a step needs '*' or a range; write '5-59/…'"),
        ("*/0 * * * *", "the step '0' is not a number from 1 to 59"),
        ("*/60 * * * *", "the step '60' is not a number from 1 to 59"),
        ("+5 * * * *", "minute '+5'"),
        ("1,,2 * * * *", "minute '1,,2': '' is out of range"),
        ("* * * * monday", "day of week 'monday'"),
        ("* * * mon *", "month 'mon'"),
        ("* * ? * *", "day of month '?'"),
        ("@reboot", "nickname '@reboot' is none of @hourly, @daily"),
        ("0 0 30 2 *", "'0 0 30 2 *' never comes"),
        ("99999999999 * * * *", "minute '99999999999'"),
        ("\u{661} * * * *", "minute '\u{661}'"),
    ];
    for (text, want) in table {
        let message = text.parse::<Schedule>().unwrap_err().to_string();
        assert!(message.contains(want), "{text}: {message}");
    }
}

#[test]
fn gaps_are_those_between_ticks() {
    const HOUR: u64 = 3600;
    const DAY: u64 = 24 * HOUR;
    let table = [
        ("* * * * *", 60, 60),
        ("*/2 * * * *", 120, 120),
        ("*/25 * * * *", 600, 1500),
        ("7 6 * * *", DAY, DAY),
        ("0 9 * * MON", 7 * DAY, 7 * DAY),
        ("0 9 * * 1-5", DAY, 3 * DAY),
        ("*/5 9-17 * * 1-5", 300, 2 * DAY + 15 * HOUR + 300),
        ("0 0 1 * *", 28 * DAY, 31 * DAY),
        ("0 0 29 2 *", 4 * 365 * DAY + DAY, 4 * 365 * DAY + DAY),
        ("*/10 * * * * *", 10, 10),
        ("0 0 1 * mon", DAY, 7 * DAY),
        ("0,59 23,0 * * *", 60, 22 * HOUR + 60),
    ];
    for (text, shortest, longest) in table {
        let schedule = schedule(text);
        let gaps = (schedule.shortest_gap().as_secs(), schedule.longest_gap().as_secs());
        assert_eq!(gaps, (shortest, longest), "{text}");
    }
}

#[test]
fn an_expression_is_shown_as_it_was_given() {
    for text in ["*/5 * * * *", "0 9 * * MON", "@hourly", "30 0 9 * * 1"] {
        assert_eq!(schedule(text).to_string(), text);
    }
    assert_eq!(schedule("0 9 * * 7"), schedule("0  9 * * SUN"), "equal by meaning");
    assert_ne!(schedule("0 9 * * 7"), schedule("0 9 * * 6"));
}

#[test]
fn offsets_are_fixed_inside_the_tick_and_well_spread() {
    let minute = Duration::from_secs(60);
    assert_eq!(offset("main", minute), offset("main", minute));
    assert_eq!(offset("main", Duration::ZERO), Duration::ZERO);
    // A restart or an upgrade must not move an account.
    assert_eq!(offset("main", minute), Duration::from_millis(48_957));
    for gap in [Duration::from_millis(1), minute, Duration::from_secs(86_400)] {
        let limit = gap.min(Duration::from_secs(300));
        let naming = |n: u32| [format!("account-{n}"), format!("{n:04}"), format!("{n}-shop")];
        for names in [0, 1, 2].map(|form| (0..500).map(|n| naming(n)[form].clone()).collect::<Vec<_>>()) {
            let offsets: Vec<Duration> = names.iter().map(|name| offset(name, gap)).collect();
            assert!(offsets.iter().all(|&offset| offset < limit));
            if gap < minute {
                continue;
            }
            let mut buckets = [0; 20];
            for offset in offsets {
                buckets[(offset.as_millis() * 20 / limit.as_millis()) as usize] += 1;
            }
            // 25 each, were it perfect; 8 to 50 is within four standard deviations.
            assert!(buckets.iter().all(|count| (8..=50).contains(count)), "{gap:?} {buckets:?}");
        }
    }
}
