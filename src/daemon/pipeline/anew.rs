//! Mails that wait, and are made anew: what was decided meanwhile takes their place, what is left of them goes on, and what
//! they say of money is of the day on which they leave.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};

use super::super::notes::address;
use super::Pipeline;
use super::decide::Threads;
use crate::alert::{self, Dispatch, Event, Key, Kind, Notice, Remake, Stage, Waiting};
use crate::model::Snapshot;
use crate::store::{Batch, Made, Overtaking, StoreError};

impl Pipeline {
    /// What was decided while an older mail was on its way takes its place, where that came back undelivered.
    pub(super) fn replace_overtaken(&mut self) -> Result<(), StoreError> {
        let overtaking = self.published.store.lock().overtaking()?;
        for (message_id, overtaking) in overtaking {
            match self.replace_older(&message_id, &overtaking) {
                // It is on its way again: whatever comes of that is looked at then.
                Err(StoreError::Conflict) => {}
                result => result?,
            }
        }
        Ok(())
    }

    /// Writes a waiting mail anew for some, as if it were decided now: without the older ones that it takes the place of.
    fn replace_older(&mut self, message_id: &str, overtaking: &Overtaking) -> Result<(), StoreError> {
        let (now, snapshot) = (self.now, self.snapshot.get());
        let made = self.published.store.lock().made(message_id)?;
        let Some(Made { notice, created_at }) = made.filter(|made| !made.notice.form.is_overview()) else {
            return Ok(());
        };
        let gets_older = |to: &&String| overtaking.to.contains(&address(to));
        let to: Vec<String> = notice.to.iter().filter(gets_older).cloned().collect();
        let keys: Vec<Key> = notice.items.iter().map(|item| item.key.clone()).collect();
        let as_it_is = Notice { to: to.clone(), ..notice };
        let mut mailbox = self.mailbox(std::slice::from_ref(&as_it_is))?;
        mailbox.waiting.retain(|mail| mail.message_id != message_id || !to.contains(&mail.to));
        // What was decided in the same step, or later, is not replaced by it.
        let others = mailbox.waiting.iter_mut().filter(|mail| !overtaking.older.contains(&mail.message_id));
        others.for_each(|mail| mail.stage = Stage::BeingSent);
        mailbox.heard.values_mut().for_each(|heard| heard.retain(|one, _| to.contains(one)));
        let mut dispatch = alert::dispatch(vec![as_it_is.clone()], &BTreeSet::new(), &mailbox);
        let told = |notices: &[Notice]| -> BTreeSet<(Key, Event)> {
            let items = notices.iter().flat_map(|notice| &notice.items);
            items.map(|item| (item.key.clone(), item.event.clone())).collect()
        };
        if dispatch.withdraw.is_empty() && told(&dispatch.notices) == told(&[as_it_is]) {
            return Ok(());
        }
        dispatch.withdraw.extend(to.into_iter().map(|to| (message_id.to_owned(), to)));
        let incidents = keys.iter().filter_map(|key| self.engine.incidents().get(key).cloned());
        let mut batch = Batch { incidents: incidents.collect(), ..Batch::default() };
        let (mut threads, notices) = self.withdraw(dispatch, &mut batch, &snapshot, now)?;
        let before = batch.mails.len();
        threads.extend(self.write_mails(&notices.iter().collect::<Vec<_>>(), &mut batch, &snapshot, now)?);
        batch.mails[before..].iter_mut().for_each(|mail| mail.created_at = created_at);
        self.commit_anew(&batch, threads, now)
    }

    fn commit_anew(&mut self, batch: &Batch, threads: Threads, now: DateTime<Utc>) -> Result<(), StoreError> {
        self.published.store.lock().commit(batch, now)?;
        self.engine.renew(batch.incidents.clone());
        self.engine.add_threads(threads);
        self.committed(batch, now);
        Ok(())
    }

    /// Mails about money that wait since an earlier day of their account are made anew: what to pay, by when, and how many days
    /// are left is as of the day on which they leave.
    pub(super) fn renew_yesterdays(&mut self) -> Result<(), StoreError> {
        // What is known may be out of date: paid meanwhile, or cut off.
        if self.is_looking() || !self.clock.is_sure() {
            return Ok(());
        }
        let is_of_money = |mail: &Waiting| {
            let mut kinds = mail.incidents.iter().map(|key| key.kind);
            mail.stage == Stage::NotArrived
                && mail.can_be_remade
                && kinds.any(|kind| kind == Kind::Disconnect)
        };
        let waiting = self.published.store.lock().waiting()?;
        let mut by_mail: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for mail in waiting.into_iter().filter(is_of_money) {
            by_mail.entry(mail.message_id).or_default().insert(mail.to);
        }
        self.housekeeping.renewed.retain(|message_id, _| by_mail.contains_key(message_id));
        for (message_id, to) in by_mail {
            match self.renew(&message_id, &to) {
                // It is on its way.
                Err(StoreError::Conflict) => {}
                result => result?,
            }
        }
        Ok(())
    }

    /// `to`: bare addresses.
    fn renew(&mut self, message_id: &str, to: &BTreeSet<String>) -> Result<(), StoreError> {
        let (now, snapshot) = (self.now, self.snapshot.get());
        let Some(made) = self.published.store.lock().made(message_id)? else { return Ok(()) };
        let account = made.notice.accounts.first().and_then(|name| snapshot.accounts.get(name));
        let Some(zone) = account.map(|state| state.profile.zone()) else { return Ok(()) };
        let day = |at: DateTime<Utc>| at.with_timezone(&zone).date_naive();
        let made_on = self.housekeeping.renewed.get(message_id).copied().unwrap_or(day(made.created_at));
        if made_on >= day(now) {
            return Ok(());
        }
        let to: Vec<String> = made.notice.to.into_iter().filter(|one| to.contains(&address(one))).collect();
        let keys = made.notice.items.iter().map(|item| &item.key);
        let incidents = keys.filter_map(|key| self.engine.incidents().get(key).cloned()).collect();
        let withdraw = to.iter().map(|to| (message_id.to_owned(), to.clone())).collect();
        let remake = Remake { message_id: message_id.to_owned(), to, without: BTreeSet::new() };
        let dispatch = Dispatch { withdraw, remake: vec![remake], ..Dispatch::default() };
        let mut batch = Batch { incidents, ..Batch::default() };
        let (threads, _) = self.withdraw(dispatch, &mut batch, &snapshot, now)?;
        let anew = batch.mails.iter().map(|mail| (mail.message_id.clone(), day(now)));
        self.housekeeping.renewed.extend(anew);
        self.commit_anew(&batch, threads, now)
    }

    /// A waiting mail as a new one that leaves out what newer mails speak of. Its recipient waits since the first.
    pub(super) fn make_anew(
        &mut self,
        remake: &Remake,
        batch: &mut Batch,
        snapshot: &Snapshot,
        now: DateTime<Utc>,
    ) -> Result<Threads, StoreError> {
        let made = self.published.store.lock().made(&remake.message_id)?;
        let Some(Made { notice, created_at }) = made else { return Ok(Vec::new()) };
        let Some(notice) = alert::remainder(notice, remake) else { return Ok(Vec::new()) };
        let notice = self.engine.as_known(notice, &batch.incidents);
        let notices = self.engine.counted_anew(notice, &batch.incidents, snapshot, now);
        let before = batch.mails.len();
        let threads = self.write_mails(&notices.iter().collect::<Vec<_>>(), batch, snapshot, now)?;
        for mail in &mut batch.mails[before..] {
            mail.created_at = created_at;
        }
        Ok(threads)
    }
}
