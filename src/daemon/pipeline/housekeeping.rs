//! What the pipeline does by the clock: what others wrote into the store, the hourly limit's summary, the
//! digest, the count of polls, and a store whose file fails.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use chrono::{DateTime, Duration, NaiveDate, Utc};
use chrono_tz::Tz;

use super::super::notes::StoreNotes;
use super::super::publish::say_returned;
use super::Pipeline;
use crate::alert::{Digest, DigestAccount, Incident, Notice, Overflow, digest, rate_limit};
use crate::failpoint;
use crate::model::freshness::attempted;
use crate::model::{AccountName, LastReport, OwnVm, lives_on};
use crate::store::{Batch, Polls, Store, StoreError};

/// A digest that is later than this is not sent any more: the next one has it all.
const DIGEST_AT_MOST_LATE: Duration = Duration::hours(24);

/// A store looks for its file this often, and tries it while it runs in memory.
const FILE_EVERY: Duration = Duration::seconds(10);

const PRUNE_EVERY: Duration = Duration::days(1);

/// What housekeeping remembers.
#[derive(Debug, Default)]
pub(in crate::daemon) struct Housekeeping {
    /// Since when the hourly limit keeps something back.
    pub(super) rate_limited_since: Option<DateTime<Utc>>,
    last_summary: Option<DateTime<Utc>>,
    /// Until when digests were decided on.
    digested_until: DateTime<Utc>,
    /// Polls that are not in the store yet: all, failed.
    polls: BTreeMap<AccountName, (u64, u64)>,
    /// Accounts whose last report is not in the store yet.
    pub(super) reports_to_keep: BTreeSet<AccountName>,
    /// The store as others last left it.
    data_version: Option<i64>,
    retry_asked: Option<String>,
    pub(super) store_notes: StoreNotes,
    /// The store refused the last commit; logged once.
    failing: bool,
    /// The watched VM that this machine is.
    home: Option<OwnVm>,
    file_tried: Option<DateTime<Utc>>,
    /// The store's file was deleted or replaced, and is not written anew yet.
    misplaced: bool,
    pruned: Option<DateTime<Utc>>,
    /// Waiting mails about money that were made anew, and on which day of their account.
    pub(super) renewed: BTreeMap<String, NaiveDate>,
}

impl Housekeeping {
    /// Goes on from what the store holds.
    pub(in crate::daemon) fn new(
        store: &Store,
        digested_until: Option<DateTime<Utc>>,
        store_notes: StoreNotes,
        now: DateTime<Utc>,
    ) -> Result<Self, StoreError> {
        Ok(Self {
            rate_limited_since: store.rate_limited_since()?,
            digested_until: digested_until.unwrap_or(now),
            retry_asked: store.retry_asked()?,
            store_notes,
            ..Self::default()
        })
    }

    /// Counts a poll.
    pub(super) fn polled(&mut self, account: &AccountName, success: bool) {
        let counts = self.polls.entry(account.clone()).or_default();
        counts.0 += 1;
        counts.1 += u64::from(!success);
    }

    /// Takes in what a commit changed.
    pub(super) fn committed(&mut self, batch: &Batch, now: DateTime<Utc>) {
        if batch.released.is_some() {
            self.rate_limited_since = None;
            self.last_summary = Some(now);
        }
        if let Some(first) = batch.rate_limited.first() {
            self.rate_limited_since.get_or_insert(first.at);
        }
        if let Some(until) = batch.digested_until {
            self.digested_until = until;
        }
        self.store_notes.told(&batch.mails);
        if !batch.reports.is_empty() {
            self.reports_to_keep.clear();
        }
    }
}

