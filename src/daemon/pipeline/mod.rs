//! The one place where readings become state, metrics, incidents and mails, one update after the other.
//! Nothing calls back into it: collectors send updates, and what it makes is published or stored.

mod accounts;
mod anew;
mod decide;
mod housekeeping;
mod looking;
mod missed;
mod story;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use super::delivery::{Clocks, Step};
use super::liveness::LastRun;
use super::mails::MailWriter;
use super::publish::Published;
use super::signals::SenderSignal;
use crate::alert::{Engine, Input};
use crate::clock::Clock;
use crate::failpoint;
use crate::metrics::{Encoder, Own, Page, Targets};
use crate::model::freshness::{changes_at, next_change};
use crate::model::{
    AccountName, AccountState, Collector, CollectorStatus, KnownAccount, Read, Report, Snapshot, forecast,
};
use crate::provider::cron::Schedule;
use crate::provider::poll::{Update, span};
use crate::state::Shared;
use crate::store::Queue;
pub(crate) use accounts::Accounts;
pub(super) use housekeeping::Housekeeping;
pub(super) use looking::Looking;

/// What is sent to the pipeline.
pub(super) enum Message {
    Update(Update),
    /// A new configuration took over.
    Accounts(Box<Accounts>),
}

/// What the pipeline does next.
enum Turn {
    Tick,
    Check,
    Message(Message),
}

/// Everything the pipeline owns.
pub(super) struct Pipeline {
    pub(super) known: BTreeMap<AccountName, KnownAccount>,
    pub(super) engine: Engine,
    pub(super) encoder: Encoder,
    pub(super) mail_writer: Option<MailWriter>,
    /// The queues that something carries; others change at a start alone.
    pub(super) served: BTreeSet<Queue>,
    pub(super) own: Arc<Own>,
    pub(super) published: Published,
    pub(super) snapshot: Shared<Snapshot>,
    pub(super) page: Shared<Page>,
    pub(super) targets: Shared<Targets>,
    /// Signals the sender.
    pub(super) sender_signal: Arc<SenderSignal>,
    pub(super) last_run: LastRun,
    pub(super) clock: Clock,
    /// The time, as it was at the beginning of this turn.
    pub(super) now: DateTime<Utc>,
    /// The clock that runs beside `clock` and is never set.
    pub(super) clocks: Clocks,
    pub(super) looking: Looking,
    /// No reading goes stale before.
    pub(super) fresh_until: Option<DateTime<Utc>>,
    pub(super) sites_encoded: Encoded,
    pub(super) stale_encoded: Encoded,
    pub(super) housekeeping: Housekeeping,
    pub(super) digest: Option<Schedule>,
    /// Since the start, or a reload, it was not seen yet that all recipients were mailed of what is open.
    pub(super) recipients_may_be_new: bool,
    /// Every address of this machine.
    pub(super) addresses: Vec<IpAddr>,
    /// Accounts whose last report did not add up; logged once.
    pub(super) inconsistent: BTreeSet<AccountName>,
}

/// When readings that come, or go stale, one by one were last encoded: doing so for each would cost too much.
#[derive(Default)]
pub(super) struct Encoded {
    at: Option<Instant>,
    took: Duration,
}

impl Encoded {
    fn since(began: Instant) -> Self {
        Self { at: Some(Instant::now()), took: began.elapsed() }
    }

    fn is_due(&self) -> bool {
        let pause = Duration::from_secs(1).max(self.took * 20);
        self.at.is_none_or(|at| at.elapsed() >= pause)
    }
}

/// The engine is given the time this often.
const TICK: Duration = Duration::from_secs(60);
/// What others wrote into the store, and what went stale, is checked this often.
const CHECK_EVERY: Duration = Duration::from_millis(500);

