//! The mail of the first start: the watched resources, problems that already need somebody, and data that is
//! missing. Pure.

use super::body::{Body, Section, Table};
use super::context::{Context, MOST_LISTED, MOST_STARTED};
use super::subject::{self, Bracket, Subject};
use super::{groups, parts};
use crate::alert::{Item, Notice, Severity, Started};
use crate::model::forecast::{self, Disconnect};
use crate::model::{AccountName, AccountState, Language, Sort, say};
use crate::view::sentence::{self, Part};
use crate::view::words::{self, PROBLEMS};

/// Subject and contents of a first-start mail.
pub(super) fn write(notice: &Notice, facts: &Started, context: &Context<'_>) -> (Subject, Body) {
    let language = context.language;
    let not_known = parts::not_known(&notice.accounts, context);
    let bracket = Bracket::Of(severity(notice, facts, &not_known));
    let said = watching(notice, facts, &not_known, context);
    let subject = subject::line(bracket, &said, &notice.accounts, language);
    let several = notice.accounts.len() > 1;
    let problems = groups::sections(&parts::open_first(&notice.items), several, MOST_STARTED, context);
    // Severity comes first, then money.
    let worst = notice.items.iter().map(|item| item.severity).max();
    let money = facts.disconnect.then(|| cut_off(facts, language));
    let is_money_first = facts.severity >= worst;
    let (before, after) = if is_money_first { (money, None) } else { (None, money) };
    let mut sections: Vec<Section> = before.into_iter().chain(problems).chain(after).collect();
    sections.push(not_known);
    sections.push(overview(&notice.accounts, context));
    sections.extend(parts::lives_on(&notice.accounts, context));
    sections.push(next(facts, &notice.items, language));
    let at = context.of_first(&notice.accounts).moment(context.now);
    let body = Body {
        tone: bracket.into(),
        lead: format!("{} ({at}).", words::capital(&said)),
        sections,
        foot: vec![parts::sender_line(&notice.accounts, language)],
        ..Body::default()
    };
    (subject, body)
}

/// `watching 43 resources; everything is fine`. Nothing is called fine unless everything is known.
fn watching(notice: &Notice, facts: &Started, not_known: &Section, context: &Context<'_>) -> String {
    let language = context.language;
    let mut parts = subject::by_resource(&notice.items, context);
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
    let missing = (!not_known.is_empty())
        .then(|| language.pick("some data is missing", "часть данных не получена").to_owned());
    let mut said: Vec<String> = [needs, missing].into_iter().flatten().collect();
    if said.is_empty() {
        said.push(language.pick("everything is fine", "всё в порядке").to_owned());
    }
    let (resources, said) = (language.count(facts.resources, words::RESOURCES), said.join("; "));
    say!(language, "watching {resources}; {said}", "наблюдение: {resources}; {said}")
}

/// The severity of a first-start mail.
fn severity(notice: &Notice, facts: &Started, not_known: &Section) -> Severity {
    let severities = notice.items.iter().map(|item| item.severity);
    let worst = severities.chain(facts.severity).max().unwrap_or(Severity::Info);
    let wants_someone = facts.needs > 0 || facts.disconnect || !not_known.is_empty();
    if wants_someone { worst.max(Severity::Warning) } else { worst }
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
    let sorts: Vec<&str> = sorts.map(|one| words::collected(one.seen_by(), language)).collect();
    let all = words::all_of(&sorts, language);
    say!(language, "these {all}", "{all}")
}

/// One line an account.
pub(super) fn overview(accounts: &[AccountName], context: &Context<'_>) -> Section {
    let language = context.language;
    let mut section = Section::new(language.pick("What is watched", "Что под наблюдением"));
    let mut head = vec![language.pick("Account", "Аккаунт").to_owned()];
    head.extend(Sort::ALL.map(|sort| words::capital(words::collected(sort.seen_by(), language))));
    head.extend(
        [language.pick("Balance", "Баланс"), language.pick("Cut-off", "Отключение")].map(str::to_owned),
    );
    let rows = accounts.iter().take(MOST_LISTED).filter_map(|name| {
        let state = context.account(name)?;
        let payer = context.payer(name);
        let balance = payer.report.and_then(forecast::balance_now);
        let balance = words::known_spaced_amount(balance, payer.currency, language);
        let cut_off = payer.report.map_or(Disconnect::Unknown, forecast::disconnect);
        let counts = Sort::ALL.map(|sort| known(state, sort, language));
        Some(
            [name.to_string()]
                .into_iter()
                .chain(counts)
                .chain([balance, payer.reader.cut_off(cut_off)])
                .collect(),
        )
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alert::Form;
    use crate::unit::account::{book, full, profile, read_at, snapshot};

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
            let (subject, _) = write(&notice, &facts, &context);
            assert_eq!(subject.sentence, format!("{} (main)", words::capital(want)));
            assert_eq!(subject.bracket, Bracket::Of(severity), "{want}");
        }
    }
}
