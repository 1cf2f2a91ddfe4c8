//! The one place in which readings become state, metrics, incidents and mails, one message after the other. The
//! pipeline alone owns the engine and the notification log and writes them into the store. Collectors send it
//! updates, senders send results, and commands send questions.

mod accounts;
mod chats;
mod decide;
mod dispatch;
mod housekeeping;
mod looking;
mod questions;
mod senders;
mod story;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use super::common::Common;
use super::control::Question;
use super::liveness::LastRun;
use super::mails::MailWriter;
use super::sender::Tried;
use super::telegram::{Edit, Pressed};
use crate::alert::{Engine, Log, Muted};
use crate::config::Settings;
use crate::failpoint;
use crate::metrics::Encoder;
use crate::model::{AccountName, Collector, CollectorStatus, KnownAccount, Read, forecast};
use crate::provider::FIELDS;
use crate::provider::cron::Schedule;
use crate::provider::poll::{Update, span};
pub(crate) use accounts::{watcher, watchers};
pub(super) use housekeeping::Housekeeping;
pub(super) use looking::Looking;
pub(super) use senders::Senders;

/// A message to the pipeline.
pub(super) enum Message {
    /// A minute is over.
    Tick,
    /// Mails may be due, and the store's file may be gone.
    Check,
    Update(Box<Update>),
    /// A new configuration is in force.
    Settings(Box<Settings>),
    /// A sender followed an order.
    Tried(Box<Tried>),
    /// A command sends a request.
    Asked(Box<Question>),
    /// A button in a chat was pressed.
    Pressed(Box<Pressed>),
    /// A message in a chat was edited, or cannot be edited; then no further attempt is made.
    Edited(Box<Edit>, bool),
}

/// The state that the pipeline owns.
pub(super) struct Pipeline {
    pub(super) common: Arc<Common>,
    pub(super) known: BTreeMap<AccountName, KnownAccount>,
    pub(super) engine: Engine,
    pub(super) log: Log,
    /// Acknowledgements and silences.
    pub(super) muted: Muted,
    pub(super) encoder: Encoder,
    /// `None` if nobody is mailed.
    pub(super) mail_writer: Option<MailWriter>,
    pub(super) senders: Senders,
    pub(super) outbox_shown: Paced,
    /// The listeners that edit messages, by recipient.
    pub(super) edits: BTreeMap<String, mpsc::UnboundedSender<Edit>>,
    /// Messages whose last edit is under way, by recipient and id.
    pub(super) editing: BTreeSet<(String, String)>,
    pub(super) last_run: LastRun,
    /// The time at the beginning of this turn.
    pub(super) now: DateTime<Utc>,
    pub(super) looking: Looking,
    /// Accounts whose incidents changed since they were last encoded, or the readings of these collectors.
    pub(super) not_encoded: BTreeMap<AccountName, BTreeSet<Collector>>,
    pub(super) encoded: Paced,
    pub(super) housekeeping: Housekeeping,
    pub(super) digest: Option<Schedule>,
    /// All addresses of this machine.
    pub(super) addresses: Vec<IpAddr>,
}

/// The last time of work that would cost too much at each change, and how long it took.
#[derive(Default)]
pub(super) struct Paced {
    at: Option<Instant>,
    took: Duration,
}

impl Paced {
    fn since(began: Instant) -> Self {
        Self { at: Some(Instant::now()), took: began.elapsed() }
    }

    /// Whether the pause after it is over: twenty times as long as it took, within these limits.
    fn is_due(&self, least: Duration, most: Duration) -> bool {
        self.at.is_none_or(|at| at.elapsed() >= (self.took * 20).clamp(least, most))
    }
}

/// The reason of an end without its file, and the remedy.
pub(super) const STORE_GONE: &str = "the store's file was deleted or replaced: put it back before the next start, or every open problem is mailed anew";
/// The engine gets the time this often.
const TICK: Duration = Duration::from_secs(60);
/// Changes that come one by one are encoded this often at most.
const ENCODE_EVERY: Duration = Duration::from_secs(1);
/// The pipeline checks this often for mails that are due.
const CHECK_EVERY: Duration = Duration::from_millis(500);

