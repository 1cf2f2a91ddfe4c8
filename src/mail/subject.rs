//! Subject lines: severity or result in brackets, the sentence of `view`, and the accounts at the end. Pure.

pub(super) use super::body::Bracket;
use super::context::Context;
use super::incident;
use super::parts as common;
use super::tense;
use crate::alert::{Event, Item, Notice, Severity};
use crate::model::{AccountName, Language, Noun, sanitize, say};
use crate::view::forms::Tense;
use crate::view::sentence::{self, Part, Problem};
use crate::view::words::{self, PROBLEMS, capital};

/// The length that phones and lists still show.
const LONGEST: usize = 150;
/// The length of the last news of an incident that nothing watches any more.
const LONGEST_WAS: usize = 120;
/// The noun for several ends.
const OVER: Noun = Noun {
    en: ["problem over", "problems over"],
    ru: ["проблема позади", "проблемы позади", "проблем позади"],
};

/// The noun for beginnings and ends together.
const CHANGES: Noun = Noun {
    en: ["change", "changes"], ru: ["изменение", "изменения", "изменений"]
};

/// A subject in its parts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Subject {
    /// `[CRITICAL] VM web-1 in error (main)`: one line, at most 150 characters.
    pub line: String,
    /// The line without the brackets at its beginning, for webhooks, which have these in fields of their own.
    pub sentence: String,
    pub bracket: Bracket,
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
    Subject { line: format!("{head}{sentence}"), sentence, bracket }
}

/// The words about the items, open ones first, with which the first line begins too.
pub(super) fn words(notice: &Notice, items: &[&Item], context: &Context<'_>) -> String {
    let language = context.language;
    match items {
        [one] => alone(one, context),
        [first, others @ ..] if common::is_unwatched(&notice.items) => {
            words::with_more(&alone(first, context), others.len(), language)
        }
        several => {
            let is_over = |item: &&Item| item.event.is_end() && item.event != Event::Unwatched;
            let what = match several {
                all if all.iter().all(is_over) => OVER,
                all if all.iter().all(|item| !item.event.is_end()) => PROBLEMS,
                _ => CHANGES,
            };
            sentence::several(&by_resource(several.iter().copied(), context), what, language)
        }
    }
}

/// Items as parts of a sentence, one a resource with all its problems; equal ones share a part.
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
    match tense::clause(item, context).tense {
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
    Problem {
        key: &item.key,
        subject: item.incident.subject.clone(),
        clauses: vec![tense::clause(item, context)],
        severity: item.severity,
        place: sentence::place(&item.key, context.account(&item.key.account)),
        count: 1,
    }
}

/// Text of others on one line that mail programs show as it is. `=?` begins an encoded word (RFC 2047), which
/// they would decode.
fn literal(text: &str, room: usize) -> String {
    let line = sanitize::one_line(text, room);
    if line.contains("=?") { sanitize::one_line(&line.replace("=?", "= ?"), room) } else { line }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_no_encoded_word() {
        assert_eq!(literal("VM =?utf-8?q?=0D=0AX:_y?=", 60), "VM = ?utf-8?q?=0D=0AX:_y?=");
        // Removing characters must not make an encoded word.
        assert_eq!(literal("=\u{200b}?utf-8?q?x?=", 60), "= ?utf-8?q?x?=");
        assert_eq!(literal(&"=?".repeat(40), 9).chars().count(), 10, "with its ellipsis");
    }
}