impl Pipeline {
    /// Takes in messages until stopped. Computes and writes for long stretches, so it wants a thread of its own.
    pub(super) async fn run(mut self, mut messages: mpsc::Receiver<Message>, stop: CancellationToken) {
        let mut tick = interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut check = interval(CHECK_EVERY);
        check.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            self.last_run.now();
            let turn = tokio::select! {
                biased;
                () = stop.cancelled() => return,
                // Before the messages: in a storm these never end, and the ladder must go on.
                _ = tick.tick() => Turn::Tick,
                _ = check.tick() => Turn::Check,
                message = messages.recv() => match message {
                    Some(message) => Turn::Message(message),
                    None => return,
                },
            };
            self.notice_sleep();
            match turn {
                Turn::Tick => self.tick(),
                Turn::Check => {
                    self.say_difference();
                    self.check_freshness();
                    self.check();
                }
                Turn::Message(Message::Update(update)) => self.update(update),
                Turn::Message(Message::Accounts(accounts)) => self.accounts(*accounts),
            }
        }
    }

    fn update(&mut self, update: Update) {
        if let Some(update) = self.keep_for_later(update) {
            self.take_in(update);
        }
    }

    fn take_in(&mut self, update: Update) {
        let Update { account, collector, at, reads, end, rejected, problems } = update;
        self.looking.hear_of(&account, collector);
        let too_old = end.as_ref().is_some_and(|end| self.is_too_old(end));
        let Some(known) = self.known.get(&account) else { return };
        let before = known.state().collectors.get(&collector).cloned().unwrap_or_default();
        let changed = !reads.is_empty();
        let span = span(&account, collector).entered();
        self.note_reports(&account, &reads);
        let Some(known) = self.known.get_mut(&account) else { return };
        known.heed(self.engine.told_of_cut_off(&account));
        let observed = reads.into_iter().flat_map(|read| known.apply(read, at)).collect();
        let changes = changes_at(&known.state().profile, collector, at, at);
        self.fresh_until = self.fresh_until.into_iter().chain(changes).min();
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
            self.housekeeping.polled(&account, status.success);
            log_change(&before, status, &problems);
        }
        drop(span);
        self.own.rejected(&account, collector, rejected);
        let mut snapshot = (*self.snapshot.get()).clone();
        snapshot.accounts.insert(account.clone(), Arc::clone(&state));
        self.snapshot.set(snapshot);

        failpoint::reach("reading-applied");
        // What somebody silenced a moment ago is silenced.
        let checked = self.check_store();
        self.note_store_result(checked);
        // Mails first: a large page takes longer to encode than a mail may wait.
        self.decide(&Input::Poll { account: account.clone(), observed, ended: ended.then_some(collector) });
        if ended {
            self.have_looked();
        }

        let began = Instant::now();
        let sites = collector == Collector::Sites;
        if (changed || ended) && (!sites || ended || self.sites_encoded.is_due()) {
            // A listing of containers also ends the sites of those that are gone.
            let which = if collector == Collector::Containers {
                vec![Collector::Containers, Collector::Sites]
            } else {
                vec![collector]
            };
            let changed = self.encode(&state, &which, at);
            self.publish(changed);
            if sites {
                self.sites_encoded = Encoded::since(began);
            }
        }
        // A scrape takes it before the page: no poll is called good before what it read is served.
        if let Some(status) = &status {
            self.own.collector(&account, collector, status);
        }
    }

    /// Which reports were read of an account.
    fn note_reports(&mut self, account: &AccountName, reads: &[Read]) {
        for read in reads {
            if let Read::ExpectedBalance(report) = read {
                // Without mails the store is in memory, and nobody looks there for what was read last.
                if self.mail_writer.is_some() {
                    self.housekeeping.reports_to_keep.insert(account.clone());
                }
                log_inconsistent(account, report, &self.own, &mut self.inconsistent);
            }
        }
    }

    /// Encodes what changed of an account, and logs what the cap leaves out. True if the page changed.
    fn encode(&mut self, state: &AccountState, which: &[Collector], at: DateTime<Utc>) -> bool {
        let name = &state.profile.name;
        let before = self.encoder.dropped(name);
        let changed = self.encoder.refresh(state, which, at);
        let dropped = self.encoder.dropped(name);
        for &collector in &state.profile.collectors {
            let series = dropped.get(&collector).copied().unwrap_or(0);
            self.own.dropped(name, collector, series);
            if series > 0 && before.get(&collector).is_none_or(|&before| before == 0) {
                let _span = span(name, collector).entered();
                tracing::warn!(
                    series,
                    "past metrics.max_series_per_collector: resources with the highest ids are left out of the metrics"
                );
            }
        }
        changed
    }

    /// From now on what was encoded is served.
    fn publish(&mut self, page_changed: bool) {
        if page_changed {
            self.page.set(self.encoder.page());
        }
        if let Some(targets) = self.encoder.new_targets() {
            self.targets.set(targets);
        }
    }

    fn tick(&mut self) {
        self.miss_late_collectors();
        let now = self.now;
        self.look_at_time();
        // What was over for long is shown no more.
        self.published.show_incidents(&self.engine, now);
        self.encode_all(now);
        self.keep_up(now);
    }

    /// Encodes what goes stale as soon as it does, and all that does where the clock was set back.
    fn check_freshness(&mut self) {
        let now = self.now;
        let set_back = self.clocks.step(now, Instant::now()) == Step::Back;
        let passed = self.fresh_until.is_some_and(|until| until < now);
        if set_back || (passed && self.stale_encoded.is_due()) {
            self.encode_all(now);
        }
    }

    /// Encodes what changed of every account, also by going stale.
    fn encode_all(&mut self, now: DateTime<Utc>) {
        let began = Instant::now();
        let snapshot = self.snapshot.get();
        let mut changed = false;
        for state in snapshot.accounts.values() {
            changed |= self.encode(state, &Collector::ALL, now);
        }
        self.publish(changed);
        let changes = snapshot.accounts.values().filter_map(|state| next_change(state, now));
        self.fresh_until = changes.min();
        self.stale_encoded = Encoded::since(began);
    }

    fn accounts(&mut self, accounts: Accounts) {
        let Accounts { profiles, watchers, mail_writer, digest, metrics, gaps } = accounts;
        self.looking.gaps = gaps;
        self.own.select(metrics.selection.clone());
        self.encoder.configure(metrics);
        let names: Vec<AccountName> = self.known.keys().cloned().collect();
        let mut snapshot = (*self.snapshot.get()).clone();
        for name in names.iter().filter(|name| profiles.iter().all(|profile| profile.name != **name)) {
            self.known.remove(name);
            self.encoder.remove(name);
            self.own.remove_account(name);
            snapshot.accounts.remove(name);
        }
        let reports = self.published.store.lock().reports().unwrap_or_default();
        for profile in profiles {
            let name = profile.name.clone();
            self.own.account(&name, &profile.collectors);
            let known = match self.known.remove(&name) {
                Some(known) => known.with_profile(profile),
                None => KnownAccount::new(profile).remembering(reports.get(&name)),
            };
            snapshot.accounts.insert(name.clone(), known.publish());
            self.known.insert(name, known);
        }
        self.snapshot.set(snapshot);
        self.encode_all(self.now);
        // Also where an account went.
        self.publish(true);
        self.engine.set_watchers(watchers);
        self.recipients_may_be_new = true;
        self.mail_writer = mail_writer;
        self.digest = digest;
        // What is no longer watched ends now.
        self.look_at_time();
        self.published.show_incidents(&self.engine, self.now);
        self.sender_signal.new_mail();
    }
}

