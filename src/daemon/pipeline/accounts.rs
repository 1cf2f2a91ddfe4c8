//! How the accounts of a configuration are watched.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::alert::{AlertSettings, Watcher};
use crate::config::{AccountSettings, Settings};
use crate::mail::{Way, address};
use crate::model::AccountName;

/// The watchers of all accounts.
pub(crate) fn watchers(settings: &Settings) -> BTreeMap<AccountName, Watcher> {
    settings.accounts.iter().map(|account| (account.name().clone(), watcher(settings, account))).collect()
}

/// The watcher of one account. Only recipients with a server are owed mails.
pub(crate) fn watcher(settings: &Settings, account: &AccountSettings) -> Watcher {
    let is_served = |to: &str| settings.serves(&Way::to(to));
    let to = account.to.iter().map(|to| address(to)).filter(|to| is_served(to));
    Watcher { settings: by_address(&account.alert, is_served), to: to.collect() }
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
