//! The daemon's side of the control socket: answers commands from what the daemon knows.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};

use super::protocol::{Asked, DaemonHealth, POLL_AT_MOST, Reply, Request, whole};
use super::records::{self, Watching};
use crate::clock::Clock;
use crate::daemon::liveness::Liveness;
use crate::daemon::publish::Published;
use crate::daemon::signals::PollRequests;
use crate::http::{Answering, Control};
use crate::model::freshness::state_collectors;
use crate::model::{AccountName, Collector, Snapshot};
use crate::state::Shared;
use crate::view::records::IncidentRecords;
use crate::view::{About, PolledRecords, Query, Status};

/// How often it looks whether what was asked for is there.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Everything that an answer is made from.
pub(in crate::daemon) struct Desk {
    pub(in crate::daemon) liveness: Arc<Liveness>,
    pub(in crate::daemon) published: Published,
    pub(in crate::daemon) store_path: PathBuf,
    pub(in crate::daemon) snapshot: Shared<Snapshot>,
    /// Replaced at a reload.
    pub(in crate::daemon) watching: Shared<Watching>,
    pub(in crate::daemon) polls: PollRequests,
    pub(in crate::daemon) about: About,
    pub(in crate::daemon) clock: Clock,
}

/// What took a thread of its own did not come back.
const FAILED: &str = "the daemon failed at this; its log may say why";

impl fmt::Debug for Desk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Desk").finish_non_exhaustive()
    }
}

impl Control for Desk {
    fn answer<'a>(&'a self, request: &'a str) -> Answering<'a> {
        Box::pin(async move {
            let (request, store) = serde_json::from_str::<Asked>(request).ok()?.parts();
            let answer = match store {
                Some(store) => match self.is_about_ours(store).await {
                    Ok(()) => self.ask(request).await,
                    Err(refused) => Err(refused),
                },
                None => self.ask(request).await,
            };
            // Every answer has a form in JSON.
            serde_json::to_string(&answer).ok()
        })
    }
}

impl Desk {
    /// Several daemons may be looked for at one socket.
    async fn is_about_ours(&self, store: PathBuf) -> Result<(), String> {
        let ours = self.store_path.clone();
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

    /// `Err` says why not, in words for people.
    async fn ask(&self, request: Request) -> Result<Reply, String> {
        if let Request::Poll { account } = request {
            self.poll(account).await
        } else if request == Request::Health {
            Ok(Reply::Health(self.health()))
        } else if request == Request::Incidents {
            // As the page has them, without the store.
            Ok(Reply::Incidents(self.incidents()))
        } else {
            self.of_the_store(request).await
        }
    }

    fn health(&self) -> DaemonHealth {
        let stuck = self.liveness.stuck().into_iter().map(str::to_owned).collect();
        DaemonHealth { started_at: self.about.started_at, now: self.clock.now(), stuck }
    }

    fn incidents(&self) -> IncidentRecords {
        let rows = &self.published.alerting.get().incidents;
        IncidentRecords::of_rows(rows.iter(), self.watching.get().zones(), self.clock.now())
    }

    async fn of_the_store(&self, request: Request) -> Result<Reply, String> {
        let (published, watching, now) = (self.published.clone(), self.watching.get(), self.clock.now());
        let work = move || {
            let answer = records::answer(&mut published.store.lock(), &watching, request, now);
            // The store does not tell a writer of what it wrote itself.
            published.written_by_hand();
            answer
        };
        let done = tokio::task::spawn_blocking(work).await;
        done.unwrap_or_else(|_| Err(FAILED.to_owned()))
    }

    /// Has states and the balance read now, within the limits, and waits for them.
    async fn poll(&self, account: Option<String>) -> Result<Reply, String> {
        let names: Vec<AccountName> = self.snapshot.get().accounts.keys().cloned().collect();
        let meant = |name: &&AccountName| account.as_deref().is_none_or(|one| one == name.as_str());
        let asked: Vec<AccountName> = names.iter().filter(meant).cloned().collect();
        if let Some(unknown) = account.as_deref().filter(|_| asked.is_empty()) {
            let known: Vec<&str> = names.iter().take(20).map(AccountName::as_str).collect();
            return Err(format!("no account is called '{unknown}'; there is {}", known.join(", ")));
        }
        let (since, end) = (self.clock.now(), Instant::now() + POLL_AT_MOST);
        for name in &asked {
            self.polls.ask(name);
        }
        let unfinished = loop {
            let unfinished = unfinished(&self.snapshot.get(), &asked, since);
            if unfinished.is_empty() || Instant::now() > end {
                break unfinished;
            }
            tokio::time::sleep(LOOK_EVERY).await;
        };
        let query = Query { account, ..Query::default() };
        let (snapshot, alerting) = (self.snapshot.get(), self.published.alerting.get());
        let status = Status::new(&snapshot, &alerting, &self.about, &query, self.clock.now());
        Ok(Reply::Polled(Box::new(PolledRecords { status, unfinished })))
    }
}

/// What sees states or the balance and has ended no poll that began since then.
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
