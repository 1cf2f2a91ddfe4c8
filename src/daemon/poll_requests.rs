//! Polls that somebody asks for, outside of every schedule. Only passes it on: limits hold all the same.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::watch;

use crate::model::AccountName;

/// Who may be asked. Clones share it.
#[derive(Clone, Default, Debug)]
pub(super) struct PollRequests(Arc<Mutex<BTreeMap<AccountName, watch::Sender<u64>>>>);

impl PollRequests {
    /// Tells an account's collectors when somebody asks.
    pub(super) fn of(&self, account: &AccountName) -> watch::Receiver<u64> {
        self.0.lock().entry(account.clone()).or_insert_with(|| watch::Sender::new(0)).subscribe()
    }

    /// Asks an account's collectors to poll now.
    pub(super) fn ask(&self, account: &AccountName) {
        if let Some(asked) = self.0.lock().get(account) {
            asked.send_modify(|count| *count += 1);
        }
    }

    /// Forgets other accounts.
    pub(super) fn keep(&self, of: impl Fn(&AccountName) -> bool) {
        self.0.lock().retain(|account, _| of(account));
    }
}
