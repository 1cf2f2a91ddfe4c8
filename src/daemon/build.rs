//! Puts a daemon together from its settings, and spawns its loops. Nothing runs before all of it was made.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, Result};
use chrono::{DateTime, Utc};
use parking_lot::Mutex;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::carrier::{self, Carrier};
use super::collectors::{Collectors, Prepared};
use super::control::{Desk, Watching};
use super::delivery::Clocks;
use super::heartbeat::Heartbeat;
use super::liveness::{Ended, Liveness, Loop, Tasks};
use super::machine;
use super::mails;
use super::notes::StoreNotes;
use super::pipeline::{Accounts, Encoded, Housekeeping, Looking, Message, Pipeline};
use super::publish::{PastInStore, Published, SharedStore, say_returned};
use super::reload::{Reloader, SecretFiles};
use super::sender::Sender;
use super::signals::{PollRequests, SenderSignal};
use super::supervise::Running;
use super::watchdog::Watchdog;
use super::{Settings, Start};
use crate::alert::Engine;
use crate::clock::Clock;
use crate::http::{self, AllowedHosts, BuildInfo, Reload};
use crate::metrics::{Encoder, Own, Page, Targets};
use crate::model::{AccountName, KnownAccount, LastReport, Profile, Snapshot};
use crate::provider::FIELDS;
use crate::state::Shared;
use crate::store::{Opened, Queue};
use crate::view::About;

const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The commit that was built, where the build was given it.
const COMMIT: &str = match option_env!("HOSTWATCH_COMMIT") {
    Some(commit) => commit,
    None => "unknown",
};

/// A daemon with nothing running yet.
pub(super) struct Built {
    own: Arc<Own>,
    server: (Vec<http::Listener>, http::Context),
    pipeline: (Pipeline, mpsc::Receiver<Message>),
    senders: Vec<Sender>,
    watchdog: Watchdog,
    reloader: Reloader,
    store: SharedStore,
    reloads: mpsc::Receiver<Reload>,
    /// Accounts whose collectors start with the daemon.
    first: Vec<Prepared>,
}

/// What several loops share.
struct Common {
    own: Arc<Own>,
    store_path: PathBuf,
    published: Published,
    snapshot: Shared<Snapshot>,
    page: Shared<Page>,
    targets: Shared<Targets>,
    sender_signal: Arc<SenderSignal>,
    liveness: Arc<Liveness>,
    /// What commands are answered by; replaced at a reload.
    watching: Shared<Watching>,
    polls: PollRequests,
    heartbeat: Shared<Option<Heartbeat>>,
    calendar_domain: Shared<String>,
    hosts: Shared<AllowedHosts>,
    clock: Clock,
    carriers: BTreeMap<Queue, Shared<Carrier>>,
}

/// Puts a daemon together; its collectors will stop with `stop`.
pub(super) fn build(start: Start, stop: &CancellationToken) -> Result<Built> {
    let Start { settings, listeners, store, telemetry_path, lifecycle, read_settings } = start;
    let clock = Clock::default();
    let now = clock.now();
    let own = own_metrics(&settings, now);
    let accounts = Accounts::of(&settings);
    let (published, engine, housekeeping) = restore(store, &accounts, &own, &clock)?;
    let known = unread(&accounts.profiles, &last_reports(&published), &own);
    let states = known.iter().map(|(name, known)| (name.clone(), known.publish()));
    let mut encoder = Encoder::new(settings.metrics.clone());
    encoder.expect(known.values().map(KnownAccount::state));
    let targets = encoder.new_targets().expect("none were asked for before");
    let carriers = carrier::all(&settings)?;
    let served: BTreeSet<Queue> = carriers.keys().cloned().collect();
    published.give_up_others(&served, now);
    let common = Common {
        own,
        store_path: settings.store_path.clone(),
        published,
        snapshot: Shared::new(Snapshot { accounts: states.collect() }),
        page: Shared::new(encoder.page()),
        targets: Shared::new(targets),
        sender_signal: Arc::default(),
        liveness: Arc::new(Liveness::new()),
        watching: Shared::new(Watching::of(&settings)),
        polls: PollRequests::default(),
        heartbeat: Shared::new(Heartbeat::of(&settings)?),
        calendar_domain: Shared::new(mails::domain(&settings)),
        hosts: Shared::new(AllowedHosts::new(&settings.web, machine::names())),
        clock,
        carriers: carriers.into_iter().map(|(queue, carrier)| (queue, Shared::new(carrier))).collect(),
    };
    let (reload, reloads) = mpsc::channel(4);
    let (messages, inbox) = mpsc::channel(256);
    let collectors = common.collectors(stop);
    let first = collectors.changed(&settings)?;
    Ok(Built {
        own: Arc::clone(&common.own),
        server: (listeners, common.web(telemetry_path, lifecycle, reload, now)),
        pipeline: (common.pipeline(accounts, known, engine, encoder, (housekeeping, served)), inbox),
        senders: common.senders(),
        watchdog: common.watchdog(),
        store: Arc::clone(&common.published.store),
        reloader: Reloader {
            read_settings,
            carriers: common.carriers,
            mails: settings.mails,
            heartbeat: common.heartbeat,
            calendar_domain: common.calendar_domain,
            hosts: common.hosts,
            watching: common.watching,
            own: Arc::clone(&common.own),
            messages,
            collectors,
            secrets: SecretFiles::new(&settings),
        },
        reloads,
        first,
    })
}