impl Pipeline {
    /// Takes in what somebody else may have written, and sends what is due.
    pub(super) fn check(&mut self) {
        self.last_run.now();
        let now = self.now;
        if self.housekeeping.file_tried.is_none_or(|tried| now - tried >= FILE_EVERY || now < tried) {
            self.housekeeping.file_tried = Some(now);
            self.look_for_file(now);
            self.return_to_file(now);
        }
        let mut result = self.check_store();
        if let Some(count) = self.published.new_back() {
            result = result.and_then(|()| self.replace_overtaken());
            self.published.know_back(count);
        }
        result = result.and_then(|()| self.release_held());
        result = result.and_then(|()| self.send_digests(now));
        self.note_store_result(result);
        if self.published.store_fails() {
            // The sender could not note what it did.
            let fails = StoreError::Content("the sender cannot write".to_owned());
            self.leave_file(&fails);
        }
    }

    /// Once a minute.
    pub(super) fn keep_up(&mut self, now: DateTime<Utc>) {
        self.check_home();
        // Under a clock that nobody has confirmed yet no time is worth noting.
        let is_sure = self.clock.is_sure();
        let noted = if is_sure { self.note_watching(now) } else { Ok(()) };
        let renewed = self.renew_yesterdays();
        let pruned = self.prune(now);
        self.note_store_result(noted.and(renewed).and(pruned).and_then(|()| self.published.show_outbox()));
    }

    /// Notes that it was watched until now, and how polls went.
    pub(super) fn note_watching(&mut self, now: DateTime<Utc>) -> Result<(), StoreError> {
        let polls: Vec<Polls> = std::mem::take(&mut self.housekeeping.polls)
            .into_iter()
            .map(|(account, (polls, failed))| Polls { account, polls, failed })
            .collect();
        let reports = self.reports_to_keep();
        let noted = self.published.store.lock().still_watching(&polls, &reports, now);
        if noted.is_ok() {
            self.housekeeping.reports_to_keep.clear();
        }
        if let Err(error) = &noted {
            for one in polls {
                let counts = self.housekeeping.polls.entry(one.account).or_default();
                counts.0 += one.polls;
                counts.1 += one.failed;
            }
            self.leave_file(error);
        }
        noted
    }

    /// The last reports that the store does not have yet.
    pub(super) fn reports_to_keep(&self) -> Vec<(AccountName, LastReport)> {
        let accounts = self.housekeeping.reports_to_keep.iter();
        let last = accounts.filter_map(|name| {
            let billing = &self.known.get(name)?.state().billing;
            Some((name.clone(), LastReport::of(billing.report.as_deref()?, billing.read_at?)))
        });
        last.collect()
    }

    /// A daemon on one of the VMs that it watches goes down with it, and then mails nobody.
    fn check_home(&mut self) {
        let home = lives_on(&self.snapshot.get(), &self.addresses);
        if home == self.housekeeping.home {
            return;
        }
        if let Some(home) = &home {
            tracing::warn!(
                account = %home.account,
                vm = %home.vm,
                address = %home.address,
                "this machine is one of the watched VMs: when it goes down nobody is mailed; set heartbeat.url so that somebody notices"
            );
        }
        self.published.show_home(home.as_ref());
        self.housekeeping.home = home;
    }

    /// Once a day.
    fn prune(&mut self, now: DateTime<Utc>) -> Result<(), StoreError> {
        if self.housekeeping.pruned.is_some_and(|last| now - last < PRUNE_EVERY && now >= last) {
            return Ok(());
        }
        self.housekeeping.pruned = Some(now);
        let gone = self.published.store.lock().prune(now)?;
        if gone > 0 {
            tracing::info!(rows = gone, "old rows were deleted from the store");
        }
        Ok(())
    }

