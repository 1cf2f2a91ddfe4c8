//! The events that each recipient was mailed about each incident, read from the received mails and from the
//! store, in order.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use chrono::TimeDelta;
use mail_parser::MimeHeaders as _;
use rusqlite::{Connection, OpenFlags};

use super::audit::Verdict;
use super::history::{History, Moment};
use super::world::World;
use crate::common::smtp::Mail;

/// One event of one incident in a mail to one recipient.
#[derive(Clone, Debug)]
pub struct Told {
    /// The mail's own date, in whole seconds: it was decided within the second from there.
    pub date: Moment,
    pub event: String,
    pub message_id: String,
}

impl Told {
    pub fn until(&self) -> Moment {
        self.date + TimeDelta::seconds(1)
    }
}

/// Events by recipient and incident key.
pub type Book = BTreeMap<(String, String), Vec<Told>>;

/// Adds the mails of a server. Copies must have the same bytes, and the reply to the copy before must be lost.
/// Returns the mails that may have arrived without the daemon's knowledge.
pub fn copies(mails: &[Mail], history: &History, book: &mut Book, verdict: &mut Verdict) -> BTreeSet<String> {
    let mut last: BTreeMap<(String, String), &Mail> = BTreeMap::new();
    let mut doubtful = BTreeSet::new();
    for mail in mails.iter().filter(|mail| mail.accepted) {
        let (message_id, date, pairs) = read(&mail.raw);
        if !reply_arrived(mail, history) {
            doubtful.insert(message_id.clone());
        }
        for to in &mail.to {
            verdict.count("mails received", 1);
            let Some(before) = last.insert((to.clone(), message_id.clone()), mail) else {
                take(book, to, &message_id, date, &pairs);
                continue;
            };
            verdict.count("of these copies whose reply was lost", 1);
            if before.raw != mail.raw {
                verdict.wrong.push(format!("two mails {message_id} to {to} that differ"));
            }
            let excused = !before.answered || killed_between(before.at, mail.at, history);
            if !excused {
                verdict.twice.push(format!("{message_id} to {to}, whose reply was not lost: {pairs:?}"));
            }
        }
    }
    doubtful
}

/// Whether the daemon was killed in this time. The result is stored milliseconds after the reply, unless the
/// daemon is stopped at a step to be killed.
fn killed_between(from: Instant, to: Instant, history: &History) -> bool {
    let soon = from + Duration::from_secs(6);
    history.kills.iter().any(|(_, at)| *at >= from && *at <= to.min(soon))
}

fn reply_arrived(mail: &Mail, history: &History) -> bool {
    mail.answered && !killed_between(mail.at, mail.at + Duration::from_secs(6), history)
}

fn take(book: &mut Book, to: &str, message_id: &str, date: Moment, pairs: &[(String, String)]) {
    for (key, event) in pairs {
        let told = Told { date, event: event.clone(), message_id: message_id.to_owned() };
        book.entry((to.to_owned(), key.clone())).or_default().push(told);
    }
}

/// Message-ID, Date, incidents with their events: 50 stand in headers, all of more in an attachment.
pub fn read(raw: &[u8]) -> (String, Moment, Vec<(String, String)>) {
    let mail = mail_parser::MessageParser::default().parse(raw).unwrap();
    let all = |name: &str| -> Vec<String> {
        let of = mail.headers().iter().filter(|header| header.name().eq_ignore_ascii_case(name));
        of.map(|header| header.value().as_text().unwrap().trim().to_owned()).collect()
    };
    let date = Moment::from_timestamp(mail.date().unwrap().to_timestamp(), 0).unwrap();
    let attached = mail.attachments().find(|part| part.attachment_name() == Some("incidents.json"));
    let pairs = match attached {
        Some(part) => {
            let all: Vec<serde_json::Value> = serde_json::from_slice(part.contents()).unwrap();
            let text = |one: &serde_json::Value, name: &str| one[name].as_str().unwrap().to_owned();
            all.iter().map(|one| (text(one, "incident"), text(one, "event"))).collect()
        }
        None => all("X-Hostwatch-Incident").into_iter().zip(all("X-Hostwatch-Event")).collect(),
    };
    (mail.message_id().unwrap().to_owned(), date, pairs)
}

/// Mails that a server read and did not accept, while the daemon may think that it did.
pub fn perhaps_told(mails: &[Mail]) -> Book {
    let mut perhaps = Book::new();
    for mail in mails.iter().filter(|mail| !mail.accepted && !mail.answered) {
        let (message_id, date, pairs) = read(&mail.raw);
        for to in &mail.to {
            take(&mut perhaps, to, &message_id, date, &pairs);
        }
    }
    perhaps
}

/// The daemon's own reasons, for finding the cause of a failure.
pub fn decisions(world: &World) -> Vec<String> {
    let path = world.daemon.directory.path().join("hostwatch.db");
    let store = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    let mut all = Vec::new();
    for sql in [
        "SELECT decided_at, key, reason FROM decisions",
        "SELECT created_at, told, recipient || ' sent at ' || sent_at || ' ' || message_id FROM sent",
        "SELECT 'in flight', body, recipient FROM in_flight",
        "SELECT 'log', key || ' to ' || recipient, body FROM notification_log",
    ] {
        let mut query = store.prepare(sql).unwrap();
        let text = |row: &rusqlite::Row<'_>, index| row.get::<_, String>(index);
        let rows =
            query.query_map([], |row| Ok(format!("{}  {}: {}", text(row, 0)?, text(row, 1)?, text(row, 2)?)));
        all.extend(rows.unwrap().map(Result::unwrap));
    }
    all.sort();
    all
}

/// Sorts events of the same second. One that is told once more since a reply was lost keeps its place. Otherwise an
/// end comes first if the incident is open, and a beginning if it is not; then the order of arrival counts.
/// "was-down" is a beginning and an end, so it comes while the incident is not open.
pub fn in_order(mut rest: Vec<Told>, is_doubtful: impl Fn(&Told) -> bool) -> Vec<Told> {
    let mut ordered: Vec<Told> = Vec::with_capacity(rest.len());
    let mut open = false;
    while !rest.is_empty() {
        let same = rest.iter().take_while(|told| told.date == rest[0].date).count();
        let fits = |told: &Told| match told.event.as_str() {
            "resolved" | "removed" | "unwatched" => open,
            "opened" | "was-down" => !open,
            _ => false,
        };
        let is_again = ordered.last().is_some_and(|last| last.event == rest[0].event && is_doubtful(last));
        let place = if is_again { None } else { rest[..same].iter().position(fits) };
        let next = rest.remove(place.unwrap_or(0));
        open = next.event == "opened";
        ordered.push(next);
    }
    ordered
}
