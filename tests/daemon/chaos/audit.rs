//! Compares the events that happened with the mails, by recipient and incident: none is lost, none comes twice,
//! none is wrong. It reads the mails as their recipients do, and uses no judgement of hostwatch's code.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use chrono::TimeDelta;

use super::book::{Book, Told, copies, in_order, perhaps_told};
use super::history::{History, Line, Moment, Span};
use super::ladder::Search;
use super::world::World;

/// The changes after which an incident flaps.
const FLAPPING: usize = 4;

/// The result of the comparison.
#[derive(Default, Debug)]
pub struct Verdict {
    pub lost: Vec<String>,
    pub twice: Vec<String>,
    pub wrong: Vec<String>,
    /// Counts that deserve a line in a report.
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

/// Compares. The daemon has stopped, and no mail waits.
pub fn audit(world: &World) -> Verdict {
    let mut verdict = Verdict::default();
    let (mails, _) = world.mails();
    let mut book = Book::new();
    let doubtful = copies(&mails, &world.history, &mut book, &mut verdict);
    for told in book.values_mut() {
        told.sort_by_key(|told| told.date);
        *told = in_order(std::mem::take(told), |told| doubtful.contains(&told.message_id));
    }
    let perhaps_told = perhaps_told(&mails);
    let mut auditor = Auditor { history: &world.history, doubtful, perhaps_told, verdict };
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
    /// Mails that arrived, perhaps without the daemon's knowledge.
    doubtful: BTreeSet<String>,
    /// Mails that the daemon may think to have arrived.
    perhaps_told: Book,
    verdict: Verdict,
}

impl Auditor<'_> {
    fn everyone_was_told_of_the_start(&mut self, world: &World, book: &Book) {
        for account in &world.accounts {
            for to in account.recipients() {
                let mine =
                    book.iter().filter(|((who, key), _)| *who == to && key.ends_with("/started/account"));
                let mails: BTreeSet<&String> =
                    mine.flat_map(|(_, told)| told).map(|told| &told.message_id).collect();
                match mails.len() {
                    0 => self.verdict.lost.push(format!("the first-start mail to {to}")),
                    1 => {}
                    _ => self.verdict.twice.push(format!("the first-start mail to {to}")),
                }
            }
        }
    }

    /// One recipient's mails of one account. Mails that are left in the book have no cause.
    fn account(&mut self, name: &'static str, to: &str, book: &mut Book) {
        let prefix = format!("{name}/");
        let mut take = |key: &str| book.remove(&(to.to_owned(), key.to_owned())).unwrap_or_default();
        let key = format!("{name}/disconnect/account");
        self.disconnect(name, to, &take(&key));
        let drops = take(&format!("{name}/balance_drop/account"));
        let most = self.history.drops.get(name).copied().unwrap_or_default();
        self.verdict.count("events told", drops.len());
        let again = drops.iter().filter(|told| self.is_doubtful(told)).count();
        if drops.len() > most + again || drops.iter().any(|told| told.event != "opened") {
            self.verdict
                .wrong
                .push(format!("{name}/balance_drop/account to {to}: more than {most}: {drops:?}"));
        }
        for (key, line) in self.history.lines.iter().filter(|(key, _)| key.starts_with(&prefix)) {
            let told = take(key);
            let maybe = self.perhaps_told.contains_key(&(to.to_owned(), key.clone()));
            self.line(&format!("{key} to {to}"), &told, line, maybe);
        }
        for (key, spans) in self.history.may.iter().filter(|(key, _)| key.starts_with(&prefix)) {
            let told = take(key);
            let maybe = self.perhaps_told.contains_key(&(to.to_owned(), key.clone()));
            let over = self.history.over.get(key).map(Vec::as_slice).unwrap_or_default();
            self.perhaps(&format!("{key} to {to}"), &told, spans, over, maybe);
        }
        // These were checked before.
        take(&format!("{name}/started/account"));
        // A mail that the limit delayed says so, beside its events.
        take(&format!("{name}/summary/account"));
    }

