//! The last days to pay as calendar events (RFC 5545). Each account has the same event in every mail and in the
//! feed. Pure.

use std::fmt::Write as _;

use chrono::{Duration, NaiveDate};

use super::payer::Payer;
use super::reader::Reader;
use crate::alert::CalendarEntry;
use crate::model::pay_by::last_day;
use crate::model::{AccountName, say};

pub(crate) const MEDIA_TYPE: &str = "text/calendar; charset=utf-8";
/// The maximum bytes of a line, without its end (RFC 5545, 3.1).
const LONGEST_LINE: usize = 75;

/// The cut-off of one account and the facts that its event shows.
pub(crate) struct Deadline<'a> {
    pub account: &'a AccountName,
    pub entry: CalendarEntry,
    pub payer: Payer<'a>,
}

/// The installation that publishes the events. It is a part of their ids, so that accounts of the same name in
/// two installations differ. It does not come from the store, which may be lost.
#[derive(Clone, Copy)]
pub(crate) struct Publisher<'a> {
    /// `example.com`.
    pub domain: &'a str,
    /// The sender's address, if the events are sent by mail.
    pub sender: Option<&'a str>,
}

/// The calendar files of a mail, each with its name: one event each, present or cancelled, since many programs read the
/// first event of a file alone.
pub(crate) fn attachments<'a>(
    deadlines: impl Iterator<Item = Deadline<'a>>,
    publisher: Publisher<'_>,
) -> Vec<(String, String)> {
    let deadlines: Vec<Deadline<'_>> = deadlines.collect();
    let is_one = deadlines.len() == 1;
    let file = |deadline: &Deadline<'_>| {
        let day = deadline.day_to_pay()?;
        let method = if deadline.entry.cancelled { "CANCEL" } else { "PUBLISH" };
        let mut lines = Lines::begin(&[("METHOD", method)]);
        lines.event(deadline, day, publisher);
        let account = if is_one { String::new() } else { format!("{}-", deadline.account) };
        Some((format!("{account}pay-by.ics"), lines.end()))
    };
    deadlines.iter().filter_map(file).collect()
}

/// The feed that a calendar subscribes to. Events of cut-offs that are over are left out.
pub(crate) fn feed<'a>(deadlines: impl Iterator<Item = Deadline<'a>>, domain: &str) -> String {
    // Outlook reads its own properties for the name.
    let head = [
        ("NAME", "hostwatch: cut-offs"),
        ("X-WR-CALNAME", "hostwatch: cut-offs"),
        ("REFRESH-INTERVAL;VALUE=DURATION", "PT1H"),
        ("X-PUBLISHED-TTL", "PT1H"),
    ];
    let mut lines = Lines::begin(&head);
    let mut is_empty = true;
    for deadline in deadlines.filter(|deadline| !deadline.entry.cancelled) {
        if let Some(day) = deadline.day_to_pay() {
            is_empty = false;
            lines.event(&deadline, day, Publisher { domain, sender: None });
        }
    }
    if is_empty {
        // A calendar has at least one component (RFC 5545, 3.4).
        UTC_ZONE.iter().for_each(|line| lines.add(line));
    }
    lines.end()
}

const UTC_ZONE: [&str; 8] = [
    "BEGIN:VTIMEZONE",
    "TZID:UTC",
    "BEGIN:STANDARD",
    "DTSTART:19700101T000000",
    "TZOFFSETFROM:+0000",
    "TZOFFSETTO:+0000",
    "END:STANDARD",
    "END:VTIMEZONE",
];

/// The times of the reminders, counted from the start of the day.
const ALARMS: [&str; 2] = ["-PT15H", "PT9H"];

