//! The mail in place of mails that an hourly limit held back: one mail with all their items. Pure.

use super::body::{Body, Section};
use super::context::{Context, MOST_LISTED};
use super::incident;
use super::parts;
use super::subject::{self, Bracket, Subject};
use super::tense::Telling;
use crate::alert::{Event, Item, Kind, Notice, Severity, Summary};
use crate::model::{Language, say};
use crate::view::sentence;
use crate::view::words::{self, EVENTS};

/// The number of names in one line about offline resources.
const MOST_OFFLINE: usize = 5;

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
    let several = notice.accounts.len() > 1;
    let shown = items.len().min(MOST_LISTED);
    let (unwatched, over): (Vec<&Item>, Vec<&Item>) = items[..shown]
        .iter()
        .filter(|item| item.event.is_end())
        .partition(|item| item.event == Event::Unwatched);
    let open = items[..shown].iter().copied().filter(|item| !item.event.is_end()).collect();
    let mut sections = Vec::new();
    for (title, part) in [
        (language.pick("Open", "Открыто"), open),
        (language.pick("Resolved", "Решено"), over),
        (language.pick("No longer watched", "Больше не отслеживается"), unwatched),
    ] {
        if !part.is_empty() {
            let mut section = Section::new(title);
            section.list = part.into_iter().map(|item| line(item, several, context)).collect();
            sections.push(section);
        }
    }
    if items.len() > shown
        && let Some(last) = sections.last_mut()
    {
        last.lines.push(left_out(&items[shown..], language));
    }
    sections.push(limit(facts, language));
    let content = (lead(items, notice, facts, context), sections);
    parts::body(items.iter().copied(), false, &notice.accounts, content, language)
}

/// The number of items that are not listed, and their sorts.
fn left_out(items: &[&Item], language: Language) -> String {
    let over = items.iter().filter(|item| item.event.is_end()).count();
    let wrong = items.len() - over;
    say!(
        language,
        "Too many for one mail: {wrong} open and {over} closed are not listed; hostwatch incidents and the attached \
         incidents.json name each.",
        "Для одного письма слишком много: не перечислено открытых — {wrong}, закрытых — {over}; все назовут команда \
         hostwatch incidents и приложенный incidents.json."
    )
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

fn line(item: &Item, several: bool, context: &Context<'_>) -> String {
    let language = context.language;
    let reader = context.of(&item.key.account);
    let until = parts::until(item);
    let (since, gone) = (reader.since(item.began), reader.since(until));
    let lasted = words::lasted(until - item.began, language);
    let bracket = Bracket::of(item).word(language);
    let head = if item.event.is_end() { String::new() } else { format!("{bracket} ") };
    let when = match Telling::from(&item.event) {
        Telling::Over | Telling::WasDown => {
            let period = reader.period(item.began, until);
            let times = parts::times(item, language);
            format!("{period} ({lasted}{}{times})", if times.is_empty() { "" } else { "," })
        }
        Telling::Gone => {
            say!(
                language,
                "{since}; {gone} the provider does not list it any more",
                "{since}; {gone} провайдер больше не показывает это в списке"
            )
        }
        Telling::Unwatched => {
            say!(language, "no longer watched {gone}", "больше не отслеживается {gone}")
        }
        Telling::StillSo => say!(language, "{since}, for {lasted} now", "{since}, уже {lasted}"),
        Telling::Begun => since,
    };
    let offline = offline(item, context);
    format!("{head}{}: {when}{offline} ({})", parts::title(item, several, language), item.key)
}

/// The resources that get no mail of their own.
fn offline(item: &Item, context: &Context<'_>) -> String {
    let language = context.language;
    let state = context.account(&item.key.account).filter(|_| !item.event.is_end());
    let sites = state.filter(|_| item.key.kind == Kind::ContainerDisabled);
    let mut names = sites.map_or_else(Vec::new, |state| incident::sites_of(item, state, language));
    if !item.event.is_end() {
        names.extend(parts::causes(item, context));
    }
    if names.is_empty() {
        return String::new();
    }
    let names = words::few(&names, MOST_OFFLINE, language);
    say!(language, "; also offline: {names}", "; вместе с этим отключены: {names}")
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
