//! The configuration: defaults, TOML file and environment, checked as a whole. All errors are
//! reported together, one a line. It reads files, but asks no host and reads no clock.

mod account;
mod alerts;
mod check;
mod email;
mod environment;
mod findings;
mod hosting;
pub(crate) mod keys;
mod recipient;
mod secrets;
mod sources;
mod tables;
mod telegram;
mod values;
mod via;
mod view;
mod webhooks;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use std::path::{Path, PathBuf};
use std::sync::Arc;

use secrecy::SecretString;

pub(crate) use environment::{Environment, listed};

use crate::config_error::ConfigErrors;
use crate::model::{AccountName, Collector, Language, Profile, TELEGRAM, Via, WEBHOOK};
use crate::provider::cron::Schedule;
use crate::{alert, http, mail, metrics, provider};
use findings::Findings;
use sources::Secrets;
use view::View;

/// A whole, valid configuration.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// At least one, sorted by name.
    pub accounts: Vec<AccountSettings>,
    /// Whether anybody is told: there is an `[email]` table, usable or not, or a webhook or Telegram chat among
    /// the recipients. Otherwise the daemon is only an exporter, and no mail is made.
    pub mails: bool,
    /// `None`: no mail server is used.
    pub email: Option<mail::MailSettings>,
    /// Sorted by name.
    pub webhooks: Vec<mail::WebhookSettings>,
    /// Sorted by name.
    pub telegram: Vec<mail::TelegramSettings>,
    /// The limit of mails an hour, by all ways.
    pub max_per_hour: u32,
    pub store_path: PathBuf,
    pub state_series: metrics::StateSeries,
    /// The schedule of the digest.
    pub digest: Option<Schedule>,
    /// A secret, since its path is a password.
    pub heartbeat_url: Option<SecretString>,
    /// The way to the heartbeat's service.
    pub heartbeat_via: Via,
    pub web: http::WebSettings,
    /// Warnings about allowed settings, one a line.
    pub warnings: Vec<String>,
    /// Files that secrets were read from, including credentials. A change of one is a reason to reload.
    pub secret_files: Vec<PathBuf>,
}

/// One account, as the layers need it.
#[derive(Clone, Debug)]
pub(crate) struct AccountSettings {
    pub profile: Arc<Profile>,
    pub api: provider::ProviderSettings,
    pub alert: Arc<alert::AlertSettings>,
    /// The recipients of its mails, as the notification log names them: its own, otherwise those of `[email]`.
    pub to: Vec<String>,
    /// The languages of recipients that read another one than the account's, by address.
    pub languages: BTreeMap<String, Language>,
    /// The schedules of the collectors that are on. Sites have none of their own.
    pub schedules: Arc<BTreeMap<Collector, Schedule>>,
    /// The days ahead for which the expected-balance report is asked.
    pub horizon_days: u32,
}

/// Polling.
impl AccountSettings {
    /// Shares equal values with another account, since thousands of accounts are much alike.
    fn share(&mut self, other: &Self) {
        if self.schedules == other.schedules {
            self.schedules = Arc::clone(&other.schedules);
        }
        if self.alert == other.alert {
            self.alert = Arc::clone(&other.alert);
        }
    }

    /// Whether it would be polled in the same way. Other rules and recipients may differ.
    pub(crate) fn is_polled_like(&self, other: &Self) -> bool {
        self.profile == other.profile
            && self.api.is_same(&other.api)
            && self.schedules == other.schedules
            && self.horizon_days == other.horizon_days
            && self.alert.disconnect_days == other.alert.disconnect_days
            && self.alert.collector_failing_after == other.alert.collector_failing_after
    }
}

/// Reads and checks a configuration. Without a path only the environment is read.
///
/// # Errors
/// All errors, in the order of files and keys.
pub(crate) fn load(path: Option<&Path>, env: &Environment) -> Result<Settings, ConfigErrors> {
    let findings = Findings::default();
    let settings = read(path, env, &findings);
    let (errors, warnings) = findings.parts();
    let settings = settings.filter(|_| errors.0.is_empty()).ok_or(errors)?;
    Ok(Settings { warnings: warnings.iter().map(ToString::to_string).collect(), ..settings })
}

/// Reads the readable part of a configuration in spite of errors, for commands beside a daemon, whose user may
/// not be able to read the secrets.
///
/// # Errors
/// All errors, if it does not say where the store is.
pub(crate) fn read_leniently(path: Option<&Path>, env: &Environment) -> Result<Settings, ConfigErrors> {
    let findings = Findings::default();
    let settings = read(path, env, &findings);
    settings.filter(|settings| !settings.store_path.as_os_str().is_empty()).ok_or(findings.parts().0)
}

/// Variables that other programs take a proxy from.
const PROXIES: [&str; 6] =
    ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"];

