//! The mail about incidents that nothing watches any more. It never says that they are over. Pure.

use super::body::{Body, Section};
use super::context::{Context, MOST_LISTED};
use super::parts::{self, too_many};
use super::subject::{self, Bracket};
use super::{incident, tense};
use crate::alert::{CutOff, Item, Kind, Notice, Severity, Subject, Wrong};
use crate::model::{Language, sanitize, say};
use crate::view::forms::{self, Clause};
use crate::view::words::{self, all_of, collected};

/// `[INFO] No longer watched: VM web-1, was in error (main)`.
pub(super) fn subject(notice: &Notice, context: &Context<'_>) -> subject::Subject {
    let said = no_longer(&news(notice, context), context.language);
    subject::line(Bracket::Of(Severity::Info), &said, &notice.accounts, context.language)
}

/// `no longer watched: account main, was overdue`.
pub(super) fn no_longer(what: &str, language: Language) -> String {
    say!(language, "no longer watched: {what}", "больше не отслеживается: {what}")
}

/// The contents of such a mail.
pub(super) fn body(notice: &Notice, context: &Context<'_>) -> Body {
    let language = context.language;
    let sections = sections(&notice.items.iter().collect::<Vec<_>>(), context);
    let accounts = parts::accounts(notice, language);
    let (when, news) = (parts::when(notice, context), news(notice, context));
    let lead = say!(
        language,
        "No longer watched{when}: {news} ({accounts}). It may still be so; no mail will say when it is over.",
        "Больше не отслеживается{when}: {news} ({accounts}). Проблема могла остаться; письма о её окончании не будет."
    );
    parts::body(&notice.items, false, &notice.accounts, (lead, sections), language)
}

/// A section for each incident that nothing watches any more.
pub(super) fn sections(items: &[&Item], context: &Context<'_>) -> Vec<Section> {
    let mut sections: Vec<Section> =
        items.iter().take(MOST_LISTED).map(|item| section(item, context)).collect();
    let more = items.len().saturating_sub(MOST_LISTED);
    if let Some(last) = sections.last_mut().filter(|_| more > 0) {
        last.lines.push(too_many(more, context.language));
    }
    sections
}

fn news(notice: &Notice, context: &Context<'_>) -> String {
    let first = notice.items.first().map_or_else(String::new, |item| was(item, context));
    words::with_more(&first, notice.items.len().saturating_sub(1), context.language)
}

/// `VM web-1, was in error`; `account main, was overdue`.
pub(super) fn was(item: &Item, context: &Context<'_>) -> String {
    let language = context.language;
    if item.key.kind != Kind::Disconnect {
        return sanitize::one_line(&was_wrong(item, language), 120);
    }
    let account = &item.key.account;
    // A cut-off that is not watched is only known from the recipient's last mail.
    let (cut_off, told) = (item.cut_off.as_ref(), &item.before.money);
    let is_overdue = told.rung == Some(0) || cut_off.is_some_and(|one| one.is_overdue(item.at));
    match cut_off.and_then(CutOff::date).or(told.date) {
        _ if is_overdue => {
            say!(language, "account {account}, was overdue", "аккаунт {account}, была просрочена оплата")
        }
        Some(edd) => {
            let reader = context.of(account);
            let day = match language {
                Language::En => reader.day_of(edd),
                Language::Ru => reader.on_day(reader.date(edd)),
            };
            say!(
                language,
                "account {account}, cut-off was due {day}",
                "аккаунт {account}, отключение ожидалось {day}"
            )
        }
        None => {
            say!(language, "account {account}, was to be cut off", "аккаунт {account}, ожидалось отключение")
        }
    }
}

fn was_wrong(item: &Item, language: Language) -> String {
    let incident = &item.incident;
    if let Subject::Unread { collectors } = &incident.subject {
        let names: Vec<&str> = collectors.iter().map(|&one| collected(one, language)).collect();
        let what = all_of(&names, language);
        return say!(language, "{what}, could not be read", "{what}, данных не было");
    }
    if incident.subject == Subject::Silent {
        return language.pick("provider API, did not answer", "API провайдера, не отвечал").to_owned();
    }
    let name = forms::name(&incident.subject, &item.key, language);
    if incident.wrong() == Wrong::Itself {
        return name;
    }
    let was = Clause::new(incident.wrong(), tense::was(item));
    format!("{name}, {}", forms::tails(&[was], false, language))
}

fn section(item: &Item, context: &Context<'_>) -> Section {
    let (language, reader) = (context.language, context.of(&item.key.account));
    let mut section = Section::new(sanitize::one_line(&words::capital(&was(item, context)), 160));
    let (label, seen) = incident::observed(item, language);
    // A cut-off has no state: its date is in the heading.
    if !seen.is_empty() {
        let label = label.to_lowercase();
        let label = say!(language, "last {label}", "{label} до этого");
        section.row(&words::capital(&label), seen);
    }
    section.row(incident::since_label(language), reader.moment(item.began));
    let until = reader.moment(parts::until(item));
    section.row(language.pick("Not watched from", "Наблюдение до"), until);
    section.row(language.pick("Why", "Почему письмо"), parts::why(item, language));
    section.row(incident::incident_label(language), item.key.to_string());
    section
}
