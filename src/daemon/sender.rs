//! Takes the mails of one queue from the outbox to their mail server or webhook: claim, send, result, three short
//! commits. A crash between any two of them loses nothing.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::carrier::Carrier;
use super::delivery::{self, Clocks, Hold, SendFailure, Step};
use super::liveness::LastRun;
use super::publish::Published;
use super::signals::SenderSignal;
use crate::clock::Clock;
use crate::failpoint;
use crate::metrics::own::Notification;
use crate::state::Shared;
use crate::store::{Claim, Expired, Queue, SendResult, StoreError};

/// What the sender works with.
pub(super) struct Sender {
    pub(super) queue: Queue,
    pub(super) carrier: Shared<Carrier>,
    pub(super) published: Published,
    pub(super) sender_signal: Arc<SenderSignal>,
    pub(super) last_run: LastRun,
    pub(super) clock: Clock,
}

/// A store that failed is tried again after this.
const STORE_PAUSE: Duration = Duration::from_secs(5);
/// How long mails were tried is noted this often.
const COUNT_EVERY: Duration = Duration::from_secs(600);
/// How long a running attempt may go on once the daemon is to stop.
const LAST_ATTEMPT: Duration = Duration::from_secs(3);

impl Sender {
    /// Sends until stopped.
    pub(super) async fn run(self, stop: CancellationToken) {
        let mut hold: Option<Hold> = None;
        let mut carrier = self.carrier.get();
        let mut signal = self.sender_signal.listen();
        let mut clocks = Clocks::new(self.clock.now(), Instant::now());
        let mut counted = Instant::now();
        loop {
            self.last_run.now();
            // By the clock that nobody sets, and only while we run: a mail is given up for having been tried.
            // While the server refuses us, not them, they keep their days.
            if counted.elapsed() >= COUNT_EVERY {
                if !hold.as_ref().is_some_and(Hold::is_refusal) {
                    self.note_store_result(
                        self.published.store.lock().tried_for(&self.queue, counted.elapsed()),
                    );
                }
                counted = Instant::now();
            }
            let now = self.clock.now();
            match clocks.step(now, Instant::now()) {
                Step::Back => self.note_store_result(self.published.store.lock().pull_in(now)),
                // The queue waited meanwhile, though the steady clock stood still.
                Step::Ahead(time) => hold.iter_mut().for_each(|hold| hold.sleep(time)),
                Step::None => {}
            }
            let current = self.carrier.get();
            if !Arc::ptr_eq(&current, &carrier) {
                // A reload: the new settings may be what the server wanted.
                carrier = current;
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
                by_hand = signal.received() => {
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
            let claim = || self.published.store.lock().claim(&self.queue, self.clock.now());
            let claimed = tokio::task::block_in_place(claim);
            let claim = match claimed {
                Ok(Some(claim)) => claim,
                Ok(None) => {
                    *hold = None;
                    self.published.show_mail_server(&self.queue, None);
                    break;
                }
                Err(error) => {
                    self.note_store_result(Err(error));
                    return false;
                }
            };
            failpoint::reach("claimed");
            let carrier = self.carrier.get();
            let sending = carrier.send(&claim);
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
                self.published.store.lock().finish(&claim, &result, self.clock.now())
            }) {
                self.note_store_result(Err(error));
                tokio::select! {
                    () = stop.cancelled() => return false,
                    () = tokio::time::sleep(STORE_PAUSE) => {}
                }
            }
            failpoint::reach("recorded");
            self.note_store_result(self.published.show_outbox());
            // What was decided while it was on its way may have to be worded anew before it leaves.
            let overtaken = result != SendResult::Sent
                && self.published.store.lock().overtaking().is_ok_and(|overtaking| !overtaking.is_empty());
            if overtaken {
                self.published.came_back().await;
            }
            if !goes_on {
                break;
            }
        }
        // After the attempts: what waited while the machine was off is tried before it is given up.
        let expired = self.published.store.lock().expire(&self.queue, self.clock.now());
        self.note_store_result(expired.and_then(|expired| self.log_expired(&expired)));
        true
    }

    fn log_expired(&self, expired: &[Expired]) -> Result<(), StoreError> {
        for Expired { message_id, recipient, subject, error } in expired {
            tracing::warn!(recipient, subject, message_id, %error, "mail given up: it was tried for five days");
            self.published.own.notification(Notification::Dead);
        }
        if expired.is_empty() { Ok(()) } else { self.published.show_outbox() }
    }

    /// What an attempt means for the mail, logged and counted, and whether the queue goes on.
    fn settle(
        &self,
        claim: &Claim,
        sent: &Result<(), SendFailure>,
        hold: &mut Option<Hold>,
    ) -> (SendResult, bool) {
        let Claim { recipient, message_id, subject, .. } = claim;
        let result = delivery::result(sent, claim.attempts, self.clock.now());
        let counted = match &result {
            SendResult::Sent => {
                tracing::info!(recipient, subject, message_id, "mail sent");
                Notification::Sent
            }
            SendResult::Dead { error } => {
                tracing::error!(recipient, subject, message_id, %error, "mail given up");
                Notification::Dead
            }
            SendResult::Retry { error, .. } => {
                tracing::warn!(recipient, subject, message_id, %error, "mail will be tried again");
                Notification::Retry
            }
            SendResult::Untried { error } => {
                if hold.is_none() {
                    let server = self.server();
                    tracing::warn!(%error, "{server} cannot be used; mails wait");
                }
                Notification::Retry
            }
        };
        self.published.own.notification(counted);
        let unusable = sent.as_ref().err().filter(|error| error.is_of_carrier());
        self.published.show_mail_server(&self.queue, unusable);
        if let Some(error) = unusable {
            *hold = Some(Hold::after(hold.as_ref(), error, Instant::now()));
        } else if hold.take().is_some() {
            tracing::info!("{} accepts mail again", self.server());
        }
        (result, unusable.is_none())
    }

    /// What it is, in the log.
    fn server(&self) -> String {
        match &self.queue {
            Queue::Mail => "the mail server".to_owned(),
            Queue::Webhook(name) => format!("webhook {name}"),
        }
    }

    fn wait(&self, hold: Option<&Hold>) -> Duration {
        let due = self.published.store.lock().next_due(&self.queue).unwrap_or_default();
        delivery::pause(hold, due, self.clock.now(), Instant::now())
    }

    fn note_store_result(&self, result: Result<(), StoreError>) {
        if let Err(error) = result {
            tracing::error!(%error, "the outbox cannot be written");
            self.published.report_store_failure();
        }
    }
}
