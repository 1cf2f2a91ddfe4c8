//! What the client reports of its requests, as metrics.

use std::sync::Arc;
use std::time::Duration;

use super::pulse::Beat;
use crate::metrics::Own;
use crate::model::{AccountName, Group};
use crate::provider::{Code, Observer};

/// Counts for one account.
pub(super) struct OwnObserver {
    own: Arc<Own>,
    account: AccountName,
    beat: Beat,
}

impl OwnObserver {
    pub(super) fn new(own: Arc<Own>, account: AccountName, beat: Beat) -> Self {
        Self { own, account, beat }
    }
}

impl Observer for OwnObserver {
    fn request(&self, group: Group, code: Code, took: Duration) {
        self.beat.now();
        self.own.request(&self.account, group, &code.to_string(), took);
    }

    fn throttled(&self, group: Group, waited: Duration) {
        self.beat.now();
        self.own.throttled(&self.account, group, waited);
    }

    fn field_problem(&self, field: &'static str, count: u64) {
        self.own.unknown_values(&self.account, field, count);
    }
}
