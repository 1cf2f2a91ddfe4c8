//! Moments of the provider: naive ones are read in the account's time zone, across DST changes.

use chrono::{
    DateTime, Datelike as _, Duration, LocalResult, NaiveDate, NaiveDateTime, NaiveTime, TimeZone,
    Timelike as _, Utc,
};
use chrono_tz::Tz;

/// Reads any form the provider may send: RFC 3339, with or without offset, a space for the `T`, or a
/// date alone (its midnight). Without an offset it needs the account's zone, else it is unknown.
pub(crate) fn parse_moment(text: &str, zone: Option<Tz>) -> Option<DateTime<Utc>> {
    let text = text.trim();
    // Four digits of a year, as RFC 3339 has it: chrono reads some 262,000 years, and those at the end of them
    // are past it in another zone.
    let has_year = text.len() > 4
        && text.bytes().take(4).all(|byte| byte.is_ascii_digit())
        && text.as_bytes()[4] == b'-';
    if text.len() > 64 || !text.is_ascii() || !has_year {
        return None;
    }
    let iso = match text.as_bytes().get(10) {
        Some(b' ') => format!("{}T{}", &text[..10], &text[11..]),
        _ => text.to_owned(),
    };
    if let Ok(moment) = DateTime::parse_from_rfc3339(&iso) {
        return of_four_digits(moment.with_timezone(&Utc));
    }
    if let Ok(moment) = DateTime::parse_from_str(&iso, "%Y-%m-%dT%H:%M:%S%.f%z") {
        return of_four_digits(moment.with_timezone(&Utc));
    }
    let naive = NaiveDateTime::parse_from_str(&iso, "%Y-%m-%dT%H:%M:%S%.f")
        .or_else(|_| NaiveDateTime::parse_from_str(&iso, "%Y-%m-%dT%H:%M"))
        .or_else(|_| NaiveDate::parse_from_str(&iso, "%Y-%m-%d").map(|date| date.and_time(NaiveTime::MIN)))
        .ok()?;
    of_four_digits(at_zone(naive, zone?))
}

/// A moment of the years 0 to 9999 in UTC: RFC 3339 has no others, and what is written of it has to be read again.
pub(crate) fn of_four_digits(moment: DateTime<Utc>) -> Option<DateTime<Utc>> {
    (0..=9999).contains(&moment.year()).then_some(moment)
}

/// A naive moment in a zone. Of an hour that comes twice the earlier one counts, for a skipped hour the moment at
/// which the clock jumped: an early warning costs less than a late one.
pub(crate) fn at_zone(naive: NaiveDateTime, zone: Tz) -> DateTime<Utc> {
    match zone.from_local_datetime(&naive) {
        LocalResult::Single(moment) => moment.with_timezone(&Utc),
        LocalResult::Ambiguous(early, _) => early.with_timezone(&Utc),
        LocalResult::None => {
            // No zone has ever skipped more than a day; step to the first minute that exists.
            let whole = naive.with_second(0).and_then(|naive| naive.with_nanosecond(0));
            let mut probe = whole.unwrap_or(naive);
            for _ in 0..(25 * 60) {
                let Some(later) = probe.checked_add_signed(Duration::minutes(1)) else { break };
                probe = later;
                if let Some(moment) = zone.from_local_datetime(&probe).earliest() {
                    return moment.with_timezone(&Utc);
                }
            }
            naive.and_utc()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_a_moment_is_read() {
        let moscow = Some(chrono_tz::Europe::Moscow);
        let table = [
            ("2026-03-01T12:00:00", "2026-03-01T09:00:00Z"),
            ("2026-03-01 12:00:00", "2026-03-01T09:00:00Z"),
            ("2026-03-01 12:00:00.250", "2026-03-01T09:00:00.250Z"),
            ("2026-03-01", "2026-02-28T21:00:00Z"),
            ("2026-03-01T12:00:00Z", "2026-03-01T12:00:00Z"),
            ("2026-03-01T12:00:00+05:00", "2026-03-01T07:00:00Z"),
            ("2026-03-01 12:00:00+0500", "2026-03-01T07:00:00Z"),
            ("2026-03-01 12:00:00+05:00", "2026-03-01T07:00:00Z"),
        ];
        for (text, want) in table {
            let want = DateTime::parse_from_rfc3339(want).unwrap();
            assert_eq!(parse_moment(text, moscow), Some(want.with_timezone(&Utc)), "{text}");
        }
        for bad in ["", "soon", "2026-13-01", "01.03.2026", "1767225600", "2026-03-01T25:00:00"] {
            assert_eq!(parse_moment(bad, moscow), None, "{bad}");
        }
        assert_eq!(parse_moment("2026-03-01T12:00:00", None), None, "a naive moment needs a zone");
        assert!(parse_moment("2026-03-01T12:00:00Z", None).is_some());
    }
}
