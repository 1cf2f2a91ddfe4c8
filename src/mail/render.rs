//! A notice as the bytes of a mail. Pure: the same notice and context give the same bytes under the same id, so
//! that mail programs show a mail that was sent twice as one.

use super::body::{Body, Section};
use super::context::{Context, RenderError};
use super::message::{self, Draft, Rendered};
use super::subject::Subject;
use super::{digest, disconnect, parts, resources, sample, started};
use crate::alert::{Event, Form, Item, Kind, NotReached, Notice};
use crate::model::{AccountName, sanitize, say};
use crate::view::calendar::{self, Deadline, Publisher};
use crate::view::{Link, words};

/// Writes the mail of a notice; `id` is its Message-ID without angle brackets.
pub(crate) fn render(notice: &Notice, id: &str, context: &Context<'_>) -> Result<Rendered, RenderError> {
    let (subject, body) = content(notice, context);
    message::build(Draft {
        id,
        to: &notice.to,
        context,
        accounts: &notice.accounts,
        subject: subject.line,
        body: &body,
        pairs: pairs(notice),
        references: references(notice),
        calendar: dates(notice, context),
    })
}

/// The subject of a notice, and the first line of its mail.
pub(crate) fn first_lines_of(notice: &Notice, context: &Context<'_>) -> (String, String) {
    let (subject, body) = content(notice, context);
    (subject.line, body.lead)
}

/// Subject and contents, for every medium.
pub(super) fn content(notice: &Notice, context: &Context<'_>) -> (Subject, Body) {
    let (subject, mut body) = match (&notice.form, notice.items.as_slice()) {
        (Form::Started(facts), _) => started::write(notice, facts, context),
        (Form::News, [item]) if item.is_alone() => disconnect::write(item, context),
        (Form::Digest(facts), _) => digest::write(notice, facts, context),
        (Form::Test, _) => sample::write(notice, context),
        (Form::News | Form::Summary(_), _) => resources::write(notice, context),
    };
    body.language = context.language;
    body.links = links(notice, context);
    body.notes.extend(pay_notes(notice, context));
    let list = about_mails(&notice.accounts, context);
    if !list.is_empty() {
        let title = context.language.pick("About these mails", "Об этих письмах");
        body.sections.push(Section { list, ..Section::new(title) });
    }
    (subject, body)
}

/// Links: to pay if money helps, to the provider's panel at the resource, to the status page.
fn links(notice: &Notice, context: &Context<'_>) -> Vec<Link> {
    if notice.form == Form::Test {
        return Vec::new();
    }
    let one = notice.accounts.first().filter(|_| notice.accounts.len() == 1);
    let guide = one.and_then(|account| context.account(account)).map(|state| &state.profile.guide);
    let pays =
        |item: &Item| item.key.kind.is_about_money() && !(item.event.is_end() || item.ended().is_some());
    let key = notice.items.first().filter(|_| notice.items.len() == 1).map(|item| &item.key);
    let pay =
        guide.filter(|_| notice.items.iter().any(pays)).and_then(|guide| Link::pay(guide, context.language));
    let panel = guide.and_then(|guide| Link::panel(guide, key, context.language));
    let page = context.page.map(|page| Link::page(page, one, context.language));
    [pay, panel, page].into_iter().flatten().collect()
}

/// The notes of the accounts' owners for mails about money.
fn pay_notes(notice: &Notice, context: &Context<'_>) -> Vec<String> {
    let is_about_money = |account: &AccountName| {
        notice.items.iter().any(|item| &item.key.account == account && item.key.kind.is_about_money())
    };
    let several = notice.accounts.len() > 1;
    let accounts = notice.accounts.iter().filter(|&account| is_about_money(account));
    let note = |account: &AccountName| {
        let note = context.account(account)?.profile.guide.pay_note.as_deref()?;
        Some(if several { format!("{account}: {note}") } else { note.to_owned() })
    };
    accounts.filter_map(note).collect()
}

/// Lines about the mails themselves: a clock that is wrong, recipients that are not reached.
pub(super) fn about_mails(accounts: &[AccountName], context: &Context<'_>) -> Vec<String> {
    let clock = context.clock.map(|ahead| words::clock(ahead, true, context.language) + ".");
    let unreached = context.unreached.iter().map(|one| not_reached(one, accounts, context));
    clock.into_iter().chain(unreached).collect()
}

/// `Mails to bob@example.com have not been delivered since Tue 24 Nov 07:15 MSK: 550 no such user`. No subject is quoted: its
/// amount and day would be those of an old mail.
fn not_reached(one: &NotReached, accounts: &[AccountName], context: &Context<'_>) -> String {
    let NotReached { recipient, since, error } = one;
    let language = context.language;
    let since = context.of_first(accounts).since(*since);
    let (recipient, error) = (sanitize::one_line(recipient, 100), sanitize::one_line(error, 200));
    say!(
        language,
        "Mails to {recipient} have not been delivered {since}: {error}",
        "Письма для {recipient} не доставляются {since}: {error}"
    )
}

/// Incident and event of each item, the worst first.
fn pairs(notice: &Notice) -> Vec<(String, String)> {
    let items = parts::open_first(&notice.items).into_iter();
    let items = items.map(|item| (item.key.to_string(), item.event.to_string()));
    let first = notice.accounts.first();
    let heads = match (&notice.form, notice.items.as_slice()) {
        (Form::Summary(_), _) => vec![head(first, SUMMARY, SUMMARY)],
        (Form::Started(_), []) => vec![head(first, "started", &Event::Started.to_string())],
        (Form::Test, _) => vec![head(first, "test", &Event::Test.to_string())],
        (Form::Digest(facts), []) => {
            let event = Event::Digest(facts.date).to_string();
            notice.accounts.iter().map(|account| head(Some(account), "digest", &event)).collect()
        }
        _ => Vec::new(),
    };
    heads.into_iter().chain(items).collect()
}

/// The event of a summary, which belongs to no incident.
const SUMMARY: &str = "summary";

/// The pair of a mail that is about no incident.
fn head(account: Option<&AccountName>, what: &str, event: &str) -> (String, String) {
    (format!("{}/{what}/account", account.map_or("none", AccountName::as_str)), event.to_owned())
}

/// The calendar files of the cut-offs in a mail.
fn dates(notice: &Notice, context: &Context<'_>) -> Vec<(String, String)> {
    if !matches!(notice.form, Form::News | Form::Summary(_)) {
        return Vec::new();
    }
    let cut_offs = notice.items.iter().filter(|item| item.key.kind == Kind::Disconnect);
    let deadlines = cut_offs.filter_map(|item| {
        let account = &item.key.account;
        let entry = item.cut_off.as_ref()?.calendar?;
        Some(Deadline { account, entry, payer: context.payer(account) })
    });
    let address = &context.from.email;
    let publisher = Publisher { domain: address.domain(), sender: Some(address.as_ref()) };
    calendar::attachments(deadlines, publisher)
}

/// The mails that began the threads of its incidents, starting with the worst.
fn references(notice: &Notice) -> Vec<String> {
    // A beginning is no part of an old thread.
    let begins = |worst: &&Item| worst.thread.is_none() && !worst.event.is_end();
    if parts::open_first(&notice.items).first().is_some_and(begins) {
        return Vec::new();
    }
    notice.items.iter().filter_map(|item| item.thread.clone()).collect()
}
