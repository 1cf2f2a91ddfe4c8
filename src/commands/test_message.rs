//! `hostwatch test-message`: one sample alert to every recipient, or to one.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Result, anyhow, bail};

use super::output::{complain, print, warn};
use crate::clock;
use crate::config::{AccountSettings, Settings};
use crate::daemon::carrier;
use crate::daemon::mails::MailWriter;
use crate::mail::{Service, Way, address};
use crate::model::nearest::nearest;

pub(super) async fn run(file: &Path, recipient: Option<&str>) -> Result<()> {
    let settings = super::load(file)?;
    let Some(mail_writer) = MailWriter::of(&settings) else {
        bail!(
            "{}: there is no [email] table; add one with smtp_url, from and to, or name a webhook or a Telegram chat",
            file.display()
        );
    };
    let carriers = carrier::all(&settings)?;
    // All recipients are tried, since one recipient's error proves nothing about the others.
    let mut failures = Vec::new();
    for to in chosen(&settings, recipient)? {
        let way = Way::to(&to);
        let Some(carrier) = carriers.get(&way) else { continue };
        let mail = mail_writer.write_test(&to, clock::now())?;
        match carrier.send(None, &to, &mail).await {
            Ok(_) => print(&format!("sent to {to}\n"))?,
            Err(error) => failures.push(anyhow!(error).context(through(&to, &way, &settings))),
        }
        if let (Some(number), Way::Named(_, name)) = (carrier.chat().and_then(|chat| chat.moved_to()), &way) {
            warn(&format!("the group of {to} became a supergroup; set telegram.{name}.chat_id to {number}"));
        }
    }
    for failure in &failures {
        complain(failure);
    }
    match failures.len() {
        0 => Ok(()),
        1 => bail!("one test did not get through"),
        several => bail!("{several} tests did not get through"),
    }
}

/// All recipients, or the named one.
fn chosen(settings: &Settings, recipient: Option<&str>) -> Result<BTreeSet<String>> {
    let of_accounts = settings.accounts.iter().flat_map(AccountSettings::everybody);
    let webhooks = settings.webhooks.iter().map(|one| format!("{}{}", Service::Webhook.prefix(), one.name));
    let chats = settings.telegram.iter().map(|one| format!("{}{}", Service::Telegram.prefix(), one.name));
    let all: BTreeSet<String> = of_accounts.chain(webhooks).chain(chats).collect();
    let Some(recipient) = recipient else { return Ok(all) };
    let wanted = address(recipient);
    if all.contains(&wanted) {
        return Ok(BTreeSet::from([wanted]));
    }
    let known: Vec<&str> = all.iter().map(String::as_str).collect();
    match known.is_empty() {
        true => bail!("the configuration names no recipient"),
        false => bail!(
            "'{recipient}' is no recipient of the configuration; did you mean {}?",
            nearest(&wanted, &known)
        ),
    }
}

fn through(to: &str, way: &Way, settings: &Settings) -> String {
    match (way, &settings.email) {
        (Way::Smtp, Some(email)) => {
            format!("sending to {to} through {}:{}", email.server.host, email.server.port)
        }
        _ => format!("sending to {to}"),
    }
}
