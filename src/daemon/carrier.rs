//! The carriers of mails: an SMTP server, a webhook, a Telegram chat. To the notification log all of them fail
//! in the same few ways.

use std::collections::BTreeMap;

use anyhow::{Result, anyhow};

use super::delivery::SendFailure;
use super::telegram::Chat;
use super::webhook::Webhook;
use crate::config::Settings;
use crate::mail::smtp::{Session, Transport};
use crate::mail::{Service, Way};
use crate::store::Rendered;

/// One server.
pub(crate) enum Carrier {
    Smtp(Transport),
    Webhook(Webhook),
    Telegram(Chat),
}

/// A carrier for each way that the configuration names.
pub(crate) fn all(settings: &Settings) -> Result<BTreeMap<Way, Carrier>> {
    let mut all = BTreeMap::new();
    if let Some(email) = &settings.email {
        let transport =
            Transport::new(&email.server).map_err(|why| anyhow!("preparing to send mail: {why}"))?;
        all.insert(Way::Smtp, Carrier::Smtp(transport));
    }
    for settings in &settings.webhooks {
        let webhook = Webhook::new(settings)?;
        all.insert(Way::Named(Service::Webhook, settings.name.clone()), Carrier::Webhook(webhook));
    }
    for settings in &settings.telegram {
        let chat = Chat::new(settings)?;
        all.insert(Way::Named(Service::Telegram, settings.name.clone()), Carrier::Telegram(chat));
    }
    Ok(all)
}

impl Carrier {
    /// Sends one mail to one recipient. Returns the number of the message in a chat.
    pub(crate) async fn send(
        &self,
        session: Option<Session>,
        to: &str,
        mail: &Rendered,
    ) -> Result<Option<i64>, SendFailure> {
        match self {
            Self::Smtp(transport) => transport.send(session, &mail.sender, to, &mail.raw).await?,
            Self::Webhook(webhook) => webhook.post(&mail.sender, mail.raw.clone()).await?,
            Self::Telegram(chat) => return Ok(Some(chat.send(&mail.raw).await?)),
        }
        Ok(None)
    }

    /// Connects for the next mail: it is made when it can leave.
    pub(super) async fn connect(&self) -> Result<(), SendFailure> {
        if let Self::Smtp(transport) = self {
            transport.connect().await?;
        }
        Ok(())
    }

    /// Whether a mail could leave at once. Posts make their connections in a few seconds, or not at all.
    pub(super) fn is_connected(&self) -> bool {
        if let Self::Smtp(transport) = self { transport.is_connected() } else { true }
    }

    /// The connection for the next mail.
    pub(super) fn take(&self) -> Option<Session> {
        if let Self::Smtp(transport) = self { transport.take() } else { None }
    }

    /// Closes an idle connection: no mail waits.
    pub(super) fn rest(&self) {
        if let Self::Smtp(transport) = self {
            transport.rest();
        }
    }

    /// The chat, if the carrier is one.
    pub(crate) fn chat(&self) -> Option<&Chat> {
        if let Self::Telegram(chat) = self { Some(chat) } else { None }
    }
}