/// Counts a report that does not add up, and logs it once until one does.
fn log_inconsistent(
    account: &AccountName,
    report: &Report,
    own: &Own,
    inconsistent: &mut BTreeSet<AccountName>,
) {
    let Some(at) = forecast::does_not_add_up(report) else {
        inconsistent.remove(account);
        return;
    };
    own.inconsistent(account);
    if inconsistent.insert(account.clone()) {
        tracing::warn!(
            from = %at.to_rfc3339(),
            "the expected-balance report does not add up; it is shown as reported"
        );
    }
}

/// Polls are logged when something changed, not once a poll.
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
    if now.success && !now.complete && (before.complete || before.polls == 0) {
        let problems = problems.join("; ");
        tracing::warn!(problems, "what was read is not complete");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Edd;
    use crate::model::forecast::tests::{money, report};

    #[test]
    fn reports_that_do_not_add_up_are_counted_each_time() {
        let (account, own) = ("main".parse().unwrap(), Own::new("0", "0"));
        let mut told = BTreeSet::new();
        let good = report("100", "10", 5, Edd::Null);
        let mut bad = good.clone();
        bad.expected_balance = Some(money("1"));
        let mut after = Vec::new();
        for report in [&good, &bad, &bad, &good] {
            log_inconsistent(&account, report, &own, &mut told);
            after.push(told.len());
        }
        assert_eq!(after, [0, 1, 1, 0]);
        let page = String::from_utf8(own.encode(false)).unwrap();
        assert!(page.contains("hostwatch_reports_inconsistent_total{account=\"main\"} 2\n"), "{page}");
    }
}
