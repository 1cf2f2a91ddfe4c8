//! The mail of the first start: the watched resources, problems that already need somebody, and data that is
//! missing. Pure.

use super::body::{Body, Section};
use super::context::{Context, MOST_STARTED};
use super::subject::{self, Bracket, Subject};
use super::{digest, groups, parts};
use crate::alert::{Item, Notice, Severity, Started};
use crate::model::{Language, say};
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
    let problems = parts::open_first(&notice.items);
    let mut sections = groups::sections(&problems, several, MOST_STARTED, context);
    sections.push(not_known);
    sections.push(digest::overview(notice, context));
    sections.extend(parts::lives_on(&notice.accounts, context));
    sections.push(next(facts, &notice.items, language));
    let at = context.of_first(&notice.accounts).moment(context.now);
    let body = Body {
        tone: bracket,
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
    if facts.cut_offs > 0 {
        let text = match facts.overdue {
            true => language.pick("account overdue", "просрочена оплата"),
            false => language.pick("cut-off ahead", "впереди отключение"),
        };
        let severity = facts.severity.unwrap_or(Severity::Warning);
        parts.push(Part { text: text.to_owned(), count: facts.cut_offs, severity, is_money: true });
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
    let wants_someone = !notice.items.is_empty() || facts.cut_offs > 0 || !not_known.is_empty();
    if wants_someone { worst.max(Severity::Warning) } else { worst }
}

fn next(facts: &Started, items: &[Item], language: Language) -> Section {
    let mut section = Section::new(language.pick("From now on", "Что дальше"));
    let known = match items {
        [] => "",
        [..] => language
            .pick("No reminders about known problems. ", "Об известных проблемах напоминаний не будет. "),
    };
    let money = match facts.cut_offs > 0 && !items.is_empty() {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alert::Form;
    use crate::unit::account::{book, full, profile, read_at, snapshot};

    #[test]
    fn unread_resources_are_never_called_fine() {
        let from = "hostwatch <hostwatch@example.com>".parse().unwrap();
        let of = |cut_offs| Started { resources: 43, cut_offs, ..Started::default() };
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
