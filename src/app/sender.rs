//! Takes mails from the outbox to the mail server: claim, send, result, three short commits. A crash
//! between any two of them loses nothing.

use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use tokio_util::sync::CancellationToken;

use super::board::{Board, lock};
use super::pulse::Beat;
use super::wake::Wake;
use crate::failpoint;
use crate::mail::transport::{SendError, Transport};
use crate::metrics::own::Notification;
use crate::state::Shared;
use crate::store::{Claim, GIVE_UP_AFTER, SendResult, StoreError, retry_delay};

/// What the sender works with.
pub(super) struct Sender {
    pub(super) transport: Shared<Transport>,
    pub(super) board: Board,
    pub(super) wake: Arc<Wake>,
    pub(super) beat: Beat,
    pub(super) clock: fn() -> DateTime<Utc>,
}

/// A held queue is tried again for a new mail, but not sooner than this after the last attempt.
const HOLD_AT_LEAST: Duration = Duration::from_secs(30);
/// After the server refused us by name or password; no sooner, whatever is queued.
const REFUSED_HOLD: Duration = Duration::from_secs(300);
/// The outbox is looked at this often even when nobody calls.
const LOOK_EVERY: Duration = Duration::from_secs(30);
/// A store that failed is tried again after this.
const STORE_PAUSE: Duration = Duration::from_secs(5);
/// How long a running attempt may go on once the daemon is to stop.
const LAST_ATTEMPT: Duration = Duration::from_secs(3);

/// The queue waits because of the server, not of one mail.
struct Hold {
    failures: u32,
    since: Instant,
    until: Instant,
    refused: bool,
}

