//! What is to be told, to whom, in one mail: items grouped by recipient. Pure; how it reads is mail's.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use super::incident::Incident;
use super::kind::{Event, Key, Kind, Severity};
use super::ladder::Ladder;
use crate::model::AccountName;

/// One mail to be written.
#[derive(Clone, PartialEq, Debug)]
pub struct Notice {
    pub form: Form,
    /// Worst first; empty only in a first-start mail with nothing wrong.
    pub items: Vec<Item>,
    /// Mailboxes as configured; each gets an envelope of its own.
    pub to: Vec<String>,
    /// Accounts that it speaks of, in order.
    pub accounts: Vec<AccountName>,
}

/// What sort of mail it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Form {
    /// Something opened, or is wrong again and again.
    Opened,
    /// Something ended.
    Closed,
    /// The disconnect ladder; always alone.
    Disconnect,
    /// The first start.
    Started(Started),
    Reminder,
}

/// What the first-start mail says beside its items.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Started {
    pub resources: usize,
    /// How many things need someone, listed or not, the disconnect among them.
    pub needs: usize,
    /// A disconnect mail goes out beside this one.
    pub disconnect: bool,
    /// `account: collector: why`, of what could not be read.
    pub unread: Vec<String>,
}

/// One incident in a mail.
#[derive(Clone, PartialEq, Debug)]
pub struct Item {
    pub key: Key,
    pub episode: u32,
    pub event: Event,
    pub severity: Severity,
    pub subject: String,
    pub problem: String,
    pub detail: String,
    /// The decision, as a sentence.
    pub reason: String,
    pub since: DateTime<Utc>,
    pub at: DateTime<Utc>,
    /// From when to when nobody watched, where the change fell into that time.
    pub unwatched: Option<(DateTime<Utc>, DateTime<Utc>)>,
    /// Message-IDs of the mail that opened it, by recipient.
    pub threads: BTreeMap<String, String>,
    pub ladder: Option<Ladder>,
}

impl Item {
    /// What is told about an incident as it stands.
    pub fn new(incident: &Incident, event: Event, at: DateTime<Utc>) -> Self {
        Self {
            key: incident.key.clone(),
            episode: incident.episode,
            event,
            severity: incident.severity,
            subject: incident.subject.clone(),
            problem: incident.problem.clone(),
            detail: incident.detail.clone(),
            reason: incident.reason.clone(),
            since: incident.since,
            at,
            unwatched: None,
            threads: incident.threads.clone(),
            ladder: incident.ladder.clone(),
        }
    }

    /// Unique over the life of a store: incident, episode, event.
    pub fn event_key(&self) -> String {
        format!("{}#{}#{}", self.key, self.episode, self.event)
    }

    /// The words of its subject line.
    pub fn words(&self) -> String {
        format!("{} {}", self.subject, self.problem)
    }

    fn form(&self) -> Form {
        if self.key.kind == Kind::Disconnect {
            return Form::Disconnect;
        }
        match self.event {
            Event::Resolved | Event::Removed | Event::WasDown => Form::Closed,
            Event::Reminder(_) => Form::Reminder,
            Event::Started
            | Event::Opened
            | Event::Rung(_)
            | Event::Extended(_)
            | Event::Flapping
            | Event::Digest(_)
            | Event::Overflow
            | Event::Test => Form::Opened,
        }
    }
}

/// Puts what one step has to tell into as few mails as may be: one of each form a recipient, a
/// disconnect mail by itself. Recipients with the same items share a mail.
pub fn group<'a>(items: &[Item], recipients: impl Fn(&Key) -> &'a [String]) -> Vec<Notice> {
    let mut mails: Vec<(Form, Vec<usize>, Vec<String>)> = Vec::new();
    for form in [Form::Disconnect, Form::Opened, Form::Reminder, Form::Closed] {
        let mut by_recipient: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (index, item) in items.iter().enumerate().filter(|(_, item)| item.form() == form) {
            for to in recipients(&item.key) {
                by_recipient.entry(to).or_default().push(index);
            }
        }
        for (to, indices) in by_recipient {
            let bundles = match form {
                Form::Disconnect => indices.into_iter().map(|index| vec![index]).collect(),
                Form::Opened | Form::Closed | Form::Started(_) | Form::Reminder => vec![indices],
            };
            for indices in bundles {
                let same = mails.iter_mut().find(|(f, i, _)| *f == form && *i == indices);
                match same {
                    Some((_, _, tos)) => tos.push(to.to_owned()),
                    None => mails.push((form.clone(), indices, vec![to.to_owned()])),
                }
            }
        }
    }
    let notices = mails.into_iter().map(|(form, indices, to)| {
        let mut picked: Vec<Item> = indices.into_iter().map(|index| items[index].clone()).collect();
        worst_first(&mut picked);
        let mut accounts: Vec<AccountName> = picked.iter().map(|item| item.key.account.clone()).collect();
        accounts.sort();
        accounts.dedup();
        Notice { form, items: picked, to, accounts }
    });
    notices.collect()
}

/// The order of items in a mail.
pub fn worst_first(items: &mut [Item]) {
    items.sort_by(|a, b| b.severity.cmp(&a.severity).then_with(|| a.key.cmp(&b.key)));
}
