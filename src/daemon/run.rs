//! The daemon put together: listeners, store, engine, collectors, sender; started, reloaded, stopped.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};

use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::addresses;
use super::heartbeat::Heartbeat;
use super::mails::MailWriter;
use super::notes::StoreNotes;
use super::pipeline::{Accounts, Housekeeping, Pipeline, SitesEncoded};
use super::publish::Published;
use super::pulse::Pulse;
use super::reload::{Collectors, ReadSettings, Reloader, SecretFiles};
use super::sender::Sender;
use super::vigil::Vigil;
use super::wake::Wake;
use crate::alert::{Engine, Watcher};
use crate::clock;
use crate::config::Settings;
use crate::http::{self, BuildInfo, Reload};
use crate::mail::smtp::Transport;
use crate::metrics::{Encoder, Own};
use crate::model::{AccountName, KnownAccount, Snapshot};
use crate::provider::FIELDS;
use crate::state::Shared;
use crate::store::{Opened, Store};

/// How long everything may take to end once asked to.
const DRAIN: Duration = Duration::from_secs(4);

/// What a daemon is started with.
pub(crate) struct Start {
    pub(crate) settings: Settings,
    pub(crate) listeners: Vec<http::Listener>,
    pub(crate) store: Opened,
    pub(crate) telemetry_path: String,
    pub(crate) lifecycle: bool,
    pub(crate) read_settings: ReadSettings,
}

