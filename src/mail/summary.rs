//! The mail in place of mails that an hourly limit held back: one mail with all their items. Pure.

use super::body::{Body, Section};
use super::context::{Context, MOST_LISTED};
use super::subject::{self, Bracket, Subject};
use super::{groups, parts, unwatched};
use crate::alert::{Event, Item, Notice, Severity, Summary};
use crate::model::{Language, say};
use crate::view::sentence;
use crate::view::words::{self, EVENTS};

/// Subject and contents of a summary.
pub(super) fn write(notice: &Notice, facts: &Summary, context: &Context<'_>) -> (Subject, Body) {
    let items = parts::open_first(&notice.items);
    (of(&items, notice, context), body(&items, notice, facts, context))
}

/// `[CRITICAL] 7 more events: 3 sites in error in agency and 4 more (main)`.
fn of(items: &[&Item], notice: &Notice, context: &Context<'_>) -> Subject {
    let language = context.language;
    let is_unwatched = items.iter().any(|item| item.event == Event::Unwatched);
    let worst = items.first().filter(|worst| !(worst.event.is_end() && is_unwatched));
    let bracket = worst.map_or(Bracket::Of(Severity::Info), |worst| Bracket::of(worst));
    let parts = subject::parts(items.iter().copied(), context);
    let events = language.count(items.len(), EVENTS);
    let words = match parts.as_slice() {
        [] => events,
        [one] => format!("{events}: {}", one.text),
        several => sentence::several(several, EVENTS, language),
    };
    subject::line(bracket, &words, &notice.accounts, language)
}

/// The contents.
fn body(items: &[&Item], notice: &Notice, facts: &Summary, context: &Context<'_>) -> Body {
    let language = context.language;
    let (unwatched, told): (Vec<&Item>, Vec<&Item>) =
        items.iter().partition(|item| item.event == Event::Unwatched);
    let told: Vec<Item> = told.into_iter().cloned().collect();
    let mut sections = groups::sections(&told, notice.accounts.len() > 1, MOST_LISTED, context);
    sections.extend(unwatched::sections(&unwatched, context));
    sections.push(limit(facts, language));
    let content = (lead(items, notice, facts, context), sections);
    parts::body(items.iter().copied(), false, &notice.accounts, content, language)
}

fn per_hour(facts: &Summary, language: Language) -> String {
    let mails = language.count(facts.max_per_hour, words::MAILS);
    say!(language, "{mails} an hour", "{mails} в час")
}

/// The first line: the number of events, since when, and the worst of them.
fn lead(items: &[&Item], notice: &Notice, facts: &Summary, context: &Context<'_>) -> String {
    let language = context.language;
    let events = language.count(items.len(), EVENTS);
    let since = context.of_first(&notice.accounts).since(facts.since);
    let worst = match items.first() {
        Some(worst) if worst.event.is_end() => all_over(items, language).to_owned(),
        Some(worst) => {
            let name = parts::name(worst, language);
            say!(language, "the worst: {name}", "самое важное: {name}")
        }
        None => language.pick("none of them is known any more", "подробностей уже нет").to_owned(),
    };
    let (accounts, limit) = (parts::accounts(notice, language), per_hour(facts, language));
    say!(
        language,
        "{events} {since}, when the limit of {limit} was reached; {worst} ({accounts}).",
        "{events} {since}: тогда был достигнут предел, {limit}; {worst} ({accounts})."
    )
}

/// The words if none of the items is open.
fn all_over(items: &[&Item], language: Language) -> &'static str {
    match items.iter().filter(|item| item.event == Event::Unwatched).count() {
        0 => language.pick("all of it is resolved", "всё уже решено"),
        count if count == items.len() => {
            language.pick("none of it is watched any more", "ничего из этого больше не отслеживается")
        }
        _ => language.pick(
            "all of it is resolved, or no longer watched",
            "всё уже решено или больше не отслеживается",
        ),
    }
}

fn limit(facts: &Summary, language: Language) -> Section {
    let mut section = Section::new(language.pick("The limit", "Ограничение"));
    let (limit, limit_label) = (per_hour(facts, language), language.pick("Limit", "Сколько"));
    section.row(limit_label, format!("{limit}: email.max_per_hour"));
    section.row(
        language.pick("To raise it", "Как изменить"),
        language.pick(
            "Set email.max_per_hour in the configuration and reload (SIGHUP).",
            "Задайте email.max_per_hour в конфигурации и перечитайте её (SIGHUP).",
        ),
    );
    section.row(
        language.pick("Never held back", "Не задерживаются"),
        language.pick(
            "Mails about a cut-off: they do not wait for this limit.",
            "Письма об отключении: это ограничение их не касается.",
        ),
    );
    section
}
