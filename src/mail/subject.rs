//! Subject lines: severity or result in brackets, the sentence of `view`, and the accounts at the end. Pure.

use super::context::Context;
use super::incident;
use super::parts as common;
use super::tense;
use crate::alert::{Event, Form, Item, Notice, Severity, Started};
use crate::model::{AccountName, Language, Noun, sanitize, say};
use crate::view::forms::Tense;
use crate::view::sentence::{self, Part, Problem};
use crate::view::words::{self, EVENTS, PROBLEMS, capital};

/// The length that phones and lists still show.
const LONGEST: usize = 150;
/// The length of the last news of an incident that nothing watches any more.
const LONGEST_WAS: usize = 120;
/// The noun for several ends.
const OVER: Noun = Noun {
    en: ["problem over", "problems over"],
    ru: ["проблема позади", "проблемы позади", "проблем позади"],
};

/// A subject in its parts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Subject {
    /// `[CRITICAL] VM web-1 in error (main)`: one line, at most 150 characters.
    pub line: String,
    /// The line without the brackets at its beginning, for webhooks, which have these in fields of their own.
    pub sentence: String,
}

/// The word in brackets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Bracket {
    Of(Severity),
    Resolved,
    Test,
    Digest,
}

impl Bracket {
    pub(super) fn word(self, language: Language) -> &'static str {
        match self {
            Self::Of(Severity::Info) => language.pick("INFO", "ИНФО"),
            Self::Of(Severity::Warning) => language.pick("WARNING", "ВАЖНО"),
            Self::Of(Severity::Critical) => language.pick("CRITICAL", "КРИТИЧНО"),
            Self::Resolved => language.pick("RESOLVED", "РЕШЕНО"),
            Self::Test => language.pick("TEST", "ПРОВЕРКА"),
            Self::Digest => language.pick("DIGEST", "СВОДКА"),
        }
    }

    pub(super) fn of(item: &Item) -> Self {
        if item.event == Event::Unwatched {
            Self::Of(Severity::Info)
        } else if item.event.is_end() {
            Self::Resolved
        } else if item.event == Event::Test {
            Self::Test
        } else {
            Self::Of(item.severity)
        }
    }
}

/// A sentence as a subject, with its severity and accounts.
pub(super) fn line(bracket: Bracket, said: &str, accounts: &[AccountName], language: Language) -> Subject {
    let head = format!("[{}] ", bracket.word(language));
    let whose = sentence::whose(accounts, language);
    let room = LONGEST.saturating_sub(head.chars().count() + whose.chars().count() + 1);
    let sentence = format!("{}{whose}", literal(&capital(said), room));
    Subject { line: format!("{head}{sentence}"), sentence }
}

/// The subject of a mail about resources, collectors and orders.
pub(super) fn of(notice: &Notice, context: &Context<'_>) -> Subject {
    let language = context.language;
    let Some(&first) = common::open_first(&notice.items).first() else {
        let nothing = language.pick("nothing to report", "сообщать не о чем");
        return line(Bracket::Of(Severity::Info), nothing, &notice.accounts, language);
    };
    line(Bracket::of(first), &words(notice, context), &notice.accounts, language)
}

/// The words about the items, with which the first line begins too.
pub(super) fn words(notice: &Notice, context: &Context<'_>) -> String {
    let language = context.language;
    let items = common::open_first(&notice.items);
    match (&notice.form, items.as_slice()) {
        (_, [one]) => alone(one, context),
        (Form::Unwatched, [first, others @ ..]) => {
            words::with_more(&alone(first, context), others.len(), language)
        }
        (Form::Summary(_), several) => {
            let events = language.count(several.len(), EVENTS);
            match parts(several.iter().copied(), context).as_slice() {
                [one] => format!("{events}: {}", one.text),
                parts => sentence::several(parts, EVENTS, language),
            }
        }
        (form, several) => {
            let what = if *form == Form::Closed { OVER } else { PROBLEMS };
            sentence::several(&by_resource(several.iter().copied(), context), what, language)
        }
    }
}

/// `[INFO] Watching 43 resources; everything is fine (main)`.
pub(super) fn of_start(notice: &Notice, facts: &Started, context: &Context<'_>) -> Subject {
    let severity = started_severity(notice, facts, context);
    let said = watching(notice, facts, context);
    line(Bracket::Of(severity), &said, &notice.accounts, context.language)
}

/// Items as parts of a sentence; equal ones share a part.
pub(super) fn parts<'a>(items: impl IntoIterator<Item = &'a Item>, context: &Context<'_>) -> Vec<Part> {
    let problems = items.into_iter().map(|item| problem(item, context));
    sentence::groups(problems).iter().map(|group| group.part(context.language)).collect()
}

/// The same with one part a resource, which has all its problems.
pub(super) fn by_resource<'a>(items: impl IntoIterator<Item = &'a Item>, context: &Context<'_>) -> Vec<Part> {
    let problems = items.into_iter().map(|item| problem(item, context));
    let groups = sentence::groups(sentence::of_resources(problems));
    groups.iter().map(|group| group.part(context.language)).collect()
}