    /// Takes in what commands wrote, where they wrote.
    pub(super) fn check_store(&mut self) -> Result<(), StoreError> {
        let version = self.published.store.lock().data_version()?;
        let written = self.published.take_written_by_hand();
        if !written && self.housekeeping.data_version == Some(version) {
            return Ok(());
        }
        let now = self.now;
        let (muted, asked) = {
            let store = self.published.store.lock();
            (store.silences(now)?, store.retry_asked()?)
        };
        self.housekeeping.data_version = Some(version);
        if muted != *self.engine.muted() {
            self.engine.set_muted(muted);
            // The end of a silence may be the beginning of a mail.
            self.look_at_time();
            self.published.show_incidents(&self.engine, now);
        }
        if asked != self.housekeeping.retry_asked {
            self.housekeeping.retry_asked = asked;
            // Also of what nothing carries any more.
            self.published.give_up_others(&self.served, now);
            self.sender_signal.retry_now();
        }
        self.published.show_outbox()
    }

    /// The summary of what the hourly limit kept back, once it is due.
    fn release_held(&mut self) -> Result<(), StoreError> {
        let (Some(since), Some(mail_writer)) = (self.housekeeping.rate_limited_since, &self.mail_writer)
        else {
            return Ok(());
        };
        let (max_per_hour, now) = (mail_writer.max_per_hour, self.now);
        let (held, last) = {
            let store = self.published.store.lock();
            let mails = store.mails_since(now - rate_limit::WINDOW)?;
            if !rate_limit::is_due(since, self.housekeeping.last_summary, mails, max_per_hour, now) {
                return Ok(());
            }
            store.rate_limited()?
        };
        let items = held.iter().map(|one| (one.to.as_slice(), one.items.as_slice()));
        let overflow = Overflow { max_per_hour, since };
        let notices = rate_limit::summaries(items, &overflow, |key| self.engine.is_watched(key));
        let batch = Batch { released: last, ..Batch::default() };
        self.send(&notices, batch, now)
    }

