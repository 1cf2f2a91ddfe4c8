//! Puts a daemon together from its settings and spawns its loops. No loop runs before everything that can fail.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, Result};
use chrono::{DateTime, Utc};
use parking_lot::Mutex;
use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;

use super::carrier;
use super::collectors::{Collectors, Prepared};
use super::common::{Common, SharedStore};
use super::control::Desk;
use super::heartbeat::Heartbeat;
use super::liveness::{Ended, Liveness, Loop, Tasks};
use super::machine;
use super::mails;
use super::pipeline::{Housekeeping, Looking, Paced, Pipeline, Senders, watchers};
use super::publish::say_returned;
use super::reload::{Reloader, SecretFiles};
use super::sender::{Order, Sender, SenderId};
use super::signals::PollRequests;
use super::supervise::Running;
use super::telegram::{Edit, Listener};
use super::watchdog::Watchdog;
use super::{Settings, Start};
use crate::alert::{Engine, Lane, Log, Muted};
use crate::clock::Clock;
use crate::http::{self, AllowedHosts, Reload};
use crate::mail::smtp::machine_names;
use crate::mail::{Service, Way};
use crate::metrics::{Encoder, Own};
use crate::state::Shared;
use crate::store::{Opened, Restored};
use crate::view::About;

const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The commit of the build, if the build was given one.
const COMMIT: &str = match option_env!("HOSTWATCH_COMMIT") {
    Some(commit) => commit,
    None => "unknown",
};

/// Puts a daemon together and starts its loops, which end with `stop`.
pub(super) fn start(start: Start, stop: CancellationToken) -> Result<Running> {
    let Start { settings, listeners, store, telemetry_path, lifecycle, read_settings, hangups } = start;
    let clock = Clock::default();
    let now = clock.now();
    let own = own_metrics(&settings, now);
    let decided = restore(store, &settings, &clock)?;
    let store = Arc::clone(&decided.store);
    let encoder = Encoder::new(settings.state_series);
    let carriers = carrier::all(&settings)?;
    let ((messages, inbox), (updates, read)) = (mpsc::channel(256), mpsc::channel(256));
    let common = Arc::new(Common {
        own,
        store_path: settings.store_path.clone(),
        alerting: Shared::default(),
        undelivered_since: Shared::default(),
        store,
        snapshot: Shared::default(),
        page: Shared::new(encoder.page()),
        liveness: Arc::new(Liveness::new()),
        polls: PollRequests::default(),
        heartbeat: Shared::new(Heartbeat::of(&settings)?),
        calendar_domain: Shared::new(mails::domain(&settings)),
        hosts: Shared::new(AllowedHosts::new(&settings.web, machine_names())),
        clock,
        refusals: Arc::default(),
        carriers: carriers.into_iter().map(|(way, carrier)| (way, Shared::new(carrier))).collect(),
        messages,
    });
    let mut collectors = Collectors::new(Arc::clone(&common), updates, stop.child_token());
    let first = collectors.changed(&settings)?;
    first.iter().filter(|one| decided.engine.knows(one.name())).for_each(Prepared::was_read);
    // All listeners of the network share one.
    let guard = listeners.iter().find_map(http::Listener::guard).cloned();
    let secrets = SecretFiles::new(&settings, guard.clone(), &common.refusals);
    let mut tasks = Tasks::new();
    let senders = common.senders(&mut tasks, &stop);
    let edits = common.listeners(&mut tasks, &stop);
    let mut pipeline = common.pipeline(decided, encoder, (senders, edits));
    // Incidents that were open before this start are open at the first scrape.
    pipeline.follow(&settings);
    let (reload, reloads) = mpsc::channel(4);
    let web = Arc::new(common.web(telemetry_path, lifecycle, reload, now));
    let serving = http::serve(listeners, http::ConnectionLimits::default(), web, stop.child_token());
    part(&mut tasks, "web server", serving);
    // The pipeline has a thread of its own: if it blocked a worker, the runtime would make more threads, each with
    // its own memory.
    let (runtime, stopped) = (tokio::runtime::Handle::current(), stop.child_token());
    tasks.spawn_blocking(move || {
        runtime.block_on(pipeline.run(inbox, read, stopped));
        Ended::Part("pipeline")
    });
    part(&mut tasks, "watchdog", Watchdog(Arc::clone(&common)).run(stop.child_token()));
    collectors.start(first, &mut tasks);
    let reloader = Reloader { read_settings, guard, mails: settings.mails, collectors, secrets, common };
    Ok(Running { stop, tasks, reloader, reloads, hangups })
}

impl Common {
    fn web(
        self: &Arc<Self>,
        telemetry_path: String,
        lifecycle: bool,
        reload: mpsc::Sender<Reload>,
        now: DateTime<Utc>,
    ) -> http::Context {
        let about = About { version: VERSION, commit: COMMIT, started_at: now };
        http::Context {
            snapshot: self.snapshot.clone(),
            page: self.page.clone(),
            own: Arc::clone(&self.own),
            alerting: self.alerting.clone(),
            memory: Arc::clone(&self.store) as Arc<dyn http::Remember>,
            control: Arc::new(Desk { common: Arc::clone(self), reload: reload.clone() }),
            telemetry_path,
            calendar_domain: self.calendar_domain.clone(),
            hosts: self.hosts.clone(),
            lifecycle,
            reload,
            about,
            clock: self.clock.clone(),
        }
    }

