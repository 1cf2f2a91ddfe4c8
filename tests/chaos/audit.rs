//! What happened against what was mailed, by recipient and incident: nothing lost, nothing twice, nothing wrong. It
//! reads the mails as their recipients do, and asks no code of ours for its opinion.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::{Duration, Instant};

use chrono::TimeDelta;
use rusqlite::{Connection, OpenFlags};

use crate::common::smtp::Mail;
use crate::history::{History, Line, Moment, Span};
use crate::ladder::Expected;
use crate::world::World;

/// One event of one incident, as one recipient was told of it.
#[derive(Clone, Debug)]
struct Told {
    /// The mail's own, in whole seconds: decided within the second from there.
    date: Moment,
    event: String,
    message_id: String,
}

impl Told {
    fn until(&self) -> Moment {
        self.date + TimeDelta::seconds(1)
    }
}

/// What the comparison found.
#[derive(Default, Debug)]
pub struct Verdict {
    pub lost: Vec<String>,
    pub twice: Vec<String>,
    pub wrong: Vec<String>,
    /// Counts worth a line in a report.
    pub counts: BTreeMap<&'static str, usize>,
}

impl Verdict {
    pub fn is_clean(&self) -> bool {
        self.lost.is_empty() && self.twice.is_empty() && self.wrong.is_empty()
    }

    fn count(&mut self, what: &'static str, by: usize) {
        *self.counts.entry(what).or_default() += by;
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (what, count) in &self.counts {
            writeln!(f, "  {count:6}  {what}")?;
        }
        for (what, list) in [("lost", &self.lost), ("twice", &self.twice), ("wrong", &self.wrong)] {
            writeln!(f, "  {:6}  {what}", list.len())?;
            for one in list.iter().take(20) {
                writeln!(f, "          {one}")?;
            }
        }
        Ok(())
    }
}

/// By recipient and incident key.
type Book = BTreeMap<(String, String), Vec<Told>>;

/// Compares. The daemon has stopped, and nothing waits.
pub fn audit(world: &World) -> Verdict {
    let mut verdict = Verdict::default();
    let (mails, acts) = world.mails();
    let mut book = Book::new();
    let doubtful = copies(&mails, &world.history, &mut book, &mut verdict);
    let refused: usize = ["Rcpt 550", "Data 550", "Dot 550"].iter().filter_map(|act| acts.get(*act)).sum();
    let received = mails.iter().filter(|mail| mail.accepted).flat_map(|mail| {
        let (message_id, ..) = read(&mail.raw);
        mail.to.iter().map(move |to| (to.clone(), message_id.clone()))
    });
    given_up(world, refused, &received.collect(), &mut book, &mut verdict);
    let mut auditor = Auditor { history: &world.history, doubtful, verdict };
    auditor.everyone_was_told_of_the_start(world, &book);
    for account in &world.accounts {
        for to in account.recipients() {
            auditor.account(account.name, &to, &mut book);
        }
    }
    for ((to, key), told) in book.iter().filter(|(_, told)| !told.is_empty()) {
        let events: Vec<&str> = told.iter().map(|told| told.event.as_str()).collect();
        auditor.verdict.wrong.push(format!("{key} to {to}: nothing of the kind happened: {events:?}"));
    }
    auditor.verdict
}

