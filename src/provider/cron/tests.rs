//! Expressions beyond a year, nicknames, refusals, gaps and offsets. tests/unit/properties/schedule.rs compares
//! all else with an oracle.

use super::*;

fn schedule(text: &str) -> Schedule {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn leap_days_and_nicknames_mean_what_crontab_5_says() {
    let table: [(&str, &[&str]); 6] = [
        ("0 0 29 2 *", &["Tue 2028-02-29T00:00", "Sun 2032-02-29T00:00"]),
        ("@hourly", &["Thu 2026-01-01T01:00", "Thu 2026-01-01T02:00"]),
        ("@Daily", &["Fri 2026-01-02T00:00"]),
        ("@weekly", &["Sun 2026-01-04T00:00"]),
        ("@monthly", &["Sun 2026-02-01T00:00"]),
        ("@yearly", &["Fri 2027-01-01T00:00"]),
    ];
    for (text, want) in table {
        let mut at: DateTime<Utc> = "2026-01-01T00:00:00Z".parse().unwrap();
        for want in want {
            at = schedule(text).next_after(at, Tz::UTC).unwrap();
            assert_eq!(at.format("%a %Y-%m-%dT%H:%M").to_string(), *want, "{text}");
        }
    }
    assert_ne!(schedule("0 9 * * 7"), schedule("0 9 * * 6"));
}

#[test]
fn an_invalid_expression_is_refused_with_field_allowed_values_and_example() {
    let table = [
        (
            "",
            "'' has 0 fields; allowed are five (minute, hour, day of month, month, day of week) or six (seconds first), such as '*/5 * * * *'",
        ),
        ("* * * *", "'* * * *' has 4 fields"),
        (
            "60 * * * *",
            "minute '60' cannot be read; allowed are 0 to 59, '*', ranges from low to high, lists and steps, such as '*/15'",
        ),
        ("* 24 * * *", "hour '24' cannot be read; allowed are 0 to 23"),
        ("* * 0 * *", "day of month '0' cannot be read; allowed are 1 to 31"),
        ("* * * 13 *", "month '13' cannot be read; allowed are 1 to 12 or jan to dec"),
        ("* * * * 8", "day of week '8' cannot be read; allowed are 0 to 7 or sun to sat"),
        ("* * * * fri-sun", "day of week 'fri-sun'"),
        ("* * * * mon,5/2", "day of week 'mon,5/2'"),
        ("5/15 * * * *", "minute '5/15'"),
        ("*/0 * * * *", "minute '*/0'"),
        ("*/60 * * * *", "minute '*/60'"),
        ("+5 * * * *", "minute '+5'"),
        ("5* * * * *", "minute '5*'"),
        ("1- 5 * * * *", "second '1-'"),
        ("1,,2 * * * *", "minute '1,,2'"),
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
fn offsets_are_fixed_inside_the_tick_and_well_spread() {
    let minute = Duration::from_secs(60);
    assert_eq!(offset("main", minute), offset("main", minute));
    assert_eq!(offset("main", Duration::ZERO), Duration::ZERO);
    // A restart or an upgrade must not change an account's delay.
    assert_eq!(offset("main", minute), Duration::from_millis(3_147));
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
            // A perfect distribution has 25 each; 8 to 50 is within four standard deviations.
            assert!(buckets.iter().all(|count| (8..=50).contains(count)), "{gap:?} {buckets:?}");
        }
    }
}
