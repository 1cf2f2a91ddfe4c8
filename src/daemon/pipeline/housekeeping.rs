//! The pipeline's work by the clock: people's decisions, the digest, and a store whose file fails.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use chrono::{DateTime, Duration, NaiveDate, Utc};
use chrono_tz::Tz;

use super::{Pipeline, story};
use crate::alert::{Digest, Engine};
use crate::model::freshness::attempted;
use crate::model::{AccountName, LastReport, lives_on};
use crate::store::{KEEP_INCIDENTS, Store, StoreError};

/// A digest is not made if it would be later than this. The next one covers its time, too.
const DIGEST_AT_MOST_LATE: Duration = Duration::hours(24);
/// The time that the first digest covers.
const DIGEST_COVERS: Duration = Duration::days(7);

/// How often the store looks for its file, and tries to leave memory.
const FILE_EVERY: Duration = Duration::seconds(10);

const PRUNE_EVERY: Duration = Duration::days(1);

/// The state of housekeeping.
#[derive(Debug, Default)]
pub(in crate::daemon) struct Housekeeping {
    /// The time until which digests were decided.
    digested_until: DateTime<Utc>,
    /// The end of each account's last digest.
    digests: BTreeMap<AccountName, DateTime<Utc>>,
    /// Accounts whose last report is not in the store yet.
    pub(super) reports_to_keep: BTreeSet<AccountName>,
    /// The store refused the last commit. This is logged once.
    failing: bool,
    file_tried: Option<DateTime<Utc>>,
    pruned: Option<DateTime<Utc>>,
    /// The last time that a server took a mail.
    pub(super) last_sent: Option<DateTime<Utc>>,
}

impl Housekeeping {
    /// Continues from the contents of the store.
    pub(in crate::daemon) fn new(
        store: &Store,
        digests_from: Option<DateTime<Utc>>,
        digests: BTreeMap<AccountName, DateTime<Utc>>,
        now: DateTime<Utc>,
    ) -> Result<Self, StoreError> {
        let digested_until = digests.values().copied().max().or(digests_from).unwrap_or(now);
        Ok(Self { digested_until, digests, last_sent: store.last_sent()?, ..Self::default() })
    }
}

impl Pipeline {
    /// Sends what is due. False if the store's file was deleted, or another file took its place.
    pub(super) fn check(&mut self) -> bool {
        self.last_run.now();
        let (now, mut has_its_file) = (self.now, true);
        if self.housekeeping.file_tried.is_none_or(|tried| now - tried >= FILE_EVERY || now < tried) {
            self.housekeeping.file_tried = Some(now);
            if let Err(error) = self.common.return_to_file(now) {
                tracing::debug!(%error, "the store still cannot be used");
            }
            has_its_file = self.common.store.lock().is_in_place();
        }
        let result = self.owe_digests(now);
        self.note_store_result(result);
        self.dispatch();
        has_its_file
    }

    /// The work of each minute.
    pub(super) fn keep_up(&mut self, now: DateTime<Utc>) {
        self.check_home();
        // An uncertain clock gives no time that is worth noting.
        let is_sure = self.common.clock.is_sure();
        let noted = if is_sure { self.note_watching() } else { Ok(()) };
        let pruned = self.prune(now);
        let written = noted.and(pruned).and_then(|()| self.common.store.lock().write_journal_into_file());
        self.note_store_result(written);
    }

    /// The last reports that are not in the store yet.
    pub(super) fn reports_to_keep(&self) -> Vec<(AccountName, LastReport)> {
        let accounts = self.housekeeping.reports_to_keep.iter();
        let last = accounts.filter_map(|name| {
            let billing = &self.known.get(name)?.state().billing;
            Some((name.clone(), LastReport::of(billing.report.as_deref()?, billing.read_at?)))
        });
        last.collect()
    }

