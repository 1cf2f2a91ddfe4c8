//! Moments of the provider. Moments without an offset are in the account's time zone, with its DST changes.

use chrono::{DateTime, Datelike as _, LocalResult, NaiveDate, NaiveDateTime, NaiveTime, TimeZone, Utc};
use chrono_tz::{GapInfo, Tz};

/// Parses all forms that the provider may send: RFC 3339, with or without offset, a space in place of the `T`,
/// or a date alone (its midnight). Without an offset the account's zone is needed; otherwise the moment is
/// unknown.
pub(crate) fn parse_moment(text: &str, zone: Option<Tz>) -> Option<DateTime<Utc>> {
    let text = text.trim();
    // The year must have four digits, as in RFC 3339. chrono reads some 262,000 years, and its last ones
    // overflow in another zone.
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

/// A moment of the years 0 to 9999 in UTC. RFC 3339 has no others, and a written moment must be readable again.
pub(crate) fn of_four_digits(moment: DateTime<Utc>) -> Option<DateTime<Utc>> {
    (0..=9999).contains(&moment.year()).then_some(moment)
}

/// A moment in a zone from a time without an offset. If the hour comes twice, the earlier one counts. If it is
/// skipped, the moment of the jump counts. An early warning costs less than a late one.
pub(crate) fn at_zone(naive: NaiveDateTime, zone: Tz) -> DateTime<Utc> {
    match zone.from_local_datetime(&naive) {
        LocalResult::Single(moment) => moment.with_timezone(&Utc),
        LocalResult::Ambiguous(early, _) => early.with_timezone(&Utc),
        LocalResult::None => {
            let end = GapInfo::new(&naive, &zone).and_then(|gap| gap.end);
            end.map_or_else(|| naive.and_utc(), |end| end.to_utc())
        }
    }
}
