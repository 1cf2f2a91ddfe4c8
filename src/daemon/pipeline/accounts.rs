//! The accounts of a configuration as the pipeline needs them, made from its settings.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::looking::Gaps;
use crate::alert::Watcher;
use crate::config::{AccountSettings, Settings};
use crate::daemon::mails::MailWriter;
use crate::metrics;
use crate::model::{AccountName, Collector, Profile};
use crate::provider::cron::Schedule;

/// The accounts of a configuration, as the pipeline needs them.
pub(crate) struct Accounts {
    pub(crate) profiles: Vec<Arc<Profile>>,
    pub(crate) watchers: BTreeMap<AccountName, Watcher>,
    pub(crate) mail_writer: Option<MailWriter>,
    /// When the digest goes out.
    pub(crate) digest: Option<Schedule>,
    pub(crate) metrics: metrics::MetricsSettings,
    /// Between the ticks of each collector, at most.
    pub(in crate::daemon) gaps: Gaps,
}

impl Accounts {
    /// Those of a configuration.
    pub(crate) fn of(settings: &Settings) -> Self {
        let watchers = settings.accounts.iter().map(|account| {
            let to = if settings.mails {
                account.to.iter().map(ToString::to_string).collect()
            } else {
                Vec::new()
            };
            (account.name().clone(), Watcher { settings: Arc::clone(&account.alert), to })
        });
        Self {
            profiles: settings.accounts.iter().map(|account| Arc::clone(&account.profile)).collect(),
            watchers: watchers.collect(),
            mail_writer: MailWriter::of(settings),
            digest: settings.digest.clone(),
            metrics: settings.metrics.clone(),
            gaps: settings.accounts.iter().map(|account| (account.name().clone(), gaps(account))).collect(),
        }
    }
}

fn gaps(account: &AccountSettings) -> BTreeMap<Collector, Duration> {
    account.schedules.iter().map(|(&collector, schedule)| (collector, schedule.longest_gap())).collect()
}