impl Common {
    fn web(
        &self,
        telemetry_path: String,
        lifecycle: bool,
        reload: mpsc::Sender<Reload>,
        now: DateTime<Utc>,
    ) -> http::Context {
        http::Context {
            snapshot: self.snapshot.clone(),
            page: self.page.clone(),
            targets: self.targets.clone(),
            own: Arc::clone(&self.own),
            alerting: self.published.alerting.clone(),
            memory: Arc::new(PastInStore(Arc::clone(&self.published.store))),
            control: Arc::new(self.desk(now)),
            telemetry_path,
            calendar_domain: self.calendar_domain.clone(),
            store: super::control::whole(&self.store_path).to_string_lossy().into_owned(),
            hosts: self.hosts.clone(),
            lifecycle,
            reload,
            build: BuildInfo { version: VERSION, commit: COMMIT },
            started_at: now,
            clock: self.clock.clone(),
        }
    }

    fn collectors(&self, stop: &CancellationToken) -> Collectors {
        let (own, liveness) = (Arc::clone(&self.own), Arc::clone(&self.liveness));
        Collectors::new(own, liveness, self.polls.clone(), self.clock.clone(), stop.child_token())
    }

    fn desk(&self, now: DateTime<Utc>) -> Desk {
        Desk {
            liveness: Arc::clone(&self.liveness),
            published: self.published.clone(),
            store_path: self.store_path.clone(),
            snapshot: self.snapshot.clone(),
            watching: self.watching.clone(),
            polls: self.polls.clone(),
            about: About { version: VERSION, commit: COMMIT, started_at: now },
            clock: self.clock.clone(),
        }
    }

    fn pipeline(
        &self,
        accounts: Accounts,
        known: BTreeMap<AccountName, KnownAccount>,
        engine: Engine,
        encoder: Encoder,
        (housekeeping, served): (Housekeeping, BTreeSet<Queue>),
    ) -> Pipeline {
        Pipeline {
            known,
            served,
            engine,
            encoder,
            mail_writer: accounts.mail_writer,
            own: Arc::clone(&self.own),
            published: self.published.clone(),
            snapshot: self.snapshot.clone(),
            page: self.page.clone(),
            targets: self.targets.clone(),
            sender_signal: Arc::clone(&self.sender_signal),
            last_run: self.liveness.watch(Loop::Pipeline),
            clock: self.clock.clone(),
            now: self.clock.now(),
            clocks: Clocks::new(self.clock.now(), Instant::now()),
            looking: Looking::new(self.clock.wall(), Instant::now(), accounts.gaps),
            fresh_until: None,
            sites_encoded: Encoded::default(),
            stale_encoded: Encoded::default(),
            housekeeping,
            digest: accounts.digest,
            addresses: machine::addresses_or_none(),
            recipients_may_be_new: true,
            inconsistent: BTreeSet::new(),
        }
    }

    /// One for each way that mails leave by: what holds up one holds up no other.
    fn senders(&self) -> Vec<Sender> {
        let senders = self.carriers.iter().map(|(queue, carrier)| Sender {
            queue: queue.clone(),
            carrier: carrier.clone(),
            published: self.published.clone(),
            sender_signal: Arc::clone(&self.sender_signal),
            last_run: self.liveness.watch(Loop::Sender(queue.clone())),
            clock: self.clock.clone(),
        });
        senders.collect()
    }

