//! A notice as a mail, ready to be sent as it is for ever. Pure: the same notice and context give the
//! same bytes, so that a mail sent twice is one mail to whoever reads it.

use super::body::{Body, Section};
use super::context::{Context, MOST_LISTED, MOST_STARTED, RenderError};
use super::message::{self, Draft, Identity, Rendered};
use super::{digest, disconnect, overflow, resources, sample, started, subject};
use crate::alert::{Event, Form, Item, Notice};
use crate::model::{AccountName, sanitize};

/// Writes the mail of a notice.
pub(crate) fn render(notice: &Notice, context: &Context<'_>) -> Result<Rendered, RenderError> {
    let (subject, mut body) = match &notice.form {
        Form::Started(facts) => (subject::of(notice), started::body(notice, facts, context)),
        Form::Disconnect => match notice.items.as_slice() {
            [item] => (subject::of(notice), disconnect::body(item, context)),
            _ => (subject::of(notice), resources::body(notice, context)),
        },
        Form::Opened | Form::Closed | Form::Reminder => {
            (subject::of(notice), resources::body(notice, context))
        }
        Form::Overflow(facts) => (overflow::subject(notice, facts), overflow::body(notice, facts, context)),
        Form::Digest(facts) => digest::write(notice, facts, context),
    };
    add_notes(&mut body, context);
    let events = events(notice);
    let id = Identity::new(context.from, &notice.to, context.now, events.iter().map(String::as_str));
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
    })
}

/// Writes the mail of `hostwatch test-email`: what an alert looks like, and proof that it arrives.
pub(crate) fn render_test(to: &[String], context: &Context<'_>) -> Result<Rendered, RenderError> {
    let accounts: Vec<AccountName> = context.snapshot.accounts.keys().cloned().collect();
    let mut body = sample::body(context);
    add_notes(&mut body, context);
    let account = accounts.first().map_or("none", AccountName::as_str);
    let incident = format!("{account}/test/account");
    message::build(Draft {
        from: context.from,
        to,
        now: context.now,
        id: Identity::new(context.from, to, context.now, [incident.as_str(), "test"].into_iter()),
        accounts: &accounts,
        subject: "[TEST] hostwatch: sample alert".to_owned(),
        body: &body,
        pairs: vec![(incident, Event::Test.to_string())],
        references: Vec::new(),
    })
}

/// Whether the mail of this item begins a thread of its own: nothing was told of it before, or its
/// last day on which a payment arrives has come.
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

/// What makes this mail another than any other.
fn events(notice: &Notice) -> Vec<String> {
    let mut events: Vec<String> = notice.items.iter().map(Item::event_key).collect();
    let accounts = || notice.accounts.iter();
    match &notice.form {
        Form::Overflow(_) => events.extend(accounts().map(|account| format!("{account}/overflow"))),
        Form::Digest(facts) => {
            events.extend(accounts().map(|account| format!("{account}/digest:{}", facts.date)));
        }
        Form::Started(_) | Form::Opened | Form::Closed | Form::Disconnect | Form::Reminder => {
            if events.is_empty() {
                events.extend(accounts().map(|account| format!("{account}/started")));
            }
        }
    }
    events
}

/// Incident and event of all that a mail lists, worst first.
fn pairs(notice: &Notice) -> Vec<(String, String)> {
    let pair = |item: &Item| (item.key.to_string(), item.event.to_string());
    let first = notice.accounts.first().map_or("none", AccountName::as_str);
    match &notice.form {
        Form::Started(_) if notice.items.is_empty() => {
            vec![(format!("{first}/started/account"), Event::Started.to_string())]
        }
        Form::Started(_) => notice.items.iter().take(MOST_STARTED).map(pair).collect(),
        Form::Overflow(_) => {
            let items = overflow::worst_first(&notice.items).into_iter().take(MOST_LISTED);
            let head = (format!("{first}/overflow/account"), Event::Overflow.to_string());
            std::iter::once(head).chain(items.map(pair)).collect()
        }
        Form::Digest(facts) if notice.items.is_empty() => {
            let event = Event::Digest(facts.date).to_string();
            let accounts = notice.accounts.iter().take(MOST_LISTED);
            accounts.map(|account| (format!("{account}/digest/account"), event.clone())).collect()
        }
        Form::Digest(_) => digest::listed(&notice.items).into_iter().map(pair).collect(),
        Form::Opened | Form::Closed | Form::Disconnect | Form::Reminder => {
            notice.items.iter().take(MOST_LISTED).map(pair).collect()
        }
    }
}

/// The mails that opened what this one speaks of, each once.
fn references(notice: &Notice, context: &Context<'_>) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    if matches!(notice.form, Form::Digest(_)) {
        // It speaks of all and belongs to none.
        return found;
    }
    let goes_on = |item: &&Item| !opens_thread(item, context.lead(&item.key.account));
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
