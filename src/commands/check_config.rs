//! `hostwatch check-config`: checks the configuration, and one of the web server.

use std::path::Path;

use anyhow::Result;

use super::doctor::machine::unwritable;
use super::output::{print, warn};
use crate::config::{self, AccountSettings, Environment, Settings};
use crate::config_error::ConfigErrors;
use crate::http::WebConfig;
use crate::mail::address;
use crate::model::Group;
use crate::model::Language;
use crate::terminal::in_columns;
use crate::view::words;

/// The number of accounts in the output; others are counted.
const MOST_ACCOUNTS: usize = 50;
/// The key that turns each group on.
const GROUPS: [(Group, &str); 3] = [
    (Group::Vm, "vm_api_key"),
    (Group::Hosting, "hosting_token"),
    (Group::Billing, "billing_username and billing_password"),
];

pub(super) fn run(file: &Path, web_config_file: Option<&Path>) -> Result<()> {
    let settings = config::load(Some(file), &Environment::of_process());
    let web = web_config_file.map(|file| (file, WebConfig::read(file)));
    let wrong =
        settings.as_ref().err().into_iter().chain(web.iter().filter_map(|(_, web)| web.as_ref().err()));
    let wrong: Vec<_> = wrong.flat_map(|errors| errors.0.iter().cloned()).collect();
    if let (Ok(settings), true) = (&settings, wrong.is_empty()) {
        return good(file, settings, web.and_then(|(file, web)| Some((file, web.ok()?))));
    }
    Err(ConfigErrors(wrong).into())
}

fn good(file: &Path, settings: &Settings, web: Option<(&Path, WebConfig)>) -> Result<()> {
    match unwritable(&settings.store_path) {
        Some(error) if error.is_refusal() => return Err(error.into()),
        // The service's user may be another one.
        Some(error) => warn(&error.to_string()),
        None => {}
    }
    for warning in &settings.warnings {
        warn(warning);
    }
    let accounts = words::count(settings.accounts.len(), "account", "accounts");
    let mails = match (&settings.email, settings.mails) {
        (Some(_), _) => "mails on",
        (None, true) => "mails on, without a mail server",
        (None, false) => "mails off: no [email]",
    };
    let mut text = format!("{}: OK; {accounts}, {mails}\n", file.display());
    for account in settings.accounts.iter().take(MOST_ACCOUNTS) {
        text.push_str(&summary(account, settings.mails));
    }
    let more = settings.accounts.len().saturating_sub(MOST_ACCOUNTS);
    if more > 0 {
        text.push_str(&format!("and {}\n", words::count(more, "more account", "more accounts")));
    }
    print(&in_columns(&text))?;
    let Some((file, web)) = web else { return Ok(()) };
    for note in web.notes() {
        warn(&format!("{}: {note}", file.display()));
    }
    let switch = |on| if on { "on" } else { "off" };
    let (tls, passwords) = (switch(web.has_tls()), switch(web.has_users()));
    print(&format!("{}: OK; TLS {tls}, passwords {passwords}\n", file.display()))
}

/// `main: polls VMs, the balance; not hosting: no hosting_token; mails ops@example.com`
fn summary(account: &AccountSettings, mails: bool) -> String {
    let polled = account.profile.collectors.iter().map(|collector| collector.words());
    let polled: Vec<&str> = polled.collect();
    let polled = if polled.is_empty() { "nothing".to_owned() } else { polled.join(", ") };
    let off = GROUPS.iter().filter(|(group, _)| !account.has(*group));
    let off: String = off.map(|(group, key)| format!("\n  off: {}, no {key}", group.as_str())).collect();
    let to: Vec<String> = account.to.iter().map(|to| address(to)).collect();
    let to = match (mails, to.is_empty()) {
        (false, _) => String::new(),
        (true, true) => "\n  mails nobody: name somebody in email.to, or in the account's to".to_owned(),
        (true, false) => format!("\n  mails: {}", to.join(", ")),
    };
    let escalates = if mails { escalation(account) } else { String::new() };
    format!("{}\n  polls: {polled}{off}{to}{escalates}\n", account.name())
}

/// The recipients of escalations, and their time.
fn escalation(account: &AccountSettings) -> String {
    let to = &account.alert.escalate_to;
    if to.is_empty() {
        return String::new();
    }
    let after = words::lasted(
        chrono::Duration::from_std(account.alert.escalate_after).unwrap_or_default(),
        Language::En,
    );
    format!("\n  escalates to: {} after {after}, a cut-off at once", to.join(", "))
}
