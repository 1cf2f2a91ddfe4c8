//! What is shown of incidents and mails: on the page, and as metrics. Both the pipeline and the sender
//! write to it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;

use super::delivery::SendFailure;
use crate::alert::{Engine, History, Incident, Past, Phase};
use crate::http::Remember;
use crate::metrics::own::{IncidentLabels, Notification, Own};
use crate::model::{AccountName, OwnVm};
use crate::state::Shared;
use crate::store::{Expired, Queue, Store, StoreError, Trouble, Undelivered};
use crate::view::incidents::ServerError;
use crate::view::{Alerting, IncidentRow, OutboxSummary};

/// The store, shared by the pipeline and the sender; each call on it is short. A panic while it is locked leaves a
/// transaction that was rolled back, nothing worse.
pub(super) type SharedStore = Arc<Mutex<Store>>;

/// The store, as the page may see it: the incidents of the past. It is locked for one reading.
#[derive(Debug)]
pub(super) struct PastInStore(pub SharedStore);

impl Remember for PastInStore {
    fn history(&self, past: &Past) -> Result<History, String> {
        self.0.lock().history(past).map_err(|error| error.to_string())
    }
}

/// Logs that a store that was in memory is in its file again, and where a damaged one was put.
pub(super) fn say_returned(aside: Option<&Path>) {
    match aside.map(Path::display) {
        None => tracing::info!("the store works again; what was kept in memory is in it"),
        Some(aside) => tracing::error!(%aside, "the store was damaged; it was set aside and a new one begun"),
    }
}

/// The published view and what it is made from.
#[derive(Clone)]
pub(super) struct Published {
    pub(super) alerting: Shared<Alerting>,
    pub(super) own: Arc<Own>,
    pub(super) store: SharedStore,
    /// Why mails may not be delivered.
    pub(super) trouble: Shared<Trouble>,
    /// Why mail servers and webhooks cannot be used.
    server_errors: Arc<Mutex<BTreeMap<Queue, ServerError>>>,
    /// Held from reading the view to writing it back.
    writing: Arc<Mutex<()>>,
    /// The sender could not write to the store.
    store_fails: Arc<AtomicBool>,
    /// A command had this daemon write to the store.
    written_by_hand: Arc<AtomicBool>,
    /// How many mails came back undelivered with newer news of their incidents behind them, and of how many the pipeline
    /// knows.
    came_back: Arc<watch::Sender<(u64, u64)>>,
    /// The store's file takes what is decided.
    keeps: Arc<AtomicBool>,
    /// When mails were last counted by account.
    counted_at: Arc<Mutex<Option<Instant>>>,
}

/// Mails that wait are counted by account no more often.
const COUNT_EVERY: Duration = Duration::from_secs(1);

impl Published {
    pub(super) fn new(own: Arc<Own>, store: SharedStore, mails: bool) -> Self {
        let mut alerting = Alerting::default();
        alerting.mails.outbox = mails.then(OutboxSummary::default);
        Self {
            alerting: Shared::new(alerting),
            own,
            store,
            trouble: Shared::new(Trouble::default()),
            server_errors: Arc::default(),
            writing: Arc::default(),
            store_fails: Arc::default(),
            written_by_hand: Arc::default(),
            // The daemon before this one may have ended in between.
            came_back: Arc::new(watch::Sender::new((1, 0))),
            keeps: Arc::new(AtomicBool::new(true)),
            counted_at: Arc::default(),
        }
    }

    /// Shows all incidents as they stand.
    pub(super) fn show_incidents(&self, engine: &Engine, now: DateTime<Utc>) {
        self.own.incidents(None, &counts(engine.watched()));
        let rows = rows(engine.watched(), engine, now).collect();
        let dates = engine.watched().filter_map(|one| Some((one.key.account.clone(), one.calendar?)));
        let calendar = dates.collect();
        self.write(|alerting| (alerting.incidents, alerting.calendar) = (rows, calendar));
    }

