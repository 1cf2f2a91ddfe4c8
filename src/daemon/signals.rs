//! What wakes loops: senders hear that new mail is queued, or that somebody wants another attempt now; collectors that
//! somebody asks for a poll outside of every schedule, to which limits hold all the same.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::watch;

use crate::model::AccountName;

/// Signals every sender; a signal is kept until each has received it.
#[derive(Debug, Default)]
pub(super) struct SenderSignal(watch::Sender<Signals>);

/// How often each was given.
#[derive(Clone, Copy, Default, Debug)]
struct Signals {
    new_mail: u64,
    by_hand: u64,
}

/// One sender's end.
#[derive(Debug)]
pub(super) struct SenderEnd {
    signals: watch::Receiver<Signals>,
    by_hand: u64,
}

impl SenderSignal {
    /// Something new is queued.
    pub(super) fn new_mail(&self) {
        self.0.send_modify(|signals| signals.new_mail += 1);
    }

    /// Somebody wants it tried now, whatever the server said last.
    pub(super) fn retry_now(&self) {
        self.0.send_modify(|signals| signals.by_hand += 1);
    }

    /// Listens from now on.
    pub(super) fn listen(&self) -> SenderEnd {
        let signals = self.0.subscribe();
        let by_hand = signals.borrow().by_hand;
        SenderEnd { signals, by_hand }
    }
}

impl SenderEnd {
    /// Resolves once signalled; true where somebody asked for an attempt now.
    pub(super) async fn received(&mut self) -> bool {
        if self.signals.changed().await.is_err() {
            // Nobody is left to signal.
            std::future::pending::<()>().await;
        }
        let by_hand = self.signals.borrow_and_update().by_hand;
        std::mem::replace(&mut self.by_hand, by_hand) != by_hand
    }
}

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
