//! Notices become mails as the store keeps them.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use lettre::message::Mailbox;

use crate::alert::{Event, Form, Key, Notice};
use crate::config::Settings;
use crate::mail::{self, LivesOn, RenderError, Rendered, WebhookTarget, webhook_name};
use crate::model::{AccountName, OwnVm, Snapshot};
use crate::store::{Lane, Outgoing};

/// What rendering needs beside the notice.
#[derive(Clone, Debug)]
pub(crate) struct MailWriter {
    pub(crate) from: Mailbox,
    /// There is a mail server.
    pub(crate) has_server: bool,
    /// Names of the webhooks that there are.
    pub(crate) webhooks: BTreeSet<String>,
    /// The last rung before overdue, in days.
    pub(crate) tightest_rungs: BTreeMap<AccountName, u32>,
    /// What is beyond these waits for a summary.
    pub(crate) max_per_hour: u32,
    /// How people reach the status page, where that is known.
    pub(crate) page: Option<String>,
}

/// Whose name mails bear that leave by no mail server: part of their ids.
const NO_SENDER: &str = "hostwatch <hostwatch@hostwatch.invalid>";

impl MailWriter {
    /// Of a configuration that tells anybody.
    pub(crate) fn of(settings: &Settings) -> Option<Self> {
        if !settings.mails {
            return None;
        }
        let tightest = settings.accounts.iter().filter_map(|account| {
            Some((account.name().clone(), account.alert.disconnect_days.iter().copied().min()?))
        });
        let from = settings.email.as_ref().map(|email| email.from.clone());
        Some(Self {
            from: from.or_else(|| NO_SENDER.parse().ok())?,
            has_server: settings.email.is_some(),
            webhooks: settings.webhooks.iter().map(|webhook| webhook.name.clone()).collect(),
            tightest_rungs: tightest.collect(),
            max_per_hour: settings.max_per_hour,
            page: settings.web.external_url.as_ref().map(ToString::to_string),
        })
    }

    /// A notice as one for all mail addresses and one for each webhook, without those that nothing carries mail to any
    /// more.
    pub(crate) fn by_way<'a>(&self, notice: &'a Notice) -> Vec<Cow<'a, Notice>> {
        let (webhooks, mut addresses): (Vec<String>, Vec<String>) =
            notice.to.iter().cloned().partition(|to| webhook_name(to).is_some());
        if webhooks.is_empty() && self.has_server {
            return vec![Cow::Borrowed(notice)];
        }
        if !self.has_server {
            addresses.clear();
        }
        let served = |to: &String| webhook_name(to).is_some_and(|name| self.webhooks.contains(name));
        let webhooks = webhooks.into_iter().filter(served).map(|to| vec![to]);
        let ways = Some(addresses).filter(|addresses| !addresses.is_empty()).into_iter().chain(webhooks);
        ways.map(|to| Cow::Owned(Notice { to, ..notice.clone() })).collect()
    }

    /// What a webhook's mail is written for.
    pub(crate) fn target<'a>(&'a self, name: &'a str) -> WebhookTarget<'a> {
        WebhookTarget { name, external_url: self.page.as_deref() }
    }

    /// Renders a notice to mail addresses, or to one webhook. `notes` are lines about mails that had to be given up, `home` the watched VM
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
        let webhook = notice.to.first().and_then(|to| webhook_name(to));
        let rendered = match webhook {
            Some(name) => mail::render_webhook(notice, self.target(name), &context),
            None => mail::render(notice, &context),
        };
        rendered.map(|rendered| outgoing(rendered, notice, now))
    }

    /// What rendering goes by.
    pub(crate) fn context<'a>(
        &'a self,
        snapshot: &'a Snapshot,
        notes: &'a [String],
        now: DateTime<Utc>,
    ) -> mail::Context<'a> {
        let tightest_rungs = self.tightest_rungs.clone();
        let page = self.page.as_deref();
        mail::Context { tightest_rungs, notes, page, ..mail::Context::new(&self.from, snapshot, now) }
    }

    /// The Message-IDs that later mails about the same incidents refer to: incident, recipient, id.
    pub(crate) fn threads(&self, notice: &Notice, mail: &Outgoing) -> Vec<(Key, String, String)> {
        let mut threads = Vec::new();
        let answers = matches!(
            notice.form,
            Form::Closed | Form::Reminder | Form::Covered | Form::Unwatched | Form::Digest(_)
        );
        // Of an escalated incident it is the first mail that they get.
        for item in notice.items.iter().filter(|item| !answers || item.event == Event::Escalated) {
            for to in &notice.to {
                if !item.threads.contains_key(to) {
                    threads.push((item.key.clone(), to.clone(), mail.message_id.clone()));
                }
            }
        }
        threads
    }
}

/// The domain that tells this installation's events from those of others: that of the sender, as the mails have it; without
/// mails the page's.
pub(crate) fn domain(settings: &Settings) -> String {
    let of_mails = settings.email.as_ref().map(|email| email.from.email.domain());
    let of_page = || settings.web.external_url.as_ref().and_then(|page| page.host_str());
    of_mails.or_else(of_page).unwrap_or("hostwatch").to_owned()
}

fn outgoing(rendered: Rendered, notice: &Notice, created_at: DateTime<Utc>) -> Outgoing {
    let lane = if notice.form == Form::Disconnect { Lane::Disconnect } else { Lane::Normal };
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
        notice: notice.clone(),
        raw: rendered.raw,
        created_at,
    }
}