impl Deadline<'_> {
    fn summary(&self, is_over: bool) -> String {
        let (account, language) = (self.account, self.payer.reader.language);
        match is_over {
            false => {
                say!(
                    language,
                    "Last day to pay for account {account}",
                    "Последний день оплаты аккаунта {account}"
                )
            }
            true => say!(language, "Pay for account {account} now", "Оплатите аккаунт {account} сейчас"),
        }
    }

    /// The dates in words. They are read days later, so they name no span and no amount.
    fn said(&self, (day, is_over): (NaiveDate, bool)) -> String {
        let reader = self.payer.reader;
        let at = reader.moment(self.entry.cut_off);
        let by = match is_over {
            true => reader.language.pick(" Pay now.", " Оплатите сейчас.").to_owned(),
            false => {
                let day = reader.day(day);
                say!(reader.language, " Pay by {day}.", " Оплатите до {day} включительно.")
            }
        };
        say!(reader.language, "Cut-off {at}.{by}", "Отключение {at}.{by}")
    }

    /// The last day to pay, if it can be computed. After it, today, until the cut-off.
    fn day_to_pay(&self) -> Option<(NaiveDate, bool)> {
        let Payer { lead_days, reader: reader @ Reader { zone, now, .. }, .. } = self.payer;
        let CalendarEntry { cut_off, cancelled, .. } = self.entry;
        let last = self.entry.pay_by.or_else(|| last_day(cut_off, lead_days, zone))?;
        // A cut-off at midnight belongs to the day that it ends.
        let today = reader.date(now.min(cut_off - Duration::seconds(1)));
        Some(if cancelled || last >= today { (last, false) } else { (today, true) })
    }
}

/// The lines of a calendar file. They depend on neither clock nor chance, so that a mail that is sent twice has
/// the same bytes.
struct Lines(String);

impl Lines {
    fn begin(head: &[(&str, &str)]) -> Self {
        let mut lines = Self(String::new());
        for line in ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//hostwatch//EN"] {
            lines.add(line);
        }
        for (name, value) in head {
            lines.add(&format!("{name}:{value}"));
        }
        lines
    }

    fn end(mut self) -> String {
        self.add("END:VCALENDAR");
        self.0
    }

    /// Writes an event, which blocks nobody's time.
    fn event(&mut self, deadline: &Deadline<'_>, day: (NaiveDate, bool), publisher: Publisher<'_>) {
        let Deadline { account, entry, .. } = deadline;
        let said = text(&deadline.said(day));
        let (day, is_over) = day;
        // While the event moves with today, each day has a later stamp: the number counts moves of the date alone.
        let today = day.and_time(chrono::NaiveTime::MIN).and_utc();
        let stamp = if is_over { entry.changed_at.max(today) } else { entry.changed_at };
        let status = if entry.cancelled { "CANCELLED" } else { "CONFIRMED" };
        self.add("BEGIN:VEVENT");
        self.add(&format!("UID:{account}.pay-by@{}", publisher.domain));
        self.add(&format!("SEQUENCE:{}", entry.sequence));
        self.add(&format!("DTSTAMP:{}", stamp.format("%Y%m%dT%H%M%SZ")));
        self.add(&format!("DTSTART;VALUE=DATE:{}", day.format("%Y%m%d")));
        self.add(&format!("DTEND;VALUE=DATE:{}", day.succ_opt().unwrap_or(day).format("%Y%m%d")));
        publisher.sender.iter().for_each(|sender| self.add(&format!("ORGANIZER:mailto:{sender}")));
        self.add(&format!("SUMMARY:{}", text(&deadline.summary(is_over))));
        self.add(&format!("STATUS:{status}"));
        self.add("TRANSP:TRANSPARENT");
        if !entry.cancelled {
            self.add(&format!("DESCRIPTION:{said}"));
            for before in ALARMS {
                self.add("BEGIN:VALARM");
                self.add("ACTION:DISPLAY");
                self.add(&format!("TRIGGER:{before}"));
                self.add(&format!("DESCRIPTION:{said}"));
                self.add("END:VALARM");
            }
        }
        self.add("END:VEVENT");
    }

    /// Adds a line; a long one is folded between characters.
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