/// Runs the daemon until `stop`.
///
/// # Errors
/// When it cannot start: a mail server's CA that cannot be read, a store that cannot be loaded.
pub(crate) async fn run(start: Start, stop: CancellationToken) -> Result<()> {
    let Start { settings, listeners, store, telemetry_path, lifecycle, read_settings } = start;
    let now = clock::now();
    let own = Arc::new(Own::new(env!("CARGO_PKG_VERSION"), COMMIT).with_process());
    own.hide(settings.metrics.hidden.clone());
    own.reload(true, now);
    let Opened { store, aside, fallback } = store;
    let loaded = store.load().context("loading what the store holds")?;
    let mails = settings.email.is_some();
    if let Some(error) = fallback {
        tracing::error!(%error, "the store cannot be used; incidents and mails go on in memory until it can");
    }
    let accounts = accounts(&settings);
    let mut engine =
        Engine::new(accounts.watchers.clone(), loaded.incidents, loaded.started, loaded.watched_until, now);
    let mut store_notes = StoreNotes::default();
    if let Some(aside) = &aside {
        tracing::error!(aside = %aside.display(), "the store was damaged; it was set aside and a new one begun");
        store_notes.damaged(aside, engine.everybody());
    }
    let housekeeping =
        Housekeeping::new(&store, loaded.digested_until, store_notes, now).context("reading the store")?;
    let store = Arc::new(parking_lot::Mutex::new(store));
    let published = Published::new(Arc::clone(&own), Arc::clone(&store), mails);
    engine.set_overlays(store.lock().silences(now).context("reading acknowledgements and silences")?);
    published.show_incidents(&engine, now);
    published.show_outbox().context("reading the outbox")?;

    let snapshot = Shared::new(Snapshot::default());
    let encoder = Encoder::new(settings.metrics.clone());
    let page = Shared::new(encoder.page());
    let wake = Arc::new(Wake::default());
    let pulse = Arc::new(Pulse::new());
    let heartbeat = Shared::new(heartbeat(&settings)?);
    let (reload, mut reloads) = mpsc::channel::<Reload>(4);
    let context = http::Context {
        snapshot: snapshot.clone(),
        page: page.clone(),
        own: Arc::clone(&own),
        watch: published.watch.clone(),
        telemetry_path,
        lifecycle,
        reload: reload.clone(),
        build: BuildInfo { version: env!("CARGO_PKG_VERSION"), commit: COMMIT },
        started_at: now,
        lead_days: accounts.lead_days(),
        clock: clock::now,
    };
    let mut tasks = JoinSet::new();
    tasks.spawn(http::serve(listeners, http::Limits::default(), Arc::new(context), stop.child_token()));

    let (messages, inbox) = mpsc::channel(256);
    let books: BTreeMap<AccountName, KnownAccount> = accounts
        .profiles
        .iter()
        .map(|profile| (profile.name.clone(), KnownAccount::new(Arc::clone(profile))))
        .collect();
    for profile in &accounts.profiles {
        own.account(&profile.name, &profile.collectors);
        for field in FIELDS {
            own.unknown_values(&profile.name, field, 0);
        }
    }
    let vigil = Vigil {
        pulse: Arc::clone(&pulse),
        published: published.clone(),
        own: Arc::clone(&own),
        snapshot: snapshot.clone(),
        heartbeat: heartbeat.clone(),
        clock: clock::now,
    };
    snapshot.set(Snapshot {
        accounts: books.iter().map(|(name, book)| (name.clone(), book.publish())).collect(),
    });
    let pipeline = Pipeline {
        books,
        engine,
        encoder,
        mail_writer: accounts.mail_writer,
        own: Arc::clone(&own),
        published: published.clone(),
        snapshot,
        page,
        wake: Arc::clone(&wake),
        pulse: Arc::clone(&pulse),
        clock: clock::now,
        sites_encoded: SitesEncoded::default(),
        housekeeping,
        addresses: own_addresses(),
        digest: accounts.digest,
        inconsistent: BTreeSet::new(),
    };
    // Handing a worker's tasks on for every update would keep making threads, each with memory of its own.
    let (runtime, stopped) = (tokio::runtime::Handle::current(), stop.child_token());
    tasks.spawn_blocking(move || runtime.block_on(pipeline.run(inbox, stopped)));

    let transport = match &settings.email {
        Some(email) => Some(Shared::new(Transport::new(&email.server).context("preparing to send mail")?)),
        None => None,
    };
    if let Some(transport) = &transport {
        let sender = Sender {
            transport: transport.clone(),
            published: published.clone(),
            wake: Arc::clone(&wake),
            beat: pulse.sender(),
            clock: clock::now,
        };
        tasks.spawn(sender.run(stop.child_token()));
    }

    tasks.spawn(vigil.run(stop.child_token()));
    let mut collectors = Collectors::new(Arc::clone(&own), pulse, stop.child_token());
    collectors.start(collectors.changed(&settings)?, &messages);
    let secrets = SecretFiles::new(&settings);
    let mut reloader = Reloader { read_settings, transport, heartbeat, messages, collectors, secrets };
    let mut hangups = hangups()?;
    // Better a restart by whoever watches us than a daemon that looks alive.
    let mut died: Option<anyhow::Error> = None;
    notify(&[sd_notify::NotifyState::Ready]);
    loop {
        let answer: Option<Reload> = tokio::select! {
            () = stop.cancelled() => break,
            asked = reloads.recv() => asked,
            _ = hangups.recv() => None,
            Some(ended) = tasks.join_next() => {
                died = match ended {
                    Err(panic) => Some(panic.into()),
                    // None of them ends before it is told to.
                    Ok(()) => (!stop.is_cancelled()).then(|| anyhow!("it ended without being asked to")),
                };
                stop.cancel();
                break;
            }
            ended = reloader.collectors.died() => {
                stop.cancel();
                died = Some(ended.into());
                break;
            }
            () = reloader.secrets.changed() => {
                tracing::info!("a file that a secret came from has changed");
                reloader.secrets.taken();
                None
            }
        };
        match sd_notify::NotifyState::monotonic_usec_now() {
            // With Type=notify-reload systemd wants to know when.
            Ok(since) => notify(&[sd_notify::NotifyState::Reloading, since]),
            Err(_) => notify(&[sd_notify::NotifyState::Reloading]),
        }
        let result = reloader.reload().await;
        own.reload(result.is_ok(), clock::now());
        match &result {
            Ok(()) => tracing::info!("configuration reloaded"),
            Err(error) => tracing::error!(error, "configuration not reloaded; the old one stays"),
        }
        if let Some(answer) = answer {
            // Whoever asked may have gone.
            let _ = answer.send(result);
        }
        notify(&[sd_notify::NotifyState::Ready]);
    }
    notify(&[sd_notify::NotifyState::Stopping]);
    tracing::info!("stopping");
    let drained = tokio::time::timeout(DRAIN, async {
        while tasks.join_next().await.is_some() {}
        reloader.collectors.end().await;
    });
    if drained.await.is_err() {
        tracing::warn!("not everything ended in time; nothing is lost");
    }
    match died {
        Some(error) => Err(error).context("a part of the daemon ended by a fault of its own"),
        None => Ok(()),
    }
}

