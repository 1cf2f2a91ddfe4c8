//! From readings and time to incidents, and from incidents to mails that are owed. The engine takes readings
//! in, the notification log compares, and both are stored in one transaction.

use std::collections::{BTreeMap, BTreeSet};

use super::super::mails::MailWriter;
use super::{Pipeline, story};
use crate::alert::{Engine, Key, Stand};
use crate::failpoint;
use crate::model::{AccountName, Collector, Observed};
use crate::store::StoreError;

/// The facts that the log is compared with. This is a macro because it borrows fields, so that the log can be
/// changed.
macro_rules! facts {
    ($pipeline:expr, $snapshot:expr) => {
        crate::alert::Facts::new(
            &$pipeline.engine,
            $snapshot,
            &$pipeline.muted,
            $pipeline.max_per_hour(),
            $pipeline.now,
        )
    };
}
pub(super) use facts;

impl Pipeline {
    pub(super) fn max_per_hour(&self) -> usize {
        self.mail_writer.as_ref().map_or(usize::MAX, |writer: &MailWriter| writer.max_per_hour)
    }

    /// Takes in readings that are already in the snapshot, and the end of a poll.
    pub(super) fn take_readings(
        &mut self,
        account: &AccountName,
        observed: &[Observed],
        ended: Option<Collector>,
    ) {
        let snapshot = self.common.snapshot.get();
        let was_known = self.engine.knows(account);
        let arrived = |engine: &Engine| engine.cut_offs.get(account).and_then(|one| one.arrived);
        let before = arrived(&self.engine);
        self.engine.poll(account, observed, ended, &snapshot, self.now);
        if arrived(&self.engine) != before {
            story::tell_payment(account, &snapshot);
        }
        let changed = self.engine.take_changed();
        let facts = facts!(self, &snapshot);
        self.log.note_reading(changed.keys().cloned(), &facts);
        self.settle_step(&changed);
        if self.engine.knows(account) != was_known {
            self.export_incidents_of(account);
        }
    }

    /// Takes in the time: compares all incidents.
    pub(super) fn look_at_time(&mut self) {
        let snapshot = self.common.snapshot.get();
        self.engine.tick(&snapshot, self.now);
        let changed = self.engine.take_changed();
        let facts = facts!(self, &snapshot);
        self.log.note_all(&facts);
        self.settle_step(&changed);
    }

    /// Stores a step, shows it, and hands over the mails that are due.
    fn settle_step(&mut self, changed: &BTreeMap<Key, Stand>) {
        failpoint::reach("decided");
        let committed = self.commit();
        self.note_store_result(committed);
        failpoint::reach("committed");
        story::tell(changed, &self.engine);
        self.show_incidents_of(&changed.keys().map(|key| key.account.clone()).collect());
        self.dispatch();
    }

    /// Writes all changes, with the bytes of mails that are on their way from now on.
    pub(super) fn commit(&mut self) -> Result<(), StoreError> {
        if self.engine.is_saved() && self.log.is_saved() {
            return Ok(());
        }
        self.note_watching()
    }

    /// The same, and that the daemon watched until now.
    pub(super) fn note_watching(&mut self) -> Result<(), StoreError> {
        self.save().or_else(|error| self.leave_file(error))
    }

    pub(super) fn save(&mut self) -> Result<(), StoreError> {
        let reports = self.reports_to_keep();
        let (mut store, flying) = (self.common.store.lock(), &self.senders.flying);
        store.save(&self.engine, &self.log, flying, &reports, self.now)?;
        self.engine.saved();
        self.log.saved();
        self.housekeeping.reports_to_keep.clear();
        Ok(())
    }

    /// Has the collectors of these accounts poll soon while their next readings decide something.
    fn await_readings(&self, accounts: &BTreeSet<AccountName>) {
        let snapshot = self.common.snapshot.get();
        let watched = accounts.iter().filter_map(|account| snapshot.accounts.get_key_value(account));
        for (account, state) in watched {
            self.common.polls.awaits(account, self.engine.awaited(state, self.now));
        }
    }

    /// Shows the incidents of all accounts.
    pub(super) fn show_incidents(&mut self) {
        let of_incidents = self.engine.incidents.keys().map(|key| &key.account);
        let all = of_incidents.chain(self.known.keys()).cloned().collect();
        self.show_incidents_of(&all);
    }

    pub(super) fn show_incidents_of(&mut self, accounts: &BTreeSet<AccountName>) {
        if !accounts.is_empty() {
            let snapshot = self.common.snapshot.get();
            self.common.show_incidents(accounts, &self.log, &facts!(self, &snapshot));
            self.await_readings(accounts);
            accounts.iter().for_each(|account| self.export_incidents_of(account));
        }
    }

    /// The next page shows the incidents of an account, if it is watched.
    fn export_incidents_of(&mut self, account: &AccountName) {
        let is_watched = self.known.contains_key(account);
        if is_watched && self.encoder.set_incidents(account, self.engine.exported(account, self.now)) {
            self.not_encoded.entry(account.clone()).or_default();
        }
    }
}
