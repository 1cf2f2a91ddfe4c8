//! The one place where readings become state, metrics, incidents and mails, one update after the other.
//! Nothing calls back into it: collectors send updates, and what it makes is published or stored.

mod accounts;
mod decide;
mod housekeeping;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use super::liveness::LastRun;
use super::mails::MailWriter;
use super::publish::Published;
use super::wake::Wake;
use crate::alert::{Engine, Input};
use crate::failpoint;
use crate::metrics::{Encoder, Own, Page};
use crate::model::{
    AccountName, AccountState, Collector, CollectorStatus, KnownAccount, Read, Report, Snapshot, forecast,
};
use crate::provider::cron::Schedule;
use crate::provider::poll::Update;
use crate::state::Shared;
pub(crate) use accounts::Accounts;
pub(super) use housekeeping::Housekeeping;

/// What the pipeline is told.
pub(super) enum Message {
    Update(Update),
    /// A new configuration took over.
    Accounts(Accounts),
}

/// Everything the pipeline owns.
pub(super) struct Pipeline {
    pub(super) books: BTreeMap<AccountName, KnownAccount>,
    pub(super) engine: Engine,
    pub(super) encoder: Encoder,
    pub(super) mail_writer: Option<MailWriter>,
    pub(super) own: Arc<Own>,
    pub(super) published: Published,
    pub(super) snapshot: Shared<Snapshot>,
    pub(super) page: Shared<Page>,
    /// Wakes the sender.
    pub(super) wake: Arc<Wake>,
    pub(super) last_run: LastRun,
    pub(super) clock: fn() -> DateTime<Utc>,
    pub(super) sites_encoded: SitesEncoded,
    pub(super) housekeeping: Housekeeping,
    pub(super) digest: Option<Schedule>,
    /// Every address of this machine.
    pub(super) addresses: Vec<IpAddr>,
    /// Accounts whose last report did not add up; said once.
    pub(super) inconsistent: BTreeSet<AccountName>,
}

/// Sites of many containers trickle in; encoding them all for each would cost more than it shows.
#[derive(Default)]
pub(super) struct SitesEncoded {
    at: Option<Instant>,
    took: Duration,
}

impl SitesEncoded {
    fn is_due(&self) -> bool {
        let pause = Duration::from_secs(1).max(self.took * 20);
        self.at.is_none_or(|at| at.elapsed() >= pause)
    }
}

/// The engine looks at the time this often.
const TICK: Duration = Duration::from_secs(60);
/// What others write into the store is looked for this often.
const LOOK: Duration = Duration::from_millis(500);