impl Pipeline {
    /// Takes in messages until it is stopped. It computes and writes for long stretches, so it needs a thread
    /// of its own.
    pub(super) async fn run(
        mut self,
        mut messages: mpsc::Receiver<Message>,
        mut updates: mpsc::Receiver<Box<Update>>,
        stop: CancellationToken,
    ) {
        let mut tick = interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut check = interval(CHECK_EVERY);
        check.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            self.last_run.now();
            let message = tokio::select! {
                biased;
                () = stop.cancelled() => return self.finish(&mut messages).await,
                // The tick comes before the messages: in a storm the messages never end, and thresholds must
                // still be crossed in time.
                _ = tick.tick() => Message::Tick,
                _ = check.tick() => Message::Check,
                // New settings come before the readings of their accounts.
                Some(message) = messages.recv() => message,
                Some(update) = updates.recv() => Message::Update(update),
            };
            self.notice_sleep();
            match message {
                Message::Tick => self.tick(),
                Message::Check => {
                    self.say_difference();
                    if !self.check() {
                        tracing::error!("{STORE_GONE}");
                        return;
                    }
                }
                Message::Update(update) => self.update(*update),
                Message::Settings(settings) => self.follow(&settings),
                Message::Tried(tried) => {
                    self.tried(*tried);
                    self.dispatch();
                }
                Message::Asked(question) => self.answer(*question),
                Message::Pressed(pressed) => self.pressed(*pressed),
                Message::Edited(edit, is_done) => self.edited(&edit, is_done),
            }
            if !self.not_encoded.is_empty() && self.encoded.is_due(ENCODE_EVERY, Duration::MAX) {
                self.encode_all();
            }
        }
    }

    fn update(&mut self, update: Update) {
        let Update { account, collector, at, steady, reads, end, rejected, problems } = update;
        let too_old = end.as_ref().is_some_and(|end| self.has_not_looked(end, steady));
        let Some(known) = self.known.get(&account) else { return };
        if !known.state().profile.collectors.contains(&collector) {
            // The reading waited while its collector was turned off.
            return;
        }
        let before = known.state().collectors.get(&collector).cloned().unwrap_or_default();
        let changed = !reads.is_empty();
        let span = span(&account, collector).entered();
        self.note_reports(&account, &reads);
        let Some(known) = self.known.get_mut(&account) else { return };
        known.believe(self.engine.believed(&account));
        let observed: Vec<_> = reads.into_iter().flat_map(|read| known.apply(read, at)).collect();
        let ended = end.is_some();
        if let Some(end) = end {
            known.end(collector, end, at);
            if too_old {
                known.not_looked(collector);
            }
        }
        let state = known.publish();
        let status = ended.then(|| state.collectors.get(&collector).cloned().unwrap_or_default());
        if let Some(status) = &status {
            log_change(&before, status, &problems);
        }
        drop(span);
        self.common.own.rejected(&account, collector, rejected);
        let mut snapshot = (*self.common.snapshot.get()).clone();
        snapshot.accounts.insert(account.clone(), Arc::clone(&state));
        self.common.snapshot.set(snapshot);

        failpoint::reach("reading-applied");
        // Mails come first: encoding a large page takes longer than a mail may wait.
        self.take_readings(&account, &observed, ended.then_some(collector));
        if ended {
            self.have_looked();
        }

        if changed || ended {
            // A listing of containers also ends the sites of containers that are gone.
            let sites = (collector == Collector::Containers).then_some(Collector::Sites);
            self.not_encoded.entry(account.clone()).or_default().extend(sites.into_iter().chain([collector]));
        }
        // Sites are read container by container.
        if ended || (changed && collector != Collector::Sites) {
            let changed = self.encode(&account);
            self.publish(changed);
        }
        // The poll's metrics are set after the page: a scrape must not show a poll as good before it shows the
        // poll's readings.
        if let Some(status) = &status {
            self.common.own.collector(&account, collector, status);
        }
    }

    /// Notes which reports of an account were read. One that does not add up is counted, and logged if the one before
    /// did.
    fn note_reports(&mut self, account: &AccountName, reads: &[Read]) {
        for read in reads {
            let Read::ExpectedBalance(report) = read else { continue };
            self.housekeeping.reports_to_keep.insert(account.clone());
            let Some(at) = forecast::does_not_add_up(report) else { continue };
            self.common.own.inconsistent(account);
            let before = self.known.get(account).and_then(|known| known.state().billing.latest());
            if before.is_none_or(|(before, _)| forecast::does_not_add_up(before).is_none()) {
                tracing::warn!(
                    from = %at.to_rfc3339(),
                    "the expected-balance report does not add up; it is shown as reported"
                );
            }
        }
    }

    /// Encodes the changes of an account. Returns whether the page changed.
    fn encode(&mut self, account: &AccountName) -> bool {
        let which = self.not_encoded.remove(account).unwrap_or_default();
        let Some(known) = self.known.get(account) else { return false };
        self.encoder.refresh(known.state(), &which.into_iter().collect::<Vec<_>>(), self.now)
    }

    /// Encodes the changes of all accounts.
    fn encode_all(&mut self) {
        let began = Instant::now();
        let accounts: Vec<AccountName> = self.not_encoded.keys().cloned().collect();
        let changed = accounts.iter().fold(false, |changed, account| self.encode(account) | changed);
        self.publish(changed);
        self.encoded = Paced::since(began);
    }

    /// Notes that the readings of all accounts are to be encoded, since some of them may have gone stale.
    pub(super) fn encode_again(&mut self) {
        for account in self.known.keys() {
            self.not_encoded.entry(account.clone()).or_default().extend(Collector::ALL);
        }
    }

    /// Serves what was encoded.
    fn publish(&mut self, page_changed: bool) {
        if page_changed {
            self.common.page.set(self.encoder.page());
        }
    }

    fn tick(&mut self) {
        let now = self.now;
        // Silences end by themselves, and a command that finds no socket writes into the store.
        let decided = self.take_decisions();
        self.note_store_result(decided);
        self.look_at_time();
        // Incidents that ended long ago leave the page.
        self.show_incidents();
        self.encode_again();
        self.encode_all();
        self.edit_what_is_over();
        self.keep_up(now);
    }

    /// Puts a configuration in force, at the start and at a reload.
    pub(super) fn follow(&mut self, settings: &Settings) {
        self.common.show(|shown| shown.mails.without_heartbeat = settings.heartbeat_url.is_none());
        self.encoder.configure(settings.state_series);
        let profiles = || settings.accounts.iter().map(|account| &account.profile);
        let names: Vec<AccountName> = self.known.keys().cloned().collect();
        let mut snapshot = (*self.common.snapshot.get()).clone();
        for name in names.iter().filter(|name| profiles().all(|profile| profile.name != **name)) {
            self.known.remove(name);
            self.encoder.remove(name);
            self.not_encoded.remove(name);
            self.common.own.remove_account(name);
            snapshot.accounts.remove(name);
        }
        let reports = self.common.store.lock().reports().unwrap_or_else(|error| {
            tracing::warn!(%error, "what reports said last is lost: no amounts are known until the next one is read");
            BTreeMap::new()
        });
        for profile in profiles().map(Arc::clone) {
            let name = profile.name.clone();
            self.common.own.account(&name, &profile.collectors);
            for field in FIELDS {
                self.common.own.unknown_values(&name, field, 0);
            }
            let known = match self.known.remove(&name) {
                Some(known) => known.with_profile(profile),
                None => KnownAccount::new(profile).remembering(reports.get(&name)),
            };
            snapshot.accounts.insert(name.clone(), known.publish());
            self.known.insert(name, known);
        }
        self.common.snapshot.set(snapshot);
        self.engine.set_watchers(watchers(settings));
        self.mail_writer = MailWriter::of(settings);
        self.digest = settings.digest.clone();
        self.senders.try_now();
        self.log.probe(self.now);
        self.forget_unserved();
        // Incidents that are no longer watched end before a mail is made of them.
        self.look_at_time();
        self.show_incidents();
        self.encode_again();
        self.encode_all();
        // An account that was removed also leaves the page.
        self.publish(true);
    }
}

