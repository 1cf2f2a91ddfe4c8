//! The daemon put together: listeners, store, engine, collectors, sender; started, reloaded, stopped.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use tokio::net::TcpListener;
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::board::Board;
use super::mailroom::Mailroom;
use super::observer::OwnObserver;
use super::pipeline::{Accounts, Message, Pipeline, SitesEncoded};
use super::sender::Sender;
use crate::alert::{Engine, Watcher};
use crate::collect::{self, Plan, Update};
use crate::config::{Account, Settings};
use crate::http::{self, BuildInfo, Reload};
use crate::mail::transport::Transport;
use crate::metrics::{Encoder, Own};
use crate::model::{AccountBook, AccountName, Snapshot};
use crate::state::Shared;
use crate::store::Store;
use crate::{api, cli, clock};

/// How long everything may take to end once asked to.
const DRAIN: Duration = Duration::from_secs(4);

/// Reads the configuration anew; `Err` says why it was refused.
pub(super) type ReadSettings = Arc<dyn Fn() -> Result<Settings, String> + Send + Sync>;

/// What a daemon is started with.
pub(super) struct Start {
    pub(super) settings: Settings,
    pub(super) listeners: Vec<TcpListener>,
    pub(super) store: Store,
    pub(super) telemetry_path: String,
    pub(super) lifecycle: bool,
    pub(super) read_settings: ReadSettings,
}

/// Binds every address.
///
/// # Errors
/// With the address, and what to do when it is taken.
pub(super) async fn listen(addresses: &[cli::ListenAddress]) -> Result<Vec<TcpListener>> {
    let mut listeners = Vec::new();
    for address in addresses {
        let host = if address.host.is_empty() { "::" } else { address.host.as_str() };
        let bound = TcpListener::bind((host, address.port)).await;
        let bound = match bound {
            // A machine without IPv6 still has every IPv4 address.
            Err(_) if address.host.is_empty() => TcpListener::bind(("0.0.0.0", address.port)).await,
            other => other,
        };
        listeners.push(bound.with_context(|| {
            format!("cannot listen on {address}; another may hold it: choose one with --web.listen-address")
        })?);
    }
    Ok(listeners)
}

/// Runs the daemon until `stop`.
///
/// # Errors
/// When it cannot start: a mail server's CA that cannot be read, a store that cannot be loaded.
pub(super) async fn run(start: Start, stop: CancellationToken) -> Result<()> {
    let Start { settings, listeners, store, telemetry_path, lifecycle, read_settings } = start;
    let now = clock::now();
    let own = Arc::new(Own::new(env!("CARGO_PKG_VERSION"), COMMIT).with_process());
    own.hide(settings.metrics.hidden.clone());
    own.reload(true, now);
    let loaded = store.load().context("loading what the store holds")?;
    let mails = settings.email.is_some();
    let store = Arc::new(Mutex::new(store));
    let board = Board::new(Arc::clone(&own), Arc::clone(&store), mails);
    let accounts = accounts(&settings);
    let engine =
        Engine::new(accounts.watchers.clone(), loaded.incidents, loaded.started, loaded.watched_until, now);
    board.show_incidents(engine.watched(), now);
    board.show_outbox().context("reading the outbox")?;

    let snapshot = Shared::new(Snapshot::default());
    let encoder = Encoder::new(settings.metrics.clone());
    let page = Shared::new(encoder.page());
    let mail_queued = Arc::new(Notify::new());
    let (reload, mut reloads) = mpsc::channel::<Reload>(4);
    let context = http::Context {
        snapshot: snapshot.clone(),
        page: page.clone(),
        own: Arc::clone(&own),
        watch: board.watch.clone(),
        telemetry_path,
        lifecycle,
        reload: reload.clone(),
        build: BuildInfo { version: env!("CARGO_PKG_VERSION"), commit: COMMIT },
        started_at: now,
        lead_days: accounts.lead_days(),
        clock: clock::now,
    };
    let mut tasks = JoinSet::new();
    tasks.spawn(http::serve(listeners, Arc::new(context), stop.child_token()));

    let (messages, inbox) = mpsc::channel(256);
    let books: BTreeMap<AccountName, AccountBook> = accounts
        .profiles
        .iter()
        .map(|profile| (profile.name.clone(), AccountBook::new(Arc::clone(profile))))
        .collect();
    for profile in &accounts.profiles {
        own.account(&profile.name, &profile.collectors);
        for field in api::FIELDS {
            own.unknown_values(&profile.name, field, 0);
        }
    }
    snapshot.set(Snapshot {
        accounts: books.iter().map(|(name, book)| (name.clone(), book.publish())).collect(),
    });
    let pipeline = Pipeline {
        books,
        engine,
        encoder,
        mailroom: accounts.mailroom,
        own: Arc::clone(&own),
        board: board.clone(),
        snapshot,
        page,
        mail_queued: Arc::clone(&mail_queued),
        clock: clock::now,
        sites_encoded: SitesEncoded::default(),
        inconsistent: BTreeSet::new(),
        store_failing: false,
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
            board: board.clone(),
            mail_queued: Arc::clone(&mail_queued),
            clock: clock::now,
        };
        tasks.spawn(sender.run(stop.child_token()));
    }

    let mut collectors = Collectors::start(plans(&settings, &own)?, &messages, &stop);
    let mut hangups = hangups()?;
    // Better a restart by whoever watches us than a daemon that looks alive.
    let mut died = None;
    notify(&[sd_notify::NotifyState::Ready]);
    loop {
        let answer: Option<Reload> = tokio::select! {
            () = stop.cancelled() => break,
            asked = reloads.recv() => asked,
            _ = hangups.recv() => None,
            Some(ended) = tasks.join_next() => {
                stop.cancel();
                died = ended.err();
                break;
            }
            Some(Err(ended)) = collectors.tasks.join_next() => {
                stop.cancel();
                died = Some(ended);
                break;
            }
        };
        notify(&[sd_notify::NotifyState::Reloading]);
        let result =
            reloaded(&read_settings, transport.as_ref(), mails, &own, &messages, &stop, &mut collectors)
                .await;
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
    collectors.stop.cancel();
    let drained = tokio::time::timeout(DRAIN, async {
        while tasks.join_next().await.is_some() {}
        while collectors.tasks.join_next().await.is_some() {}
    });
    if drained.await.is_err() {
        tracing::warn!("not everything ended in time; nothing is lost");
    }
    match died {
        Some(error) => Err(error).context("a part of the daemon ended by a fault of its own"),
        None => Ok(()),
    }
}