impl Pipeline {
    /// Takes in messages until stopped. Computes and writes for long stretches, so it wants a thread of its own.
    pub(super) async fn run(mut self, mut messages: mpsc::Receiver<Message>, stop: CancellationToken) {
        let mut tick = interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut look = interval(LOOK);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            self.last_run.now();
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                // Before the messages: in a storm these never end, and the ladder must go on.
                _ = tick.tick() => self.tick(),
                _ = look.tick() => self.look(),
                message = messages.recv() => match message {
                    Some(Message::Update(update)) => self.update(update),
                    Some(Message::Accounts(accounts)) => self.accounts(accounts),
                    None => return,
                },
            }
        }
    }

    fn update(&mut self, update: Update) {
        let Update { account, collector, at, reads, end, rejected, problems } = update;
        let Some(book) = self.books.get_mut(&account) else { return };
        let before = book.state().collectors.get(&collector).cloned().unwrap_or_default();
        let changed = !reads.is_empty();
        for read in &reads {
            if let Read::ExpectedBalance(report) = read {
                tell_inconsistent(&account, report, &self.own, &mut self.inconsistent);
            }
        }
        let observed = reads.into_iter().flat_map(|read| book.apply(read, at)).collect();
        let ended = end.is_some();
        if let Some(end) = end {
            book.end(collector, end, at);
        }
        let state = book.publish();
        if ended {
            let status = state.collectors.get(&collector).cloned().unwrap_or_default();
            self.own.collector(&account, collector, &status);
            self.housekeeping.polled(&account, status.success);
            tell_change(&account, collector, &before, &status, &problems);
        }
        self.own.rejected(&account, collector, rejected);
        let mut snapshot = (*self.snapshot.get()).clone();
        snapshot.accounts.insert(account.clone(), Arc::clone(&state));
        self.snapshot.set(snapshot);

        failpoint::reach("reading-applied");
        // What somebody silenced a moment ago is silenced.
        let looked = self.look_at_store();
        self.store_said(looked);
        // Mails first: a large page takes longer to encode than a mail may wait.
        self.decide(&Input::Poll { account, observed, ended: ended.then_some(collector) });

        let began = Instant::now();
        let sites = collector == Collector::Sites;
        if (changed || ended) && (!sites || ended || self.sites_encoded.is_due()) {
            // A listing of containers also ends the sites of those that are gone.
            let which = if collector == Collector::Containers {
                vec![Collector::Containers, Collector::Sites]
            } else {
                vec![collector]
            };
            if self.encode(&state, &which, at) {
                self.page.set(self.encoder.page());
            }
            if sites {
                self.sites_encoded = SitesEncoded { at: Some(Instant::now()), took: began.elapsed() };
            }
        }
    }

    /// Encodes what changed of an account, and tells what the cap leaves out. True if the page changed.
    fn encode(&mut self, state: &AccountState, which: &[Collector], at: DateTime<Utc>) -> bool {
        let name = &state.profile.name;
        let before = self.encoder.dropped(name);
        let changed = self.encoder.refresh(state, which, at);
        let dropped = self.encoder.dropped(name);
        for &collector in &state.profile.collectors {
            let series = dropped.get(&collector).copied().unwrap_or(0);
            self.own.dropped(name, collector, series);
            if series > 0 && before.get(&collector).is_none_or(|&before| before == 0) {
                tracing::warn!(
                    account = %name, collector = collector.as_str(), series,
                    "past metrics.max_series_per_collector: resources with the highest ids are left out of the metrics"
                );
            }
        }
        changed
    }

    fn tick(&mut self) {
        let now = (self.clock)();
        self.decide(&Input::Tick);
        let snapshot = self.snapshot.get();
        let mut changed = false;
        for state in snapshot.accounts.values() {
            // What has become stale goes.
            changed |= self.encode(state, &Collector::ALL, now);
        }
        if changed {
            self.page.set(self.encoder.page());
        }
        self.keep_up(now);
    }

    fn accounts(&mut self, accounts: Accounts) {
        let Accounts { profiles, watchers, mail_writer, digest, metrics } = accounts;
        self.own.select(metrics.selection.clone());
        self.encoder.configure(metrics);
        let names: Vec<AccountName> = self.books.keys().cloned().collect();
        let mut snapshot = (*self.snapshot.get()).clone();
        for name in names.iter().filter(|name| profiles.iter().all(|profile| profile.name != **name)) {
            self.books.remove(name);
            self.encoder.remove(name);
            self.own.remove_account(name);
            snapshot.accounts.remove(name);
        }
        for profile in profiles {
            let name = profile.name.clone();
            self.own.account(&name, &profile.collectors);
            let book = match self.books.remove(&name) {
                Some(book) => book.with_profile(profile),
                None => KnownAccount::new(profile),
            };
            snapshot.accounts.insert(name.clone(), book.publish());
            self.books.insert(name, book);
        }
        for state in snapshot.accounts.values() {
            self.encode(state, &Collector::ALL, (self.clock)());
        }
        self.snapshot.set(snapshot);
        self.page.set(self.encoder.page());
        self.engine.set_watchers(watchers);
        self.mail_writer = mail_writer;
        self.digest = digest;
        // What is no longer watched ends now.
        self.decide(&Input::Tick);
        self.published.show_incidents(&self.engine, (self.clock)());
        self.wake.new_mail();
    }
}

/// Counts a report that does not add up, and says so once until one does.
fn tell_inconsistent(
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
            %account, from = %at.to_rfc3339(),
            "the expected-balance report does not add up; it is shown as reported"
        );
    }
}

/// Polls are told of in the log when something changed, not once a poll.
fn tell_change(
    account: &AccountName,
    collector: Collector,
    before: &CollectorStatus,
    now: &CollectorStatus,
    problems: &[String],
) {
    let name = collector.as_str();
    match (&before.failure, &now.failure) {
        (old, Some(failure)) => {
            // Numbers in a message (ports, seconds) may differ from poll to poll.
            let words = |text: &str| text.replace(|c: char| c.is_ascii_digit(), "");
            let same = old.as_ref().is_some_and(|old| words(&old.message) == words(&failure.message));
            if !same {
                tracing::warn!(%account, collector = name, error = failure.message, "polling fails");
            }
        }
        (Some(_), None) => tracing::info!(%account, collector = name, "polling works again"),
        (None, None) => {}
    }
    if now.success && !now.complete && (before.complete || before.polls == 0) {
        let problems = problems.join("; ");
        tracing::warn!(%account, collector = name, problems, "what was read is not complete");
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
            tell_inconsistent(&account, report, &own, &mut told);
            after.push(told.len());
        }
        assert_eq!(after, [0, 1, 1, 0]);
        let page = String::from_utf8(own.encode(false)).unwrap();
        assert!(page.contains("hostwatch_reports_inconsistent_total{account=\"main\"} 2\n"), "{page}");
    }
}
