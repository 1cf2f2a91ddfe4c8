//! Writes mails: renders what is owed, for the way that it goes.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use lettre::message::Mailbox;

use crate::alert::{Form, Notice};
use crate::config::{AccountSettings, Settings};
use crate::mail::{self, RenderError, Rendered, Service, Way};
use crate::model::{AccountName, Language, Snapshot};
use crate::provider::cron::Schedule;

/// The settings that mails are made from, beside the notice.
#[derive(Clone, Debug)]
pub(crate) struct MailWriter {
    pub(crate) from: Mailbox,
    /// The longest time between two digests, in days.
    digest_days: usize,
    /// The hourly limit for one recipient.
    pub(crate) max_per_hour: usize,
    /// The address of the page.
    page: Option<String>,
    /// The Telegram chats in which problems have buttons.
    buttons: BTreeSet<String>,
    /// The language of each account, and of recipients that read another one.
    languages: BTreeMap<AccountName, (Language, BTreeMap<String, Language>)>,
}

/// The sender if only webhooks and chats are configured: Message-IDs need a domain.
const NO_SENDER: &str = "hostwatch <hostwatch@hostwatch.invalid>";

impl MailWriter {
    /// `None` if nobody is mailed.
    pub(crate) fn of(settings: &Settings) -> Option<Self> {
        if !settings.mails {
            return None;
        }
        let from = settings.email.as_ref().map(|email| email.from.clone());
        Some(Self {
            from: from.or_else(|| NO_SENDER.parse().ok())?,
            digest_days: settings.digest.as_ref().map_or(7, digest_days),
            max_per_hour: settings.max_per_hour as usize,
            page: settings.web.external_url.as_ref().map(ToString::to_string),
            buttons: settings.telegram.iter().filter(|one| one.buttons).map(|one| one.name.clone()).collect(),
            languages: settings.accounts.iter().map(languages).collect(),
        })
    }

    /// The language of a recipient's mails about these accounts: the recipient's own in one of them, otherwise
    /// that of the first account.
    pub(crate) fn language<'a>(
        &self,
        to: &str,
        accounts: impl IntoIterator<Item = &'a AccountName>,
    ) -> Language {
        let known: Vec<_> = accounts.into_iter().filter_map(|name| self.languages.get(name)).collect();
        let own = known.iter().find_map(|(_, own)| own.get(to).copied());
        own.or(known.first().map(|(language, _)| *language)).unwrap_or_default()
    }

    /// A new, unique Message-ID.
    pub(crate) fn new_id(&self) -> String {
        mail::new_id(self.from.email.domain())
    }

    /// Renders a notice.
    ///
    /// # Errors
    /// If no mail can be made of the notice.
    pub(crate) fn write(
        &self,
        notice: &Notice,
        id: &str,
        context: &mail::Context<'_>,
    ) -> Result<Rendered, RenderError> {
        match Way::to(&notice.to) {
            Way::Smtp => mail::render(notice, id, context),
            Way::Named(Service::Webhook, _) => mail::render_webhook(notice, id, context),
            Way::Named(Service::Telegram, name) => {
                mail::render_telegram(notice, id, self.buttons.contains(&name), context)
            }
        }
    }

    /// Renders a sample for a recipient.
    ///
    /// # Errors
    /// If no mail can be made.
    pub(crate) fn write_test(&self, to: &str, now: DateTime<Utc>) -> Result<Rendered, RenderError> {
        let snapshot = Snapshot::default();
        let mut context = self.context(&snapshot, now);
        context.language = self.language(to, self.languages.keys());
        let notice = Notice { form: Form::Test, items: Vec::new(), to: to.to_owned(), accounts: Vec::new() };
        self.write(&notice, &self.new_id(), &context)
    }

    /// The context in which a notice is rendered.
    pub(crate) fn context<'a>(&'a self, snapshot: &'a Snapshot, now: DateTime<Utc>) -> mail::Context<'a> {
        let page = self.page.as_deref();
        let context = mail::Context::new(&self.from, snapshot, now);
        mail::Context { digest_days: self.digest_days, page, ..context }
    }
}

/// The days within which the next digest comes.
fn digest_days(schedule: &Schedule) -> usize {
    schedule.longest_gap().as_secs().div_ceil(24 * 60 * 60) as usize
}

fn languages(account: &AccountSettings) -> (AccountName, (Language, BTreeMap<String, Language>)) {
    (account.name().clone(), (account.profile.language, account.languages.clone()))
}

/// The domain that distinguishes this installation's events from those of others: the sender's domain, or the
/// page's if there are no mails.
pub(crate) fn domain(settings: &Settings) -> String {
    let of_mails = settings.email.as_ref().map(|email| email.from.email.domain());
    let of_page = || settings.web.external_url.as_ref().and_then(|page| page.host_str());
    of_mails.or_else(of_page).unwrap_or("hostwatch").to_owned()
}