/// Takes in what the servers have. Copies are the same to the byte, and the reply to the one before was lost.
/// Returns the mails of which the daemon may not have known that they arrived.
fn copies(mails: &[Mail], history: &History, book: &mut Book, verdict: &mut Verdict) -> BTreeSet<String> {
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

/// The result is kept milliseconds after the reply, but for a step at which the daemon is stopped to be killed.
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

/// Message-ID, Date, incidents with their events.
fn read(raw: &[u8]) -> (String, Moment, Vec<(String, String)>) {
    let mail = mail_parser::MessageParser::default().parse(raw).unwrap();
    let all = |name: &str| -> Vec<String> {
        let of = mail.headers().iter().filter(|header| header.name().eq_ignore_ascii_case(name));
        of.map(|header| header.value().as_text().unwrap().trim().to_owned()).collect()
    };
    let date = Moment::from_timestamp(mail.date().unwrap().to_timestamp(), 0).unwrap();
    let pairs = all("X-Hostwatch-Incident").into_iter().zip(all("X-Hostwatch-Event")).collect();
    (mail.message_id().unwrap().to_owned(), date, pairs)
}

/// What was refused for good counts as told: the store says so, and the next mail does. It may have been received all
/// the same, where that reply was lost.
fn given_up(
    world: &World,
    refused: usize,
    received: &BTreeSet<(String, String)>,
    book: &mut Book,
    verdict: &mut Verdict,
) {
    let path = world.daemon.directory.path().join("hostwatch.db");
    let store = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    let mut query = store
        .prepare("SELECT e.state, e.recipient, m.raw FROM envelopes e JOIN messages m USING (message_id)")
        .unwrap();
    let rows = query.query_map([], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, Vec<u8>>(2)?))
    });
    let mut dead = 0;
    for (state, to, raw) in rows.unwrap().map(Result::unwrap) {
        match state.as_str() {
            "dead" => {
                dead += 1;
                let (message_id, date, pairs) = read(&raw);
                if !received.contains(&(to.clone(), message_id.clone())) {
                    take(book, &to, &message_id, date, &pairs);
                }
            }
            "withdrawn" => verdict.count("mails that a newer one replaced before they were tried", 1),
            "sent" => {}
            other => verdict.lost.push(format!("a mail to {to} is still {other}")),
        }
    }
    verdict.count("mails given up: refused with 550, and said so", dead);
    if dead > refused {
        verdict.lost.push(format!("{dead} mails given up, and the servers refused {refused}"));
    }
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

struct Auditor<'a> {
    history: &'a History,
    /// Mails of which the daemon may not have known that they arrived.
    doubtful: BTreeSet<String>,
    verdict: Verdict,
}

