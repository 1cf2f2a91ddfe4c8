//! Moments of the provider. Moments without an offset are in the account's time zone, with its DST changes.

use chrono::{DateTime, Datelike as _, LocalResult, NaiveDate, NaiveDateTime, TimeZone, Utc};
use chrono_tz::{GapInfo, Tz};

/// A datetime of the provider as it is written.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Stamp {
    Utc(DateTime<Utc>),
    /// Without an offset.
    Wall(NaiveDateTime),
}

impl Stamp {
    /// Reads all forms that the provider may send: RFC 3339, with or without offset, a space in place of the `T`,
    /// or a date alone (its midnight). The usual form is tried first, since a page has two of them in every row.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        // The year must have four digits, as in RFC 3339. chrono reads some 262,000 years, and its last ones
        // overflow in another zone.
        let has_year =
            text.bytes().take(4).all(|byte| byte.is_ascii_digit()) && text.as_bytes().get(4) == Some(&b'-');
        if text.len() > 64 || !has_year {
            return None;
        }
        if let Ok(wall) = text.parse() {
            return Some(Self::Wall(wall));
        }
        if let Ok(moment) = text.parse::<DateTime<Utc>>() {
            return of_four_digits(moment).map(Self::Utc);
        }
        let wall = |form| NaiveDateTime::parse_from_str(text, form);
        wall("%Y-%m-%d %H:%M:%S%.f")
            .or_else(|_| wall("%Y-%m-%dT%H:%M"))
            .or_else(|_| wall("%Y-%m-%d %H:%M"))
            .or_else(|_| text.parse::<NaiveDate>().map(NaiveDateTime::from))
            .ok()
            .map(Self::Wall)
    }

    /// The moment. `None` if the account's zone is needed and not known.
    pub(crate) fn at(self, zone: Option<Tz>) -> Option<DateTime<Utc>> {
        match self {
            Self::Utc(at) => Some(at),
            Self::Wall(wall) => Some(of_four_digits(at_zone(wall, zone?)).unwrap_or_else(|| wall.and_utc())),
        }
    }
}

/// A moment of the years 0 to 9999 in UTC. RFC 3339 has no others, and a written moment must be readable again.
fn of_four_digits(moment: DateTime<Utc>) -> Option<DateTime<Utc>> {
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
