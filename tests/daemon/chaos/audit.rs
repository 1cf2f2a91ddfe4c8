//! What happened against what was mailed, by recipient and incident: nothing lost, nothing twice, nothing wrong. It
//! reads the mails as their recipients do, and asks no code of ours for its opinion.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use chrono::TimeDelta;

use super::book::{Book, Told, copies, given_up, in_order, watched_again};
use super::history::{History, Line, Moment, Span};
use super::ladder::Expected;
use super::world::World;

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

    pub fn count(&mut self, what: &'static str, by: usize) {
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

/// Compares. The daemon has stopped, and nothing waits.
pub fn audit(world: &World) -> Verdict {
    let mut verdict = Verdict::default();
    let (mails, acts) = world.mails();
    let mut book = Book::new();
    let doubtful = copies(&mails, &world.history, &mut book, &mut verdict);
    let refused: usize = ["Rcpt 550", "Data 550", "Dot 550"].iter().filter_map(|act| acts.get(*act)).sum();
    let replaced = given_up(world, refused, &mails, &mut book, &mut verdict);
    let mut auditor = Auditor { history: &world.history, doubtful, replaced, verdict };
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

struct Auditor<'a> {
    history: &'a History,
    /// Mails of which the daemon may not have known that they arrived.
    doubtful: BTreeSet<String>,
    /// Recipients and incidents of mails that may have arrived and were replaced.
    replaced: BTreeSet<(String, String)>,
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
        let away = &self.history.away;
        let mut take = |key: &str| {
            let mut told = book.remove(&(to.to_owned(), key.to_owned())).unwrap_or_default();
            told.sort_by_key(|told| told.date);
            watched_again(in_order(told), away)
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
            let maybe = self.replaced.contains(&(to.to_owned(), key.clone()));
            self.line(&format!("{key} to {to}"), &told, line, maybe);
        }
        for (key, spans) in self.history.may.iter().filter(|(key, _)| key.starts_with(&prefix)) {
            let told = take(key);
            let maybe = self.replaced.contains(&(to.to_owned(), key.clone()));
            self.perhaps(&format!("{key} to {to}"), &told, spans, maybe);
        }
        // Looked at before.
        take(&format!("{name}/started/account"));
    }

    /// A resource or an order: exactly what was true, and at least what was seen.
    fn line(&mut self, what: &str, told: &[Told], line: &Line, maybe: bool) {
        self.verdict.count("events told", told.len());
        let flapping = told.iter().position(|told| told.event == "flapping");
        self.nothing_false(what, told, line, maybe);
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

    /// Walks along the truth: each event finds its moment after the one before it and before it was mailed. `maybe`: the
    /// mail of a beginning was replaced after its reply at the dot was lost.
    fn nothing_false(&mut self, what: &str, told: &[Told], line: &Line, maybe: bool) {
        let mut at = Moment::UNIX_EPOCH;
        let (mut open, mut flapped): (Option<&Told>, Option<&Told>) = (None, None);
        let mut given_up = false;
        for told in told {
            if !told.arrived {
                given_up = true;
                continue;
            }
            let mut find = |wrong: bool| {
                let found = line.next(wrong, at, told.until());
                at = found.unwrap_or(at);
                found.is_some()
            };
            let mut problem = None;
            match told.event.as_str() {
                // An account that was not watched meanwhile begins anew.
                _ if flapped.is_some_and(|flapped| {
                    let watched =
                        !self.history.away.iter().any(|at| (flapped.date..told.until()).contains(at));
                    watched && told.event != "removed" && told.date - flapped.date < TimeDelta::minutes(29)
                }) =>
                {
                    problem = Some("told while it flaps");
                }
                "opened" | "resolved" | "removed" if flapped.is_some() => {
                    (flapped, open) = (None, (told.event == "opened").then_some(told));
                }
                // The end between them gave way to the newer news before it could go out.
                "opened"
                    if open
                        .is_some_and(|open| given_up || self.history.troubled(open.date, told.until())) =>
                {
                    find(false);
                    problem = (!find(true)).then_some("it was not wrong again then");
                    open = Some(told);
                }
                "opened" if open.is_some() => {
                    self.verdict.twice.push(format!("{what}: opened twice: {:?} and {told:?}", open));
                }
                "opened" => {
                    problem = (!find(true)).then_some("it was not wrong then");
                    open = Some(told);
                }
                "resolved" | "removed" if open.is_none() && maybe => {
                    problem = (!(find(true) && find(false))).then_some("it did not come and go before");
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
                // Who was not mailed of the beginning is not mailed of the end.
                None if !wrong
                    && told
                        .iter()
                        .rfind(|told| told.date <= seen)
                        .is_none_or(|told| told.event != "opened" || !told.arrived) => {}
                // It could not go out before its account was no longer watched.
                None if wrong
                    && self
                        .history
                        .away
                        .iter()
                        .any(|at| *at > since && self.history.troubled(since, *at)) => {}
                // What changed again and again is told no more.
                None if told.iter().any(|told| told.event == "flapping" && told.date <= seen) => {}
                // Newer news took its place before it could go out.
                None if told
                    .iter()
                    .any(|told| told.date > seen && self.history.troubled(since, told.until())) =>
                {
                    self.verdict.count("changes that a newer one replaced unsent", 1);
                }
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
        // Whoever reads only the mails knows how it stands.
        // What was refused for good a later mail says, which `book` looks for.
        let last = told.last().map(|told| told.event.as_str());
        if flapping.is_none() && !was && last == Some("opened") {
            self.verdict.lost.push(format!("{what}: its end; told {told:?}"));
        }
    }

    /// What a fault may be taken for: told only of a fault, and its end is told.
    fn perhaps(&mut self, what: &str, told: &[Told], spans: &[Span], maybe: bool) {
        self.verdict.count("events told", told.len());
        let mut open = false;
        let mut at = Moment::UNIX_EPOCH;
        for told in told.iter().filter(|told| told.arrived || told.event == "flapping") {
            let meant = spans.iter().find(|span| span.meets(at, told.until()));
            match told.event.as_str() {
                "opened" | "was-down" => {
                    // Its end gave way to the newer news before it could go out.
                    let unsent = self.history.troubled(at, told.until());
                    if open && told.event == "opened" && !unsent {
                        self.verdict.twice.push(format!("{what}: {told:?}"));
                    }
                    match meant {
                        Some(span) => at = span.from.max(at),
                        None => self.verdict.wrong.push(format!("{what}: no such fault: {told:?}")),
                    }
                    open = told.event == "opened";
                }
                "resolved" if open || maybe => {
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
        // What arrived nowhere is said again.
        let again = |index: usize| {
            let (this, next) = (&told[index], told.get(index + 1));
            !this.arrived && next.is_some_and(|next| next.event == this.event)
        };
        let mut told = (0..told.len()).filter(|&index| !again(index)).map(|index| &told[index]).peekable();
        for (index, due) in expected.iter().enumerate() {
            self.verdict.count("disconnect events that were due", 1);
            // What waited when its account was taken out is told once it is back.
            let unheard = |told: &Told| {
                let away = self.history.away.iter().find(|at| **at >= due.from && **at < told.until());
                away.is_some_and(|at| self.history.troubled(due.from, *at))
            };
            let in_time = |told: &Told| told.until() > due.from && (told.date <= due.to || unheard(told));
            let is_it = |told: &Told| in_time(told) && told.event == due.event;
            while told.next_if(|next| next.again && !is_it(next)).is_some() {}
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
            let replaced = newer.is_some_and(|newer| self.history.troubled(due.from, newer.to));
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
        for rest in told.filter(|told| !told.again) {
            self.verdict.wrong.push(format!("{what}: not due: {rest:?}"));
        }
    }
}