impl Auditor<'_> {
    fn everyone_was_told_of_the_start(&mut self, world: &World, book: &Book) {
        for account in &world.accounts {
            for to in account.recipients() {
                let mine =
                    book.iter().filter(|((who, key), _)| *who == to && key.ends_with("/started/account"));
                let count = mine.map(|(_, told)| told.len()).sum::<usize>();
                match count {
                    0 => self.verdict.lost.push(format!("the first-start mail to {to}")),
                    1 => {}
                    _ => self.verdict.twice.push(format!("the first-start mail to {to}")),
                }
            }
        }
    }

    /// One recipient's mails of one account; what is left in the book has no cause.
    fn account(&mut self, name: &'static str, to: &str, book: &mut Book) {
        let prefix = format!("{name}/");
        let mut take = |key: &str| {
            let mut told = book.remove(&(to.to_owned(), key.to_owned())).unwrap_or_default();
            told.sort_by_key(|told| told.date);
            in_order(told)
        };
        let told = take(&format!("{name}/disconnect/account"));
        let expected = self.history.ladder.get(name).cloned().unwrap_or_default();
        self.disconnect(&format!("{name}/disconnect/account to {to}"), &told, &expected);
        let drops = take(&format!("{name}/balance_drop/account"));
        let most = self.history.drops.get(name).copied().unwrap_or_default();
        self.verdict.count("events told", drops.len());
        if drops.len() > most || drops.iter().any(|told| told.event != "opened") {
            self.verdict
                .wrong
                .push(format!("{name}/balance_drop/account to {to}: {} of {most}", drops.len()));
        }
        for (key, line) in self.history.lines.iter().filter(|(key, _)| key.starts_with(&prefix)) {
            let told = take(key);
            self.line(&format!("{key} to {to}"), &told, line);
        }
        for (key, spans) in self.history.may.iter().filter(|(key, _)| key.starts_with(&prefix)) {
            let told = take(key);
            self.perhaps(&format!("{key} to {to}"), &told, spans);
        }
        // Looked at before.
        take(&format!("{name}/started/account"));
    }

    /// A resource or an order: exactly what was true, and at least what was seen.
    fn line(&mut self, what: &str, told: &[Told], line: &Line) {
        self.verdict.count("events told", told.len());
        let flapping = told.iter().position(|told| told.event == "flapping");
        self.nothing_false(what, told, line);
        self.nothing_missing(what, told, line, flapping);
        for (from, to) in &line.folded {
            for told in told.iter().filter(|told| told.event == "opened") {
                if told.date >= *from && told.until() <= *to {
                    self.verdict
                        .wrong
                        .push(format!("{what}: told beside the mail that speaks for it: {told:?}"));
                }
            }
            self.verdict.count("episodes that another mail spoke for", 1);
        }
    }

    /// Walks along the truth: each event finds its moment after the one before it and before it was mailed.
    fn nothing_false(&mut self, what: &str, told: &[Told], line: &Line) {
        let mut at = Moment::UNIX_EPOCH;
        let (mut open, mut flapped): (Option<&Told>, Option<&Told>) = (None, None);
        for told in told {
            let mut find = |wrong: bool| {
                let found = line.next(wrong, at, told.until());
                at = found.unwrap_or(at);
                found.is_some()
            };
            let mut problem = None;
            match told.event.as_str() {
                _ if flapped.is_some_and(|flapped| told.date - flapped.date < TimeDelta::minutes(29)) => {
                    problem = Some("told while it flaps");
                }
                "opened" | "resolved" if flapped.is_some() => flapped = None,
                "opened" if open.is_some() => {
                    self.verdict.twice.push(format!("{what}: opened twice: {:?} and {told:?}", open));
                }
                "opened" => {
                    problem = (!find(true)).then_some("it was not wrong then");
                    open = Some(told);
                }
                "resolved" | "removed" if open.is_none() => problem = Some("nothing was open"),
                "resolved" | "removed" => {
                    problem = (!find(false)).then_some("it was still wrong then");
                    open = None;
                }
                // Its opening was never told, or nobody could know that it was.
                "was-down" => {
                    let known = open.take().is_some_and(|opened| !self.doubtful.contains(&opened.message_id));
                    let came_and_went = find(true) && find(false);
                    problem = if known {
                        Some("its opening had been told")
                    } else {
                        (!came_and_went).then_some("it did not come and go before")
                    };
                    self.verdict.count("told once it was over, for no mail went out before", 1);
                }
                "flapping" => {
                    problem =
                        (line.changes_until(told.until()) < 4).then_some("it did not change four times");
                    (open, flapped) = (None, Some(told));
                    self.verdict.count("told as flapping", 1);
                }
                _ => problem = Some("no event of this kind"),
            }
            if let Some(problem) = problem {
                self.verdict.wrong.push(format!("{what}: {problem}: {told:?} of {line:?}"));
            }
        }
    }

    /// Every change that the daemon saw was told before it showed it; a mail that could not go out may be replaced.
    fn nothing_missing(&mut self, what: &str, told: &[Told], line: &Line, flapping: Option<usize>) {
        let mut next = 0;
        let mut was = false;
        for &(seen, wrong) in &line.seen {
            if wrong == was {
                continue;
            }
            was = wrong;
            self.verdict.count("changes that had to be told", 1);
            let since = line.since(seen);
            let fits = |told: &Told| {
                let in_time = told.until() > since && told.date <= seen;
                match told.event.as_str() {
                    "opened" => wrong && in_time,
                    "resolved" | "removed" => !wrong && in_time,
                    "flapping" => in_time,
                    // For want of a mail server then.
                    "was-down" => told.until() > since && self.history.troubled(since, told.until()),
                    _ => false,
                }
            };
            let found = told[next.min(told.len())..].iter().position(fits);
            match found {
                Some(index) => {
                    next += index;
                    // It speaks for the opening and for the end.
                    let again = told[next].event == "was-down" && wrong;
                    next += usize::from(!again);
                }
                // What changed again and again is told no more.
                None if told.iter().any(|told| told.event == "flapping" && told.date <= seen) => {}
                None => {
                    let change = if wrong { "went wrong" } else { "recovered" };
                    let told: Vec<String> = told
                        .iter()
                        .map(|told| format!("{} {}", told.date.format("%H:%M:%S"), told.event))
                        .collect();
                    let (since, seen) = (since.format("%H:%M:%S%.3f"), seen.format("%H:%M:%S%.3f"));
                    self.verdict
                        .lost
                        .push(format!("{what}: {change} at {since}, seen by {seen}; told {told:?}"));
                }
            }
        }
        let quiet = flapping.is_some();
        let opened = told.iter().filter(|told| told.event == "opened").count();
        let closed = told.iter().filter(|told| matches!(told.event.as_str(), "resolved" | "removed")).count();
        let spared = told.iter().filter(|told| told.event == "was-down").count();
        if !quiet && opened > closed + spared {
            self.verdict.lost.push(format!("{what}: opened {opened} times, closed {closed} times"));
        }
    }

    /// What a fault may be taken for: told only of a fault, and its end is told.
    fn perhaps(&mut self, what: &str, told: &[Told], spans: &[Span]) {
        self.verdict.count("events told", told.len());
        let mut open = false;
        let mut at = Moment::UNIX_EPOCH;
        for told in told {
            let meant = spans.iter().find(|span| span.meets(at, told.until()));
            match told.event.as_str() {
                "opened" | "was-down" => {
                    if open && told.event == "opened" {
                        self.verdict.twice.push(format!("{what}: {told:?}"));
                    }
                    match meant {
                        Some(span) => at = span.from.max(at),
                        None => self.verdict.wrong.push(format!("{what}: no such fault: {told:?}")),
                    }
                    open = told.event == "opened";
                }
                "resolved" if open => {
                    open = false;
                    at = told.date;
                }
                "flapping" if spans.iter().filter(|span| span.from <= told.until()).count() >= 2 => return,
                _ => self.verdict.wrong.push(format!("{what}: {told:?}")),
            }
        }
        if open {
            self.verdict.lost.push(format!("{what}: its end"));
        }
    }

    /// The ladder: each event that is due, in order. A newer one may replace what could not go out.
    fn disconnect(&mut self, what: &str, told: &[Told], expected: &[Expected]) {
        self.verdict.count("events told", told.len());
        let mut told = told.iter().peekable();
        for (index, due) in expected.iter().enumerate() {
            self.verdict.count("disconnect events that were due", 1);
            let in_time = |told: &Told| told.until() > due.from && told.date <= due.to;
            if let Some(next) = told.peek() {
                let unsent = next.event == "was-down" && due.event == "resolved";
                if in_time(next)
                    && (next.event == due.event || (unsent && self.history.troubled(due.from, due.to)))
                {
                    told.next();
                    continue;
                }
            }
            let newer = expected.get(index + 1);
            let replaced = due.event != "resolved"
                && newer.is_some_and(|newer| self.history.troubled(due.from, newer.to));
            if replaced {
                self.verdict.count("disconnect events that a newer one replaced unsent", 1);
                continue;
            }
            let next = told.peek().map(|told| format!("{} {}", told.date.format("%H:%M:%S"), told.event));
            let (from, to) = (due.from.format("%H:%M:%S%.3f"), due.to.format("%H:%M:%S%.3f"));
            self.verdict
                .lost
                .push(format!("{what}: {} due at {from}, seen by {to}; next is {next:?}", due.event));
        }
        for rest in told {
            self.verdict.wrong.push(format!("{what}: not due: {rest:?}"));
        }
    }
}

/// Of events in one second an end comes first where something is open.
fn in_order(mut rest: Vec<Told>) -> Vec<Told> {
    let mut ordered = Vec::with_capacity(rest.len());
    let mut open = false;
    while !rest.is_empty() {
        let same = rest.iter().take_while(|told| told.date == rest[0].date).count();
        let ends = |told: &Told| matches!(told.event.as_str(), "resolved" | "removed" | "was-down");
        let fits = |told: &Told| if open { ends(told) } else { told.event == "opened" };
        let next = rest.remove(rest[..same].iter().position(fits).unwrap_or(0));
        open = next.event == "opened";
        ordered.push(next);
    }
    ordered
}
