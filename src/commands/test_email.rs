//! `hostwatch test-email`: one sample alert through the configured SMTP server.

use std::path::Path;

use anyhow::{Context as _, Result, bail};

use super::output::print;
use crate::clock;
use crate::daemon::mails::MailWriter;
use crate::mail::{self, smtp::Transport};
use crate::model::Snapshot;

pub(super) async fn run(file: &Path) -> Result<()> {
    let settings = super::load(file)?;
    let Some(email) = &settings.email else {
        bail!("{}: there is no [email] table; add one with smtp_url, from and to", file.display());
    };
    let mut to: Vec<String> =
        settings.accounts.iter().flat_map(|account| &account.to).map(ToString::to_string).collect();
    to.sort();
    to.dedup();
    let snapshot = Snapshot::default();
    let mail_writer = MailWriter {
        from: email.from.clone(),
        tightest_rungs: Default::default(),
        max_per_hour: email.max_per_hour,
    };
    let mail = mail::render_test(&to, &mail_writer.context(&snapshot, &[], clock::now()))?;
    let transport = Transport::new(&email.server)?;
    for recipient in &mail.recipients {
        transport.send(&mail.sender, recipient, &mail.raw).await.with_context(|| {
            format!("sending to {recipient} through {}:{}", email.server.host, email.server.port)
        })?;
        print(&format!("sent to {recipient}\n"))?;
    }
    Ok(())
}
