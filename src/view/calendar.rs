//! Cut-offs as calendars take them (RFC 5545): the last day to pay as a day, the cut-off as a moment. The same two events
//! an account in every mail and in the feed. Pure.

use std::fmt::Write as _;

use chrono::{DateTime, Days, Utc};

use super::cut_off::{CutOff, Payer};
use crate::alert::CalendarEntry;
use crate::model::AccountName;
use crate::model::forecast::Disconnect;
use crate::model::pay_by::last_day;

pub(crate) const MEDIA_TYPE: &str = "text/calendar; charset=utf-8";
/// Bytes of a line, without its end (RFC 5545, 3.1).
const LONGEST_LINE: usize = 75;

/// The cut-off of one account, as a calendar is told of it.
pub(crate) struct Deadline<'a> {
    pub account: &'a AccountName,
    pub entry: CalendarEntry,
    pub payer: Payer<'a>,
}

/// Whose events these are: part of what tells them from those of another installation with an account of the same name.
/// Nothing of the store, which may be lost.
#[derive(Clone, Copy)]
pub(crate) struct Publisher<'a> {
    /// `example.com`.
    pub domain: &'a str,
    /// The address that sends them, where they are sent.
    pub sender: Option<&'a str>,
}

/// What goes with a mail: the events as they are now, or that they are cancelled. `None` where there are none.
pub(crate) fn attachment<'a>(
    deadlines: impl Iterator<Item = Deadline<'a>>,
    publisher: Publisher<'_>,
    now: DateTime<Utc>,
) -> Option<String> {
    let mut deadlines = deadlines.peekable();
    deadlines.peek()?;
    Some(Lines::calendar(&[("METHOD", "PUBLISH")], deadlines, publisher, now))
}

/// What a calendar subscribes to: what is over is not in it.
pub(crate) fn feed<'a>(
    deadlines: impl Iterator<Item = Deadline<'a>>,
    domain: &str,
    now: DateTime<Utc>,
) -> String {
    // Outlook asks for names of its own.
    let head = [
        ("NAME", "hostwatch: cut-offs"),
        ("X-WR-CALNAME", "hostwatch: cut-offs"),
        ("REFRESH-INTERVAL;VALUE=DURATION", "PT1H"),
        ("X-PUBLISHED-TTL", "PT1H"),
    ];
    let ahead = deadlines.filter(|deadline| !deadline.entry.cancelled);
    Lines::calendar(&head, ahead, Publisher { domain, sender: None }, now)
}

/// One of an account's two events.
struct Moment {
    name: &'static str,
    /// The whole line, as that of the end. A moment has none (RFC 5545, 3.8.2.2).
    start: String,
    end: Option<String>,
    summary: String,
    /// How long before or after the start to remind.
    alarms: [&'static str; 2],
}

impl Deadline<'_> {
    /// The day by which to pay, where it can be computed, and the cut-off.
    fn moments(&self) -> impl Iterator<Item = Moment> {
        let (at, account) = (self.entry.cut_off, self.account);
        let computed = || last_day(at, self.payer.lead_days, self.payer.zone);
        let pay_by = self.entry.pay_by.or_else(computed).and_then(|day| {
            let date =
                |name: &str, day: chrono::NaiveDate| format!("{name};VALUE=DATE:{}", day.format("%Y%m%d"));
            Some(Moment {
                name: "pay-by",
                start: date("DTSTART", day),
                end: Some(date("DTEND", day.checked_add_days(Days::new(1))?)),
                summary: format!("Last day to pay for account {account}"),
                alarms: ["-PT15H", "PT9H"],
            })
        });
        let cut_off = Moment {
            name: "cut-off",
            start: format!("DTSTART:{}", moment(at)),
            end: None,
            summary: format!("Cut-off of account {account} for non-payment"),
            alarms: ["-P1D", "-PT2H"],
        };
        pay_by.into_iter().chain([cut_off])
    }
}

/// `20260310T041500Z`.
fn moment(at: DateTime<Utc>) -> impl std::fmt::Display {
    at.format("%Y%m%dT%H%M%SZ")
}

/// The lines of a calendar file. No clock and no chance in it: a mail that is sent twice is the same.
struct Lines(String);

