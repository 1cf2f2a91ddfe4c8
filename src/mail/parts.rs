//! Phrases that several mails share: an incident's name, its tense, long lists, the sender's line. Pure.

use chrono::{DateTime, Utc};

use super::body::{Section, WIDTH};
use super::context::Context;
use crate::alert::{Event, Incident, Item, Key, Kind, Subject};
use crate::model::{AccountName, Health, Language, SeenResource, Sort, sanitize, say};
use crate::view::forms::{self, Clause, Tense};
use crate::view::{health, reasons, sentence, words};

/// The number of names in a list of offline resources.
pub(super) const MOST_NAMES: usize = 20;

/// The end of an incident, if the mail is about that; otherwise the time of the mail.
pub(super) fn until(item: &Item) -> DateTime<Utc> {
    item.incident.ended.filter(|_| item.event.is_end()).unwrap_or(item.at)
}

/// ` 3 times`: how often an incident came and went, if more than once.
pub(super) fn times(item: &Item, language: Language) -> String {
    match item.episodes {
        0 | 1 => String::new(),
        episodes => format!(" {}", language.count(episodes as usize, words::TIMES)),
    }
}

/// The incidents that it explains, in words. Incidents that the mail shows in other words are left out: of the same
/// resource, of the sites in a container, of the VMs and sites of an account.
pub(super) fn causes(item: &Item, context: &Context<'_>) -> Vec<String> {
    let state = context.account(&item.key.account);
    let sort = item.key.kind.sort();
    let is_same = |key: &Key| sort.is_some() && key.kind.sort() == sort && key.resource == item.key.resource;
    let is_inside = |key: &Key| match (item.key.kind, key.kind.sort()) {
        (Kind::Disconnect, Some(Sort::Vm | Sort::Site)) => true,
        (Kind::ContainerDisabled, Some(Sort::Site)) => {
            let site = key.id().and_then(|id| state?.site(id.into()));
            site.is_some_and(|site| Some(site.container.get()) == item.key.id())
        }
        _ => false,
    };
    let others = item.covers.iter().filter(|one| !is_same(&one.key) && !is_inside(&one.key));
    others.map(|one| listed(one, 80, context.language)).collect()
}

/// These incidents as a row, with at most `most` names; `None` without any.
pub(super) fn causes_row(causes: &[String], most: usize, language: Language) -> Option<(String, String)> {
    let (names, no_mails) = (words::few(causes, most, language), no_separate_mails(language));
    let label = language.pick("Causes", "Следствия").to_owned();
    (!causes.is_empty()).then(|| (label, format!("{names} ({no_mails})")))
}

/// An incident that another one explains: `VM web-1 blocked`.
pub(super) fn listed(one: &Incident, most: usize, language: Language) -> String {
    sanitize::one_line(&words::capital(&forms::listed(one, &Event::Opened, language)), most)
}

/// The reason for an item, as a sentence of its own.
pub(super) fn why(item: &Item, language: Language) -> String {
    words::capital(&sanitize::one_line(&reasons::cause(&item.why, language), 400))
}

/// `VM web-1 in error`.
pub(super) fn name(item: &Item, language: Language) -> String {
    let incident = &item.incident;
    let words = match &item.cut_off {
        _ if item.key.kind != Kind::Disconnect => forms::listed(incident, &item.event, language),
        Some(cut_off) if incident.phase.is_open() => {
            let clause = Clause::new(cut_off.wrong(item.at), Tense::Is);
            forms::one(&Subject::Account, &item.key, &[clause], language)
        }
        Some(_) | None => {
            let account = &item.key.account;
            say!(language, "cut-off of account {account}", "отключение аккаунта {account}")
        }
    };
    sanitize::one_line(&words::capital(&words), 160)
}

/// `main: VM web-1 in error`, if the mail is about several accounts.
pub(super) fn title(item: &Item, several: bool, language: Language) -> String {
    let name = name(item, language);
    if several { format!("{}: {name}", item.key.account) } else { name }
}

/// Open incidents, then those that nothing watches any more, then ended ones, each in their order.
pub(super) fn open_first(items: &[Item]) -> Vec<&Item> {
    let mut all: Vec<&Item> = items.iter().collect();
    all.sort_by_key(|item| (item.event.is_end(), item.event != Event::Unwatched));
    all
}

/// Whether nothing watches any of these incidents any more.
pub(super) fn is_unwatched(items: &[Item]) -> bool {
    items.iter().all(|item| item.event == Event::Unwatched)
}