    /// Notes whether this machine is a watched VM: if that VM goes down, the daemon mails nobody.
    fn check_home(&mut self) {
        let home = lives_on(&self.common.snapshot.get(), &self.addresses);
        let words = home.as_ref().map(|home| {
            let name = home.vm_name.as_deref().unwrap_or_default();
            format!("VM {} \"{name}\" of account {}", home.vm, home.account)
        });
        if words == self.common.alerting.get().mails.lives_on {
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
        self.common.show(|shown| shown.mails.lives_on = words);
    }

    /// The work of each day.
    fn prune(&mut self, now: DateTime<Utc>) -> Result<(), StoreError> {
        if self.housekeeping.pruned.is_some_and(|last| now - last < PRUNE_EVERY && now >= last) {
            return Ok(());
        }
        self.housekeeping.pruned = Some(now);
        self.engine.forget_before(now - KEEP_INCIDENTS);
        let gone = self.common.store.lock().prune(now)?;
        if gone > 0 {
            tracing::info!(rows = gone, "old rows were deleted from the store");
        }
        Ok(())
    }

    /// Takes in people's decisions. Commands that do not reach the control socket write them into the store.
    pub(super) fn take_decisions(&mut self) -> Result<(), StoreError> {
        let muted = self.common.store.lock().silences(self.now)?;
        if muted != self.muted {
            story::tell_decisions(&self.muted, &muted, &self.engine);
            self.muted = muted;
            // The end of a silence may make a mail due.
            self.look_at_time();
            self.show_incidents();
        }
        Ok(())
    }

    /// Owes each recipient the digest of those of its accounts for which it fell due, at most once a day of the account.
    fn owe_digests(&mut self, now: DateTime<Utc>) -> Result<(), StoreError> {
        if self.mail_writer.is_none() || !self.log.is_started() {
            return Ok(());
        }
        // The clock may have been set back.
        self.housekeeping.digested_until = self.housekeeping.digested_until.min(now);
        let mut due = self.digests_due(now);
        if due.is_empty() {
            return Ok(());
        }
        let Housekeeping { digests, digested_until, .. } = &self.housekeeping;
        due.retain(|account, date| {
            let zone = self.known.get(account).map(|known| known.state().profile.zone());
            let last = digests.get(account).zip(zone);
            last.is_none_or(|(until, zone)| until.with_timezone(&zone).date_naive() != *date)
        });
        let mut by_recipient: BTreeMap<&String, Vec<(&AccountName, NaiveDate)>> = BTreeMap::new();
        let mut from = now;
        for (account, date) in &due {
            let until = *digests.get(account).unwrap_or(digested_until);
            from = from.min(if until < now { until } else { now - DIGEST_COVERS });
            let to = self.engine.watchers().get(account).into_iter().flat_map(|watcher| &watcher.to);
            to.for_each(|to| by_recipient.entry(to).or_default().push((account, *date)));
        }
        for (to, accounts) in by_recipient {
            let date = accounts.iter().map(|(_, date)| *date).max().unwrap_or_default();
            let accounts = accounts.iter().map(|(name, _)| (*name).clone()).collect();
            self.log.owe_digest(to, Digest { date, from, to: now, accounts });
        }
        self.commit()?;
        self.housekeeping.digested_until = now;
        self.housekeeping.digests.extend(due.into_keys().map(|account| (account, now)));
        self.dispatch();
        Ok(())
    }

    /// The accounts for which a digest fell due since the last one, with the date there.
    fn digests_due(&self, now: DateTime<Utc>) -> BTreeMap<AccountName, NaiveDate> {
        let Some(schedule) = &self.digest else { return BTreeMap::new() };
        let since = self.housekeeping.digested_until.max(now - DIGEST_AT_MOST_LATE);
        let snapshot = self.common.snapshot.get();
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

    /// Leaves a store file that fails, and writes all changes in memory.
    ///
    /// # Errors
    /// The same error, if the store is in memory already.
    pub(super) fn leave_file(&mut self, error: StoreError) -> Result<(), StoreError> {
        let left = self.common.store.lock().fall_back(self.now);
        let Ok(was_read) = left else { return Err(error) };
        tracing::error!(
            %error,
            "the store cannot be used; incidents and mails go on in memory until it can: free its disk, or end what locks it"
        );
        if !was_read {
            self.log.lose_bytes(|place| self.senders.flying.contains_key(place));
            if let Err(lost) = self.common.store.lock().decided(&self.muted) {
                tracing::warn!(error = %lost, "acknowledgements and silences are lost");
            }
        }
        self.engine.write_all();
        self.log.write_all();
        // The new store may lack everything that the file held.
        self.housekeeping.reports_to_keep.extend(self.known.keys().cloned());
        self.save()
    }

    /// Logs once that the store fails, and once that it works again.
    pub(super) fn note_store_result(&mut self, result: Result<(), StoreError>) {
        let in_file = !self.common.store.lock().is_in_memory();
        let fails = result.is_err() || !in_file;
        if self.common.alerting.get().store_fails != fails {
            self.common.show(|shown| shown.store_fails = fails);
        }
        self.common.own.store_usable(!fails);
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

/// The accounts that write to this recipient.
pub(super) fn writers_to<'a>(engine: &'a Engine, to: &'a str) -> impl Iterator<Item = &'a AccountName> {
    let watchers = engine.watchers().iter();
    watchers.filter(move |(_, watcher)| watcher.everybody().any(|one| one == to)).map(|(account, _)| account)
}
