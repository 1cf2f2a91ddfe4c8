//! The daemon's side of the control socket: answers commands from the daemon's state.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use tokio::sync::{mpsc, oneshot};

use super::protocol::{Asked, POLL_AT_MOST, Reply, Request, whole};
use crate::daemon::common::Common;
use crate::daemon::pipeline::Message;
use crate::http::{self, Answering, Control, Reload};
use crate::model::freshness::state_collectors;
use crate::model::{AccountName, Collector, Snapshot};

/// The interval of checks whether a requested poll has ended.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The state of the daemon that answers are made from.
pub(in crate::daemon) struct Desk {
    pub(in crate::daemon) common: Arc<Common>,
    pub(in crate::daemon) reload: mpsc::Sender<Reload>,
}

/// A request that the pipeline answers.
#[derive(Debug)]
pub(in crate::daemon) struct Question {
    pub(in crate::daemon) request: Request,
    pub(in crate::daemon) reply: oneshot::Sender<Result<Reply, String>>,
}

/// The error for work on a thread of its own that did not return.
const FAILED: &str = "the daemon failed at this; its log may say why";

impl Control for Desk {
    fn answer<'a>(&'a self, request: &'a str) -> Answering<'a> {
        Box::pin(async move {
            let Asked { store, request } = serde_json::from_str(request).ok()?;
            let is_ours = match store {
                Some(store) => self.is_about_ours(store).await,
                None => Ok(()),
            };
            let answer = match is_ours {
                Ok(()) => self.ask(request).await,
                Err(refused) => Err(refused),
            };
            // Every answer can be written as JSON.
            serde_json::to_string(&answer).ok()
        })
    }
}

impl Desk {
    /// Refuses a request for another store: commands look for several daemons at one socket.
    async fn is_about_ours(&self, store: PathBuf) -> Result<(), String> {
        let ours = self.common.store_path.clone();
        let look = move || {
            let (theirs, ours) = (whole(&store), whole(&ours));
            if theirs == ours {
                return Ok(());
            }
            Err(format!(
                "the daemon that answers has the store {}, and this is about {}: nothing was done. Does the daemon of \
                 that one run?",
                ours.display(),
                store.display()
            ))
        };
        tokio::task::spawn_blocking(look).await.unwrap_or_else(|_| Err(FAILED.to_owned()))
    }

    /// `Err` holds the reason in words for people.
    async fn ask(&self, request: Request) -> Result<Reply, String> {
        match request {
            Request::Poll { account } => self.poll(account.as_deref()).await,
            Request::Health => {
                let stuck = self.common.liveness.stuck();
                Ok(Reply::Health { stuck: stuck.into_iter().map(str::to_owned).collect() })
            }
            Request::Reload => match http::reload(&self.reload).await {
                Ok(said) => Ok(Reply::Done(said.to_owned())),
                Err((_, why)) => Err(why),
            },
            other @ (Request::Incidents
            | Request::Outbox
            | Request::Silences
            | Request::Why { .. }
            | Request::Ack { .. }
            | Request::TakeBackAck { .. }
            | Request::Silence { .. }
            | Request::EndSilence { .. }
            | Request::Retry { .. }
            | Request::Drop { .. }) => self.ask_pipeline(other).await,
        }
    }

    /// Asks the pipeline, which answers between two of its messages.
    async fn ask_pipeline(&self, request: Request) -> Result<Reply, String> {
        let (reply, answer) = oneshot::channel();
        let question = Message::Asked(Box::new(Question { request, reply }));
        self.common.messages.send(question).await.map_err(|_| FAILED.to_owned())?;
        answer.await.unwrap_or_else(|_| Err(FAILED.to_owned()))
    }

    /// Has states and the balance polled now, within the limits, and waits for the results.
    async fn poll(&self, account: Option<&str>) -> Result<Reply, String> {
        let Common { snapshot, clock, polls, .. } = &*self.common;
        let names: Vec<AccountName> = snapshot.get().accounts.keys().cloned().collect();
        let meant = |name: &&AccountName| account.is_none_or(|one| one == name.as_str());
        let asked: Vec<AccountName> = names.iter().filter(meant).cloned().collect();
        if let Some(unknown) = account.filter(|_| asked.is_empty()) {
            let known: Vec<&str> = names.iter().take(20).map(AccountName::as_str).collect();
            return Err(format!("no account is called '{unknown}'; there is {}", known.join(", ")));
        }
        let (since, end) = (clock.now(), Instant::now() + POLL_AT_MOST);
        asked.iter().for_each(|name| polls.ask(name));
        loop {
            let unfinished = unfinished(&snapshot.get(), &asked, since);
            if unfinished.is_empty() || Instant::now() > end {
                return Ok(Reply::Polled(unfinished));
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }
}

/// The collectors of states and the balance that have not ended a poll which began since then.
fn unfinished(
    snapshot: &Snapshot,
    asked: &[AccountName],
    since: DateTime<Utc>,
) -> Vec<(AccountName, Collector)> {
    let states = asked.iter().filter_map(|name| snapshot.accounts.get(name));
    let open = states.flat_map(|state| {
        let ended = move |collector: &Collector| {
            state
                .collectors
                .get(collector)
                .and_then(|status| status.began)
                .is_some_and(|began| began >= since)
        };
        let left = state_collectors(&state.profile).filter(move |collector| !ended(collector));
        left.map(|collector| (state.profile.name.clone(), collector))
    });
    open.collect()
}
