//! What each recipient was mailed of each incident, read from the mails received and from the store, in order.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use chrono::TimeDelta;
use rusqlite::{Connection, OpenFlags};

use super::audit::Verdict;
use super::history::{History, Moment};
use super::world::World;
use crate::common::smtp::Mail;

/// One event of one incident, as one recipient was told of it.
#[derive(Clone, Debug)]
pub struct Told {
    /// The mail's own, in whole seconds: decided within the second from there.
    pub date: Moment,
    pub event: String,
    pub message_id: String,
    /// Not given up, and not replaced before it was tried.
    pub arrived: bool,
    /// The first since its account is watched again: it says how it stands, whether that is new or not.
    pub again: bool,
}

impl Told {
    pub fn until(&self) -> Moment {
        self.date + TimeDelta::seconds(1)
    }
}

/// By recipient and incident key.
pub type Book = BTreeMap<(String, String), Vec<Told>>;

/// Takes in what the servers have. Copies are the same to the byte, and the reply to the one before was lost.
/// Returns the mails of which the daemon may not have known that they arrived.
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
                take(book, to, &message_id, date, &pairs, true);
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

/// The result is kept milliseconds after the reply, but for a step at which the daemon is stopped to be killed.
fn killed_between(from: Instant, to: Instant, history: &History) -> bool {
    let soon = from + Duration::from_secs(6);
    history.kills.iter().any(|(_, at)| *at >= from && *at <= to.min(soon))
}

fn reply_arrived(mail: &Mail, history: &History) -> bool {
    mail.answered && !killed_between(mail.at, mail.at + Duration::from_secs(6), history)
}

fn take(
    book: &mut Book,
    to: &str,
    message_id: &str,
    date: Moment,
    pairs: &[(String, String)],
    arrived: bool,
) {
    for (key, event) in pairs {
        let told =
            Told { date, event: event.clone(), message_id: message_id.to_owned(), arrived, again: false };
        book.entry((to.to_owned(), key.clone())).or_default().push(told);
    }
}

/// Message-ID, Date, incidents with their events.
pub fn read(raw: &[u8]) -> (String, Moment, Vec<(String, String)>) {
    let mail = mail_parser::MessageParser::default().parse(raw).unwrap();
    let all = |name: &str| -> Vec<String> {
        let of = mail.headers().iter().filter(|header| header.name().eq_ignore_ascii_case(name));
        of.map(|header| header.value().as_text().unwrap().trim().to_owned()).collect()
    };
    let date = Moment::from_timestamp(mail.date().unwrap().to_timestamp(), 0).unwrap();
    let pairs = all("X-Hostwatch-Incident").into_iter().zip(all("X-Hostwatch-Event")).collect();
    (mail.message_id().unwrap().to_owned(), date, pairs)
}

/// What was refused for good counts as said, for a later mail of its account says so. It may have been received all
/// the same, where that reply was lost. Who was mailed of flapping that a newer mail replaced hears the end once it is
/// quiet. Returns the recipients and incidents of mails that may have arrived and were replaced.
pub fn given_up(
    world: &World,
    refused: usize,
    mails: &[Mail],
    book: &mut Book,
    verdict: &mut Verdict,
) -> BTreeSet<(String, String)> {
    let received: Vec<Received<'_>> = mails.iter().filter(|mail| mail.accepted).map(Received::of).collect();
    let path = world.daemon.directory.path().join("hostwatch.db");
    let store = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    let mut query = store
        .prepare(
            "SELECT e.state, e.recipient, m.raw, e.perhaps, m.subject, e.ended_at
             FROM envelopes e JOIN messages m USING (message_id)",
        )
        .unwrap();
    let rows = query.query_map([], |row| {
        Ok((
            row.get::<_, String>(0)?,
            row.get::<_, String>(1)?,
            row.get::<_, Vec<u8>>(2)?,
            row.get::<_, bool>(3)?,
            row.get::<_, String>(4)?,
            row.get::<_, Option<String>>(5)?.map(|at| at.parse::<Moment>().unwrap()),
        ))
    });
    let (mut dead, mut replaced) = (0, BTreeSet::new());
    for (state, to, raw, perhaps, subject, ended) in rows.unwrap().map(Result::unwrap) {
        match state.as_str() {
            "dead" => {
                dead += 1;
                let (message_id, date, pairs) = read(&raw);
                if received.iter().any(|mail| mail.to.contains(&to) && mail.message_id == message_id) {
                    continue;
                }
                let is_later = |mail: &&Received<'_>| {
                    mail.to.contains(&to) && ended.is_some_and(|ended| mail.date > ended)
                };
                let mut later = received.iter().filter(is_later).peekable();
                if later.peek().is_some() && !later.any(|mail| mail.says(&subject)) {
                    verdict.lost.push(format!("that {subject:?} to {to} was given up"));
                }
                take(book, &to, &message_id, date, &pairs, false);
            }
            "withdrawn" => {
                let (message_id, date, pairs) = read(&raw);
                let flapping: Vec<_> = pairs.iter().filter(|pair| pair.1 == "flapping").cloned().collect();
                take(book, &to, &message_id, date, &flapping, false);
                if perhaps {
                    verdict.count("mails that may have arrived, and that a newer one replaced", 1);
                    replaced.extend(pairs.into_iter().map(|(key, _)| (to.clone(), key)));
                } else {
                    verdict.count("mails that a newer one replaced unsent", 1);
                }
            }
            "sent" => {}
            other => verdict.lost.push(format!("a mail to {to} is still {other}")),
        }
    }
    verdict.count("mails given up: refused with 550, and said so", dead);
    if dead > refused {
        verdict.lost.push(format!("{dead} mails given up, and the servers refused {refused}"));
    }
    replaced
}

