//! What carries a mail to its recipient: an SMTP server, or a webhook. Both fail in the same few ways, as far as the
//! queue is concerned.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};

use super::delivery::{Fault, SendFailure};
use super::webhook::{PostError, Webhook};
use crate::config::Settings;
use crate::mail::smtp::Transport;
use crate::store::{Claim, Queue};

/// One way for mails to leave.
pub(super) enum Carrier {
    Smtp(Transport),
    Webhook(Webhook),
}

/// One for each queue that the configuration serves.
pub(super) fn all(settings: &Settings) -> Result<BTreeMap<Queue, Carrier>> {
    let mut all = BTreeMap::new();
    if let Some(email) = &settings.email {
        let transport = Transport::new(&email.server).context("preparing to send mail")?;
        all.insert(Queue::Mail, Carrier::Smtp(transport));
    }
    for settings in &settings.webhooks {
        let webhook = Webhook::new(settings)?;
        all.insert(Queue::Webhook(settings.name.clone()), Carrier::Webhook(webhook));
    }
    Ok(all)
}

impl Carrier {
    /// Sends one mail to one recipient.
    pub(super) async fn send(&self, claim: &Claim) -> Result<(), SendFailure> {
        match self {
            Self::Smtp(transport) => {
                transport.send(&claim.sender, &claim.recipient, &claim.raw).await.map_err(SendFailure::from)
            }
            Self::Webhook(webhook) => {
                webhook.post(&claim.sender, claim.raw.clone()).await.map_err(SendFailure::from)
            }
        }
    }
}

impl From<PostError> for SendFailure {
    fn from(error: PostError) -> Self {
        let fault = match &error {
            PostError::Setup { .. } | PostError::Connection { .. } => Fault::Carrier { refused: false },
            PostError::Refused { .. } => Fault::Carrier { refused: true },
            PostError::Rejected { .. } => Fault::Mail { for_good: true },
            PostError::Failed { .. } => Fault::Mail { for_good: false },
            PostError::ReplyLost { .. } => Fault::ReplyLost,
        };
        Self { fault, error: error.to_string() }
    }
}