    fn send_digests(&mut self, now: DateTime<Utc>) -> Result<(), StoreError> {
        if self.mail_writer.is_none() || !self.engine.is_started() {
            return Ok(());
        }
        let due = self.digests_due(now);
        if due.is_empty() {
            return Ok(());
        }
        let (week, queued, ended) = {
            let store = self.published.store.lock();
            let waiting = |states: &BTreeMap<&'static str, u64>| {
                ["queued", "sending"].iter().filter_map(|state| states.get(state)).sum()
            };
            let since = now - digest::SPAN;
            let queued = waiting(&store.outbox_summary()?.by_state);
            (store.week(since)?, queued, store.incidents_since(since)?)
        };
        let facts = |date: NaiveDate, accounts: &BTreeSet<AccountName>| Digest {
            date,
            from: now - digest::SPAN,
            to: now,
            accounts: accounts
                .iter()
                .map(|name| {
                    let (polls, polls_failed) = week.polls.get(name.as_str()).copied().unwrap_or_default();
                    DigestAccount { name: name.clone(), polls, polls_failed }
                })
                .collect(),
            mails_sent: week.mails_sent,
            mails_dead: week.mails_dead,
            mails_queued: queued,
        };
        let notices = self.engine.digests(&due, &ended, facts, now);
        let batch = Batch { digested_until: Some(now), ..Batch::default() };
        self.send(&notices, batch, now)
    }

    /// Accounts whose digest fell due since the last digest, and the date it has there.
    fn digests_due(&self, now: DateTime<Utc>) -> BTreeMap<AccountName, NaiveDate> {
        let Some(schedule) = &self.digest else { return BTreeMap::new() };
        // Never from what lies ahead: the clock may have been set back.
        let since = self.housekeeping.digested_until.min(now).max(now - DIGEST_AT_MOST_LATE);
        let snapshot = self.snapshot.get();
        if !snapshot.accounts.values().all(|state| attempted(state)) {
            return BTreeMap::new();
        }
        let mut by_zone: HashMap<Tz, Option<NaiveDate>> = HashMap::new();
        let due = snapshot.accounts.iter().filter_map(|(name, state)| {
            let zone = state.profile.zone();
            let date = by_zone.entry(zone).or_insert_with(|| {
                let tick = schedule.next_after(since, zone).filter(|&tick| tick <= now)?;
                Some(tick.with_timezone(&zone).date_naive())
            });
            Some((name.clone(), (*date)?))
        });
        due.collect()
    }

    /// Commits mails that the engine did not decide on.
    fn send(&mut self, notices: &[Notice], mut batch: Batch, now: DateTime<Utc>) -> Result<(), StoreError> {
        let snapshot = self.snapshot.get();
        let threads = self.write_mails(&notices.iter().collect::<Vec<_>>(), &mut batch, &snapshot, now)?;
        self.published.store.lock().commit(&batch, now)?;
        failpoint::reach("committed");
        self.engine.add_threads(threads);
        self.committed(&batch, now);
        Ok(())
    }

    /// Leaves a store file that fails and goes on in memory; false where that would change nothing.
    pub(super) fn leave_file(&mut self, error: &StoreError) -> bool {
        if matches!(error, StoreError::Conflict) {
            return false;
        }
        let known: Vec<Incident> = self.engine.incidents().values().cloned().collect();
        let now = self.now;
        let mut store = self.published.store.lock();
        if store.is_in_memory()
            || store.fall_back(&known, self.engine.muted(), self.engine.is_started(), now).is_err()
        {
            return false;
        }
        drop(store);
        tracing::error!(
            %error,
            "the store cannot be used; incidents and mails go on in memory until it can: free its disk, or end what locks it"
        );
        self.housekeeping.data_version = None;
        // It may have nothing of what the file held.
        self.housekeeping.reports_to_keep.extend(self.known.keys().cloned());
        self.published.store_changed();
        self.sender_signal.new_mail();
        true
    }

    /// Somebody may have deleted the file, or put another in its place; the daemon still has the old one open.
    fn look_for_file(&mut self, now: DateTime<Utc>) {
        let mut store = self.published.store.lock();
        if store.is_in_place() {
            self.housekeeping.misplaced = false;
            return;
        }
        let written = store.write_anew(now);
        drop(store);
        let said = std::mem::replace(&mut self.housekeeping.misplaced, written.is_err());
        match written {
            Ok(None) => {
                tracing::error!("the store's file was deleted; it was written anew, with all that it held");
            }
            Ok(Some(aside)) => {
                let aside = aside.display();
                tracing::error!(
                    %aside,
                    "the store's file was replaced by another; that one was moved aside and the store written anew"
                );
            }
            Err(error) => {
                if !said {
                    tracing::error!(
                        %error,
                        "the store's file was deleted or replaced and cannot be written anew: a restart would lose all since"
                    );
                }
                return;
            }
        }
        self.published.store_changed();
        self.housekeeping.data_version = None;
    }

    fn return_to_file(&mut self, now: DateTime<Utc>) {
        let mut store = self.published.store.lock();
        if !store.is_in_memory() {
            return;
        }
        match store.return_to_file(now) {
            Ok(aside) => {
                say_returned(aside.as_deref());
                if let Some(aside) = aside {
                    self.housekeeping.store_notes.damaged(&aside, self.engine.everybody());
                }
            }
            Err(error) => {
                tracing::debug!(%error, "the store still cannot be used");
                return;
            }
        }
        drop(store);
        self.published.store_changed();
        self.housekeeping.data_version = None;
    }

    /// Logs once that the store fails, and once that it works again.
    pub(super) fn note_store_result(&mut self, result: Result<(), StoreError>) {
        let in_file = !self.published.store.lock().is_in_memory() && !self.housekeeping.misplaced;
        self.published.set_keeps(result.is_ok() && in_file);
        match result {
            Ok(()) if self.housekeeping.failing => {
                self.housekeeping.failing = false;
                tracing::info!("the store saves incidents and mails again");
            }
            Ok(()) => {}
            Err(error) if !self.housekeeping.failing => {
                self.housekeeping.failing = true;
                tracing::error!(%error, "the store cannot save incidents and mails; the next poll tries again");
            }
            Err(_) => {}
        }
    }
}
