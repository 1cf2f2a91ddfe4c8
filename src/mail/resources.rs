//! Mails about incidents of resources and collectors: opened, ended, still open, no longer watched, held back by
//! the hourly limit. Pure.

use super::body::Body;
use super::context::{Context, MOST_LISTED};
use super::parts;
use super::subject::{self, Bracket, Subject};
use super::{groups, incident, tense};
use crate::alert::{self, Cause, Form, Item, Notice, Severity, Summary};
use crate::model::{sanitize, say};
use crate::view::forms::{self, Clause, Tense};
use crate::view::sentence;
use crate::view::words::{self, capital};

/// The length of a first line.
const LONGEST_LEAD: usize = 300;

/// Subject and contents of a mail about incidents.
pub(super) fn write(notice: &Notice, context: &Context<'_>) -> (Subject, Body) {
    let several = notice.accounts.len() > 1;
    let items = parts::open_first(&notice.items);
    let bracket = items.first().map_or(Bracket::Of(Severity::Info), |worst| Bracket::of(worst));
    let said = subject::words(notice, &items, context);
    let held_back =
        if let Form::Summary(facts) = &notice.form { Some(held_back(notice, facts, context)) } else { None };
    let body = Body {
        tone: bracket,
        lead: lead(&said, notice, context),
        notes: held_back.into_iter().collect(),
        sections: groups::sections(&items, several, MOST_LISTED, context),
        foot: parts::foot(&items, &notice.accounts, context.language),
        ..Body::default()
    };
    (subject::line(bracket, &said, &notice.accounts, context.language), body)
}

/// The note of a mail in place of several that the hourly limit held back.
fn held_back(notice: &Notice, facts: &Summary, context: &Context<'_>) -> String {
    let language = context.language;
    let (mails, reader) =
        (language.count(facts.max_per_hour, words::MAILS), context.of_first(&notice.accounts));
    let since = reader.since(facts.since);
    say!(
        language,
        "The limit of {mails} an hour held these back {since}: email.max_per_hour; mails about a cut-off do not wait.",
        "Письма задержаны {since}: достигнут предел, {mails} в час (email.max_per_hour); письма об отключении не ждут."
    )
}

/// The first line: the subject's sentence with the time and the account.
fn lead(said: &str, notice: &Notice, context: &Context<'_>) -> String {
    let language = context.language;
    let what = match notice.items.as_slice() {
        [one] => alone(one, said, context),
        [first, ..] => format!("{said}, {}", context.of(&first.key.account).moment(first.at)),
        [] => said.to_owned(),
    };
    let what = capital(&sanitize::one_line(&what, LONGEST_LEAD));
    let lead = format!("{what}{}.", sentence::whose(&notice.accounts, language));
    if !parts::is_unwatched(&notice.items) {
        return lead;
    }
    say!(
        language,
        "{lead} It may still be so; no mail will say when it is over.",
        "{lead} Проблема могла остаться; письма о её окончании не будет."
    )
}

fn alone(item: &Item, words: &str, context: &Context<'_>) -> String {
    let language = context.language;
    let until = parts::until(item);
    let reader = context.of(&item.key.account);
    let (since, period) = (reader.since(item.began), reader.period(item.began, until));
    let times = parts::times(item, language);
    match tense::clause(item, context).tense {
        Tense::Again | Tense::NoLonger => over(item, &period, context),
        Tense::NotListed => {
            let name = forms::name(&item.incident.subject, &item.key, language);
            let (was, since) = (was(item, Tense::Was, context), reader.since(until));
            say!(
                language,
                "{name} is no longer listed by the provider {since}, {was}",
                "{name}: {was}, {since} провайдер больше не показывает его в списке"
            )
        }
        Tense::Was => {
            let was = incident::past(item, language);
            say!(
                language,
                "already recovered: {was}{times} {period}",
                "уже восстановлено: {was}{times}, {period}"
            )
        }
        Tense::Unwatched => format!("{words}, {}", reader.moment(until)),
        Tense::Still | Tense::Keeps => format!("{words}, {since}"),
        Tense::Is if item.key.kind.is_momentary() => {
            let seen = reader.moment(item.began);
            say!(language, "{words}, seen {seen}", "{words}, замечено {seen}")
        }
        // Its words begin with the day on which the date was last known.
        Tense::Is if matches!(item.incident.subject, alert::Subject::NoDate { .. }) => words.to_owned(),
        Tense::Is => format!("{words} {since}"),
    }
}

/// `VM web-1 is active again after 2 min in error, Sun 1 Mar 14:58-15:00 MSK`.
fn over(item: &Item, period: &str, context: &Context<'_>) -> String {
    let language = context.language;
    let lasted = words::lasted(parts::until(item) - item.began, language);
    let clause = tense::clause(item, context);
    let is_right = clause.tense == Tense::Again && item.key.kind.sort().is_some();
    let is = forms::one(&item.incident.subject, &item.key, &[Clause { is_full: true, ..clause }], language);
    if item.incident.subject == alert::Subject::Silent {
        return say!(
            language,
            "the provider's API works again. Nothing was watched {period}, {lasted}",
            "API провайдера снова отвечает. Наблюдения не было {period}, {lasted}"
        );
    }
    // A resource that failed again and again was not wrong for the whole time.
    if !is_right || item.why == Cause::Stable {
        return say!(language, "{is} after {lasted}, {period}", "{is} спустя {lasted}, {period}");
    }
    let (wrong, was) = (was(item, Tense::Is, context), was(item, Tense::Was, context));
    say!(language, "{is} after {lasted} {wrong}, {period}", "{is}: {was} {lasted}, {period}")
}

/// The past problem, without the name.
fn was(item: &Item, tense: Tense, context: &Context<'_>) -> String {
    forms::tails(&[Clause::new(item.incident.wrong(), tense)], false, context.language)
}
