//! Puts a daemon together from its settings, and spawns its loops. Nothing runs before all of it could be made.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use anyhow::{Context as _, Result};
use chrono::{DateTime, Utc};
use parking_lot::Mutex;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::Start;
use super::addresses;
use super::collectors::{Collectors, Prepared};
use super::heartbeat::Heartbeat;
use super::liveness::{Liveness, Loop};
use super::notes::StoreNotes;
use super::pipeline::{Accounts, Housekeeping, Message, Pipeline, SitesEncoded};
use super::publish::Published;
use super::reload::Reloader;
use super::secret_files::SecretFiles;
use super::sender::Sender;
use super::supervise::Running;
use super::tasks::{Ended, Tasks};
use super::wake::Wake;
use super::watchdog::Watchdog;
use crate::alert::Engine;
use crate::clock;
use crate::http::{self, BuildInfo, Reload};
use crate::mail::smtp::Transport;
use crate::metrics::{Encoder, Own, Page};
use crate::model::{AccountName, KnownAccount, Profile, Snapshot};
use crate::provider::FIELDS;
use crate::state::Shared;
use crate::store::Opened;

const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The commit that was built, where the build was told.
const COMMIT: &str = match option_env!("HOSTWATCH_COMMIT") {
    Some(commit) => commit,
    None => "unknown",
};

/// A daemon with nothing running yet.
pub(super) struct Parts {
    own: Arc<Own>,
    server: (Vec<http::Listener>, http::Context),
    pipeline: (Pipeline, mpsc::Receiver<Message>),
    sender: Option<Sender>,
    watchdog: Watchdog,
    reloader: Reloader,
    reloads: mpsc::Receiver<Reload>,
    /// Accounts whose collectors start with the daemon.
    first: Vec<Prepared>,
}

/// What several loops share.
struct Common {
    own: Arc<Own>,
    published: Published,
    snapshot: Shared<Snapshot>,
    page: Shared<Page>,
    wake: Arc<Wake>,
    liveness: Arc<Liveness>,
    heartbeat: Shared<Option<Heartbeat>>,
    transport: Option<Shared<Transport>>,
}