    /// The pipeline before it has a configuration.
    fn pipeline(
        self: &Arc<Self>,
        decided: Decided,
        encoder: Encoder,
        (senders, edits): (Senders, BTreeMap<String, mpsc::UnboundedSender<Edit>>),
    ) -> Pipeline {
        let Decided { engine, log, muted, housekeeping, store: _ } = decided;
        Pipeline {
            common: Arc::clone(self),
            known: BTreeMap::new(),
            engine,
            log,
            muted,
            encoder,
            mail_writer: None,
            senders,
            outbox_shown: Paced::default(),
            edits,
            editing: BTreeSet::new(),
            last_run: self.liveness.watch(Loop::Pipeline),
            now: self.clock.now(),
            looking: Looking::new(self.clock.wall(), Instant::now()),
            not_encoded: BTreeMap::new(),
            encoded: Paced::default(),
            housekeeping,
            digest: None,
            addresses: machine::addresses_or_none(),
        }
    }

    /// Starts two senders for each way, so that mails about money do not wait for others.
    fn senders(&self, tasks: &mut Tasks, stop: &CancellationToken) -> Senders {
        let (mut handles, again) = (BTreeMap::new(), Arc::new(Notify::new()));
        for (way, carrier) in &self.carriers {
            for lane in [Lane::Money, Lane::Other] {
                let (handle, orders): (mpsc::UnboundedSender<Order>, _) = mpsc::unbounded_channel();
                let id = SenderId::of(way, lane);
                let sender = Sender {
                    id: id.clone(),
                    carrier: carrier.clone(),
                    orders,
                    again: Arc::clone(&again),
                    results: self.messages.clone(),
                    last_run: self.liveness.watch(Loop::Sender(way.clone(), lane)),
                };
                part(tasks, "sender", sender.run(stop.child_token()));
                handles.insert(id, handle);
            }
        }
        Senders::new(handles, self.carriers.clone(), again)
    }

    /// Starts a listener for each Telegram chat.
    fn listeners(
        self: &Arc<Self>,
        tasks: &mut Tasks,
        stop: &CancellationToken,
    ) -> BTreeMap<String, mpsc::UnboundedSender<Edit>> {
        let mut handles = BTreeMap::new();
        for way in self.carriers.keys() {
            let Way::Named(service @ Service::Telegram, name) = way else { continue };
            let (handle, edits) = mpsc::unbounded_channel();
            let listener = Listener { name: name.clone(), common: Arc::clone(self), edits };
            part(tasks, "Telegram", listener.run(stop.child_token()));
            handles.insert(format!("{}{name}", service.prefix()), handle);
        }
        handles
    }
}

/// The decisions from before this start.
struct Decided {
    engine: Engine,
    log: Log,
    muted: Muted,
    housekeeping: Housekeeping,
    store: SharedStore,
}

/// Continues from the contents of the store.
fn restore(opened: Opened, settings: &Settings, clock: &Clock) -> Result<Decided> {
    let Opened { store, aside, journal, fallback } = opened;
    if let Some(journal) = &journal {
        let aside = journal.display();
        tracing::warn!(%aside, "the journal beside the store belonged to another file, as of before a restored backup; it was set aside");
    }
    let restored = store.restore().context("loading what the store holds")?;
    let Restored { incidents, cut_offs, mut log, watched_until, digests_from, digests } = restored;
    if let Some(until) = watched_until {
        clock.has_lived_until(until);
    }
    let now = clock.now();
    if let Some(error) = fallback {
        tracing::error!(%error, "the store cannot be used; incidents and mails go on in memory until it can");
    }
    let muted = store.silences(now).context("reading acknowledgements and silences")?;
    let engine = Engine::new(watchers(settings), incidents, cut_offs, now);
    log.restart(now);
    if aside.is_some() {
        say_returned(aside.as_deref());
    }
    let housekeeping = Housekeeping::new(&store, digests_from, digests, now).context("reading the store")?;
    Ok(Decided { engine, log, muted, housekeeping, store: Arc::new(Mutex::new(store)) })
}

fn own_metrics(settings: &Settings, now: DateTime<Utc>) -> Arc<Own> {
    let own = Arc::new(Own::new(VERSION, COMMIT).with_process());
    own.heartbeat_configured(settings.heartbeat_url.is_some());
    own.external_url(settings.web.external_url.as_ref().map(AsRef::as_ref));
    own.reload(true, now);
    own
}

fn part(tasks: &mut Tasks, name: &'static str, work: impl Future<Output = ()> + Send + 'static) {
    tasks.spawn(async move {
        work.await;
        Ended::Part(name)
    });
}
