//! What carries a mail to its recipient: an SMTP server, or a webhook. Both fail in the same few ways, as far as the
//! queue is concerned.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};

use super::webhook::{PostError, Webhook};
use crate::config::Settings;
use crate::mail::smtp::{SendError, Transport};
use crate::store::{Claim, Queue};

/// One way for mails to leave.
pub(super) enum Carrier {
    Smtp(Transport),
    Webhook(Webhook),
}

/// Why a mail was not sent, as far as is known.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{error}")]
pub(super) struct SendFailure {
    pub(super) fault: Fault,
    pub(super) error: String,
}

/// Whose fault it was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fault {
    /// The connection, the login, the address: the next mail would fail, too. `refused`: it said so itself.
    Carrier { refused: bool },
    /// This mail alone was not taken.
    Mail { for_good: bool },
    /// It went out whole, and the reply was lost.
    ReplyLost,
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

impl SendFailure {
    /// The next mail would fail, too.
    pub(super) fn is_of_carrier(&self) -> bool {
        matches!(self.fault, Fault::Carrier { .. })
    }

    /// It said itself that it takes nothing from us.
    pub(super) fn is_refusal(&self) -> bool {
        self.fault == Fault::Carrier { refused: true }
    }
}

impl From<SendError> for SendFailure {
    fn from(error: SendError) -> Self {
        let permanent = error.permanent();
        let fault = match &error {
            SendError::Connection { .. } | SendError::Login { .. } | SendError::Sender { .. } => {
                Fault::Carrier { refused: permanent }
            }
            SendError::Recipient { .. } | SendError::Message { .. } | SendError::Interrupted { .. } => {
                Fault::Mail { for_good: permanent }
            }
            SendError::ReplyLost { .. } => Fault::ReplyLost,
        };
        Self { fault, error: error.to_string() }
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
