//! Mails about resources and collectors: opened, ended, still open. Pure.

use super::body::Body;
use super::context::{Context, MOST_LISTED};
use super::parts::{self, accounts};
use super::tense::Telling;
use super::{groups, incident, subject, tense};
use crate::alert::{Form, Item, Notice, Subject};
use crate::model::{sanitize, say};
use crate::view::forms::{self, Clause, Tense};
use crate::view::words::{self, capital};

/// The length of a first line.
const LONGEST_LEAD: usize = 300;

/// The contents of a mail about incidents.
pub(super) fn body(notice: &Notice, context: &Context<'_>) -> Body {
    let several = notice.accounts.len() > 1;
    let sections = groups::sections(&notice.items, several, MOST_LISTED, context);
    let lasts =
        notice.items.first().is_some_and(|first| !first.event.is_end() && !first.key.kind.is_momentary());
    let acks = lasts && matches!(notice.form, Form::Opened | Form::Reminder);
    let content = (lead(notice, context), sections);
    parts::body(&notice.items, acks, &notice.accounts, content, context.language)
}

/// The first line: the subject's sentence with the time and the account.
fn lead(notice: &Notice, context: &Context<'_>) -> String {
    let language = context.language;
    let Some(first) = notice.items.first() else {
        return language.pick("Nothing to tell.", "Сообщать не о чем.").to_owned();
    };
    let what = match notice.items.as_slice() {
        [one] => alone(one, notice, context),
        _ => {
            format!(
                "{}, {}",
                subject::words(notice, context),
                context.of(&first.key.account).moment(first.at)
            )
        }
    };
    let what = capital(&sanitize::one_line(&what, LONGEST_LEAD));
    format!("{what} ({}).", accounts(notice, language))
}

fn alone(item: &Item, notice: &Notice, context: &Context<'_>) -> String {
    let language = context.language;
    let words = subject::words(notice, context);
    let until = parts::until(item);
    let reader = context.of(&item.key.account);
    let (since, period) = (reader.since(item.began), reader.period(item.began, until));
    let times = parts::times(item, language);
    match Telling::from(&item.event) {
        Telling::Over => over(item, &period, context),
        Telling::Gone => {
            let name = forms::name(&item.incident.subject, &item.key, language);
            let (was, since) = (was(item, tense::was(item), context), reader.since(until));
            say!(
                language,
                "{name} is no longer listed by the provider {since}, {was}",
                "{name}: {was}, {since} провайдер больше не показывает его в списке"
            )
        }
        Telling::WasDown => {
            let was = incident::past(item, language);
            say!(
                language,
                "already recovered: {was}{times} {period}",
                "уже восстановлено: {was}{times}, {period}"
            )
        }
        Telling::Unwatched => format!("{words} {}", reader.since(until)),
        Telling::StillSo => format!("{words}, {since}"),
        Telling::Begun if item.key.kind.is_momentary() => {
            let seen = reader.moment(item.began);
            say!(language, "{words}, seen {seen}", "{words}, замечено {seen}")
        }
        // Its words begin with the day on which the date was last known.
        Telling::Begun if matches!(item.incident.subject, Subject::NoDate { .. }) => words,
        Telling::Begun => format!("{words} {since}"),
    }
}

/// `VM web-1 is active again after 2 min in error, Sun 1 Mar 14:58-15:00 MSK`.
fn over(item: &Item, period: &str, context: &Context<'_>) -> String {
    let language = context.language;
    let lasted = words::lasted(parts::until(item) - item.began, language);
    let clause = tense::clause(item, context.account(&item.key.account));
    let is_right = clause.tense == Tense::Again && item.key.kind.sort().is_some();
    let is = forms::one(&item.incident.subject, &item.key, &[Clause { is_full: true, ..clause }], language);
    if item.incident.subject == Subject::Silent {
        return say!(
            language,
            "the provider's API works again. Nothing was watched {period}, {lasted}",
            "API провайдера снова отвечает. Наблюдения не было {period}, {lasted}"
        );
    }
    if !is_right {
        return say!(language, "{is} after {lasted}, {period}", "{is} спустя {lasted}, {period}");
    }
    let wrong = match tense::was(item) == Tense::Kept {
        true => "of failing again and again".to_owned(),
        false => was(item, Tense::Is, context),
    };
    let was = was(item, tense::was(item), context);
    say!(language, "{is} after {lasted} {wrong}, {period}", "{is}: {was} {lasted}, {period}")
}

/// The past problem, without the name.
fn was(item: &Item, tense: Tense, context: &Context<'_>) -> String {
    forms::tails(&[Clause::new(item.incident.wrong(), tense)], false, context.language)
}