/// One item with its time or duration.
fn alone(item: &Item, context: &Context<'_>) -> String {
    let language = context.language;
    let text = problem(item, context).text(language);
    let (began, until) = (item.began, common::until(item));
    let after = words::lasted(until - began, language);
    match tense::clause(item, context.account(&item.key.account)).tense {
        _ if item.event == Event::Escalated => {
            say!(
                language,
                "{text} after {after}, nobody acknowledged it",
                "{text}; прошло {after}, этим никто не занялся"
            )
        }
        Tense::Again | Tense::NoLonger if began < until => {
            say!(language, "{text} after {after}", "{text} спустя {after}")
        }
        Tense::Still if began < until => say!(language, "{text} after {after}", "{text}, уже {after}"),
        Tense::Was => {
            let times = common::times(item, language);
            let span = context.of(&item.key.account).span(began, until);
            format!("{text}{times} {span}")
        }
        Tense::Unwatched => {
            let was = sanitize::one_line(&incident::unwatched(item, context), LONGEST_WAS);
            say!(language, "no longer watched: {was}", "больше не отслеживается: {was}")
        }
        Tense::Is | Tense::Still | Tense::Keeps | Tense::Again | Tense::NoLonger | Tense::NotListed => text,
    }
}

/// One item as a part of a sentence.
pub(super) fn problem<'a>(item: &'a Item, context: &Context<'_>) -> Problem<'a> {
    let state = context.account(&item.key.account);
    Problem {
        key: &item.key,
        subject: item.incident.subject.clone(),
        clauses: vec![tense::clause(item, state)],
        severity: item.severity,
        place: sentence::place(&item.key, state),
        count: 1,
    }
}

/// Text of others on one line that mail programs show as it is. `=?` begins an encoded word (RFC 2047), which
/// they would decode.
fn literal(text: &str, room: usize) -> String {
    let line = sanitize::one_line(text, room);
    if line.contains("=?") { sanitize::one_line(&line.replace("=?", "= ?"), room) } else { line }
}

/// `watching 43 resources; everything is fine`. Nothing is called fine unless everything is known.
pub(super) fn watching(notice: &Notice, facts: &Started, context: &Context<'_>) -> String {
    let language = context.language;
    let mut parts = by_resource(&notice.items, context);
    // A cut-off has a mail of its own.
    let cut_offs = facts.needs.saturating_sub(notice.items.len());
    if cut_offs > 0 {
        let text = match facts.overdue {
            true => language.pick("account overdue", "просрочена оплата"),
            false => language.pick("cut-off ahead", "впереди отключение"),
        };
        let severity = facts.severity.unwrap_or(Severity::Warning);
        parts.push(Part { text: text.to_owned(), count: cut_offs, severity, is_money: true });
        parts.sort_by_key(|part| sentence::urgency(part.severity, part.is_money));
    }
    let needs = match parts.as_slice() {
        [] => None,
        [one] if one.count == 1 => {
            let problem = &one.text;
            Some(say!(language, "1 problem: {problem}", "1 проблема: {problem}"))
        }
        parts => Some(sentence::several(parts, PROBLEMS, language)),
    };
    let missing = (!common::not_known(&notice.accounts, context).is_empty())
        .then(|| language.pick("some data is missing", "часть данных не получена").to_owned());
    let mut said: Vec<String> = [needs, missing].into_iter().flatten().collect();
    if said.is_empty() {
        said.push(language.pick("everything is fine", "всё в порядке").to_owned());
    }
    let (resources, said) = (language.count(facts.resources, words::RESOURCES), said.join("; "));
    say!(language, "watching {resources}; {said}", "наблюдение: {resources}; {said}")
}

/// The severity of a first-start mail.
pub(super) fn started_severity(notice: &Notice, facts: &Started, context: &Context<'_>) -> Severity {
    let severities = notice.items.iter().map(|item| item.severity);
    let worst = severities.chain(facts.severity).max().unwrap_or(Severity::Info);
    let wants_someone =
        facts.needs > 0 || facts.disconnect || !common::not_known(&notice.accounts, context).is_empty();
    if wants_someone { worst.max(Severity::Warning) } else { worst }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unit::account::{book, full, profile, read_at, snapshot};

    #[test]
    fn a_name_is_no_encoded_word() {
        assert_eq!(literal("VM =?utf-8?q?=0D=0AX:_y?=", 60), "VM = ?utf-8?q?=0D=0AX:_y?=");
        // Removing characters must not make an encoded word.
        assert_eq!(literal("=\u{200b}?utf-8?q?x?=", 60), "= ?utf-8?q?x?=");
        assert_eq!(literal(&"=?".repeat(40), 9).chars().count(), 10, "with its ellipsis");
    }

    #[test]
    fn unread_resources_are_never_called_fine() {
        let from = "hostwatch <hostwatch@example.com>".parse().unwrap();
        let of = |needs| Started { resources: 43, needs, disconnect: needs > 0, ..Started::default() };
        let off = Started { overdue: true, severity: Some(Severity::Critical), ..of(1) };
        let (known, unread) = (full("main"), book(profile("main")));
        for (facts, account, severity, want) in [
            (of(0), &known, Severity::Info, "watching 43 resources; everything is fine"),
            (of(1), &known, Severity::Warning, "watching 43 resources; 1 problem: cut-off ahead"),
            (off, &known, Severity::Critical, "watching 43 resources; 1 problem: account overdue"),
            (of(0), &unread, Severity::Warning, "watching 43 resources; some data is missing"),
            (
                of(1),
                &unread,
                Severity::Warning,
                "watching 43 resources; 1 problem: cut-off ahead; some data is missing",
            ),
        ] {
            let snapshot = snapshot([account]);
            let context = Context::new(&from, &snapshot, read_at());
            let accounts = vec![account.state().profile.name.clone()];
            let form = Form::Started(facts.clone());
            let notice = Notice { form, items: Vec::new(), to: String::new(), accounts };
            assert_eq!(watching(&notice, &facts, &context), want);
            assert_eq!(started_severity(&notice, &facts, &context), severity, "{want}");
        }
    }
}
