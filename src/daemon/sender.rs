//! Takes mails from the outbox to the mail server: claim, send, result, three short commits. A crash
//! between any two of them loses nothing.

use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use tokio_util::sync::CancellationToken;

use super::delivery::{self, Clocks, Hold};
use super::liveness::LastRun;
use super::publish::Published;
use super::wake::Wake;
use crate::failpoint;
use crate::mail::smtp::{SendError, Transport};
use crate::metrics::own::Notification;
use crate::state::Shared;
use crate::store::{Claim, Expired, GIVE_UP_AFTER, SendResult, StoreError};

/// What the sender works with.
pub(super) struct Sender {
    pub(super) transport: Shared<Transport>,
    pub(super) published: Published,
    pub(super) wake: Arc<Wake>,
    pub(super) last_run: LastRun,
    pub(super) clock: fn() -> DateTime<Utc>,
}

/// A store that failed is tried again after this.
const STORE_PAUSE: Duration = Duration::from_secs(5);
/// How long a running attempt may go on once the daemon is to stop.
const LAST_ATTEMPT: Duration = Duration::from_secs(3);

impl Sender {
    /// Sends until stopped.
    pub(super) async fn run(self, stop: CancellationToken) {
        let mut hold: Option<Hold> = None;
        let mut transport = self.transport.get();
        let mut clocks = Clocks::new((self.clock)(), Instant::now());
        loop {
            self.last_run.now();
            if clocks.stepped_back((self.clock)(), Instant::now()) {
                let now = (self.clock)();
                self.said(self.published.store.lock().pull_in(now));
            }
            let current = self.transport.get();
            if !Arc::ptr_eq(&current, &transport) {
                // A reload: the new settings may be what the server wanted.
                transport = current;
                hold = None;
            }
            let held = hold.as_ref().is_some_and(|hold| hold.is_on(Instant::now()));
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
                    if let Some(hold) = &mut hold {
                        hold.shorten();
                    }
                }
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    /// Sends what is due, until nothing is or the server is in the way. False where the store failed.
    async fn drain(&self, hold: &mut Option<Hold>, stop: &CancellationToken) -> bool {
        while !stop.is_cancelled() {
            self.last_run.now();
            let claimed = tokio::task::block_in_place(|| self.published.store.lock().claim((self.clock)()));
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
                self.published.store.lock().finish(&claim, &result, (self.clock)())
            }) {
                self.said(Err(error));
                tokio::select! {
                    () = stop.cancelled() => return false,
                    () = tokio::time::sleep(STORE_PAUSE) => {}
                }
            }
            failpoint::reach("recorded");
            self.said(self.published.show_outbox());
            if !goes_on {
                break;
            }
        }
        // After the attempts: what waited while the machine was off is tried before it is given up.
        let now = (self.clock)();
        let expired = self.published.store.lock().expire(now - GIVE_UP_AFTER, now);
        self.said(expired.and_then(|expired| self.tell_expired(&expired)));
        true
    }

    fn tell_expired(&self, expired: &[Expired]) -> Result<(), StoreError> {
        for Expired { message_id, recipient, subject, error } in expired {
            tracing::warn!(recipient, message_id, subject, %error, "mail given up: it was tried for five days");
            self.published.own.notification(Notification::Dead);
        }
        if expired.is_empty() { Ok(()) } else { self.published.show_outbox() }
    }

    /// What an attempt means for the mail, told and counted, and whether the queue goes on.
    fn settle(
        &self,
        claim: &Claim,
        sent: &Result<(), SendError>,
        hold: &mut Option<Hold>,
    ) -> (SendResult, bool) {
        let recipient = &claim.recipient;
        let result = delivery::result(sent, claim.attempts, (self.clock)());
        let counted = match &result {
            SendResult::Sent => {
                tracing::info!(recipient, message_id = claim.message_id, "mail sent");
                Notification::Sent
            }
            SendResult::Dead { error } => {
                tracing::error!(recipient, message_id = claim.message_id, %error, "mail given up");
                Notification::Dead
            }
            SendResult::Retry { error, .. } => {
                tracing::warn!(recipient, message_id = claim.message_id, %error, "mail will be tried again");
                Notification::Retry
            }
            SendResult::Untried { error } => {
                if hold.is_none() {
                    tracing::warn!(%error, "the mail server cannot be used; mails wait");
                }
                Notification::Retry
            }
        };
        self.published.own.notification(counted);
        let unusable = sent.as_ref().err().filter(|error| delivery::waits_for_server(error));
        if let Some(error) = unusable {
            *hold = Some(Hold::after(hold.as_ref(), error, Instant::now()));
        } else if hold.take().is_some() {
            tracing::info!("the mail server takes mail again");
        }
        (result, unusable.is_none())
    }

    fn wait(&self, hold: Option<&Hold>) -> Duration {
        let due = self.published.store.lock().next_due().unwrap_or_default();
        delivery::pause(hold, due, (self.clock)(), Instant::now())
    }

    fn said(&self, result: Result<(), StoreError>) {
        if let Err(error) = result {
            tracing::error!(%error, "the outbox cannot be kept");
            self.published.complain_of_store();
        }
    }
}