    /// Shows those of some accounts. What passing time alone changes of the others is shown with all.
    pub(super) fn show_incidents_of(
        &self,
        accounts: &BTreeSet<&AccountName>,
        engine: &Engine,
        now: DateTime<Utc>,
    ) {
        self.write(|alerting| {
            for &account in accounts {
                let watched = || engine.watched_of(account);
                self.own.incidents(Some(account), &counts(watched()));
                alerting.incidents.put(account, rows(watched(), engine, now).collect());
                match watched().find_map(|one| one.calendar) {
                    Some(entry) => drop(alerting.calendar.insert(account.clone(), entry)),
                    None => drop(alerting.calendar.remove(account)),
                }
            }
        });
    }

    /// Shows the outbox as it stands.
    ///
    /// # Errors
    /// When the store cannot be read; the view then stays as it is.
    pub(super) fn show_outbox(&self) -> Result<(), StoreError> {
        // Else whoever read first might write last, and show for a minute what is over.
        let _writing = self.writing();
        let (summary, undelivered) = {
            let store = self.store.lock();
            let summary = store.outbox_summary()?;
            // While many leave one after the other not at each of them; the next minute shows the rest.
            let waits = summary.oldest.is_some();
            let mut counted_at = self.counted_at.lock();
            let is_due = !waits || counted_at.is_none_or(|at| at.elapsed() >= COUNT_EVERY);
            if is_due {
                *counted_at = Some(Instant::now());
            }
            (summary, if is_due { Some(store.undelivered_of()?) } else { None })
        };
        self.own.outbox(&summary.by_state, summary.oldest);
        self.trouble.set(summary.trouble);
        let count = |state: &str| summary.by_state.get(state).copied().unwrap_or(0);
        let outbox = OutboxSummary {
            queued: count("queued"),
            sending: count("sending"),
            sent: count("sent"),
            dead: count("dead"),
            oldest: summary.oldest,
        };
        self.change(|alerting| {
            // Without mail configured there is nothing to show of it.
            alerting.mails.outbox = alerting.mails.outbox.map(|_| outbox);
            alerting.mails.last_mail_at = summary.last_sent;
            alerting.mails.given_up = summary.given_up;
            alerting.mails.given_up_of = summary.given_up_of;
            let of_one = |(account, Undelivered { waiting, oldest, dead })| {
                (account, OutboxSummary { queued: waiting, sending: 0, dead, oldest, ..outbox })
            };
            if let Some(undelivered) = undelivered {
                alerting.mails.undelivered_of = undelivered.into_iter().map(of_one).collect();
            }
        });
        Ok(())
    }

    /// What waits for a mail server or a webhook that is gone is given up: nothing can carry it.
    pub(super) fn give_up_others(&self, served: &BTreeSet<Queue>, now: DateTime<Utc>) {
        let given_up = self.store.lock().give_up_others(served, now).unwrap_or_else(|error| {
            tracing::error!(%error, "mails that nothing carries any more cannot be given up");
            Vec::new()
        });
        for Expired { message_id, recipient, subject, error } in given_up {
            tracing::error!(recipient, message_id, subject, error, "mail given up");
            self.own.notification(Notification::Dead);
        }
    }

    /// Shows on which watched VM this daemon runs.
    pub(super) fn show_home(&self, home: Option<&OwnVm>) {
        let words = home.map(|home| {
            let name = home.vm_name.as_deref().unwrap_or_default();
            format!("VM {} \"{name}\" of account {}", home.vm, home.account)
        });
        self.write(|alerting| alerting.mails.lives_on = words);
    }

    /// Shows how this machine's clock differs from the provider's.
    pub(super) fn show_clock(&self, words: Option<String>) {
        self.write(|alerting| alerting.clock = words);
    }

    /// Shows why a mail server or webhook cannot be used; `None` where it can. Of several, one that refuses us.
    pub(super) fn show_mail_server(&self, queue: &Queue, error: Option<&SendFailure>) {
        let mut errors = self.server_errors.lock();
        match error {
            Some(error) => {
                let shown = ServerError { error: error.to_string(), refused: error.is_refusal() };
                errors.insert(queue.clone(), shown);
            }
            None => drop(errors.remove(queue)),
        }
        let is_down = errors.contains_key(&Queue::Mail);
        let error = errors.values().find(|error| error.refused).or(errors.values().next()).cloned();
        let shown = self.alerting.get();
        if shown.mails.server_error != error || shown.mails.server_is_down != is_down {
            self.write(|alerting| {
                (alerting.mails.server_error, alerting.mails.server_is_down) = (error, is_down);
            });
        }
    }

