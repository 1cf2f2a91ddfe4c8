//! The mail of the first start: the watched resources, problems that already need somebody, and data that is
//! missing. Pure.

use super::body::{Body, Section, Table};
use super::context::{Context, MOST_LISTED, MOST_STARTED};
use super::{groups, parts, subject};
use crate::alert::{Item, Notice, Started};
use crate::model::forecast;
use crate::model::{AccountName, AccountState, Language, Sort, say};
use crate::view::words;

/// The contents of a first-start mail.
pub(super) fn body(notice: &Notice, facts: &Started, context: &Context<'_>) -> Body {
    let language = context.language;
    let severity = subject::started_severity(notice, facts, context);
    let watching = words::capital(&subject::watching(notice, facts, context));
    let mut sections = Vec::new();
    let several = notice.accounts.len() > 1;
    let problems = groups::sections(&parts::open_first(&notice.items), several, MOST_STARTED, context);
    // Severity comes first, then money.
    let worst = notice.items.iter().map(|item| item.severity).max();
    let money = facts.disconnect.then(|| cut_off(facts, language));
    let is_money_first = facts.severity >= worst;
    let (before, after) = if is_money_first { (money, None) } else { (None, money) };
    sections.extend(before.into_iter().chain(problems).chain(after));
    sections.push(parts::not_known(&notice.accounts, context));
    sections.push(overview(&notice.accounts, context));
    sections.extend(parts::lives_on(&notice.accounts, context));
    sections.push(next(facts, &notice.items, language));
    let at = context.of_first(&notice.accounts).moment(context.now);
    Body {
        tone: severity.into(),
        lead: format!("{watching} ({at})."),
        sections,
        foot: vec![parts::sender_line(&notice.accounts, language)],
        ..Body::default()
    }
}

fn cut_off(facts: &Started, language: Language) -> Section {
    let title = match facts.overdue {
        true => language.pick("Overdue", "Оплата просрочена"),
        false => language.pick("Cut-off ahead", "Впереди отключение"),
    };
    let mut section = Section::new(title);
    let see = language
        .pick("See the separate mail about the cut-off.", "Подробности — в отдельном письме об отключении.");
    section.lines.push(see.to_owned());
    section
}

fn next(facts: &Started, items: &[Item], language: Language) -> Section {
    let mut section = Section::new(language.pick("From now on", "Что дальше"));
    let known = if items.is_empty() {
        String::new()
    } else {
        let these = these(items, language);
        say!(language, "No reminders about {these}. ", "Напоминаний об этом не будет: {these}. ")
    };
    let money = match facts.disconnect && !items.is_empty() {
        true => language.pick("Cut-off mails still come. ", "Письма об отключении будут приходить. "),
        false => "",
    };
    section.lines.push(say!(
        language,
        "{known}{money}A mail comes when something breaks, when it recovers, and before an account is cut off.",
        "{known}{money}Письмо придёт, когда что-то сломается, когда починится и перед отключением аккаунта."
    ));
    section
}

/// `this VM`, `these VMs and sites`: the resources with problems.
fn these(items: &[Item], language: Language) -> String {
    let sort = |item: &Item| item.key.kind.sort();
    if let [only] = items {
        let what =
            sort(only).map_or(language.pick("problem", "проблема"), |one| words::sort(one, language));
        return say!(language, "this {what}", "{what}");
    }
    if items.iter().any(|item| sort(item).is_none()) {
        return language.pick("these problems", "уже известные проблемы").to_owned();
    }
    let is_there = |one: &Sort| items.iter().any(|item| sort(item) == Some(*one));
    let sorts = Sort::ALL.into_iter().filter(is_there);
    let sorts: Vec<&str> = sorts.map(|one| words::sorts(one, language)).collect();
    let all = words::all_of(&sorts, language);
    say!(language, "these {all}", "{all}")
}

/// One line an account.
pub(super) fn overview(accounts: &[AccountName], context: &Context<'_>) -> Section {
    let language = context.language;
    let mut section = Section::new(language.pick("What is watched", "Что под наблюдением"));
    let mut head = vec![language.pick("Account", "Аккаунт").to_owned()];
    head.extend(Sort::ALL.map(|sort| words::capital(words::sorts(sort, language))));
    head.extend(
        [language.pick("Balance", "Баланс"), language.pick("Cut-off", "Отключение")].map(str::to_owned),
    );
    let rows = accounts.iter().take(MOST_LISTED).filter_map(|name| {
        let state = context.account(name)?;
        let (balance, disconnect) = billing(state, context);
        let counts = Sort::ALL.map(|sort| known(state, sort, language));
        Some([name.to_string()].into_iter().chain(counts).chain([balance, disconnect]).collect())
    });
    let rows: Vec<Vec<String>> = rows.collect();
    if !rows.is_empty() {
        section.table = Some(Table { head, rows });
    }
    if accounts.len() > MOST_LISTED {
        section.lines.push(words::more(accounts.len() - MOST_LISTED, language));
    }
    section
}

/// The number of resources; it is never 0 because they were not read.
fn known(state: &AccountState, sort: Sort, language: Language) -> String {
    let count = state.resources_of(sort).count();
    match (state.profile.collectors.contains(&sort.seen_by()), state.was_read(sort) || count > 0) {
        (false, _) => "–".to_owned(),
        (true, false) => words::not_known(language).to_owned(),
        (true, true) => count.to_string(),
    }
}

fn billing(state: &AccountState, context: &Context<'_>) -> (String, String) {
    let language = context.language;
    let not_known = || words::not_known(language).to_owned();
    let Some((report, _)) = state.billing.last_known() else { return (not_known(), not_known()) };
    let balance =
        words::known_spaced_amount(forecast::balance_now(report), &state.profile.currency, language);
    (balance, context.reader().of(Some(state)).cut_off(forecast::disconnect(report)))
}