/// A mail that a server took.
struct Received<'a> {
    to: &'a [String],
    message_id: String,
    date: Moment,
    words: String,
}

impl<'a> Received<'a> {
    fn of(mail: &'a Mail) -> Self {
        let (message_id, date, _) = read(&mail.raw);
        let parsed = mail_parser::MessageParser::default().parse(&mail.raw).unwrap();
        let words = in_one_line(&parsed.body_text(0).unwrap());
        Self { to: &mail.to, message_id, date, words }
    }

    fn says(&self, subject: &str) -> bool {
        self.words.contains(&in_one_line(subject))
    }
}

fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The daemon's own reasons, for whoever has to find out why.
pub fn decisions(world: &World) -> Vec<String> {
    let path = world.daemon.directory.path().join("hostwatch.db");
    let store = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    let mut all = Vec::new();
    for sql in [
        "SELECT decided_at, key, reason FROM decisions",
        "SELECT m.created_at, m.told, e.recipient || ' ' || e.state || ' after ' || e.attempts || ' attempts, ended '
           || coalesce(e.ended_at, 'never') || ' ' || m.message_id FROM envelopes e JOIN messages m USING (message_id)",
    ] {
        let mut query = store.prepare(sql).unwrap();
        let text = |row: &rusqlite::Row<'_>, index| row.get::<_, String>(index);
        let rows = query.query_map([], |row| {
            Ok(format!("{}  {}: {}", text(row, 0)?, text(row, 1)?, text(row, 2)?))
        });
        all.extend(rows.unwrap().map(Result::unwrap));
    }
    all.sort();
    all
}

/// Leaves out that an account was no longer watched, and that what was still wrong was told again once it was; of a
/// date, which may have moved meanwhile, marks it, and what else is told as it was told before.
pub fn watched_again(told: Vec<Told>, away: &[Moment]) -> Vec<Told> {
    let mut left = Vec::with_capacity(told.len());
    let mut again = false;
    let (mut before, mut since) = (BTreeSet::new(), BTreeSet::new());
    for mut told in told {
        since.insert(told.event.clone());
        let moved = ["rung:", "paid:", "extended:"].iter().any(|event| told.event.starts_with(event));
        if told.event == "unwatched" && away.iter().any(|from| told.until() > *from) {
            again = true;
            before.append(&mut since);
        } else if moved && before.contains(&told.event) {
            again = false;
            told.again = true;
            left.push(told);
        } else if std::mem::take(&mut again) && (told.event == "opened" || moved) {
            told.again = true;
            left.extend(moved.then_some(told));
        } else {
            left.push(told);
        }
    }
    left
}

/// Of events in one second an end comes first where something is open.
pub fn in_order(mut rest: Vec<Told>) -> Vec<Told> {
    let mut ordered = Vec::with_capacity(rest.len());
    let mut open = false;
    while !rest.is_empty() {
        let same = rest.iter().take_while(|told| told.date == rest[0].date).count();
        let ends =
            |told: &Told| matches!(told.event.as_str(), "resolved" | "removed" | "was-down" | "unwatched");
        let fits = |told: &Told| if open { ends(told) } else { told.event == "opened" };
        let next = rest.remove(rest[..same].iter().position(fits).unwrap_or(0));
        open = next.event == "opened";
        ordered.push(next);
    }
    ordered
}
