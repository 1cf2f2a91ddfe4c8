//! The accounts of a configuration in the form that the pipeline needs.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::alert::{AlertSettings, Watcher};
use crate::config::Settings;
use crate::daemon::mails::MailWriter;
use crate::mail::{Way, address};
use crate::metrics;
use crate::model::{AccountName, Profile};
use crate::provider::cron::Schedule;

/// The accounts of a configuration in the form that the pipeline needs.
pub(crate) struct Accounts {
    pub(crate) profiles: Vec<Arc<Profile>>,
    pub(crate) watchers: BTreeMap<AccountName, Watcher>,
    pub(crate) mail_writer: Option<MailWriter>,
    /// The schedule of the digest.
    pub(crate) digest: Option<Schedule>,
    pub(crate) metrics: metrics::MetricsSettings,
    pub(crate) has_heartbeat: bool,
}

impl Accounts {
    /// The accounts of a configuration.
    pub(crate) fn of(settings: &Settings) -> Self {
        // Only recipients with a server are owed mails.
        let is_served = |to: &str| settings.serves(&Way::to(to));
        let watchers = settings.accounts.iter().map(|account| {
            let to = account.to.iter().map(|to| address(to)).filter(|to| is_served(to));
            let watcher = Watcher { settings: by_address(&account.alert, is_served), to: to.collect() };
            (account.name().clone(), watcher)
        });
        Self {
            profiles: settings.accounts.iter().map(|account| Arc::clone(&account.profile)).collect(),
            watchers: watchers.collect(),
            mail_writer: MailWriter::of(settings),
            digest: settings.digest.clone(),
            metrics: settings.metrics,
            has_heartbeat: settings.heartbeat_url.is_some(),
        }
    }
}

/// The recipients that have a server, as the notification log names them.
fn by_address(alert: &Arc<AlertSettings>, is_served: impl Fn(&str) -> bool) -> Arc<AlertSettings> {
    if alert.escalate_to.is_empty() && alert.rules.values().all(|rule| rule.to.is_empty()) {
        return Arc::clone(alert);
    }
    let mut settings = (**alert).clone();
    let of_rules = settings.rules.values_mut().map(|rule| &mut rule.to);
    for list in of_rules.chain([&mut settings.escalate_to]) {
        list.iter_mut().for_each(|to| *to = address(to));
        list.retain(|to| is_served(to));
    }
    Arc::new(settings)
}
