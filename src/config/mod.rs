//! The configuration: defaults, TOML file, `accounts.d`, environment, checked as a whole. All errors are
//! reported at once, a line each. Reads files; polls nothing, looks up no host, reads no clock.

mod account;
mod alerts;
mod check;
mod email;
mod environment;
mod findings;
pub(crate) mod keys;
#[cfg(test)]
pub(crate) mod reference;
mod secrets;
mod sources;
mod tables;
mod values;
mod view;
mod webhooks;

use std::collections::{BTreeMap, BTreeSet};

use std::path::{Path, PathBuf};
use std::sync::Arc;

use secrecy::SecretString;

pub(crate) use environment::Environment;
pub(crate) use values::duration;

use crate::config_error::ConfigErrors;
use crate::model::{AccountName, Collector, Profile};
use crate::provider::cron::Schedule;
use crate::{alert, http, mail, metrics, provider};
use findings::Findings;
use secrets::Secrets;
use view::View;

/// A whole configuration, valid in itself.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// By name, at least one.
    pub accounts: Vec<AccountSettings>,
    /// Somebody is told: there is an `[email]` table, usable or not, or a webhook among the recipients. Else this is an
    /// exporter only: nothing is rendered or queued.
    pub mails: bool,
    /// `None`: no mail leaves by a mail server.
    pub email: Option<mail::MailSettings>,
    /// By name.
    pub webhooks: Vec<mail::WebhookSettings>,
    /// Mails an hour, by whatever way.
    pub max_per_hour: u32,
    pub store_path: PathBuf,
    /// Where older releases, or another configuration, may have left a store instead.
    pub former_stores: Vec<PathBuf>,
    pub metrics: metrics::MetricsSettings,
    /// When the digest goes out.
    pub digest: Option<Schedule>,
    /// Its path is a password.
    pub heartbeat_url: Option<SecretString>,
    pub web: http::WebSettings,
    /// What is allowed and yet should be looked at; a line each.
    pub warnings: Vec<String>,
    /// Files that secrets were read from, credentials included: a change of one is a reason to reload.
    pub secret_files: Vec<PathBuf>,
}

/// One account as the layers take it.
#[derive(Clone, Debug)]
pub(crate) struct AccountSettings {
    pub profile: Arc<Profile>,
    pub api: provider::ProviderSettings,
    pub alert: Arc<alert::AlertSettings>,
    /// Who gets its mails: its own recipients, else those of `[email]`.
    pub to: Vec<mail::Recipient>,
    /// Of the collectors that are on. Sites have none of their own.
    pub schedules: Arc<BTreeMap<Collector, Schedule>>,
    /// How far ahead the expected-balance report is asked for.
    pub horizon_days: u32,
}

/// Polling.
impl AccountSettings {
    /// What is as the other account has it is kept once: where there are thousands they are much alike.
    fn share(&mut self, other: &Self) {
        if self.schedules == other.schedules {
            self.schedules = Arc::clone(&other.schedules);
        }
        if self.alert == other.alert {
            self.alert = Arc::clone(&other.alert);
        }
    }

    /// Would it be polled the same way? What is judged and who is mailed may differ.
    pub(crate) fn is_polled_like(&self, other: &Self) -> bool {
        self.profile == other.profile
            && self.api.is_same(&other.api)
            && self.schedules == other.schedules
            && self.horizon_days == other.horizon_days
            && self.alert.disconnect_days == other.alert.disconnect_days
    }
}

/// Reads and checks a configuration. Without a path there is the environment alone.
///
/// # Errors
/// Everything that is wrong, in the order of files and keys.
pub(crate) fn load(path: Option<&Path>, env: &Environment) -> Result<Settings, ConfigErrors> {
    let mut findings = Findings::default();
    match read(path, env, &mut findings) {
        Some(settings) if findings.errors.0.is_empty() => {
            let warnings = findings.warnings.iter().map(ToString::to_string).collect();
            Ok(Settings { warnings, ..settings })
        }
        _ => Err(findings.errors),
    }
}

