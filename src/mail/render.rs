//! A notice as the bytes of a mail. Pure: the same notice and context give the same bytes, so that mail programs see
//! a mail that was sent twice as one.

use super::body::{Body, Section};
use super::context::{Context, RenderError};
use super::message::{self, Draft, MailIdentity, Rendered};
use super::{covered, digest, disconnect, overflow, parts, resources, sample, started, subject, unwatched};
use crate::alert::{Event, Form, Item, Notice};
use crate::model::{AccountName, sanitize};
use crate::view::Link;
use crate::view::calendar::{self, Deadline, Publisher};

/// Writes the mail of a notice.
pub(crate) fn render(notice: &Notice, context: &Context<'_>) -> Result<Rendered, RenderError> {
    let (subject, body) = content(notice, context);
    let events = events(notice);
    let id = MailIdentity::new(context.from, &notice.to, context.now, events.iter().map(String::as_str));
    message::build(Draft {
        from: context.from,
        to: &notice.to,
        now: context.now,
        id,
        accounts: &notice.accounts,
        subject,
        body: &body,
        pairs: pairs(notice),
        references: references(notice, context),
        calendar: dates(notice, context),
    })
}

/// Subject and content, whatever they go out as.
pub(super) fn content(notice: &Notice, context: &Context<'_>) -> (String, Body) {
    let (subject, mut body) = match &notice.form {
        Form::Started(facts) => {
            (subject::of_start(notice, facts, context), started::body(notice, facts, context))
        }
        Form::Disconnect => match notice.items.as_slice() {
            [item] => (disconnect::news::subject(item, context), disconnect::body(item, context)),
            _ => (subject::of(notice, context), resources::body(notice, context)),
        },
        Form::Opened | Form::Closed | Form::Reminder => {
            (subject::of(notice, context), resources::body(notice, context))
        }
        Form::Covered => (covered::subject(notice), covered::body(notice, context)),
        Form::Unwatched => (unwatched::subject(notice, context), unwatched::body(notice, context)),
        Form::Overflow(facts) => {
            (subject::of_overflow(notice, context), overflow::body(notice, facts, context))
        }
        Form::Digest(facts) => digest::write(notice, facts, context),
    };
    body.links = links(notice, context);
    body.notes.extend(pay_notes(notice, context));
    add_notes(&mut body, context);
    (subject, body)
}

/// Writes the mail of `hostwatch test-email`: what an alert looks like, and proof that it arrives.
pub(crate) fn render_test(to: &[String], context: &Context<'_>) -> Result<Rendered, RenderError> {
    let accounts: Vec<AccountName> = context.snapshot.accounts.keys().cloned().collect();
    let (subject, body) = test_content(context);
    let incident = test_incident(context);
    message::build(Draft {
        from: context.from,
        to,
        now: context.now,
        id: MailIdentity::new(context.from, to, context.now, [incident.as_str(), "test"].into_iter()),
        accounts: &accounts,
        subject,
        body: &body,
        pairs: vec![(incident, Event::Test.to_string())],
        references: Vec::new(),
        calendar: None,
    })
}

/// Subject and content of the same.
pub(super) fn test_content(context: &Context<'_>) -> (String, Body) {
    let accounts: Vec<AccountName> = context.snapshot.accounts.keys().cloned().collect();
    let mut body = sample::body(context);
    add_notes(&mut body, context);
    (subject::line("TEST", "Sample alert, nothing is wrong", &accounts), body)
}

/// What it says that it is about.
pub(super) fn test_incident(context: &Context<'_>) -> String {
    let account = context.snapshot.accounts.keys().next().map_or("none", AccountName::as_str);
    format!("{account}/test/account")
}

