//! `hostwatch test-email`: one sample alert through the configured SMTP server, and to each webhook.

use std::path::Path;

use anyhow::{Context as _, Error, Result, bail};

use super::output::{complain, print};
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
    // What is wrong with one says nothing of the others: all are tried.
    let mut failures = Vec::new();
    if let Err(error) = send(&settings, &context, &mut failures).await {
        failures.push(error);
    }
    post(&settings, &mail_writer, &context, &mut failures).await?;
    for failure in &failures {
        complain(failure);
    }
    match failures.len() {
        0 => Ok(()),
        1 => bail!("one test did not get through"),
        several => bail!("{several} tests did not get through"),
    }
}

async fn send(settings: &Settings, context: &Context<'_>, failures: &mut Vec<Error>) -> Result<()> {
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
        let sent = transport.send(&mail.sender, recipient, &mail.raw).await.with_context(|| {
            format!("sending to {recipient} through {}:{}", email.server.host, email.server.port)
        });
        match sent {
            Ok(()) => print(&format!("sent to {recipient}\n"))?,
            Err(error) => failures.push(error),
        }
    }
    Ok(())
}

async fn post(
    settings: &Settings,
    mail_writer: &MailWriter,
    context: &Context<'_>,
    failures: &mut Vec<Error>,
) -> Result<()> {
    for settings in &settings.webhooks {
        let mail = mail::render_webhook_test(mail_writer.target(&settings.name), context)?;
        let posted = match Webhook::new(settings) {
            Ok(webhook) => webhook.post(&mail.sender, mail.raw).await,
            Err(error) => Err(error),
        };
        match posted {
            Ok(()) => print(&format!("posted to webhook {}\n", settings.name))?,
            Err(error) => failures.push(error.into()),
        }
    }
    Ok(())
}
