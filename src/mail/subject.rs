//! Subject lines: severity or outcome in brackets, the sentence of `view`, and whose it is at the end. Pure.

use super::context::Context;
use super::parts::Telling;
use super::{parts as common, resolved};
use crate::alert::{Event, Form, Item, Notice, Severity, Started, keeps_failing};
use crate::model::{AccountName, sanitize};
use crate::view::sentence::{self, Part, Problem};
use crate::view::words;

/// What phones and lists still show.
const LONGEST: usize = 150;

/// `[CRITICAL] VM web-1 in error (main)`: one line, at most 150 characters.
pub(super) fn line(bracket: &str, words: &str, accounts: &[AccountName]) -> String {
    let (head, whose) = (format!("[{bracket}] "), sentence::whose(accounts));
    let room = LONGEST.saturating_sub(head.chars().count() + whose.chars().count() + 1);
    format!("{head}{}{whose}", literal(words, room))
}

/// The same with a severity in brackets.
pub(super) fn with_account(severity_of: Severity, words: &str, notice: &Notice) -> String {
    line(severity(severity_of), words, &notice.accounts)
}

/// The subject of news about resources, collectors and orders.
pub(super) fn of(notice: &Notice, context: &Context<'_>) -> String {
    let Some(first) = notice.items.first() else {
        return line("INFO", "Nothing to report", &notice.accounts);
    };
    line(bracket(first), &words(notice, context), &notice.accounts)
}

/// What the subject says of its items; the first line begins with it.
pub(super) fn words(notice: &Notice, context: &Context<'_>) -> String {
    match notice.items.as_slice() {
        [one] => alone(one, context),
        several => {
            let what = if notice.form == Form::Closed { "problems over" } else { "problems" };
            sentence::several(&by_resource(several, context), what)
        }
    }
}

/// `[INFO] Watching 43 resources; nothing needs you (main)`.
pub(super) fn of_start(notice: &Notice, facts: &Started, context: &Context<'_>) -> String {
    let severity_of = started_severity(facts, &notice.items);
    with_account(severity_of, &watching(facts, &notice.items, context), notice)
}

/// `[CRITICAL] 7 more events: 3 sites in error in agency and 4 more (main)`.
pub(super) fn of_overflow(notice: &Notice, context: &Context<'_>) -> String {
    let items: Vec<Item> = common::worst_first(&notice.items).into_iter().cloned().collect();
    let is_unwatched = items.iter().any(|item| item.event == Event::Unwatched);
    let worst = items.first().filter(|worst| !(worst.event.is_end() && is_unwatched));
    let bracket = worst.map_or("INFO", |worst| bracket(worst));
    let parts = parts(&items, context);
    let events = words::count(items.len(), "more event", "more events");
    let words = match parts.as_slice() {
        [] => events,
        [one] => format!("{events}: {}", words::small(&one.text)),
        several => sentence::several(several, "more events"),
    };
    line(bracket, &words, &notice.accounts)
}

/// Items as parts of a sentence, what is alike together.
pub(super) fn parts<'a>(items: impl IntoIterator<Item = &'a Item>, context: &Context<'_>) -> Vec<Part> {
    let problems = items.into_iter().map(|item| problem(item, context));
    sentence::groups(problems).iter().map(sentence::ProblemGroup::part).collect()
}

/// The same, each resource once with all that is wrong with it.
pub(super) fn by_resource<'a>(items: impl IntoIterator<Item = &'a Item>, context: &Context<'_>) -> Vec<Part> {
    let problems = resources(items, context).into_iter().map(|resource| resource.problem);
    sentence::groups(problems).iter().map(sentence::ProblemGroup::part).collect()
}

/// What a mail tells of one resource.
pub(super) struct Resource<'a> {
    pub problem: Problem<'a>,
    /// The worst first.
    pub items: Vec<&'a Item>,
}

