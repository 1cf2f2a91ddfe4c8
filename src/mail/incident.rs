//! The facts of one incident: its heading, its state, its time, the reason, the sites that are offline with it. Pure.

use chrono::Duration;

use super::context::Context;
use super::parts::{self, named};
use crate::alert::{Cause, CutOff, Detail, Event, Item, Kind, Subject, Wrong};
use crate::model::{AccountState, ContainerId, Language, sanitize, say};
use crate::view::forms::{self, Clause, Tense};
use crate::view::{reasons, words};

/// The duration of an incident is shown from here on.
const SAID_FROM: Duration = Duration::minutes(1);

/// The label of the beginning.
pub(super) const fn since_label(language: Language) -> &'static str {
    language.pick("Since", "Началось")
}

/// The label of the advice.
pub(super) const fn to_do(language: Language) -> &'static str {
    language.pick("What to do", "Что делать")
}

/// `VM web-1 was in error`, with the account if the mail is about several.
pub(super) fn past_title(item: &Item, several: bool, context: &Context<'_>) -> String {
    let is_unwatched = item.event == Event::Unwatched;
    let was = if is_unwatched { unwatched(item, context) } else { past(item, context.language) };
    let was = words::capital(&was);
    let account = if several { format!("{}: ", item.key.account) } else { String::new() };
    sanitize::one_line(&format!("{account}{was}"), 160)
}

/// `VM web-1 was in error`.
pub(super) fn past(item: &Item, language: Language) -> String {
    let clause = Clause::new(item.incident.wrong(), Tense::Was);
    forms::one(&item.incident.subject, &item.key, &[clause], language)
}

/// The last news of an incident that nothing watches any more: `VM web-1 was in error`; `account main, was overdue`.
pub(super) fn unwatched(item: &Item, context: &Context<'_>) -> String {
    let (account, language) = (&item.key.account, context.language);
    // A sentence of release 0.2 has no past tense.
    if let Subject::Text(said) = &item.incident.subject
        && item.incident.wrong() == Wrong::Itself
    {
        return said.clone();
    }
    if item.key.kind != Kind::Disconnect {
        return past(item, language);
    }
    let was = cut_off_was(item, context);
    say!(language, "account {account}, {was}", "аккаунт {account}, {was}")
}

/// `was overdue`. A cut-off that is not watched is only known from the recipient's last mail.
fn cut_off_was(item: &Item, context: &Context<'_>) -> String {
    let language = context.language;
    let (cut_off, told) = (item.cut_off.as_ref(), &item.before.money);
    if told.rung == Some(0) || cut_off.is_some_and(|one| one.is_overdue(item.at)) {
        return language.pick("was overdue", "была просрочена оплата").to_owned();
    }
    let Some(edd) = cut_off.and_then(CutOff::date).or(told.date) else {
        return language.pick("was to be cut off", "ожидалось отключение").to_owned();
    };
    let reader = context.of(&item.key.account);
    let day = match language {
        Language::En => reader.day_of(edd),
        Language::Ru => reader.on_day(reader.date(edd)),
    };
    say!(language, "cut-off was due {day}", "отключение ожидалось {day}")
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
            let is_last = item.event == Event::Unwatched;
            let last = language.pick("Last state", "Последнее состояние");
            (if is_last { last } else { language.pick("State", "Состояние") }, value)
        }
        (_, Kind::BalanceDrop) => (language.pick("Balance", "Баланс"), words::capital(&said)),
        (_, Kind::OrderCost) => (language.pick("Cost", "Стоимость"), words::capital(&said)),
        _ if item.event.is_end() && item.event != Event::Unwatched => {
            // A report that proved nothing was an answer too.
            let is_report = (detail, item.key.kind) == (&Detail::Answers, Kind::BillingReport);
            let whole = language.pick("The report is whole again", "Отчёт снова полный");
            let said = if is_report { whole.to_owned() } else { words::capital(&said) };
            (language.pick("Now", "Сейчас"), said)
        }
        (_, Kind::CollectorFailing | Kind::CredentialsRejected) => (error(language), said),
        (Detail::Text(_), Kind::BillingReport) => (error(language), words::capital(&said)),
        _ => (language.pick("Problem", "Проблема"), words::capital(&said)),
    }
}

const fn error(language: Language) -> &'static str {
    language.pick("Error", "Ошибка")
}

/// `When` if it is over, `Since` if it is open or nothing watches it any more. `None` for an incident that has only just
/// begun.
pub(super) fn when(item: &Item, context: &Context<'_>) -> Option<(&'static str, String)> {
    let (reader, language) = (context.of(&item.key.account), context.language);
    let (began, until) = (item.began, parts::until(item));
    let lasted = words::lasted(until - began, language);
    if item.event == Event::Unwatched {
        // Nobody knows how long it lasted.
        let (began, until) = (reader.moment(began), reader.moment(until));
        let since = say!(language, "{began}, watched until {until}", "{began}, наблюдение до {until}");
        return Some((since_label(language), since));
    }
    if !item.event.is_end() {
        let since = format!("{} ({lasted})", reader.moment(began));
        return (until - began >= SAID_FROM).then(|| (since_label(language), since));
    }
    let times = parts::times(item, language);
    let times = if times.is_empty() { times } else { format!(",{times}") };
    Some((language.pick("When", "Когда"), format!("{} ({lasted}{times})", reader.period(began, until))))
}

/// The reason for the mail; `None` if the mail itself is the reason.
pub(super) fn why(item: &Item, language: Language) -> Option<String> {
    (item.why != Cause::KnownAtStart).then(|| parts::why(item, language))
}

/// The sites of a container, with their states if these are not the usual one.
pub(super) fn sites_of(item: &Item, state: &AccountState, language: Language) -> Vec<String> {
    let listing = item.key.id().and_then(|id| state.sites.get(&ContainerId::new(id)));
    let sites = listing.into_iter().flat_map(|listing| state.listed(listing));
    sites.map(|site| named(&site, language)).collect()
}
