//! Connects to the server of one way and hands it mails, one at a time, and reports each result to the pipeline. It
//! decides and stores nothing: the bytes are in the store already.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;

use super::carrier::Carrier;
use super::delivery::{Fault, SendFailure};
use super::liveness::LastRun;
use super::pipeline::Message;
use crate::alert::Lane;
use crate::failpoint;
use crate::mail::Way;
use crate::mail::smtp::Session;
use crate::state::Shared;
use crate::store::Rendered;

/// A mail for its server.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) to: String,
    pub(super) lane: Lane,
    pub(super) mail: Arc<Rendered>,
}

/// The work of a sender: one order at a time.
pub(super) enum Order {
    /// A mail is owed, and will be made when there is a connection for it.
    Connect,
    /// Over this connection, if the way has one.
    Send(Job, Option<Box<Session>>),
}

/// The result of one order.
#[derive(Debug)]
pub(super) struct Tried {
    pub(super) of: SenderId,
    /// `None`: it connected, or could not.
    pub(super) job: Option<Job>,
    /// The number of the message in a chat, or the failure.
    pub(super) done: Result<Option<i64>, SendFailure>,
}

/// Each way has two senders: one for mails about money, and one for those of all other lanes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct SenderId {
    pub(super) way: Way,
    pub(super) is_of_money: bool,
}

impl SenderId {
    pub(super) fn of(way: &Way, lane: Lane) -> Self {
        Self { way: way.clone(), is_of_money: lane == Lane::Money }
    }
}

/// One loop of a way.
pub(super) struct Sender {
    pub(super) id: SenderId,
    pub(super) carrier: Shared<Carrier>,
    pub(super) orders: mpsc::UnboundedReceiver<Order>,
    /// A connection that is under way is to be made anew.
    pub(super) again: Arc<Notify>,
    pub(super) results: mpsc::Sender<Message>,
    pub(super) last_run: LastRun,
}

/// The time that an attempt has left when the daemon is asked to stop.
const LAST_ATTEMPT: Duration = Duration::from_secs(3);
/// How often the loop reports that it lives.
const ALIVE_EVERY: Duration = Duration::from_secs(30);
/// How long a connection is kept for the mail that it was made for: the pipeline may be at work.
const FIRST_MAIL: Duration = Duration::from_secs(10);
/// How long the connection is kept for the next mail, which is made after this one arrived.
const NEXT_MAIL: Duration = Duration::from_secs(1);

impl Sender {
    /// Follows orders until it is stopped. A mail without a reply stays on its way in the store; the next start sends
    /// the same bytes again.
    pub(super) async fn run(mut self, stop: CancellationToken) {
        // How long a connection is kept from now on, if it may have one.
        let mut keeps = None;
        loop {
            self.last_run.now();
            let order = tokio::select! {
                biased;
                () = stop.cancelled() => break,
                order = self.orders.recv() => match order {
                    Some(order) => order,
                    // The pipeline ended, and must be reported as the part that did.
                    None => return stop.cancelled().await,
                },
                () = tokio::time::sleep(keeps.unwrap_or(ALIVE_EVERY)) => {
                    if keeps.take().is_some() {
                        self.carrier.get().rest();
                    }
                    continue;
                }
            };
            let (job, done) = match order {
                Order::Connect => {
                    keeps = Some(FIRST_MAIL);
                    (None, self.connect(&stop).await.map(|done| done.map(|()| None)))
                }
                Order::Send(job, session) => {
                    keeps = Some(NEXT_MAIL);
                    let done = self.attempt(&job, session.map(|session| *session), &stop).await;
                    (Some(job), done)
                }
            };
            let Some(done) = done else { break };
            if !self.report(job, done, &stop).await {
                return;
            }
        }
        self.give_back().await;
    }

    /// Connects for the next mail; `None` if the daemon stops first. It begins anew when somebody asks for attempts, or the
    /// server's settings changed: the server may never greet.
    async fn connect(&self, stop: &CancellationToken) -> Option<Result<(), SendFailure>> {
        loop {
            let again = self.again.notified();
            let carrier = self.carrier.get();
            tokio::select! {
                biased;
                () = stop.cancelled() => return None,
                () = again => {}
                done = self.alive(carrier.connect()) => return Some(done),
            }
        }
    }

    /// Makes one attempt; `None` if the daemon stops before the reply.
    async fn attempt(
        &self,
        job: &Job,
        session: Option<Session>,
        stop: &CancellationToken,
    ) -> Option<Result<Option<i64>, SendFailure>> {
        let carrier = self.carrier.get();
        let sending = self.alive(carrier.send(session, &job.to, &job.mail));
        tokio::pin!(sending);
        tokio::select! {
            sent = &mut sending => {
                failpoint::reach("replied");
                Some(sent)
            }
            () = stop.cancelled() => tokio::time::timeout(LAST_ATTEMPT, sending).await.ok(),
        }
    }

    /// Reports that the loop lives while a server takes minutes.
    async fn alive<T>(&self, work: impl Future<Output = T>) -> T {
        tokio::pin!(work);
        let mut alive = tokio::time::interval(ALIVE_EVERY);
        loop {
            tokio::select! {
                done = &mut work => return done,
                _ = alive.tick() => self.last_run.now(),
            }
        }
    }

    /// Returns a mail that was not tried; it is owed as before.
    async fn give_back(mut self) {
        self.carrier.get().rest();
        if let Ok(Order::Send(job, _)) = self.orders.try_recv() {
            let failure = SendFailure { fault: Fault::Untried, error: "hostwatch stops".to_owned() };
            let tried = Message::Tried(Box::new(Tried { of: self.id, job: Some(job), done: Err(failure) }));
            // If the pipeline has ended, the mail stays on its way; the next start sends it.
            let _ = tokio::time::timeout(LAST_ATTEMPT, self.results.send(tried)).await;
        }
    }

    /// Reports to the pipeline; false if that has ended.
    async fn report(
        &self,
        job: Option<Job>,
        done: Result<Option<i64>, SendFailure>,
        stop: &CancellationToken,
    ) -> bool {
        let tried = Message::Tried(Box::new(Tried { of: self.id.clone(), job, done }));
        tokio::select! {
            biased;
            told = self.results.send(tried) => told.is_ok(),
            () = async { stop.cancelled().await; tokio::time::sleep(LAST_ATTEMPT).await } => false,
        }
    }
}
