//! `hostwatch test-email`: one sample alert through the configured SMTP server, and to each webhook.

use std::path::Path;

use anyhow::{Context as _, Result, bail};

use super::output::print;
use crate::clock;
use crate::config::Settings;
use crate::daemon::mails::MailWriter;
use crate::daemon::webhook::Webhook;
use crate::mail::{self, Context, Recipient, smtp::Transport};
use crate::model::Snapshot;

pub(super) async fn run(file: &Path) -> Result<()> {
    let settings = super::load(file)?;
    let Some(mail_writer) = MailWriter::of(&settings) else {
        bail!(
            "{}: there is no [email] table; add one with smtp_url, from and to, or name a webhook",
            file.display()
        );
    };
    let snapshot = Snapshot::default();
    let context = mail_writer.context(&snapshot, &[], clock::now());
    let mailed = send(&settings, &context).await;
    // What is wrong with one says nothing of the other.
    let posted = post(&settings, &mail_writer, &context).await;
    mailed.and(posted)
}

async fn send(settings: &Settings, context: &Context<'_>) -> Result<()> {
    let Some(email) = &settings.email else { return Ok(()) };
    let everybody = settings.accounts.iter().flat_map(|account| &account.to);
    let mut to: Vec<String> = everybody.filter(|to| !to.is_webhook()).map(Recipient::to_string).collect();
    to.sort();
    to.dedup();
    if to.is_empty() {
        return Ok(());
    }
    let mail = mail::render_test(&to, context)?;
    let transport = Transport::new(&email.server)?;
    for recipient in &mail.recipients {
        transport.send(&mail.sender, recipient, &mail.raw).await.with_context(|| {
            format!("sending to {recipient} through {}:{}", email.server.host, email.server.port)
        })?;
        print(&format!("sent to {recipient}\n"))?;
    }
    Ok(())
}

async fn post(settings: &Settings, mail_writer: &MailWriter, context: &Context<'_>) -> Result<()> {
    for settings in &settings.webhooks {
        let mail = mail::render_webhook_test(mail_writer.target(&settings.name), context)?;
        Webhook::new(settings)?.post(&mail.sender, mail.raw).await?;
        print(&format!("posted to webhook {}\n", settings.name))?;
    }
    Ok(())
}
