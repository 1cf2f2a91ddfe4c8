//! Signals to collectors: somebody asks for a poll outside of every schedule, or their next readings decide
//! something. The limits still apply.

use std::collections::{BTreeMap, BTreeSet};

use parking_lot::Mutex;
use tokio::sync::watch;

use crate::model::{AccountName, Collector};

/// The accounts whose collectors take requests.
#[derive(Default, Debug)]
pub(super) struct PollRequests(Mutex<BTreeMap<AccountName, Requests>>);

/// Requests to the collectors of one account.
#[derive(Default, Debug)]
struct Requests {
    /// The number of requests for a poll now.
    now: watch::Sender<u64>,
    /// The collectors whose next readings decide something.
    awaited: watch::Sender<BTreeSet<Collector>>,
}

impl PollRequests {
    /// The receivers for an account's collectors: requests, and which of them are awaited.
    pub(super) fn of(
        &self,
        account: &AccountName,
    ) -> (watch::Receiver<u64>, watch::Receiver<BTreeSet<Collector>>) {
        let mut all = self.0.lock();
        let requests = all.entry(account.clone()).or_default();
        (requests.now.subscribe(), requests.awaited.subscribe())
    }

    /// Asks an account's collectors to poll now.
    pub(super) fn ask(&self, account: &AccountName) {
        if let Some(requests) = self.0.lock().get(account) {
            requests.now.send_modify(|count| *count += 1);
        }
    }

    /// Sets which of an account's collectors are awaited.
    pub(super) fn awaits(&self, account: &AccountName, collectors: BTreeSet<Collector>) {
        if let Some(requests) = self.0.lock().get(account) {
            requests.awaited.send_if_modified(|awaited| {
                let is_new = *awaited != collectors;
                *awaited = collectors;
                is_new
            });
        }
    }

    /// Forgets other accounts.
    pub(super) fn keep(&self, of: impl Fn(&AccountName) -> bool) {
        self.0.lock().retain(|account, _| of(account));
    }
}
