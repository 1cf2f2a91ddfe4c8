//! How the senders are signalled: new mail is queued, or somebody asked for another attempt now.

use tokio::sync::watch;

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