/// What the pipeline needs of a configuration's accounts.
pub(crate) fn accounts(settings: &Settings) -> Accounts {
    let watchers = settings.accounts.iter().map(|account| {
        let to = if settings.email.is_some() {
            account.to.iter().map(ToString::to_string).collect()
        } else {
            Vec::new()
        };
        (account.name().clone(), Watcher { settings: account.alert.clone(), to })
    });
    let lead_days = settings.accounts.iter().map(|account| (account.name().clone(), account.alert.lead_days));
    let tightest = settings.accounts.iter().filter_map(|account| {
        Some((account.name().clone(), account.alert.disconnect_days.iter().copied().min()?))
    });
    Accounts {
        profiles: settings.accounts.iter().map(|account| Arc::clone(&account.profile)).collect(),
        watchers: watchers.collect(),
        mail_writer: settings.email.as_ref().map(|email| MailWriter {
            from: email.from.clone(),
            lead_days: lead_days.collect(),
            tightest_rungs: tightest.collect(),
            max_per_hour: email.max_per_hour,
        }),
        digest: settings.digest.clone(),
        metrics: settings.metrics.clone(),
    }
}

/// What pings `heartbeat.url`, where it is set.
pub(crate) fn heartbeat(settings: &Settings) -> Result<Option<Heartbeat>> {
    settings.heartbeat_url.clone().map(Heartbeat::new).transpose().context("preparing the heartbeat")
}

/// Every address of this machine; none where it does not tell.
fn own_addresses() -> Vec<IpAddr> {
    addresses::of_this_machine().unwrap_or_else(|error| {
        tracing::warn!(%error, "cannot list the addresses of this machine; whether it is one of the watched VMs is not known");
        Vec::new()
    })
}

impl Accounts {
    fn lead_days(&self) -> u32 {
        self.watchers.values().map(|watcher| watcher.settings.lead_days).max().unwrap_or(3)
    }
}

/// The commit that was built, where the build was told.
pub(crate) const COMMIT: &str = match option_env!("HOSTWATCH_COMMIT") {
    Some(commit) => commit,
    None => "unknown",
};

/// Cancels `stop` at SIGTERM or SIGINT.
///
/// # Errors
/// When the handlers cannot be set.
pub(crate) fn stop_at_signal(stop: &CancellationToken) -> Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut term = signal(SignalKind::terminate()).context("handling SIGTERM")?;
    let mut int = signal(SignalKind::interrupt()).context("handling SIGINT")?;
    let stop = stop.clone();
    tokio::spawn(async move {
        tokio::select! {
            _ = term.recv() => {}
            _ = int.recv() => {}
        }
        stop.cancel();
    });
    Ok(())
}

/// SIGHUP, from now on: none is lost while a reload runs.
fn hangups() -> Result<tokio::signal::unix::Signal> {
    use tokio::signal::unix::{SignalKind, signal};
    signal(SignalKind::hangup()).context("handling SIGHUP")
}

fn notify(state: &[sd_notify::NotifyState<'_>]) {
    // Without systemd there is nobody to tell.
    let _ = sd_notify::notify(state);
}

/// Opens the store of a configuration: a file where mail is on, memory where it is not.
///
/// # Errors
/// As [`Store::open`] says.
pub(crate) fn open_store(settings: &Settings) -> Result<Opened> {
    if settings.email.is_none() {
        return Ok(Store::in_memory()?.into());
    }
    let path = &settings.store_path;
    if path.as_os_str().is_empty() {
        bail!("store.path is empty; name a file");
    }
    Ok(Store::open(path, clock::now())?)
}