    /// The sender cannot write to the store; the pipeline leaves the file.
    pub(super) fn report_store_failure(&self) {
        self.store_fails.store(true, Ordering::Release);
    }

    /// Did the sender report a failure since the store last changed?
    pub(super) fn store_fails(&self) -> bool {
        self.store_fails.load(Ordering::Acquire)
    }

    /// Notes that a mail came back; returns once what waits behind it was worded anew, or that takes too long.
    pub(super) async fn came_back(&self) {
        const PATIENCE: Duration = Duration::from_secs(5);
        let mut seen = self.came_back.subscribe();
        self.came_back.send_modify(|(count, _)| *count += 1);
        let (count, _) = *seen.borrow_and_update();
        let _ = tokio::time::timeout(PATIENCE, seen.wait_for(|&(_, known)| known >= count)).await;
    }

    /// How many mails came back so far, where that is news.
    pub(super) fn new_back(&self) -> Option<u64> {
        let (count, known) = *self.came_back.borrow();
        (count > known).then_some(count)
    }

    /// What waits behind so many was worded anew.
    pub(super) fn know_back(&self, count: u64) {
        self.came_back.send_modify(|(_, known)| *known = count);
    }

    /// Notes that a command had this daemon write to the store.
    pub(super) fn written_by_hand(&self) {
        self.written_by_hand.store(true, Ordering::Release);
    }

    /// Was that so since the last time this was asked?
    pub(super) fn take_written_by_hand(&self) -> bool {
        self.written_by_hand.swap(false, Ordering::AcqRel)
    }

    /// Does the store's file take what is decided?
    pub(super) fn keeps(&self) -> bool {
        self.keeps.load(Ordering::Acquire)
    }

    /// Notes whether the store's file takes what is decided.
    pub(super) fn set_keeps(&self, keeps: bool) {
        if self.keeps.swap(keeps, Ordering::AcqRel) != keeps {
            self.write(|alerting| alerting.store_fails = !keeps);
        }
        self.own.store_usable(keeps);
    }

    /// The store is another one now.
    pub(super) fn store_changed(&self) {
        self.store_fails.store(false, Ordering::Release);
    }

    fn write(&self, change: impl FnOnce(&mut Alerting)) {
        let _writing = self.writing();
        self.change(change);
    }

    fn writing(&self) -> MutexGuard<'_, ()> {
        self.writing.lock()
    }

    fn change(&self, change: impl FnOnce(&mut Alerting)) {
        let mut alerting = (*self.alerting.get()).clone();
        change(&mut alerting);
        self.alerting.set(alerting);
    }
}

/// How many are open, by what tells them apart in the metrics.
fn counts<'a>(incidents: impl Iterator<Item = &'a Incident>) -> BTreeMap<IncidentLabels, u64> {
    let mut counts: BTreeMap<IncidentLabels, u64> = BTreeMap::new();
    let is_over =
        |incident: &&Incident| matches!(incident.phase, Phase::Resolved | Phase::Watching | Phase::Unwatched);
    for incident in incidents.filter(|incident| !is_over(incident)) {
        let labels = IncidentLabels {
            account: incident.key.account.clone(),
            kind: incident.key.kind.as_str(),
            severity: incident.severity.as_str(),
            state: incident.phase.as_str(),
        };
        *counts.entry(labels).or_default() += 1;
    }
    counts
}

fn rows<'a>(
    incidents: impl Iterator<Item = &'a Incident>,
    engine: &Engine,
    now: DateTime<Utc>,
) -> impl Iterator<Item = IncidentRow> {
    incidents.filter_map(move |incident| IncidentRow::of(incident, engine.muted(), now))
}