/// Each of them once, in their order.
pub(super) fn unique<T: PartialEq + Copy>(all: impl Iterator<Item = T>) -> impl Iterator<Item = T> {
    let mut found = Vec::new();
    all.filter(move |one| {
        let is_new = !found.contains(one);
        found.extend(is_new.then_some(*one));
        is_new
    })
}

/// A name, or the id of a nameless resource, with its state if that is not the usual one.
pub(super) fn named(seen: &SeenResource<'_>, language: Language) -> String {
    let name = seen.name.map_or_else(|| seen.id.to_string(), |name| sanitize::one_line(name, 80));
    let other = || sanitize::one_line(&forms::state(seen.state, language), 40);
    if seen.health == Health::Fine { name } else { format!("{name} ({})", other()) }
}

/// The words about problems that get no mail of their own.
pub(super) const fn no_separate_mails(language: Language) -> &'static str {
    language.pick("no separate mails", "отдельных писем не будет")
}

/// The parts of these accounts that are not known: `main: Cannot read sites since Sun 1 Mar 14:00 MSK: why`.
pub(super) fn not_known<'a>(
    accounts: impl IntoIterator<Item = &'a AccountName>,
    context: &Context<'_>,
) -> Section {
    let language = context.language;
    let of = |name: &AccountName| -> Vec<String> {
        let lines = context.account(name).map(|state| health::not_known_lines(state, context.reader()));
        let nothing = || vec![language.pick("Nothing was read yet", "Данных ещё не было").to_owned()];
        lines.unwrap_or_else(nothing).into_iter().map(|line| format!("{name}: {line}")).collect()
    };
    let list = words::first(accounts.into_iter().flat_map(of).collect(), MOST_NAMES, language);
    Section { list, ..Section::new(language.pick("Not known", "Неизвестно")) }
}

/// A warning that hostwatch itself runs on something that these accounts pay for.
pub(super) fn lives_on(accounts: &[AccountName], context: &Context<'_>) -> Option<Section> {
    let language = context.language;
    let here = context.lives_on.as_ref().filter(|here| accounts.contains(&here.account))?;
    let title =
        language.pick("hostwatch runs on what it watches", "hostwatch работает на том, за чем наблюдает");
    let mut section = Section::new(title);
    let (vm, account) = (here.name(), &here.account);
    section.lines.push(say!(
        language,
        "It runs on VM {vm} of account {account}. If this VM goes down you get no mail. Set heartbeat.url so that an \
         outside service notices.",
        "Он запущен на сервере {vm} аккаунта {account}. Если этот сервер отключится, писем не будет. Укажите \
         heartbeat.url, чтобы это заметила внешняя служба."
    ));
    Some(section)
}

/// The end of a mail: command lines about the worst of its incidents, which can be copied, and the sender's line.
pub(super) fn foot(items: &[&Item], accounts: &[AccountName], language: Language) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(worst) = items.first() {
        let details = language.pick("Details", "Подробнее");
        lines.extend(command_line(details, format!("hostwatch why {}", worst.key)));
    }
    let reminded: Vec<_> = items.iter().filter(|item| item.is_reminded).collect();
    if let Some(first) = reminded.first() {
        let stop = language.pick("Stop reminders", "Отключить напоминания");
        lines.extend(command_line(stop, format!("hostwatch ack {}", first.key)));
    }
    if reminded.len() > 1 {
        let others = language.pick(
            "To acknowledge another problem, use its name or ID.",
            "Для другой проблемы укажите её имя или ID.",
        );
        lines.push(others.to_owned());
    }
    lines.push(sender_line(accounts, language));
    lines
}

/// A command in the line of what it does, or below it: one that is broken in two cannot be copied.
fn command_line(does: &str, command: String) -> Vec<String> {
    let line = format!("{does}: {command}");
    if line.chars().count() > WIDTH { vec![format!("{does}:"), command] } else { vec![line] }
}

/// The line that names the sender.
pub(super) fn sender_line(accounts: &[AccountName], language: Language) -> String {
    let whose = sentence::whose(accounts, language);
    say!(
        language,
        "Sent by hostwatch{whose}. Replies are not read.",
        "Письмо отправил hostwatch{whose}. Ответы никто не читает."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_is_not_broken_in_two() {
        let ack = || "hostwatch ack client-agency/credentials_rejected/hosting".to_owned();
        assert_eq!(command_line("Stop reminders", ack()), [format!("Stop reminders: {}", ack())]);
        let below = ["Отключить напоминания:".to_owned(), ack()];
        assert_eq!(command_line("Отключить напоминания", ack()), below);
    }
}
