//! Hands mails of one way and one priority to their server, one after the other, and reports each result to the
//! pipeline. It decides and stores nothing: the bytes are in the store already.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::carrier::Carrier;
use super::delivery::{Fault, SendFailure};
use super::liveness::LastRun;
use super::pipeline::Message;
use crate::alert::Lane;
use crate::failpoint;
use crate::mail::Way;
use crate::state::Shared;
use crate::store::Rendered;

/// A mail for its server.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) to: String,
    pub(super) lane: Lane,
    pub(super) mail: Arc<Rendered>,
}

/// The result of one attempt.
#[derive(Debug)]
pub(super) struct Tried {
    pub(super) way: Way,
    pub(super) job: Job,
    /// The number of the message in a chat, or the failure.
    pub(super) sent: Result<Option<i64>, SendFailure>,
}

/// One loop of a way.
pub(super) struct Sender {
    pub(super) way: Way,
    pub(super) carrier: Shared<Carrier>,
    pub(super) jobs: mpsc::UnboundedReceiver<Job>,
    pub(super) results: mpsc::Sender<Message>,
    pub(super) last_run: LastRun,
}

/// The time that an attempt has left when the daemon is asked to stop.
const LAST_ATTEMPT: Duration = Duration::from_secs(3);
/// How often the loop reports that it lives.
const ALIVE_EVERY: Duration = Duration::from_secs(30);
/// How long the connection is kept for the next mail to the same recipient, which is made after this one
/// arrived.
const NEXT_MAIL: Duration = Duration::from_secs(1);

impl Sender {
    /// Sends until it is stopped. A mail without a reply stays on its way in the store; the next start sends
    /// the same bytes again.
    pub(super) async fn run(mut self, stop: CancellationToken) {
        let mut waiting: Vec<Job> = Vec::new();
        let mut is_resting = true;
        loop {
            self.last_run.now();
            if stop.is_cancelled() {
                return self.give_back(waiting).await;
            }
            if waiting.is_empty() {
                let pause = if is_resting { ALIVE_EVERY } else { NEXT_MAIL };
                tokio::select! {
                    () = stop.cancelled() => continue,
                    job = self.jobs.recv() => match job {
                        Some(job) => waiting.push(job),
                        // The pipeline ended, and must be reported as the part that did.
                        None => return stop.cancelled().await,
                    },
                    () = tokio::time::sleep(pause) => {
                        if !is_resting {
                            self.carrier.get().rest();
                            is_resting = true;
                        }
                        continue;
                    }
                }
            }
            while let Ok(job) = self.jobs.try_recv() {
                waiting.push(job);
            }
            // The digest goes last; otherwise mails go in the order in which they came.
            let next = (0..waiting.len()).min_by_key(|at| waiting[*at].lane).unwrap_or_default();
            let job = waiting.remove(next);
            is_resting = false;
            let Some(sent) = self.attempt(&job, &stop).await else { return self.give_back(waiting).await };
            failpoint::reach("replied");
            // The other mails wait, since the server cannot be used.
            let unusable = sent.as_ref().err().filter(|failure| failure.is_of_server()).cloned();
            if !self.report(job, sent, &stop).await {
                return;
            }
            if let Some(failure) = unusable {
                for job in std::mem::take(&mut waiting) {
                    if !self.report(job, Err(failure.clone()), &stop).await {
                        return;
                    }
                }
            }
        }
    }

    /// Makes one attempt; `None` if the daemon stops before the reply.
    async fn attempt(&self, job: &Job, stop: &CancellationToken) -> Option<Result<Option<i64>, SendFailure>> {
        let carrier = self.carrier.get();
        let sending = carrier.send(&job.to, &job.mail);
        tokio::pin!(sending);
        // A reply may take minutes.
        let mut alive = tokio::time::interval(ALIVE_EVERY);
        loop {
            tokio::select! {
                sent = &mut sending => return Some(sent),
                _ = alive.tick() => self.last_run.now(),
                () = stop.cancelled() => return tokio::time::timeout(LAST_ATTEMPT, sending).await.ok(),
            }
        }
    }

    /// Returns mails that were not tried; they are owed as before.
    async fn give_back(mut self, mut waiting: Vec<Job>) {
        self.carrier.get().rest();
        while let Ok(job) = self.jobs.try_recv() {
            waiting.push(job);
        }
        for job in waiting {
            let failure = SendFailure { fault: Fault::Untried, error: "hostwatch stops".to_owned() };
            let tried = Tried { way: self.way.clone(), job, sent: Err(failure) };
            let tried = Message::Tried(Box::new(tried));
            // If the pipeline has ended, the mails stay on their way; the next start sends them.
            let _ = tokio::time::timeout(LAST_ATTEMPT, self.results.send(tried)).await;
        }
    }

    /// Reports to the pipeline; false if that has ended.
    async fn report(
        &self,
        job: Job,
        sent: Result<Option<i64>, SendFailure>,
        stop: &CancellationToken,
    ) -> bool {
        let tried = Message::Tried(Box::new(Tried { way: self.way.clone(), job, sent }));
        tokio::select! {
            biased;
            told = self.results.send(tried) => told.is_ok(),
            () = async { stop.cancelled().await; tokio::time::sleep(LAST_ATTEMPT).await } => false,
        }
    }
}