/// Puts a daemon together; its collectors will stop with `stop`.
pub(super) fn build(start: Start, stop: &CancellationToken) -> Result<Parts> {
    let Start { settings, listeners, store, telemetry_path, lifecycle, read_settings } = start;
    let now = clock::now();
    let own = Arc::new(Own::new(VERSION, COMMIT).with_process());
    own.select(settings.metrics.selection.clone());
    own.reload(true, now);
    let accounts = Accounts::of(&settings);
    let (published, engine, housekeeping) = restore(store, &accounts, &own, now)?;
    let books = books(&accounts.profiles, &own);
    let states = books.iter().map(|(name, book)| (name.clone(), book.publish()));
    let encoder = Encoder::new(settings.metrics.clone());
    let transport = settings.email.as_ref().map(|email| Transport::new(&email.server).map(Shared::new));
    let common = Common {
        own,
        published,
        snapshot: Shared::new(Snapshot { accounts: states.collect() }),
        page: Shared::new(encoder.page()),
        wake: Arc::default(),
        liveness: Arc::new(Liveness::new()),
        heartbeat: Shared::new(Heartbeat::of(&settings)?),
        transport: transport.transpose().context("preparing to send mail")?,
    };
    let (reload, reloads) = mpsc::channel(4);
    let (messages, inbox) = mpsc::channel(256);
    let collectors =
        Collectors::new(Arc::clone(&common.own), Arc::clone(&common.liveness), stop.child_token());
    let first = collectors.changed(&settings)?;
    let web = common.web(telemetry_path, lifecycle, reload, now);
    let pipeline = common.pipeline(accounts, books, engine, encoder, housekeeping);
    Ok(Parts {
        own: Arc::clone(&common.own),
        server: (listeners, web),
        pipeline: (pipeline, inbox),
        sender: common.sender(),
        watchdog: common.watchdog(),
        reloader: Reloader {
            read_settings,
            transport: common.transport,
            heartbeat: common.heartbeat,
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
            own: Arc::clone(&self.own),
            alerting: self.published.alerting.clone(),
            telemetry_path,
            lifecycle,
            reload,
            build: BuildInfo { version: VERSION, commit: COMMIT },
            started_at: now,
            clock: clock::now,
        }
    }

    fn pipeline(
        &self,
        accounts: Accounts,
        books: BTreeMap<AccountName, KnownAccount>,
        engine: Engine,
        encoder: Encoder,
        housekeeping: Housekeeping,
    ) -> Pipeline {
        Pipeline {
            books,
            engine,
            encoder,
            mail_writer: accounts.mail_writer,
            own: Arc::clone(&self.own),
            published: self.published.clone(),
            snapshot: self.snapshot.clone(),
            page: self.page.clone(),
            wake: Arc::clone(&self.wake),
            last_run: self.liveness.watch(Loop::Pipeline),
            clock: clock::now,
            sites_encoded: SitesEncoded::default(),
            housekeeping,
            digest: accounts.digest,
            addresses: addresses::or_none(),
            inconsistent: BTreeSet::new(),
        }
    }

    fn sender(&self) -> Option<Sender> {
        Some(Sender {
            transport: self.transport.clone()?,
            published: self.published.clone(),
            wake: Arc::clone(&self.wake),
            last_run: self.liveness.watch(Loop::Sender),
            clock: clock::now,
        })
    }

    fn watchdog(&self) -> Watchdog {
        Watchdog {
            liveness: Arc::clone(&self.liveness),
            published: self.published.clone(),
            own: Arc::clone(&self.own),
            snapshot: self.snapshot.clone(),
            heartbeat: self.heartbeat.clone(),
            clock: clock::now,
        }
    }
}

/// What the store knows: incidents, mails, what people decided; shown at once.
fn restore(
    opened: Opened,
    accounts: &Accounts,
    own: &Arc<Own>,
    now: DateTime<Utc>,
) -> Result<(Published, Engine, Housekeeping)> {
    let Opened { store, aside, fallback } = opened;
    let loaded = store.load().context("loading what the store holds")?;
    if let Some(error) = fallback {
        tracing::error!(%error, "the store cannot be used; incidents and mails go on in memory until it can");
    }
    let silences = store.silences(now).context("reading acknowledgements and silences")?;
    let mut engine =
        Engine::new(accounts.watchers.clone(), loaded.incidents, loaded.started, loaded.watched_until, now);
    engine.set_overlays(silences);
    let mut notes = StoreNotes::default();
    if let Some(aside) = &aside {
        tracing::error!(aside = %aside.display(), "the store was damaged; it was set aside and a new one begun");
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

/// Nothing is known of any account yet, and every metric about reading it is there.
fn books(profiles: &[Arc<Profile>], own: &Own) -> BTreeMap<AccountName, KnownAccount> {
    let book = |profile: &Arc<Profile>| {
        own.account(&profile.name, &profile.collectors);
        for field in FIELDS {
            own.unknown_values(&profile.name, field, 0);
        }
        (profile.name.clone(), KnownAccount::new(Arc::clone(profile)))
    };
    profiles.iter().map(book).collect()
}

impl Parts {
    /// Starts all loops.
    ///
    /// # Errors
    /// When SIGHUP cannot be handled.
    pub(super) fn spawn(self, stop: CancellationToken) -> Result<Running> {
        let Self { own, server, pipeline, sender, watchdog, mut reloader, reloads, first } = self;
        // From now on: none is lost while a reload runs.
        let hangups = signal(SignalKind::hangup()).context("handling SIGHUP")?;
        let mut tasks = Tasks::new();
        let (listeners, web) = server;
        let serving = http::serve(listeners, http::Limits::default(), Arc::new(web), stop.child_token());
        part(&mut tasks, "web server", serving);
        let (pipeline, inbox) = pipeline;
        // Handing a worker's tasks on for every update would keep making threads, each with memory of its own.
        let (runtime, stopped) = (tokio::runtime::Handle::current(), stop.child_token());
        tasks.spawn_blocking(move || {
            runtime.block_on(pipeline.run(inbox, stopped));
            Ended::Part("pipeline")
        });
        if let Some(sender) = sender {
            part(&mut tasks, "sender", sender.run(stop.child_token()));
        }
        part(&mut tasks, "watchdog", watchdog.run(stop.child_token()));
        reloader.start(first, &mut tasks);
        Ok(Running { stop, tasks, own, reloader, reloads, hangups })
    }
}

fn part(tasks: &mut Tasks, name: &'static str, work: impl Future<Output = ()> + Send + 'static) {
    tasks.spawn(async move {
        work.await;
        Ended::Part(name)
    });
}
