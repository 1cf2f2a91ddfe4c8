//! The configuration: defaults, TOML file, `accounts.d`, environment, checked as a whole. Everything wrong is
//! told at once, a line each. Reads files; polls nothing, looks up no host, knows no clock.

mod account;
mod alerts;
mod check;
mod email;
mod environment;
pub(crate) mod keys;
mod problem;
#[cfg(test)]
pub(crate) mod reference;
mod secrets;
mod series;
mod sources;
mod values;
mod view;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lettre::message::Mailbox;
use url::Url;

pub(crate) use environment::Environment;
pub(crate) use problem::{Errors, Problem};
pub(crate) use values::duration;

use crate::model::{AccountName, Collector, Profile};
use crate::provider::cron::Schedule;
use crate::{alert, mail, metrics, provider};
use problem::Findings;
use secrets::Secrets;
use view::View;

/// A whole configuration, valid in itself.
#[derive(Clone)]
pub(crate) struct Settings {
    /// By name, at least one.
    pub accounts: Vec<Account>,
    /// `None`: exporter only.
    pub email: Option<mail::Settings>,
    /// Relative to the working directory where it is relative.
    pub store_path: PathBuf,
    pub metrics: metrics::Settings,
    /// When the digest goes out.
    pub digest: Option<Schedule>,
    pub heartbeat_url: Option<Url>,
    /// What is allowed and yet should be looked at; a line each.
    pub warnings: Vec<String>,
    /// Files that secrets were read from, credentials included: a change of one is a reason to reload.
    pub secret_files: Vec<PathBuf>,
}

/// One account as the layers take it.
#[derive(Clone, Debug)]
pub(crate) struct Account {
    pub profile: Arc<Profile>,
    pub api: provider::Settings,
    pub alert: alert::Settings,
    /// Who gets its mails: its own recipients, else those of `[email]`.
    pub to: Vec<Mailbox>,
    /// Of the collectors that are on. Sites have none of their own.
    pub schedules: BTreeMap<Collector, Schedule>,
    /// How far ahead the expected-balance report is asked for.
    pub horizon_days: u32,
}

/// Polling.
impl Account {
    /// Would it be polled the same way? What is judged and who is mailed may differ.
    pub(crate) fn is_polled_like(&self, other: &Self) -> bool {
        let ticks = |account: &Self| -> Vec<(Collector, String)> {
            account.schedules.iter().map(|(&collector, tick)| (collector, tick.to_string())).collect()
        };
        self.profile == other.profile
            && self.api.is_same(&other.api)
            && ticks(self) == ticks(other)
            && self.horizon_days == other.horizon_days
            && self.alert.disconnect_days == other.alert.disconnect_days
    }
}

/// Reads and checks a configuration. Without a path there is the environment alone.
///
/// # Errors
/// Everything that is wrong, in the order of files and keys.
pub(crate) fn load(path: Option<&Path>, env: &Environment) -> Result<Settings, Errors> {
    let mut findings = Findings::default();
    match read(path, env, &mut findings) {
        Some(settings) if findings.errors.0.is_empty() => {
            let warnings = findings.warnings.iter().map(Problem::to_string).collect();
            Ok(Settings { warnings, ..settings })
        }
        _ => Err(findings.errors),
    }
}

/// Where the store is, however wrong the rest may be: for commands that only look for a daemon. `None`
/// where the file cannot be read at all.
pub(crate) fn find_store(path: Option<&Path>, env: &Environment) -> Option<PathBuf> {
    read(path, env, &mut Findings::default()).map(|settings| settings.store_path)
}

fn read(path: Option<&Path>, env: &Environment, findings: &mut Findings) -> Option<Settings> {
    let sources = sources::read(path, env, findings)?;
    check::check(&sources, findings);
    let directory = |name: &str| env.get(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let mut secrets = Secrets {
        directory: path.and_then(Path::parent).unwrap_or(Path::new("")).to_owned(),
        credentials: directory("CREDENTIALS_DIRECTORY"),
        files: Vec::new(),
    };
    let global = View::global(&sources, &sources.main);
    let email = sources.email.as_ref().map(|source| {
        let view = View::global(&sources, source);
        (email::read(&view, &mut secrets, findings), alerts::recipients(&view, "email.to", findings))
    });
    let shared_to = email.as_ref().map(|(_, to)| to.as_slice());
    let mut accounts = Vec::new();
    for (name, source) in &sources.accounts {
        // A bad name has been told with the unknown keys.
        let Ok(account) = name.parse::<AccountName>() else { continue };
        let view = View::account(&sources, name, source);
        accounts.push(account::read(account, &view, &mut secrets, shared_to, findings));
    }
    let misshapen = sources.values.find_ref("accounts").is_some_and(|accounts| accounts.as_dict().is_none());
    if sources.accounts.is_empty() && !misshapen {
        let message = "none; add a table such as [accounts.main] with an address and credentials";
        findings.error(&sources.main, "accounts", message);
    }
    Some(Settings {
        accounts,
        email: email.and_then(|(settings, _)| settings),
        store_path: store_path(&global, directory("STATE_DIRECTORY"), findings),
        metrics: series::read(&global, findings),
        digest: global.parsed("schedule.digest", findings, str::parse),
        heartbeat_url: global.parsed("heartbeat.url", findings, values::web_address),
        warnings: Vec::new(),
        secret_files: secrets.files,
    })
}

fn store_path(view: &View<'_>, state: Option<PathBuf>, findings: &mut Findings) -> PathBuf {
    let Some(path) = view.text("store.path") else {
        if !view.is_set("store.path") {
            view.error("store.path", findings, "is empty; name a file such as \"hostwatch.db\"");
        }
        return PathBuf::new();
    };
    // systemd lists several directories with colons; the first is ours.
    let state = state.and_then(|list| list.to_str()?.split(':').next().map(PathBuf::from));
    state.unwrap_or_default().join(path)
}

/// Without the heartbeat's path, which is its password.
impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let heartbeat = self.heartbeat_url.as_ref().and_then(Url::host_str);
        f.debug_struct("Settings")
            .field("accounts", &self.accounts)
            .field("email", &self.email)
            .field("store_path", &self.store_path)
            .field("metrics", &self.metrics)
            .field("digest", &self.digest)
            .field("heartbeat_host", &heartbeat)
            .field("warnings", &self.warnings)
            .field("secret_files", &self.secret_files)
            .finish()
    }
}