    /// A resource or an order: the mails are true, and all changes that the daemon saw are in them.
    fn line(&mut self, what: &str, told: &[Told], line: &Line, maybe: bool) {
        self.verdict.count("events told", told.len());
        self.nothing_false(what, told, line, maybe);
        self.nothing_missing(what, told, line);
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

    /// Whether the reply to this mail was lost, so that its events may be repeated.
    fn is_doubtful(&self, told: &Told) -> bool {
        self.doubtful.contains(&told.message_id)
    }

    /// Walks along the truth: each event has a moment after that of the one before, and before its mail.
    /// `maybe`: the reply to the mail of a beginning was lost, and perhaps the mail.
    fn nothing_false(&mut self, what: &str, told: &[Told], line: &Line, maybe: bool) {
        let mut at = Moment::UNIX_EPOCH;
        let mut open: Option<&Told> = None;
        let mut before: Option<&Told> = None;
        let mut unopened_end = false;
        for one in told {
            // An end whose beginning and own mail are both in doubt is told as one that came and went.
            let is_unopened_end = std::mem::take(&mut unopened_end);
            let is_event_again =
                |before: &str| before == one.event || one.event == "was-down" && is_unopened_end;
            let is_again =
                before.is_some_and(|before| is_event_again(&before.event) && self.is_doubtful(before));
            before = Some(one);
            let since = at;
            let mut find = |wrong: bool| {
                let found = line.next(wrong, at, one.until());
                at = found.unwrap_or(at);
                found.is_some()
            };
            let mut problem = None;
            match one.event.as_str() {
                "unwatched" => {
                    let was_away = self.history.away.iter().any(|from| one.until() > *from);
                    problem = (!was_away).then_some("it was watched");
                    open = None;
                }
                // The end between them could not be mailed before it was wrong again, or it was watched anew.
                "opened" if open.is_some_and(|open| self.history.troubled(open.date, one.until())) => {
                    let was_away = self.history.away.iter().any(|from| (since..one.until()).contains(from));
                    let was_right = was_away || find(false);
                    problem =
                        (!(is_again || was_right && find(true))).then_some("it was not wrong again then");
                    at = if problem.is_none() && is_again { since } else { at };
                    open = Some(one);
                }
                _ if is_again => self.verdict.count("told once more, as the reply was lost", 1),
                "opened" if open.is_some() => {
                    self.verdict.twice.push(format!("{what}: opened twice: {:?} and {one:?}", open));
                }
                "opened" => {
                    problem = (!find(true)).then_some("it was not wrong then");
                    open = Some(one);
                }
                "resolved" | "removed"
                    if open.is_none() && (maybe || self.history.doubted(since, one.until())) =>
                {
                    problem = (!(find(true) && find(false))).then_some("it did not come and go before");
                    unopened_end = true;
                }
                "resolved" | "removed" if open.is_none() => problem = Some("nothing was open"),
                "resolved" | "removed" => {
                    problem = (!find(false)).then_some("it was still wrong then");
                    open = None;
                }
                // Its opening was never mailed, or nobody could know that it was. The mail of an earlier end may have
                // arrived without a reply.
                "was-down" => {
                    let is_end_lost = |open: &Told| self.history.doubted(open.date, one.until());
                    let goes_on = open.take().is_some_and(|open| !(is_end_lost(open) && find(false)));
                    let came_and_went = find(true) && find(false);
                    problem = if goes_on {
                        Some("its opening had been told")
                    } else {
                        (!came_and_went).then_some("it did not come and go before")
                    };
                    self.verdict.count("told once it was over, for no mail went out before", 1);
                }
                _ => problem = Some("no event of this kind"),
            }
            if let Some(problem) = problem {
                self.verdict
                    .wrong
                    .push(format!("{what}: {problem}: {one:?} of {told:?}; so it was: {line:?}"));
            }
        }
    }

    /// Checks that every change was mailed before the daemon showed it. A newer mail may replace one that could
    /// not leave.
    fn nothing_missing(&mut self, what: &str, told: &[Told], line: &Line) {
        let (mut next, mut was) = (0, false);
        let flaps = line.changes.get(FLAPPING - 1).map(|change| change.0);
        for &(seen, wrong) in &line.seen {
            if wrong == was {
                continue;
            }
            was = wrong;
            self.verdict.count("changes that had to be told", 1);
            let since = line.since(seen);
            let fits = |told: &Told| {
                // Another mail to this recipient may have been on its way.
                let in_time = told.until() > since && told.date <= seen + TimeDelta::seconds(2);
                match told.event.as_str() {
                    "opened" => wrong && in_time,
                    "resolved" | "removed" => !wrong && in_time,
                    // Because there was no mail server then.
                    "was-down" => told.until() > since && self.history.troubled(since, told.until()),
                    _ => false,
                }
            };
            let found = told[next.min(told.len())..].iter().position(fits);
            match found {
                Some(index) => {
                    next += index;
                    // This event covers the opening and the end.
                    let again = told[next].event == "was-down" && wrong;
                    next += usize::from(!again);
                }
                // The end is mailed only to recipients that got the beginning.
                None if !wrong
                    && told
                        .iter()
                        .rfind(|told| told.date <= seen)
                        .is_none_or(|told| told.event != "opened") => {}
                // The account was removed before the mail could leave.
                None if wrong
                    && self
                        .history
                        .away
                        .iter()
                        .any(|at| *at > since && self.history.troubled(since, *at)) => {}
                // After four changes it is over only after half an hour of good readings, which is longer than this test.
                None if flaps.is_some_and(|at| at <= seen || self.history.troubled(since, at)) => {
                    self.verdict.count("changes of what flaps", 1);
                }
                // A newer mail took its place before it could leave.
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
        // Somebody who reads only the mails knows the present state.
        let last = told.last().map(|told| told.event.as_str());
        if flaps.is_none() && !was && last == Some("opened") {
            self.verdict.lost.push(format!("{what}: its end; told {told:?}"));
        }
    }

    /// Incidents that a fault may cause: they are mailed only in a fault, and then their end is mailed too.
    fn perhaps(&mut self, what: &str, told: &[Told], spans: &[Span], over: &[Moment], maybe: bool) {
        self.verdict.count("events told", told.len());
        let mut open = false;
        let mut at = Moment::UNIX_EPOCH;
        let mut before: Option<&Told> = None;
        for told in told {
            let is_again = before.is_some_and(|one| one.event == told.event && self.is_doubtful(one));
            before = Some(told);
            let meant = spans.iter().find(|span| span.meets(at, told.until()));
            match told.event.as_str() {
                "opened" | "was-down" => {
                    // A newer event took the place of its end before that could leave.
                    let unsent = self.history.troubled(at, told.until());
                    if open && told.event == "opened" && !unsent && !is_again {
                        self.verdict.twice.push(format!("{what}: {told:?}"));
                    }
                    match meant {
                        Some(span) => at = span.from.max(at),
                        None => self.verdict.wrong.push(format!("{what}: no such fault: {told:?}")),
                    }
                    open = told.event == "opened";
                }
                "resolved" if open || maybe || is_again || self.history.doubted(at, told.until()) => {
                    open = false;
                    at = told.date;
                }
                "unwatched" if self.history.away.iter().any(|from| told.until() > *from) => open = false,
                _ => self.verdict.wrong.push(format!("{what}: {told:?}")),
            }
        }
        // An incident that flaps is over only after half an hour of good readings, which is longer than this test.
        // Each fault until its end was due may have begun and ended it.
        let begun = told.last().map_or(Moment::MAX_UTC, Told::until);
        let due = over.iter().find(|at| **at > begun).copied().unwrap_or(Moment::MAX_UTC);
        let changes = 2 * spans.iter().filter(|span| span.from <= due).count();
        if open && changes < FLAPPING {
            self.verdict
                .lost
                .push(format!("{what}: its end; told {told:?} of {spans:?}, not shown from {due}"));
        } else if open {
            self.verdict.count("ends of what flaps", 1);
        }
    }

    /// Checks that each due event was mailed, and no other.
    fn disconnect(&mut self, name: &str, to: &str, told: &[Told]) {
        let facts = self.history.ladder.get(name).map(Vec::as_slice).unwrap_or_default();
        let (key, to) = (format!("{name}/disconnect/account"), to.to_owned());
        self.verdict.count("events told", told.len());
        self.verdict.count("reports that moved a cut-off", facts.len());
        let is_doubtful = |told: &Told| self.doubtful.contains(&told.message_id);
        let what = format!("{key} to {to}");
        let perhaps = self.perhaps_told.get(&(to, key)).map(Vec::as_slice).unwrap_or_default();
        let mut search = Search::new(facts, told, perhaps, self.history, &is_doubtful);
        if search.succeeds() {
            return;
        }
        let (mails, at, due) = search.best;
        let told: Vec<String> =
            told.iter().map(|told| format!("{} {}", told.date.format("%H:%M:%S"), told.event)).collect();
        let facts: Vec<String> = facts
            .iter()
            .map(|fact| {
                format!(
                    "{} {:?}, seen {}",
                    fact.from.format("%H:%M:%S%.3f"),
                    fact.what,
                    fact.to.format("%H:%M:%S%.3f")
                )
            })
            .collect();
        self.verdict.lost.push(format!(
            "{what}: after {mails} mails and report {at} {due:?} is due; told {told:#?} of {facts:#?}"
        ));
    }
}
