//! Notices become mails as the store keeps them.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use lettre::message::Mailbox;

use crate::alert::{Event, Form, Key, Notice};
use crate::mail::{self, LivesOn, RenderError, Rendered};
use crate::model::{AccountName, OwnVm, Snapshot};
use crate::store::{Lane, Outgoing};

/// What rendering needs beside the notice.
#[derive(Clone, Debug)]
pub(crate) struct MailWriter {
    pub(crate) from: Mailbox,
    /// The last rung before overdue, in days.
    pub(crate) tightest_rungs: BTreeMap<AccountName, u32>,
    /// Beyond these, what is to be told waits for a summary.
    pub(crate) max_per_hour: u32,
}

impl MailWriter {
    /// Renders a notice. `notes` are lines about mails that had to be given up, `home` the watched VM
    /// that this machine is.
    ///
    /// # Errors
    /// Where no mail can be made of it: a recipient that is no address.
    pub(crate) fn write(
        &self,
        notice: &Notice,
        snapshot: &Snapshot,
        notes: &[String],
        home: Option<&OwnVm>,
        now: DateTime<Utc>,
    ) -> Result<Outgoing, RenderError> {
        let mut context = self.context(snapshot, notes, now);
        context.lives_on = home.map(|home| LivesOn {
            account: home.account.clone(),
            vm: home.vm_name.as_deref().map_or_else(|| home.vm.to_string(), str::to_owned),
        });
        mail::render(notice, &context).map(|rendered| outgoing(rendered, notice))
    }

    /// What rendering goes by.
    pub(crate) fn context<'a>(
        &'a self,
        snapshot: &'a Snapshot,
        notes: &'a [String],
        now: DateTime<Utc>,
    ) -> mail::Context<'a> {
        let tightest_rungs = self.tightest_rungs.clone();
        mail::Context { tightest_rungs, notes, ..mail::Context::new(&self.from, snapshot, now) }
    }

    /// The Message-IDs that later mails about the same incidents refer to: incident, recipient, id.
    pub(crate) fn threads(&self, notice: &Notice, mail: &Outgoing) -> Vec<(Key, String, String)> {
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
    if event_keys.is_empty() {
        if let Form::Digest(digest) = &notice.form {
            let date = Event::Digest(digest.date);
            event_keys.extend(notice.accounts.iter().map(|account| format!("{account}/digest#{date}")));
        } else {
            event_keys.push("started".to_owned());
        }
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