    fn watchdog(&self) -> Watchdog {
        Watchdog {
            liveness: Arc::clone(&self.liveness),
            published: self.published.clone(),
            own: Arc::clone(&self.own),
            snapshot: self.snapshot.clone(),
            heartbeat: self.heartbeat.clone(),
            clock: self.clock.clone(),
        }
    }
}

/// What the store knows: incidents, mails, what people decided; shown at once.
fn restore(
    opened: Opened,
    accounts: &Accounts,
    own: &Arc<Own>,
    clock: &Clock,
) -> Result<(Published, Engine, Housekeeping)> {
    let Opened { store, aside, fallback } = opened;
    let now = clock.now();
    let loaded = store.load(now).context("loading what the store holds")?;
    if let Some(until) = loaded.watched_until {
        clock.has_lived_until(until);
    }
    if let Some(error) = fallback {
        tracing::error!(%error, "the store cannot be used; incidents and mails go on in memory until it can");
    }
    let silences = store.silences(now).context("reading acknowledgements and silences")?;
    let mut engine =
        Engine::new(accounts.watchers.clone(), loaded.remembered, loaded.started, loaded.watched_until, now);
    engine.set_muted(silences);
    let mut notes = StoreNotes::default();
    if let Some(aside) = &aside {
        say_returned(Some(aside));
        notes.damaged(aside, engine.everybody());
    }
    let housekeeping =
        Housekeeping::new(&store, loaded.digested_until, notes, now).context("reading the store")?;
    let published =
        Published::new(Arc::clone(own), Arc::new(Mutex::new(store)), accounts.mail_writer.is_some());
    published.show_incidents(&engine, now);
    published.show_outbox().context("reading the outbox")?;
    Ok((published, engine, housekeeping))
}

fn own_metrics(settings: &Settings, now: DateTime<Utc>) -> Arc<Own> {
    let own = Arc::new(Own::new(VERSION, COMMIT).with_process());
    own.select(settings.metrics.selection.clone());
    own.heartbeat_configured(settings.heartbeat_url.is_some());
    own.external_url(settings.web.external_url.as_ref().map(AsRef::as_ref));
    own.reload(true, now);
    own
}

fn last_reports(published: &Published) -> BTreeMap<AccountName, LastReport> {
    published.store.lock().reports().unwrap_or_else(|error| {
        tracing::warn!(%error, "what reports said last is lost: no amounts are known until the next one is read");
        BTreeMap::new()
    })
}

/// Of each account its last report alone is known, and every metric about reading it is there.
fn unread(
    profiles: &[Arc<Profile>],
    reports: &BTreeMap<AccountName, LastReport>,
    own: &Own,
) -> BTreeMap<AccountName, KnownAccount> {
    let unread = |profile: &Arc<Profile>| {
        own.account(&profile.name, &profile.collectors);
        for field in FIELDS {
            own.unknown_values(&profile.name, field, 0);
        }
        let known = KnownAccount::new(Arc::clone(profile)).remembering(reports.get(&profile.name));
        (profile.name.clone(), known)
    };
    profiles.iter().map(unread).collect()
}

impl Built {
    /// Starts all loops.
    ///
    /// # Errors
    /// When SIGHUP cannot be handled.
    pub(super) fn spawn(self, stop: CancellationToken) -> Result<Running> {
        let Self { own, server, pipeline, senders, watchdog, mut reloader, store, reloads, first } = self;
        // From now on: none is lost while a reload runs.
        let hangups = signal(SignalKind::hangup()).context("handling SIGHUP")?;
        let mut tasks = Tasks::new();
        let (listeners, web) = server;
        let serving =
            http::serve(listeners, http::ConnectionLimits::default(), Arc::new(web), stop.child_token());
        part(&mut tasks, "web server", serving);
        let (pipeline, inbox) = pipeline;
        // Handing a worker's tasks on for every update would keep making threads, each with memory of its own.
        let (runtime, stopped) = (tokio::runtime::Handle::current(), stop.child_token());
        tasks.spawn_blocking(move || {
            runtime.block_on(pipeline.run(inbox, stopped));
            Ended::Part("pipeline")
        });
        for sender in senders {
            part(&mut tasks, "sender", sender.run(stop.child_token()));
        }
        part(&mut tasks, "watchdog", watchdog.run(stop.child_token()));
        reloader.start(first, &mut tasks);
        Ok(Running { stop, tasks, own, reloader, store, reloads, hangups })
    }
}

fn part(tasks: &mut Tasks, name: &'static str, work: impl Future<Output = ()> + Send + 'static) {
    tasks.spawn(async move {
        work.await;
        Ended::Part(name)
    });
}