/// Whether a poll was not complete after one that was complete or failed.
fn begins_incomplete(before: &CollectorStatus, now: &CollectorStatus) -> bool {
    now.success && !now.complete && (before.complete || !before.success)
}

/// Logs a poll if its result changed, and not at every poll.
fn log_change(before: &CollectorStatus, now: &CollectorStatus, problems: &[String]) {
    match (&before.failure, &now.failure) {
        (old, Some(failure)) => {
            // Numbers in a message (ports, seconds) may differ from poll to poll.
            let words = |text: &str| text.replace(|c: char| c.is_ascii_digit(), "");
            let same = old.as_ref().is_some_and(|old| words(&old.message) == words(&failure.message));
            if !same {
                tracing::warn!(error = failure.message, "cannot read");
            }
        }
        (Some(_), None) => tracing::info!("can read again"),
        (None, None) => {}
    }
    if begins_incomplete(before, now) {
        let problems = problems.join("; ");
        tracing::warn!(problems, "what was read is not complete");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_incomplete_poll_is_logged() {
        let of = |success, complete| CollectorStatus { success, complete, ..CollectorStatus::default() };
        let (failed, whole, part) = (of(false, false), of(true, true), of(true, false));
        for (polls, want) in [
            ([&failed, &part, &part], [true, false]),
            ([&whole, &part, &whole], [true, false]),
            ([&part, &failed, &part], [false, true]),
        ] {
            assert_eq!([0, 1].map(|poll| begins_incomplete(polls[poll], polls[poll + 1])), want, "{polls:?}");
        }
    }
}
