//! How the accounts of a configuration are watched.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::alert::Watcher;
use crate::config::{AccountSettings, Settings};
use crate::model::AccountName;

/// The watchers of all accounts.
pub(crate) fn watchers(settings: &Settings) -> BTreeMap<AccountName, Watcher> {
    settings.accounts.iter().map(|account| (account.name().clone(), watcher(settings, account))).collect()
}

/// The watcher of one account. An exporter has no recipients.
pub(crate) fn watcher(settings: &Settings, account: &AccountSettings) -> Watcher {
    let mut watcher = Watcher { settings: Arc::clone(&account.alert), to: account.to.clone() };
    if !settings.mails && watcher.everybody().next().is_some() {
        let alert = Arc::make_mut(&mut watcher.settings);
        alert.rules.values_mut().for_each(|rule| rule.to.clear());
        alert.escalate_to.clear();
        watcher.to.clear();
    }
    watcher
}
