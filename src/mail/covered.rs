//! The mail about further consequences of an incident that people know of. Pure.

use super::body::{Body, Section};
use super::context::{Context, MOST_LISTED};
use super::incident;
use super::parts::{self, listed, too_many};
use super::subject::{self, Bracket};
use crate::alert::{Event, Item, Notice, Severity};
use crate::model::{Language, sanitize, say};
use crate::view::{forms, words};

/// `[CRITICAL] Also offline now: VM web-1 blocked and 2 more (main)`.
pub(super) fn subject(notice: &Notice, context: &Context<'_>) -> subject::Subject {
    let language = context.language;
    let severity = notice.items.first().map_or(Severity::Info, |item| item.severity);
    let said = format!("{}: {}", also(language), first(notice, language));
    subject::line(Bracket::Of(severity), &said, &notice.accounts, language)
}

const fn also(language: Language) -> &'static str {
    language.pick("Also offline now", "Отключились ещё")
}

/// The contents of such a mail.
pub(super) fn body(notice: &Notice, context: &Context<'_>) -> Body {
    let language = context.language;
    let (also, when) = (also(language), parts::when(notice, context));
    let (first, accounts) = (first(notice, language), parts::accounts(notice, language));
    let lead = format!("{also}{when}: {first} ({accounts}).");
    let most = MOST_LISTED / notice.items.len().max(1);
    let sections = notice.items.iter().map(|item| section(item, most, context)).collect();
    parts::body(&notice.items, false, &notice.accounts, (lead, sections), language)
}

fn first(notice: &Notice, language: Language) -> String {
    let covers = notice.items.iter().flat_map(|item| &item.covers);
    let name = |one| sanitize::one_line(&forms::listed(one, &Event::Opened, language), 80);
    words::few(&covers.map(name).collect::<Vec<_>>(), 1, language)
}

fn section(item: &Item, most: usize, context: &Context<'_>) -> Section {
    let language = context.language;
    let mut section = Section::new(also(language));
    section.row(language.pick("Caused by", "Причина"), parts::name(item, language));
    section.row(incident::since_label(language), context.of(&item.key.account).moment(item.began));
    section.row(incident_label(language), item.key.to_string());
    let no_mails = parts::no_separate_mails(language);
    section.lines.push(say!(language, "Also offline now ({no_mails}):", "Отключены ({no_mails}):"));
    section.list = item.covers.iter().take(most).map(|one| listed(one, 160, language)).collect();
    let more = item.covers.len().saturating_sub(most);
    if more > 0 {
        section.lines.push(too_many(more, language));
    }
    section
}

/// The label of a key.
pub(super) const fn incident_label(language: Language) -> &'static str {
    language.pick("Incident", "Ключ")
}
