//! The accounts of a configuration as the pipeline needs them, made from its settings.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::alert::Watcher;
use crate::config::Settings;
use crate::daemon::mails::MailWriter;
use crate::metrics;
use crate::model::{AccountName, Profile};
use crate::provider::cron::Schedule;

/// The accounts of a configuration, as the pipeline needs them.
pub(crate) struct Accounts {
    pub(crate) profiles: Vec<Arc<Profile>>,
    pub(crate) watchers: BTreeMap<AccountName, Watcher>,
    pub(crate) mail_writer: Option<MailWriter>,
    /// When the digest goes out.
    pub(crate) digest: Option<Schedule>,
    pub(crate) metrics: metrics::Settings,
}

impl Accounts {
    /// Those of a configuration.
    pub(crate) fn of(settings: &Settings) -> Self {
        let watchers = settings.accounts.iter().map(|account| {
            let to = if settings.email.is_some() {
                account.to.iter().map(ToString::to_string).collect()
            } else {
                Vec::new()
            };
            (account.name().clone(), Watcher { settings: account.alert.clone(), to })
        });
        let tightest = settings.accounts.iter().filter_map(|account| {
            Some((account.name().clone(), account.alert.disconnect_days.iter().copied().min()?))
        });
        Self {
            profiles: settings.accounts.iter().map(|account| Arc::clone(&account.profile)).collect(),
            watchers: watchers.collect(),
            mail_writer: settings.email.as_ref().map(|email| MailWriter {
                from: email.from.clone(),
                tightest_rungs: tightest.collect(),
                max_per_hour: email.max_per_hour,
            }),
            digest: settings.digest.clone(),
            metrics: settings.metrics.clone(),
        }
    }
}