impl Lines {
    fn calendar<'a>(
        head: &[(&str, &str)],
        deadlines: impl Iterator<Item = Deadline<'a>>,
        publisher: Publisher<'_>,
        now: DateTime<Utc>,
    ) -> String {
        let mut lines = Self(String::new());
        for line in ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//hostwatch//EN"] {
            lines.add(line);
        }
        for (name, value) in head {
            lines.add(&format!("{name}:{value}"));
        }
        for deadline in deadlines {
            for one in deadline.moments() {
                lines.event(&deadline, &one, publisher, now);
            }
        }
        lines.add("END:VCALENDAR");
        lines.0
    }

    /// Blocks nobody's time.
    fn event(&mut self, deadline: &Deadline<'_>, one: &Moment, publisher: Publisher<'_>, now: DateTime<Utc>) {
        let Deadline { account, entry, payer } = deadline;
        let organizer = publisher.sender.map(|sender| format!("ORGANIZER:mailto:{sender}"));
        let disconnect = Disconnect::At { at: entry.cut_off, computed: false };
        let said = text(&CutOff::of(disconnect, *payer, now).sentence());
        let status = if entry.cancelled { "CANCELLED" } else { "CONFIRMED" };
        for line in [
            "BEGIN:VEVENT",
            &format!("UID:{account}.{}@{}", one.name, publisher.domain),
            &format!("SEQUENCE:{}", entry.sequence),
            &format!("DTSTAMP:{}", moment(now)),
            &one.start,
        ] {
            self.add(line);
        }
        for line in one.end.iter().chain(&organizer) {
            self.add(line);
        }
        for line in
            [&format!("SUMMARY:{}", text(&one.summary)), &format!("STATUS:{status}"), "TRANSP:TRANSPARENT"]
        {
            self.add(line);
        }
        if !entry.cancelled {
            self.add(&format!("DESCRIPTION:{said}"));
            for before in one.alarms {
                self.add("BEGIN:VALARM");
                self.add("ACTION:DISPLAY");
                self.add(&format!("TRIGGER:{before}"));
                self.add(&format!("DESCRIPTION:{said}"));
                self.add("END:VALARM");
            }
        }
        self.add("END:VEVENT");
    }

    /// A line, folded where it is too long, never within a character.
    fn add(&mut self, line: &str) {
        let mut room = LONGEST_LINE;
        for c in line.chars() {
            if c.len_utf8() > room {
                self.0.push_str("\r\n ");
                room = LONGEST_LINE - 1;
            }
            room -= c.len_utf8();
            self.0.push(c);
        }
        self.0.push_str("\r\n");
    }
}

/// As the value of a text (RFC 5545, 3.3.11).
fn text(words: &str) -> String {
    let mut out = String::new();
    for c in words.chars() {
        match c {
            '\\' | ';' | ',' => {
                let _ = write!(out, "\\{c}");
            }
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use chrono_tz::Tz;

    use super::*;

    fn deadline(account: &AccountName, cancelled: bool) -> Deadline<'_> {
        let cut_off = "2026-03-09T21:00:00Z".parse().unwrap();
        let payer = Payer { report: None, currency: "RUB", lead_days: 3, zone: Tz::Europe__Moscow };
        Deadline { account, entry: CalendarEntry { sequence: 7, cut_off, pay_by: None, cancelled }, payer }
    }

    /// A cut-off at midnight of the account's zone belongs to the day that it ends.
    #[test]
    fn two_events_an_account() {
        let (account, now) = ("main".parse().unwrap(), "2026-03-01T12:00:00Z".parse().unwrap());
        let said = "DESCRIPTION:Cut-off Tue 10 Mar\\, in 8 d 9 h: pay by Fri 6 Mar\n";
        let alarm =
            |before: &str| format!("BEGIN:VALARM\nACTION:DISPLAY\nTRIGGER:{before}\n{said}END:VALARM\n");
        let event = |uid: &str, dates: &str, summary: &str, status: &str, rest: &str| {
            format!(
                "BEGIN:VEVENT\nUID:main.{uid}@example.com\nSEQUENCE:7\nDTSTAMP:20260301T120000Z\n{dates}\n\
                 SUMMARY:{summary}\nSTATUS:{status}\nTRANSP:TRANSPARENT\n{rest}END:VEVENT\n"
            )
        };
        let both = |organizer: &str, status: &str, pay_by: &str, cut_off: &str| {
            let day = format!("DTSTART;VALUE=DATE:20260306\nDTEND;VALUE=DATE:20260307{organizer}");
            let moment = format!("DTSTART:20260309T210000Z{organizer}");
            event("pay-by", &day, "Last day to pay for account main", status, pay_by)
                + &event("cut-off", &moment, "Cut-off of account main for non-payment", status, cut_off)
        };
        let calendar = |head: &str, events: &str| {
            let all = format!("BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:-//hostwatch//EN\n{head}{events}");
            (all + "END:VCALENDAR\n").replace('\n', "\r\n")
        };
        let text =
            feed([deadline(&account, false), deadline(&account, true)].into_iter(), "example.com", now);
        let head = "NAME:hostwatch: cut-offs\nX-WR-CALNAME:hostwatch: cut-offs\n\
                    REFRESH-INTERVAL;VALUE=DURATION:PT1H\nX-PUBLISHED-TTL:PT1H\n";
        let alarms = |all: [&str; 2]| format!("{said}{}{}", alarm(all[0]), alarm(all[1]));
        let ahead = both("", "CONFIRMED", &alarms(["-PT15H", "PT9H"]), &alarms(["-P1D", "-PT2H"]));
        assert_eq!(text, calendar(head, &ahead));
        let publisher = Publisher { domain: "example.com", sender: Some("hostwatch@example.com") };
        let of_mail = attachment([deadline(&account, true)].into_iter(), publisher, now).unwrap();
        let sent = both("\nORGANIZER:mailto:hostwatch@example.com", "CANCELLED", "", "");
        assert_eq!(of_mail, calendar("METHOD:PUBLISH\n", &sent));
        assert_eq!(attachment(std::iter::empty(), publisher, now), None);
    }

    #[test]
    fn long_lines_are_folded_between_characters() {
        let mut lines = Lines(String::new());
        lines.add(&"ж".repeat(100));
        let parts: Vec<&str> = lines.0.trim_end().split("\r\n ").collect();
        assert!(parts.iter().all(|part| part.len() < LONGEST_LINE), "{parts:?}");
        assert_eq!(parts.concat(), "ж".repeat(100));
        assert_eq!(text("a\\b;c,d\r\ne"), "a\\\\b\\;c\\,d  e");
    }
}