/// To pay where money helps, to the panel at what the mail is about, to the status page.
fn links(notice: &Notice, context: &Context<'_>) -> Vec<Link> {
    let one = match notice.accounts.as_slice() {
        [one] => Some(one),
        _ => None,
    };
    let guide = one.and_then(|account| context.account(account)).map(|state| &state.profile.guide);
    let pays = |item: &Item| item.key.kind.is_about_money() && !(item.event.is_end() || item.ended.is_some());
    let key = match notice.items.as_slice() {
        [item] => Some(&item.key),
        _ => None,
    };
    let pay = guide.filter(|_| notice.items.iter().any(pays)).and_then(Link::pay);
    let panel = guide.and_then(|guide| Link::panel(guide, key));
    let page = context.page.map(|page| Link::page(page, one));
    [pay, panel, page].into_iter().flatten().collect()
}

/// What the owner of each account wants said in mails about its money.
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

/// Whether the mail of this item begins a thread of its own: it is the first of its incident, or
/// the last day on which a payment arrives in time has come.
fn opens_thread(item: &Item, lead_days: u32) -> bool {
    item.threads.is_empty() || item.event == Event::Rung(lead_days.saturating_add(1))
}

fn add_notes(body: &mut Body, context: &Context<'_>) {
    if !context.notes.is_empty() {
        let mut section = Section::new("About these mails");
        section.list = context.notes.iter().map(|note| sanitize::one_line(note, 300)).collect();
        body.sections.push(section);
    }
}

/// What the identity of this mail is made from.
pub(super) fn events(notice: &Notice) -> Vec<String> {
    let mut events: Vec<String> = notice.items.iter().map(Item::event_key).collect();
    let accounts = || notice.accounts.iter();
    if let Form::Overflow(_) = &notice.form {
        events.extend(accounts().map(|account| format!("{account}/overflow")));
    } else if let Form::Digest(facts) = &notice.form {
        events.extend(accounts().map(|account| format!("{account}/digest:{}", facts.date)));
    } else if events.is_empty() {
        events.extend(accounts().map(|account| format!("{account}/started")));
    }
    events
}

/// Incident and event of all that a mail is about, worst first.
fn pairs(notice: &Notice) -> Vec<(String, String)> {
    let pair = |item: &Item| (item.key.to_string(), item.event.to_string());
    let first = notice.accounts.first().map_or("none", AccountName::as_str);
    let head = |what: &str, event: Event| (format!("{first}/{what}/account"), event.to_string());
    if let Form::Digest(facts) = &notice.form {
        let event = Event::Digest(facts.date).to_string();
        let empty = notice.accounts.iter().filter(|_| notice.items.is_empty());
        let empty = empty.map(|account| (format!("{account}/digest/account"), event.clone()));
        return empty.chain(digest::in_order(&notice.items).into_iter().map(pair)).collect();
    }
    if let Form::Overflow(_) = &notice.form {
        let items = parts::worst_first(&notice.items).into_iter();
        return std::iter::once(head("overflow", Event::Overflow)).chain(items.map(pair)).collect();
    }
    if notice.items.is_empty() {
        return vec![head("started", Event::Started)];
    }
    notice.items.iter().map(pair).collect()
}

/// The cut-offs that a mail is about, for calendars.
fn dates(notice: &Notice, context: &Context<'_>) -> Option<String> {
    if !matches!(notice.form, Form::Disconnect | Form::Unwatched) {
        return None;
    }
    let deadlines = notice.items.iter().filter_map(|item| {
        let account = &item.key.account;
        Some(Deadline { account, entry: item.calendar?, payer: context.payer(account) })
    });
    let address = &context.from.email;
    let publisher = Publisher { domain: address.domain(), sender: Some(address.as_ref()) };
    calendar::attachment(deadlines, publisher, context.now)
}

/// The mails that opened what this one speaks of, each once.
fn references(notice: &Notice, context: &Context<'_>) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    if matches!(notice.form, Form::Digest(_)) {
        // It is about every incident and part of no thread.
        return found;
    }
    let goes_on = |item: &&Item| !opens_thread(item, context.payer(&item.key.account).lead_days);
    for item in notice.items.iter().filter(goes_on) {
        for id in notice.to.iter().filter_map(|to| item.threads.get(to)) {
            let id = id.trim_matches(['<', '>']);
            if !found.iter().any(|old| old == id) {
                found.push(id.to_owned());
            }
        }
    }
    found
}