fn read(path: Option<&Path>, env: &Environment, findings: &Findings) -> Option<Settings> {
    let sources = sources::read(path, env, findings)?;
    check::check(&sources, findings);
    let directory = |name: &str| env.get(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let beside = path.map(|path| path.parent().unwrap_or(Path::new("")));
    let secrets = Secrets {
        directory: beside.unwrap_or(Path::new("")).to_owned(),
        credentials: directory("CREDENTIALS_DIRECTORY").or(beside.map(|beside| beside.join("credentials"))),
        files: RefCell::default(),
        asked: RefCell::default(),
    };
    let (place, source) = (String::new(), sources.main.clone());
    let global = View { sources: &sources, secrets: &secrets, findings, place, source };
    let webhooks = webhooks::read(&global);
    let telegram = telegram::read(&global);
    let email = sources.email.as_ref().map(|source| {
        let view = global.at(String::new(), source);
        (email::read(&view), alerts::recipients(&view, "email.to"))
    });
    let shared_to = email.as_ref().map(|(_, to)| to.as_slice());
    let mut accounts = Vec::new();
    for (name, source) in &sources.accounts {
        // A bad name is reported with the unknown keys.
        let Ok(account) = name.parse::<AccountName>() else { continue };
        let view = global.at(format!("accounts.{name}"), source);
        let mut account = account::read(account, &view, shared_to);
        if let Some(last) = accounts.last() {
            account.share(last);
        }
        accounts.push(account);
    }
    let heartbeat_via = via::read(&global, "heartbeat.");
    secrets.report_unread(findings);
    for name in PROXIES.iter().filter(|name| env.get(name).is_some_and(|value| !value.is_empty())) {
        findings.warn(name, "", "is not used: accounts, webhooks, Telegram chats and the heartbeat have a key `proxy` of their own");
    }
    let misshapen = sources.values.find_ref("accounts").is_some_and(|accounts| accounts.as_dict().is_none());
    if sources.accounts.is_empty() && !misshapen {
        let message = "none; add a table such as [accounts.main] with an address and credentials";
        findings.error(&sources.main, "accounts", message);
    }
    let is_service_told = check_ways(&accounts, &sources, findings);
    warn_of_unnamed(&global, &accounts, &webhooks, &telegram);
    Some(Settings {
        accounts,
        mails: email.is_some() || is_service_told,
        webhooks,
        telegram,
        max_per_hour: global.bounded("email.max_per_hour", 1..=100_000),
        email: email.and_then(|(settings, _)| settings),
        store_path: tables::store(&global, path, directory("STATE_DIRECTORY")),
        state_series: tables::state_series(&global),
        digest: global.parsed("schedule.digest", account::schedule_or_off).flatten(),
        heartbeat_url: global
            .parsed("heartbeat.url", values::web_address)
            .map(|url| SecretString::from(String::from(url))),
        heartbeat_via,
        web: tables::web(&global),
        warnings: Vec::new(),
        secret_files: secrets.files.into_inner().into_iter().collect(),
    })
}

/// Warns of webhooks and Telegram chats that no recipient names.
fn warn_of_unnamed(
    view: &View<'_>,
    accounts: &[AccountSettings],
    webhooks: &[mail::WebhookSettings],
    chats: &[mail::TelegramSettings],
) {
    let named: BTreeSet<String> = accounts.iter().flat_map(AccountSettings::everybody).collect();
    let webhooks = webhooks.iter().map(|webhook| ("webhooks", WEBHOOK, &webhook.name));
    let chats = chats.iter().map(|chat| ("telegram", TELEGRAM, &chat.name));
    for (table, prefix, name) in webhooks.chain(chats) {
        let recipient = format!("{prefix}{name}");
        if !named.contains(&recipient) {
            let message =
                format!("is not used: no recipient is \"{recipient}\"; name it in a key such as `to`");
            view.warn(&format!("{table}.{name}"), message);
        }
    }
}

/// Whether a webhook or a Telegram chat is among the recipients. If so, mail addresses need a mail server, or
/// their mails would be lost.
fn check_ways(accounts: &[AccountSettings], sources: &sources::Sources, findings: &Findings) -> bool {
    let everybody: Vec<String> = accounts.iter().flat_map(AccountSettings::everybody).collect();
    let (addresses, named): (Vec<&String>, Vec<&String>) =
        everybody.iter().partition(|to| mail::Way::to(to) == mail::Way::Smtp);
    if named.is_empty() || sources.email.is_some() {
        return !named.is_empty();
    }
    if let Some(address) = addresses.first() {
        let message = format!(
            "missing, and {address} is to get mail; add it, or name webhooks and Telegram chats alone"
        );
        findings.error(&sources.main, "email", message);
    }
    for account in accounts.iter().filter(|account| account.to.is_empty()) {
        let place = format!("accounts.{}.to", account.name());
        let source = sources.accounts.get(account.name().as_str()).unwrap_or(&sources.main);
        let message = "nobody would hear of this account's cut-off; name a recipient, such as [\"webhook:NAME\"] or \
                       [\"telegram:NAME\"]";
        findings.error(source, &place, message);
    }
    true
}