/// Escapes a text value (RFC 5545, 3.3.11).
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
    use chrono::{DateTime, Utc};
    use chrono_tz::Tz;

    use super::*;

    fn deadline(account: &AccountName, cancelled: bool, now: DateTime<Utc>) -> Deadline<'_> {
        let cut_off = "2026-03-09T21:00:00Z".parse().unwrap();
        let reader = Reader::english(Tz::Europe__Moscow, now);
        let payer = Payer { report: None, unread_since: None, currency: "RUB", lead_days: 3, reader };
        let entry = CalendarEntry {
            sequence: 7,
            cut_off,
            pay_by: None,
            cancelled,
            changed_at: "2026-03-01T12:00:00Z".parse().unwrap(),
        };
        Deadline { account, entry, payer }
    }

    /// A cut-off at midnight in the account's zone belongs to the day that it ends.
    #[test]
    fn one_event_an_account() {
        let (account, now) = ("main".parse().unwrap(), "2026-03-01T12:00:00Z".parse().unwrap());
        let said = "DESCRIPTION:Cut-off Tue 10 Mar 00:00 MSK. Pay by Fri 6 Mar.\n";
        let alarm =
            |before: &str| format!("BEGIN:VALARM\nACTION:DISPLAY\nTRIGGER:{before}\n{said}END:VALARM\n");
        let event = |organizer: &str, status: &str, rest: &str| {
            format!(
                "BEGIN:VEVENT\nUID:main.pay-by@example.com\nSEQUENCE:7\nDTSTAMP:20260301T120000Z\n\
                 DTSTART;VALUE=DATE:20260306\nDTEND;VALUE=DATE:20260307\n{organizer}\
                 SUMMARY:Last day to pay for account main\nSTATUS:{status}\nTRANSP:TRANSPARENT\n{rest}END:VEVENT\n"
            )
        };
        let calendar = |head: &str, events: &str| {
            let all = format!("BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:-//hostwatch//EN\n{head}{events}");
            (all + "END:VCALENDAR\n").replace('\n', "\r\n")
        };
        let both_accounts = [deadline(&account, false, now), deadline(&account, true, now)];
        let text = feed(both_accounts.into_iter(), "example.com");
        let head = "NAME:hostwatch: cut-offs\nX-WR-CALNAME:hostwatch: cut-offs\n\
                    REFRESH-INTERVAL;VALUE=DURATION:PT1H\nX-PUBLISHED-TTL:PT1H\n";
        let alarms = format!("{said}{}{}", alarm("-PT15H"), alarm("PT9H"));
        assert_eq!(text, calendar(head, &event("", "CONFIRMED", &alarms)));
        let publisher = Publisher { domain: "example.com", sender: Some("hostwatch@example.com") };
        let sent = event("ORGANIZER:mailto:hostwatch@example.com\n", "CANCELLED", "");
        let of_mail = attachments([deadline(&account, true, now)].into_iter(), publisher);
        assert_eq!(of_mail, [("pay-by.ics".to_owned(), calendar("METHOD:CANCEL\n", &sent))]);
        assert_eq!(attachments(std::iter::empty(), publisher), []);
        let empty = feed([deadline(&account, true, now)].into_iter(), "example.com");
        assert!(empty.contains("BEGIN:VTIMEZONE") && !empty.contains("VEVENT"), "{empty}");
    }

    /// A calendar that asks again gets the same bytes.
    #[test]
    fn the_feed_changes_with_the_date_alone() {
        let account = "main".parse().unwrap();
        let at = |now: &str| {
            let changed_at = "2026-03-01T12:00:00Z".parse().unwrap();
            let one = deadline(&account, false, now.parse().unwrap());
            let entry = CalendarEntry { changed_at, ..one.entry };
            feed([Deadline { entry, ..one }].into_iter(), "example.com")
        };
        assert_eq!(at("2026-03-01T12:00:00Z"), at("2026-03-05T23:00:00Z"));
    }

    /// The cut-off is at midnight in Moscow, so the last day to pay is Friday the 6th.
    #[test]
    fn after_the_last_safe_day_the_calendar_has_an_event_each_day_until_the_cut_off() {
        let account = "main".parse().unwrap();
        for (now, cancelled, day, summary) in [
            ("2026-03-06T20:59:59Z", false, "20260306", "Last day to pay for account main"),
            ("2026-03-06T21:00:00Z", false, "20260307", "Pay for account main now"),
            ("2026-03-09T20:59:59Z", false, "20260309", "Pay for account main now"),
            ("2026-03-12T12:00:00Z", false, "20260309", "Pay for account main now"),
            ("2026-03-08T12:00:00Z", true, "20260306", "Last day to pay for account main"),
        ] {
            let deadline = deadline(&account, cancelled, now.parse().unwrap());
            let found = deadline.day_to_pay().unwrap();
            assert_eq!(found.0.format("%Y%m%d").to_string(), day, "{now}");
            assert_eq!(deadline.summary(found.1), summary, "{now}");
            assert_eq!(deadline.said(found).ends_with("MSK. Pay now."), summary.ends_with("now"), "{now}");
            // A calendar takes an event of the same number for new only by its stamp.
            let written = feed([deadline].into_iter(), "example.com");
            let stamp =
                if summary.ends_with("now") { format!("{day}T000000Z") } else { "20260301T".to_owned() };
            assert!(cancelled || written.contains(&format!("DTSTAMP:{stamp}")), "{now}: {written}");
        }
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
