//! Days and moments as people read them: THE one form of each, for mails, page, terminal, reasons and logs. Pure.

use chrono::{DateTime, Datelike as _, NaiveDate, Utc};
use chrono_tz::Tz;

/// `Wed 4 Mar`, with the year when it is not this one.
pub(crate) fn day(date: NaiveDate, zone: Tz, now: DateTime<Utc>) -> String {
    with_year(date, "%a %-d %b", zone, now)
}

/// `4 Mar`, with the year when it is not this one.
pub(crate) fn short_day(date: NaiveDate, zone: Tz, now: DateTime<Utc>) -> String {
    with_year(date, "%-d %b", zone, now)
}

/// `Tue 24 Nov 07:15 MSK`, with the year when it is not this one.
pub(crate) fn moment(at: DateTime<Utc>, zone: Tz, now: DateTime<Utc>) -> String {
    let local = at.with_timezone(&zone);
    format!("{} {}", day(local.date_naive(), zone, now), local.format("%H:%M %Z"))
}

/// `Tue 24 Nov`: in what is kept, and read in whatever year.
pub(crate) fn kept_day(date: NaiveDate) -> String {
    date.format("%a %-d %b").to_string()
}

/// `Tue 24 Nov 07:15 MSK`: the same of a moment.
pub(crate) fn kept_moment(at: DateTime<Utc>, zone: Tz) -> String {
    let local = at.with_timezone(&zone);
    format!("{} {}", kept_day(local.date_naive()), local.format("%H:%M %Z"))
}

fn with_year(date: NaiveDate, form: &str, zone: Tz, now: DateTime<Utc>) -> String {
    let this_year = now.with_timezone(&zone).year() == date.year();
    let form = if this_year { form.to_owned() } else { format!("{form} %Y") };
    date.format(&form).to_string()
}