impl Sender {
    /// Sends until stopped.
    pub(super) async fn run(self, stop: CancellationToken) {
        let mut hold: Option<Hold> = None;
        let mut transport = self.transport.get();
        let mut clocks = Clocks::new((self.clock)());
        loop {
            self.beat.now();
            if clocks.stepped_back((self.clock)()) {
                let now = (self.clock)();
                self.said(lock(&self.board.store).pull_in(now));
            }
            let current = self.transport.get();
            if !Arc::ptr_eq(&current, &transport) {
                // A reload: the new settings may be what the server wanted.
                transport = current;
                hold = None;
            }
            let held = hold.as_ref().is_some_and(|hold| Instant::now() < hold.until);
            let mut kept = true;
            if !held {
                kept = self.drain(&mut hold, &stop).await;
            }
            if stop.is_cancelled() {
                return;
            }
            let wait = if kept { self.wait(hold.as_ref()) } else { STORE_PAUSE };
            tokio::select! {
                () = stop.cancelled() => return,
                by_hand = self.wake.called() => {
                    if by_hand {
                        hold = None;
                    }
                    // Something new is worth an attempt, unless the last one was just now.
                    if let Some(hold) = &mut hold && !hold.refused {
                        hold.until = hold.until.min(hold.since + HOLD_AT_LEAST / failpoint::haste());
                    }
                }
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    /// Sends what is due, until nothing is or the server is in the way. False where the store failed.
    async fn drain(&self, hold: &mut Option<Hold>, stop: &CancellationToken) -> bool {
        while !stop.is_cancelled() {
            self.beat.now();
            let claimed = tokio::task::block_in_place(|| lock(&self.board.store).claim((self.clock)()));
            let claim = match claimed {
                Ok(Some(claim)) => claim,
                Ok(None) => {
                    *hold = None;
                    break;
                }
                Err(error) => {
                    self.said(Err(error));
                    return false;
                }
            };
            failpoint::reach("claimed");
            let transport = self.transport.get();
            let sending = transport.send(&claim.sender, &claim.recipient, &claim.raw);
            tokio::pin!(sending);
            let sent = tokio::select! {
                sent = &mut sending => Some(sent),
                () = stop.cancelled() => tokio::time::timeout(LAST_ATTEMPT, sending).await.ok(),
            };
            // Without a reply the claim stays open; the next start sends it again, byte for byte.
            let Some(sent) = sent else { return true };
            failpoint::reach("replied");
            let (result, goes_on) = self.settle(&claim, &sent, hold);
            // What happened must be noted before anything else is claimed, however long the store takes.
            while let Err(error) = tokio::task::block_in_place(|| {
                lock(&self.board.store).finish(&claim, &result, (self.clock)())
            }) {
                self.said(Err(error));
                tokio::select! {
                    () = stop.cancelled() => return false,
                    () = tokio::time::sleep(STORE_PAUSE) => {}
                }
            }
            failpoint::reach("recorded");
            self.said(self.board.show_outbox());
            if !goes_on {
                break;
            }
        }
        // After the attempts: what waited while the machine was off is tried before it is given up.
        let now = (self.clock)();
        let expired = lock(&self.board.store).expire(now - GIVE_UP_AFTER, now);
        for _ in 0..expired.as_ref().copied().unwrap_or(0) {
            self.board.own.notification(Notification::Dead);
        }
        self.said(expired.map(drop));
        true
    }

    /// What an attempt means for the mail, and whether the queue goes on.
    fn settle(
        &self,
        claim: &Claim,
        sent: &Result<(), SendError>,
        hold: &mut Option<Hold>,
    ) -> (SendResult, bool) {
        let now = (self.clock)();
        let own = &self.board.own;
        let recipient = &claim.recipient;
        let result = match sent {
            Ok(()) => {
                own.notification(Notification::Sent);
                tracing::info!(recipient, message_id = claim.message_id, "mail sent");
                SendResult::Sent
            }
            Err(error @ (SendError::Recipient { .. } | SendError::Message { .. })) if error.permanent() => {
                own.notification(Notification::Dead);
                tracing::error!(recipient, message_id = claim.message_id, %error, "mail given up");
                SendResult::Dead { error: error.to_string() }
            }
            Err(error) if waits_for_server(error) => SendResult::Untried { error: error.to_string() },
            Err(error) => {
                own.notification(Notification::Retry);
                tracing::warn!(recipient, message_id = claim.message_id, %error, "mail will be tried again");
                SendResult::Retry { due_at: now + retry_delay(claim.attempts), error: error.to_string() }
            }
        };
        match sent {
            Err(error) if waits_for_server(error) => {
                self.put_on_hold(error, hold);
                (result, false)
            }
            Ok(()) | Err(_) => {
                if hold.take().is_some() {
                    tracing::info!("the mail server takes mail again");
                }
                (result, true)
            }
        }
    }

    fn put_on_hold(&self, error: &SendError, hold: &mut Option<Hold>) {
        self.board.own.notification(Notification::Retry);
        let refused =
            matches!(error, SendError::Login { .. } | SendError::Sender { .. }) && error.permanent();
        let failures = hold.as_ref().map_or(0, |hold| hold.failures);
        if failures == 0 {
            tracing::warn!(%error, "the mail server cannot be used; mails wait");
        }
        let pause = if refused {
            REFUSED_HOLD / failpoint::haste()
        } else {
            retry_delay(failures).to_std().unwrap_or(HOLD_AT_LEAST)
        };
        let now = Instant::now();
        *hold = Some(Hold { failures: failures + 1, since: now, until: now + pause, refused });
    }

    fn wait(&self, hold: Option<&Hold>) -> Duration {
        if let Some(hold) = hold.filter(|hold| hold.until > Instant::now()) {
            return hold.until.saturating_duration_since(Instant::now()).min(LOOK_EVERY);
        }
        let due = lock(&self.board.store).next_due().unwrap_or_default();
        let left = due.map(|due| (due - (self.clock)()).to_std().unwrap_or_default());
        left.unwrap_or(LOOK_EVERY).min(LOOK_EVERY)
    }

    fn said(&self, result: Result<(), StoreError>) {
        if let Err(error) = result {
            tracing::error!(%error, "the outbox cannot be kept");
            self.board.complain_of_store();
        }
    }
}

/// The connection, the login or the sender's address: the next mail would fare no better.
fn waits_for_server(error: &SendError) -> bool {
    match error {
        SendError::Connection { .. } | SendError::Login { .. } | SendError::Sender { .. } => true,
        SendError::Recipient { .. }
        | SendError::Message { .. }
        | SendError::ReplyLost { .. }
        | SendError::Interrupted { .. } => false,
    }
}

/// Notices a wall clock that was set back.
struct Clocks {
    wall: DateTime<Utc>,
    steady: Instant,
}

impl Clocks {
    fn new(wall: DateTime<Utc>) -> Self {
        Self { wall, steady: Instant::now() }
    }

    fn stepped_back(&mut self, wall: DateTime<Utc>) -> bool {
        let gone = chrono::Duration::from_std(self.steady.elapsed()).unwrap_or_default();
        let stepped = wall < self.wall + gone - chrono::Duration::seconds(5);
        *self = Self::new(wall);
        stepped
    }
}
