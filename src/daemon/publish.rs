//! The view of incidents and mails for page and metrics. Only the pipeline writes it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use chrono::{DateTime, Utc};
use parking_lot::Mutex;

use super::common::Common;
use crate::alert::{Debts, Facts, History, Incident, Log, Past, Phase};
use crate::http::Remember;
use crate::model::AccountName;
use crate::model::mails::OutboxSummary;
use crate::store::{Store, StoreError};
use crate::view::incidents::{Mails, ServerError};
use crate::view::{Alerting, IncidentRow};

/// Past incidents, for the page. The store is locked for one reading.
impl Remember for Mutex<Store> {
    fn history(&self, past: &Past) -> Result<History, String> {
        self.lock().history(past).map_err(|error| error.to_string())
    }
}

/// Logs that a store in memory is in its file again, and where a damaged file was put.
pub(super) fn say_returned(aside: Option<&Path>) {
    match aside.map(Path::display) {
        None => tracing::info!("the store works again; what was kept in memory is in it"),
        Some(aside) => tracing::error!(%aside, "the store was damaged; it was set aside and a new one begun"),
    }
}

impl Common {
    /// Has a store that is in memory go on in its file, if that can be used again.
    pub(super) fn return_to_file(&self, now: DateTime<Utc>) -> Result<(), StoreError> {
        let mut store = self.store.lock();
        if store.is_in_memory() {
            say_returned(store.return_to_file(now)?.as_deref());
        }
        Ok(())
    }

    /// Replaces the incidents of these accounts.
    pub(super) fn show_incidents(&self, accounts: &BTreeSet<AccountName>, log: &Log, facts: &Facts<'_>) {
        self.show(|alerting| {
            for account in accounts {
                let its = || facts.engine.incidents_of(account);
                self.own.incidents(account.as_str(), &counts(its()));
                let rows = its().filter_map(|one| IncidentRow::of(one, log, facts)).collect();
                alerting.incidents.put(account, rows);
                match facts.engine.cut_offs.get(account).and_then(|one| one.calendar) {
                    Some(entry) => drop(alerting.calendar.insert(account.clone(), entry)),
                    None => drop(alerting.calendar.remove(account)),
                }
            }
        });
    }

    /// Shows the debts to all recipients, and the last time that a server took a mail.
    pub(super) fn show_outbox(&self, debts: &[Debts], last_sent: Option<DateTime<Utc>>) {
        let outbox = OutboxSummary::of(debts);
        self.own.outbox(&outbox);
        self.undelivered_since.set(undelivered_since(debts, last_sent));
        let shown = self.alerting.get().mails.clone();
        let server_error = ServerError::of(debts);
        let mails = Mails { outbox: Some(outbox), last_mail_at: last_sent, server_error, ..shown.clone() };
        if mails != shown {
            self.show(|shown| shown.mails = mails);
        }
    }

    /// Changes what is shown.
    pub(super) fn show(&self, change: impl FnOnce(&mut Alerting)) {
        let mut alerting = (*self.alerting.get()).clone();
        change(&mut alerting);
        self.alerting.set(alerting);
    }
}

/// The numbers of open incidents, by the labels of their metric.
fn counts<'a>(incidents: impl Iterator<Item = &'a Incident>) -> BTreeMap<[&'a str; 4], u64> {
    let mut counts = BTreeMap::new();
    let is_over =
        |incident: &&Incident| matches!(incident.phase, Phase::Resolved | Phase::Removed | Phase::Unwatched);
    for Incident { key, severity, phase, .. } in incidents.filter(|incident| !is_over(incident)) {
        let labels = [key.account.as_str(), key.kind.as_str(), severity.as_str(), phase.as_str()];
        *counts.entry(labels).or_default() += 1;
    }
    counts
}

/// The time since when a mail is owed while no mail arrived anywhere.
fn undelivered_since(debts: &[Debts], last_sent: Option<DateTime<Utc>>) -> Option<DateTime<Utc>> {
    let oldest = debts.iter().filter_map(|one| OutboxSummary::of(std::slice::from_ref(one)).oldest);
    oldest.filter(|at| last_sent.is_none_or(|last| *at > last)).min()
}