/// Items by what they are about; what ended and what goes on stay apart.
pub(super) fn resources<'a>(
    items: impl IntoIterator<Item = &'a Item>,
    context: &Context<'_>,
) -> Vec<Resource<'a>> {
    let mut found: Vec<Resource<'a>> = Vec::new();
    for item in items {
        let problem = problem(item, context);
        let told = Telling::from(&item.event);
        let is_it = |known: &&mut Resource<'a>| {
            known.problem.is_of_same(&problem) && Telling::from(&known.items[0].event) == told
        };
        match found.iter_mut().find(is_it) {
            Some(known) => {
                known.problem.and(&problem);
                known.items.push(item);
            }
            None => found.push(Resource { problem, items: vec![item] }),
        }
    }
    found
}

/// One item with when, or for how long.
fn alone(item: &Item, context: &Context<'_>) -> String {
    let zone = context.zone(&item.key.account);
    let text = parts([item], context).into_iter().map(|part| part.text).collect::<String>();
    let after = words::lasted(item.at - item.since);
    match Telling::from(&item.event) {
        _ if item.event == Event::Escalated => format!("{text} after {after}, nobody acknowledged it"),
        Telling::Over | Telling::StillSo if item.since < item.at => format!("{text} after {after}"),
        Telling::WasDown => format!("{text} {}", words::from_to(item.since, item.at, zone, context.now)),
        Telling::Flapping => match item.reason.changes_in_an_hour() {
            Some(changes) => format!("{text}: {changes} changes in an hour"),
            None => text,
        },
        Telling::Begun | Telling::StillSo | Telling::Over | Telling::Gone | Telling::Unwatched => text,
    }
}

/// One item as a part of a sentence.
pub(super) fn problem<'a>(item: &'a Item, context: &Context<'_>) -> Problem<'a> {
    let state = context.account(&item.key.account);
    let as_it_is = || (item.subject.clone(), item.problem.clone());
    let (subject, words) = match Telling::from(&item.event) {
        _ if item.ended.is_some() => as_it_is(),
        Telling::Over => resolved::words(item, state),
        Telling::Gone => (item.subject.clone(), format!("no longer listed, was {}", item.problem)),
        Telling::WasDown => resolved::past(item),
        Telling::StillSo => still(item),
        Telling::Flapping => again(item),
        Telling::Unwatched => (item.subject.clone(), "no longer watched".to_owned()),
        Telling::Begun => as_it_is(),
    };
    let plain = |text: String| if text.is_empty() { text } else { sanitize::one_line(&text, LONGEST) };
    Problem {
        key: &item.key,
        subject: plain(subject),
        words: plain(words),
        place: sentence::place(&item.key, state),
    }
}

/// `VM web-1 still in error`, `Still cannot read VMs`.
fn still(item: &Item) -> (String, String) {
    if item.problem.is_empty() {
        (format!("Still {}", words::small(&item.subject)), String::new())
    } else {
        (item.subject.clone(), format!("still {}", item.problem))
    }
}

/// `VM web-1 keeps failing`.
fn again(item: &Item) -> (String, String) {
    (item.subject.clone(), keeps_failing(&item.problem).to_owned())
}

/// Text of others on one line that stays what it is: `=?` begins an encoded word (RFC 2047), which mail programs
/// would decode into whatever the name hides in it.
fn literal(text: &str, room: usize) -> String {
    let line = sanitize::one_line(text, room);
    if line.contains("=?") { sanitize::one_line(&line.replace("=?", "= ?"), room) } else { line }
}

/// The word in brackets.
pub(super) fn bracket(item: &Item) -> &'static str {
    if item.event == Event::Unwatched {
        severity(Severity::Info)
    } else if item.event.is_end() {
        "RESOLVED"
    } else if item.event == Event::Test {
        "TEST"
    } else {
        severity(item.severity)
    }
}

