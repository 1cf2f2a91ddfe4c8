//! Notices become mails as the store keeps them.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use lettre::message::Mailbox;

use crate::alert::{Event, Form, Key, Notice};
use crate::mail::{self, RenderError, Rendered};
use crate::model::{AccountName, Snapshot};
use crate::store::{Lane, Outgoing};

/// What rendering needs beside the notice.
#[derive(Clone, Debug)]
pub(super) struct Mailroom {
    pub(super) from: Mailbox,
    pub(super) lead_days: BTreeMap<AccountName, u32>,
    /// Beyond these, what is to be told waits for a summary.
    pub(super) max_per_hour: u32,
}

impl Mailroom {
    /// Renders a notice. `notes` are lines about mails that had to be given up.
    ///
    /// # Errors
    /// Where no mail can be made of it: a recipient that is no address.
    pub(super) fn write(
        &self,
        notice: &Notice,
        snapshot: &Snapshot,
        notes: &[String],
        now: DateTime<Utc>,
    ) -> Result<Outgoing, RenderError> {
        mail::render(notice, &self.context(snapshot, notes, now)).map(|rendered| outgoing(rendered, notice))
    }

    /// What rendering goes by.
    pub(super) fn context<'a>(
        &'a self,
        snapshot: &'a Snapshot,
        notes: &'a [String],
        now: DateTime<Utc>,
    ) -> mail::Context<'a> {
        mail::Context { from: &self.from, snapshot, now, lead_days: self.lead_days.clone(), notes }
    }

    /// The Message-IDs that later mails about the same incidents refer to: incident, recipient, id.
    pub(super) fn threads(&self, notice: &Notice, mail: &Outgoing) -> Vec<(Key, String, String)> {
        let mut threads = Vec::new();
        if matches!(notice.form, Form::Closed | Form::Reminder | Form::Digest(_)) {
            return threads;
        }
        for item in &notice.items {
            for to in &notice.to {
                if !item.threads.contains_key(to) {
                    threads.push((item.key.clone(), to.clone(), mail.message_id.clone()));
                }
            }
        }
        threads
    }
}

fn outgoing(rendered: Rendered, notice: &Notice) -> Outgoing {
    let lane = if notice.form == Form::Disconnect { Lane::Disconnect } else { Lane::Normal };
    let told = notice.items.iter().map(|item| (item.key.clone(), item.event.clone())).collect();
    let mut event_keys: Vec<String> = notice.items.iter().map(|item| item.event_key()).collect();
    match &notice.form {
        Form::Started(_) if event_keys.is_empty() => event_keys.push("started".to_owned()),
        Form::Digest(digest) if event_keys.is_empty() => {
            let date = Event::Digest(digest.date);
            event_keys.extend(notice.accounts.iter().map(|account| format!("{account}/digest#{date}")));
        }
        _ => {}
    }
    Outgoing {
        message_id: rendered.message_id,
        sender: rendered.sender,
        recipients: rendered.recipients,
        subject: rendered.subject,
        lane,
        event_keys,
        told,
        raw: rendered.raw,
    }
}
