//! A notice as a mail, ready to be sent as it is for ever. Pure: the same notice and context give the
//! same bytes, so that a mail sent twice is one mail to whoever reads it.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use lettre::message::Mailbox;

use super::body::{Body, Section};
use super::message::{self, Draft, Identity};
use super::{billing, compose, sample, started, subject, words};
use crate::alert::{Event, Form, Item, Notice};
use crate::model::{AccountName, AccountState, Snapshot};

/// Incidents listed in one mail, each with its pair of headers; beyond, mail servers mind the size.
pub(super) const MOST_LISTED: usize = 1000;
/// The same in a first-start mail.
pub(super) const MOST_STARTED: usize = 20;
/// How long a payment takes where nothing is said of the account.
const LEAD_DAYS: u32 = 3;
/// Beyond it dates lose their meaning.
const MOST_LEAD_DAYS: u32 = 3650;

/// What a mail is written from, beside its notice.
pub struct Context<'a> {
    pub from: &'a Mailbox,
    pub snapshot: &'a Snapshot,
    /// When the mail is made: its `Date`.
    pub now: DateTime<Utc>,
    /// How long a payment takes to arrive, in days.
    pub lead_days: BTreeMap<AccountName, u32>,
    /// Lines that go into this mail beside what it tells: mails that were given up, and to whom.
    pub notes: &'a [String],
}

/// A mail as it goes out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rendered {
    /// Without angle brackets.
    pub message_id: String,
    pub subject: String,
    /// Envelope sender, a bare address.
    pub sender: String,
    /// Bare addresses, each once.
    pub recipients: Vec<String>,
    /// ASCII, lines ended by CR LF.
    pub raw: Vec<u8>,
}

/// Why a mail could not be made. None of these passes by itself.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    #[error("'{text}' is no mail address; correct it in the recipients")]
    Recipient { text: String, source: lettre::address::AddressError },
    #[error("'{0}' cannot stand in a header")]
    Header(String),
    #[error("putting the mail together failed")]
    Message(#[source] lettre::error::Error),
    #[error("writing the HTML part failed")]
    Template(#[source] askama::Error),
}

/// Writes the mail of a notice.
pub fn render(notice: &Notice, context: &Context<'_>) -> Result<Rendered, RenderError> {
    let mut body = match &notice.form {
        Form::Started(facts) => started::body(notice, facts, context),
        Form::Disconnect => match notice.items.as_slice() {
            [item] => billing::body(item, context),
            _ => compose::body(notice, context),
        },
        Form::Opened | Form::Closed | Form::Reminder | Form::Overflow(_) | Form::Digest(_) => {
            compose::body(notice, context)
        }
    };
    add_notes(&mut body, context);
    let events: Vec<String> = match notice.items.as_slice() {
        [] => notice.accounts.iter().map(|account| format!("{account}/started")).collect(),
        items => items.iter().map(Item::event_key).collect(),
    };
    let id = Identity::new(context.from, &notice.to, context.now, events.iter().map(String::as_str));
    message::build(Draft {
        from: context.from,
        to: &notice.to,
        now: context.now,
        id,
        accounts: &notice.accounts,
        subject: subject::of(notice),
        body: &body,
        pairs: pairs(notice),
        references: references(notice, context),
    })
}

/// Writes the mail of `hostwatch test-email`: what an alert looks like, and proof that it arrives.
pub fn render_test(to: &[String], context: &Context<'_>) -> Result<Rendered, RenderError> {
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

impl Context<'_> {
    pub(super) fn account(&self, name: &AccountName) -> Option<&AccountState> {
        self.snapshot.accounts.get(name).map(AsRef::as_ref)
    }

    /// The zone of an account's times.
    pub(super) fn zone(&self, name: &AccountName) -> Tz {
        self.account(name).map_or(Tz::UTC, |state| state.profile.zone())
    }

    pub(super) fn lead(&self, name: &AccountName) -> u32 {
        self.lead_days.get(name).copied().unwrap_or(LEAD_DAYS).min(MOST_LEAD_DAYS)
    }
}

fn add_notes(body: &mut Body, context: &Context<'_>) {
    if !context.notes.is_empty() {
        let mut section = Section::new("About these mails");
        section.list = context.notes.iter().map(|note| words::one_line(note, 300)).collect();
        body.sections.push(section);
    }
}

fn pairs(notice: &Notice) -> Vec<(String, String)> {
    let most = if matches!(notice.form, Form::Started(_)) { MOST_STARTED } else { MOST_LISTED };
    let pairs = notice.items.iter().take(most);
    let mut pairs: Vec<_> = pairs.map(|item| (item.key.to_string(), item.event.to_string())).collect();
    if pairs.is_empty() {
        let account = notice.accounts.first().map_or("none", AccountName::as_str);
        pairs.push((format!("{account}/started/account"), Event::Started.to_string()));
    }
    pairs
}

/// The mails that opened what this one speaks of, each once.
fn references(notice: &Notice, context: &Context<'_>) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
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