/// `Watching 43 resources; nothing needs you`; what was not seen is never called fine.
pub(super) fn watching(facts: &Started, items: &[Item], context: &Context<'_>) -> String {
    let resources = words::count(facts.resources, "resource", "resources");
    let mut parts = by_resource(items, context);
    // What is not listed has mails of its own: the cut-off, and what began since.
    let of_money = facts.needs.saturating_sub(items.len() + facts.since);
    if let Some(more) = Some(of_money).filter(|&more| more > 0) {
        let text = match (facts.disconnect, facts.overdue) {
            (true, true) => "account overdue",
            (true, false) => "cut-off ahead",
            (false, _) => "more",
        };
        // Money comes first.
        let place = if facts.disconnect { 0 } else { parts.len() };
        parts.insert(place, Part { text: text.to_owned(), count: more });
    }
    if facts.since > 0 {
        let count = if facts.since == 1 { "one".to_owned() } else { facts.since.to_string() };
        parts.push(Part { text: format!("{count} since the start"), count: facts.since });
    }
    let needs = match parts.as_slice() {
        [] => None,
        [one] if one.count == 1 => Some(format!("1 problem: {}", words::small(&one.text))),
        parts => Some(sentence::several(parts, "problems")),
    };
    let unread = (!facts.unread.is_empty()).then(|| "some data is missing".to_owned());
    let mut said: Vec<String> = [needs, unread].into_iter().flatten().collect();
    if said.is_empty() {
        said.push("nothing needs you".to_owned());
    }
    format!("Watching {resources}; {}", said.join("; "))
}

/// The severity of a first-start mail.
pub(super) fn started_severity(facts: &Started, items: &[Item]) -> Severity {
    let worst = items.iter().map(|item| item.severity).chain(facts.severity).max().unwrap_or(Severity::Info);
    let wants_someone = facts.needs > 0 || facts.disconnect || !facts.unread.is_empty();
    if wants_someone { worst.max(Severity::Warning) } else { worst }
}

fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Info => "INFO",
        Severity::Warning => "WARNING",
        Severity::Critical => "CRITICAL",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_no_encoded_word() {
        assert_eq!(literal("VM =?utf-8?q?=0D=0AX:_y?=", 60), "VM = ?utf-8?q?=0D=0AX:_y?=");
        // What is taken out must not make one.
        assert_eq!(literal("=\u{200b}?utf-8?q?x?=", 60), "= ?utf-8?q?x?=");
        assert_eq!(literal(&"=?".repeat(40), 9).chars().count(), 10, "with its ellipsis");
    }

    #[test]
    fn what_was_not_read_is_never_called_fine() {
        let from = "hostwatch <hostwatch@example.com>".parse().unwrap();
        let snapshot = crate::model::Snapshot::default();
        let context = Context::new(&from, &snapshot, chrono::DateTime::UNIX_EPOCH);
        let facts = |needs, unread: &[&str]| Started {
            resources: 43,
            needs,
            disconnect: needs > 0,
            unread: unread.iter().map(|&text| text.to_owned()).collect(),
            ..Started::default()
        };
        let off = Started { overdue: true, severity: Some(Severity::Critical), ..facts(1, &[]) };
        assert_eq!(started_severity(&off, &[]), Severity::Critical);
        let down = ["main: vms: down"];
        let later = |needs, since| Started { since, disconnect: needs > since, ..facts(needs, &[]) };
        for (facts, want) in [
            (facts(0, &[]), "Watching 43 resources; nothing needs you"),
            (facts(1, &[]), "Watching 43 resources; 1 problem: cut-off ahead"),
            (off, "Watching 43 resources; 1 problem: account overdue"),
            (later(1, 1), "Watching 43 resources; 1 problem: one since the start"),
            (later(3, 2), "Watching 43 resources; 3 problems: cut-off ahead, 2 since the start"),
            (facts(0, &down), "Watching 43 resources; some data is missing"),
            (facts(1, &down), "Watching 43 resources; 1 problem: cut-off ahead; some data is missing"),
        ] {
            assert_eq!(watching(&facts, &[], &context), want);
        }
    }
}