async fn reloaded(
    read_settings: &ReadSettings,
    transport: Option<&Shared<Transport>>,
    mails: bool,
    own: &Arc<Own>,
    messages: &mpsc::Sender<Message>,
    stop: &CancellationToken,
    collectors: &mut Collectors,
) -> Result<(), String> {
    let settings = read_settings()?;
    if settings.email.is_some() != mails {
        return Err("[email] was added or removed; that takes a restart".to_owned());
    }
    let renewed = match &settings.email {
        Some(email) => Some(Transport::new(&email.server).map_err(|error| error.to_string())?),
        None => None,
    };
    // What is new must be sound before what is old ends, and known before anything is read of it.
    let plans = plans(&settings, own).map_err(|error| format!("{error:#}"))?;
    if let (Some(shared), Some(renewed)) = (transport, renewed) {
        shared.set(renewed);
    }
    collectors.stop.cancel();
    while collectors.tasks.join_next().await.is_some() {}
    // A closed channel means that the daemon is stopping.
    let _ = messages.send(Message::Accounts(accounts(&settings))).await;
    *collectors = Collectors::start(plans, messages, stop);
    Ok(())
}

/// The running collectors of one configuration.
struct Collectors {
    tasks: JoinSet<()>,
    stop: CancellationToken,
}

impl Collectors {
    fn start(plans: Vec<Plan>, messages: &mpsc::Sender<Message>, stop: &CancellationToken) -> Self {
        let stop = stop.child_token();
        let mut tasks = JoinSet::new();
        for plan in plans {
            let (updates, inbox) = mpsc::channel(16);
            tasks.spawn(forward(inbox, messages.clone()));
            tasks.spawn(collect::run(plan, updates, stop.clone()));
        }
        Self { tasks, stop }
    }
}

/// What each account's collectors need; fails before anything runs.
fn plans(settings: &Settings, own: &Arc<Own>) -> Result<Vec<Plan>> {
    let hosts = api::Hosts::default();
    let plan = |account: &Account| {
        let observer = Arc::new(OwnObserver::new(Arc::clone(own), account.name().clone()));
        let client = api::Client::with_hosts(account.api.clone(), observer, hosts.clone())
            .with_context(|| format!("preparing the client of account {}", account.name()))?;
        let top_rung = account.alert.disconnect_days.iter().copied().max().unwrap_or(0);
        Ok(Plan {
            profile: Arc::clone(&account.profile),
            client,
            schedules: account.schedules.clone(),
            horizon_days: account.horizon_days,
            least_horizon_days: (top_rung + 7).min(account.horizon_days),
            clock: clock::now,
        })
    };
    settings.accounts.iter().map(plan).collect()
}

async fn forward(mut updates: mpsc::Receiver<Update>, messages: mpsc::Sender<Message>) {
    while let Some(update) = updates.recv().await {
        if messages.send(Message::Update(update)).await.is_err() {
            return;
        }
    }
}

fn accounts(settings: &Settings) -> Accounts {
    let watchers = settings.accounts.iter().map(|account| {
        let to = if settings.email.is_some() {
            account.to.iter().map(ToString::to_string).collect()
        } else {
            Vec::new()
        };
        (account.name().clone(), Watcher { settings: account.alert.clone(), to })
    });
    let lead_days = settings.accounts.iter().map(|account| (account.name().clone(), account.alert.lead_days));
    Accounts {
        profiles: settings.accounts.iter().map(|account| Arc::clone(&account.profile)).collect(),
        watchers: watchers.collect(),
        mailroom: settings
            .email
            .as_ref()
            .map(|email| Mailroom { from: email.from.clone(), lead_days: lead_days.collect() }),
        metrics: settings.metrics.clone(),
    }
}

impl Accounts {
    fn lead_days(&self) -> u32 {
        self.watchers.values().map(|watcher| watcher.settings.lead_days).max().unwrap_or(3)
    }
}

/// The commit that was built, where the build was told.
pub(super) const COMMIT: &str = match option_env!("HOSTWATCH_COMMIT") {
    Some(commit) => commit,
    None => "unknown",
};

/// Cancels `stop` at SIGTERM or SIGINT.
///
/// # Errors
/// When the handlers cannot be set.
pub(super) fn stop_at_signal(stop: &CancellationToken) -> Result<()> {
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
pub(super) fn open_store(settings: &Settings) -> Result<Store> {
    if settings.email.is_none() {
        return Ok(Store::in_memory()?);
    }
    let path = &settings.store_path;
    if path.as_os_str().is_empty() {
        bail!("store.path is empty; name a file");
    }
    Ok(Store::open(path, clock::now())?)
}