/// Reads what of a configuration can be read, however wrong the rest may be: for commands beside a daemon, whose user
/// need not be able to read the secrets. `None` where the file cannot be read at all.
pub(crate) fn read_leniently(path: Option<&Path>, env: &Environment) -> Option<Settings> {
    read(path, env, &mut Findings::default())
}

fn read(path: Option<&Path>, env: &Environment, findings: &mut Findings) -> Option<Settings> {
    let sources = sources::read(path, env, findings)?;
    check::check(&sources, findings);
    let directory = |name: &str| env.get(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let mut secrets = Secrets {
        directory: path.and_then(Path::parent).unwrap_or(Path::new("")).to_owned(),
        credentials: directory("CREDENTIALS_DIRECTORY"),
        files: Vec::new(),
        asked: BTreeSet::new(),
    };
    let global = View::global(&sources, &sources.main);
    let webhooks = webhooks::read(&global, &mut secrets, findings);
    let email = sources.email.as_ref().map(|source| {
        let view = View::global(&sources, source);
        (email::read(&view, &mut secrets, findings), alerts::recipients(&view, "email.to", findings))
    });
    let shared_to = email.as_ref().map(|(_, to)| to.as_slice());
    let mut accounts = Vec::new();
    for (name, source) in &sources.accounts {
        // A bad name is reported with the unknown keys.
        let Ok(account) = name.parse::<AccountName>() else { continue };
        let view = View::account(&sources, name, source);
        let mut account = account::read(account, &view, &mut secrets, shared_to, findings);
        if let Some(last) = accounts.last() {
            account.share(last);
        }
        accounts.push(account);
    }
    secrets.report_unread(findings);
    let misshapen = sources.values.find_ref("accounts").is_some_and(|accounts| accounts.as_dict().is_none());
    if sources.accounts.is_empty() && !misshapen {
        let message = "none; add a table such as [accounts.main] with an address and credentials";
        findings.error(&sources.main, "accounts", message);
    }
    let webhook_told = check_ways(&accounts, &sources, findings);
    let (store_path, former_stores) = tables::store(&global, path, directory("STATE_DIRECTORY"), findings);
    Some(Settings {
        accounts,
        mails: email.is_some() || webhook_told,
        webhooks,
        max_per_hour: global.bounded("email.max_per_hour", 1..=100_000, findings),
        email: email.and_then(|(settings, _)| settings),
        store_path,
        former_stores,
        metrics: tables::metrics(&global, findings),
        digest: global.parsed("schedule.digest", findings, str::parse),
        heartbeat_url: global
            .parsed("heartbeat.url", findings, values::web_address)
            .map(|url| SecretString::from(String::from(url))),
        web: tables::web(&global, findings),
        warnings: Vec::new(),
        secret_files: secrets.files,
    })
}

/// Whether a webhook is among the recipients. Beside it, without a mail server, a mail address would be left out.
fn check_ways(accounts: &[AccountSettings], sources: &sources::Sources, findings: &mut Findings) -> bool {
    let everybody: Vec<String> = accounts.iter().flat_map(AccountSettings::everybody).collect();
    let (webhooks, addresses): (Vec<&String>, Vec<&String>) =
        everybody.iter().partition(|to| mail::webhook_name(to).is_some());
    if let (false, None, Some(address)) = (webhooks.is_empty(), &sources.email, addresses.first()) {
        let message = format!("missing, and {address} is to get mail; add it, or name webhooks alone");
        findings.error(&sources.main, "email", message);
    }
    if let (false, None) = (webhooks.is_empty(), &sources.email) {
        for account in accounts.iter().filter(|account| account.to.is_empty()) {
            let place = format!("accounts.{}.to", account.name());
            let source = sources.accounts.get(account.name().as_str()).unwrap_or(&sources.main);
            let message =
                "nobody would hear of this account's cut-off; name a webhook, such as [\"webhook:NAME\"]";
            findings.error(source, &place, message);
        }
    }
    !webhooks.is_empty()
}
