//! One incident in full: its state, its resource, its time, the reason, the advice, and the resources that are
//! offline with it. Pure.

use chrono::Duration;

use super::body::Section;
use super::context::Context;
use super::parts::{self, MOST_NAMES, named, title};
use super::tense;
use crate::alert::{Cause, Detail, Item, Kind};
use crate::model::{AccountState, ContainerId, Language, sanitize, say};
use crate::view::forms::{self, Clause};
use crate::view::words::{few, first};
use crate::view::{advice, reasons, words};

/// The duration of an incident is shown from here on.
const SAID_FROM: Duration = Duration::minutes(1);

/// The label of a key.
pub(super) const fn incident_label(language: Language) -> &'static str {
    language.pick("Incident", "Ключ")
}

/// The label of the beginning.
pub(super) const fn since_label(language: Language) -> &'static str {
    language.pick("Since", "Началось")
}

/// One incident in full. `room`: how many more names of offline resources fit into the mail.
pub(super) fn section(item: &Item, several: bool, room: &mut usize, context: &Context<'_>) -> Section {
    let language = context.language;
    let state = context.account(&item.key.account);
    let over = item.event.is_end();
    let title = if over { past_title(item, several, language) } else { title(item, several, language) };
    let mut section = Section::new(title);
    let (label, seen) = observed(item, language);
    section.row(label, seen);
    if let Some(which) = state.and_then(|state| advice::which(&item.key, state, language)) {
        section.row(words::sort_label(which.sort, language), which.in_full());
    }
    section.rows.extend(when(item, context));
    let why = why(item, language).map(|why| (language.pick("Why", "Почему письмо").to_owned(), why));
    section.rows.extend(why);
    if !over {
        section.row(to_do(language), advice::of(&item.key, state, language));
    }
    if item.key.kind == Kind::ContainerDisabled
        && !over
        && let Some(state) = state
    {
        offline(item, state, room, &mut section, language);
    }
    let causes = parts::causes(item, context);
    if !causes.is_empty() {
        let names = few(&causes, take(room, causes.len()).max(1), language);
        let no_mails = parts::no_separate_mails(language);
        section.row(language.pick("Causes", "Следствия"), format!("{names} ({no_mails})"));
    }
    section
}

/// The label of the advice.
pub(super) const fn to_do(language: Language) -> &'static str {
    language.pick("What to do", "Что делать")
}

/// `VM web-1 was in error`, with the account if the mail is about several.
fn past_title(item: &Item, several: bool, language: Language) -> String {
    let was = words::capital(&past(item, language));
    let account = if several { format!("{}: ", item.key.account) } else { String::new() };
    sanitize::one_line(&format!("{account}{was}"), 160)
}

/// `VM web-1 was in error`.
pub(super) fn past(item: &Item, language: Language) -> String {
    let clause = Clause::new(item.incident.wrong(), tense::was(item));
    forms::one(&item.incident.subject, &item.key, &[clause], language)
}

/// The observation with its label: `State`, `error`.
pub(super) fn observed(item: &Item, language: Language) -> (&'static str, String) {
    let detail = &item.incident.detail;
    let said = sanitize::one_line(&reasons::detail(detail, language), 300);
    match (detail, item.key.kind) {
        (Detail::State { state, .. }, _) => {
            let name = sanitize::one_line(state, 300);
            let words = forms::state(&name, language);
            let value = if words == name { name } else { format!("{words} ({name})") };
            (language.pick("State", "Состояние"), value)
        }
        (_, Kind::BalanceDrop) => (language.pick("Balance", "Баланс"), words::capital(&said)),
        (_, Kind::OrderCost) => (language.pick("Cost", "Стоимость"), words::capital(&said)),
        _ if item.event.is_end() => (language.pick("Now", "Сейчас"), words::capital(&said)),
        (_, Kind::CollectorFailing | Kind::CredentialsRejected) => (error(language), said),
        (_, Kind::BillingReport) => (error(language), words::capital(&said)),
        _ => (language.pick("Problem", "Проблема"), words::capital(&said)),
    }
}

const fn error(language: Language) -> &'static str {
    language.pick("Error", "Ошибка")
}

/// `Since`, or `From` and `To` if it is over; empty for an incident that has only just begun.
pub(super) fn when(item: &Item, context: &Context<'_>) -> Vec<(String, String)> {
    let (reader, language) = (context.of(&item.key.account), context.language);
    let (began, until) = (item.began, parts::until(item));
    let lasted = words::lasted(until - began, language);
    let times = parts::times(item, language);
    let times = if times.is_empty() { times } else { format!(",{times}") };
    let (began_at, until_at) = (reader.moment(began), reader.moment(until));
    let rows = if item.event.is_end() && words::is_one_minute(began, until) {
        vec![(language.pick("When", "Когда"), format!("{until_at} ({lasted}{times})"))]
    } else if item.event.is_end() {
        let to = (language.pick("To", "Закончилось"), format!("{until_at} ({lasted}{times})"));
        vec![(language.pick("From", "Началось"), began_at), to]
    } else if until - began < SAID_FROM {
        Vec::new()
    } else {
        vec![(since_label(language), format!("{began_at} ({lasted})"))]
    };
    rows.into_iter().map(|(label, value)| (label.to_owned(), value)).collect()
}

/// The reason for the mail; `None` if the mail itself is the reason.
pub(super) fn why(item: &Item, language: Language) -> Option<String> {
    (item.why != Cause::KnownAtStart).then(|| parts::why(item, language))
}

/// The sites of a disabled container, which get no mail of their own.
fn offline(item: &Item, state: &AccountState, room: &mut usize, section: &mut Section, language: Language) {
    let sites = sites_of(item, state, language);
    if sites.is_empty() {
        let none = language.pick("No site of it is known.", "О сайтах в нём ничего не известно.");
        section.lines.push(none.to_owned());
    } else {
        let end = if *room == 0 { "." } else { ":" };
        section.lines.push(format!("{}{end}", also_offline(sites.len(), language)));
        let most = take(room, sites.len());
        section.list = first(sites, most, language);
    }
}

/// `Also offline: 3 sites (no separate mails)`.
pub(super) fn also_offline(sites: usize, language: Language) -> String {
    let count = language.count(sites, words::noun_of(crate::model::Sort::Site));
    let no_mails = parts::no_separate_mails(language);
    say!(language, "Also offline: {count} ({no_mails})", "Вместе с ним отключены: {count} ({no_mails})")
}

/// The sites of a container, with their states if these are not the usual one.
pub(super) fn sites_of(item: &Item, state: &AccountState, language: Language) -> Vec<String> {
    let listing = item.key.id().and_then(|id| state.sites.get(&ContainerId::new(id)));
    let sites = listing.into_iter().flat_map(|listing| state.listed(listing));
    sites.map(|site| named(&site, language)).collect()
}

/// How many of these names there is room for.
fn take(room: &mut usize, names: usize) -> usize {
    let taken = names.min(MOST_NAMES).min(*room);
    *room -= taken;
    taken
}
