//! How the sender is called: new mail is queued, or somebody asked for another attempt now.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// Calls the sender; what was called for is kept until it looks.
#[derive(Debug, Default)]
pub(super) struct Wake {
    notify: Notify,
    by_hand: AtomicBool,
}

impl Wake {
    /// Something new is queued.
    pub(super) fn new_mail(&self) {
        self.notify.notify_one();
    }

    /// Somebody wants it tried now, whatever the server said last.
    pub(super) fn by_hand(&self) {
        self.by_hand.store(true, Ordering::Release);
        self.notify.notify_one();
    }

    /// Resolves once called; true where it was by hand.
    pub(super) async fn called(&self) -> bool {
        self.notify.notified().await;
        self.by_hand.swap(false, Ordering::AcqRel)
    }
}
