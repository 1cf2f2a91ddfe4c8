//! From an input of the engine to one commit: incidents, reasons, rendered mails.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};

use super::super::notes::{address, names, noted};
use super::{Pipeline, story};
use crate::alert::{
    self, Cause, Delivery, Dispatch, Event, Form, Input, Key, Mailbox, Notice, Outcome, rate_limit,
};
use crate::failpoint;
use crate::model::{AccountName, Snapshot, lives_on};
use crate::store::{Batch, RateLimited, StoreError, Unreached};

/// Message-IDs of opening mails: incident, recipient, id.
pub(super) type Threads = Vec<(Key, String, String)>;

impl Pipeline {
    /// Asks the engine, and keeps what it decides: incidents and mails in one commit.
    pub(super) fn decide(&mut self, input: &Input) {
        let result = self.decide_repeatedly(input);
        let result = match result {
            // Without its file the store goes on in memory: an alert must not wait for a disk.
            Err(error) if self.leave_file(&error) => self.decide_repeatedly(input),
            other => other,
        };
        self.note_store_result(result);
    }

    /// Decides what time alone makes news of.
    pub(super) fn look_at_time(&mut self) {
        self.decide(&Input::Tick(Delivery::default()));
    }

    fn decide_repeatedly(&mut self, input: &Input) -> Result<(), StoreError> {
        // A mail to be withdrawn may be claimed between the question and the commit; then ask again.
        for _ in 0..5 {
            match self.decide_once(input) {
                Err(StoreError::Conflict) => {}
                result => return result,
            }
        }
        Err(StoreError::Conflict)
    }

    fn decide_once(&mut self, input: &Input) -> Result<(), StoreError> {
        let now = self.now;
        let snapshot = self.snapshot.get();
        let outcome = match input {
            // Asked at each try: what waited may be on its way by now.
            Input::Tick(_) => {
                let delivery = self.delivery(&snapshot, now)?;
                self.recipients_may_be_new &= delivery.missed.iter().any(|missed| missed.refused.is_none());
                self.engine.step(&Input::Tick(delivery), &snapshot, now)
            }
            Input::Poll { .. } => self.engine.step(input, &snapshot, now),
        };
        if outcome.is_empty() {
            let turned = outcome.turned();
            self.engine.commit(outcome, Vec::new());
            self.show_incidents_of(turned.iter(), now);
            return Ok(());
        }
        failpoint::reach("decided");
        let (batch, threads) = self.batch(&outcome, &snapshot, now)?;
        self.published.store.lock().commit(&batch, now)?;
        failpoint::reach("committed");
        story::tell(self.engine.incidents(), &batch);
        let turned = outcome.turned();
        self.engine.commit(outcome, threads);
        self.committed(&batch, now);
        self.show_incidents_of(turned.iter(), now);
        Ok(())
    }

    /// What follows a commit: the sender is signalled and the view shows it. Nothing in here undoes it.
    pub(super) fn committed(&mut self, batch: &Batch, now: DateTime<Utc>) {
        self.housekeeping.committed(batch, now);
        if !batch.mails.is_empty() {
            failpoint::reach("waking-sender");
            self.sender_signal.new_mail();
            // What cannot be shown is kept all the same: deciding again would count one reading twice.
            if let Err(error) = self.published.show_outbox() {
                tracing::error!(%error, "the outbox cannot be shown");
            }
        }
        self.show_incidents_of(batch.incidents.iter().map(|incident| &incident.key), now);
    }

    /// Shows the accounts of these incidents as they stand.
    fn show_incidents_of<'a>(&self, keys: impl Iterator<Item = &'a Key>, now: DateTime<Utc>) {
        let accounts: BTreeSet<&AccountName> = keys.map(|key| &key.account).collect();
        if !accounts.is_empty() {
            self.published.show_incidents_of(&accounts, &self.engine, now);
        }
    }

    fn batch(
        &mut self,
        outcome: &Outcome,
        snapshot: &Snapshot,
        now: DateTime<Utc>,
    ) -> Result<(Batch, Threads), StoreError> {
        let mut batch = Batch {
            incidents: outcome.incidents.clone(),
            decisions: outcome.decisions.clone(),
            started: outcome.started,
            reports: self.reports_to_keep(),
            ..Batch::default()
        };
        let (mut threads, notices) = self.withdraw(self.dispatch(outcome)?, &mut batch, snapshot, now)?;
        let (limited, free): (Vec<&Notice>, Vec<&Notice>) =
            notices.iter().partition(|notice| rate_limit::applies(notice));
        // What follows from an incident whose own mail is held back waits with it.
        let held = self.held()?;
        let follows = |notice: &&Notice| {
            notice.form == Form::Covered && notice.items.iter().any(|item| held.contains(&item.key))
        };
        let (following, mut due): (Vec<&Notice>, Vec<&Notice>) = free.into_iter().partition(follows);
        batch.rate_limited.extend(following.into_iter().map(|notice| hold(notice, now)));
        if !limited.is_empty() {
            let room = self.room(now)?;
            let fits = limited.len().min(room);
            due.extend(&limited[..fits]);
            for notice in &limited[fits..] {
                for item in &notice.items {
                    batch.decisions.push((item.key.clone(), Cause::HourlyLimit.into()));
                }
                batch.rate_limited.push(hold(notice, now));
            }
        }
        threads.extend(self.write_mails(&due, &mut batch, snapshot, now)?);
        Ok((batch, threads))
    }

    /// Incidents of which a mail is held back.
    pub(super) fn held(&self) -> Result<BTreeSet<Key>, StoreError> {
        if self.housekeeping.rate_limited_since.is_none() {
            return Ok(BTreeSet::new());
        }
        let (held, _) = self.published.store.lock().rate_limited()?;
        Ok(held.into_iter().flat_map(|held| held.items).map(|item| item.key).collect())
    }

    /// Incidents of which no mail arrived, and that somebody can be told of by now: a recipient is another, mail gets
    /// through again, or enough time has passed to try.
    fn unheard(&self, now: DateTime<Utc>) -> Vec<Key> {
        let unheard = self.published.store.lock().unheard().unwrap_or_default();
        let is_reachable = |one: Option<&Unreached>| {
            one.is_none_or(|one| !one.waits && alert::tries_again(&one.given_up, now))
        };
        let is_due = |key: &Key, unreached: &BTreeMap<String, Unreached>| {
            self.engine.recipients(key).iter().any(|to| is_reachable(unreached.get(&address(to))))
        };
        unheard.into_iter().filter(|(key, unreached)| is_due(key, unreached)).map(|(key, _)| key).collect()
    }

    fn delivery(&self, snapshot: &Snapshot, now: DateTime<Utc>) -> Result<Delivery, StoreError> {
        let unheard = self.unheard(now);
        let missed = self.missed(now)?;
        let coming_back = self.engine.coming_back(snapshot);
        let store = self.published.store.lock();
        let heard = |(key, episode): (Key, u32)| Ok((key.clone(), store.heard_back(&key, episode)?));
        let back = coming_back.into_iter().map(heard).collect::<Result<_, StoreError>>()?;
        Ok(Delivery { unheard, back, missed })
    }

    /// Fits what is to be told to what waits in the outbox.
    fn dispatch(&self, outcome: &Outcome) -> Result<Dispatch, StoreError> {
        let Outcome { notices, goes_on, .. } = outcome;
        if notices.is_empty() && goes_on.is_empty() {
            return Ok(Dispatch::default());
        }
        Ok(alert::dispatch(notices.clone(), goes_on, &self.mailbox(notices)?))
    }

    /// What waits, and who heard of what these would end.
    pub(super) fn mailbox(&self, notices: &[Notice]) -> Result<Mailbox, StoreError> {
        let items = || notices.iter().flat_map(|notice| &notice.items);
        let known = self
            .engine
            .everybody()
            .into_iter()
            .chain(items().flat_map(|item| item.threads.keys().map(String::as_str)));
        let by_address: BTreeMap<String, &str> = known.map(|to| (address(to), to)).collect();
        let as_configured = |to: String| by_address.get(&to).map_or(to, |&to| to.to_owned());
        let store = self.published.store.lock();
        let mut mailbox = Mailbox { waiting: store.waiting()?, ..Mailbox::default() };
        for mail in &mut mailbox.waiting {
            mail.to = as_configured(std::mem::take(&mut mail.to));
        }
        for item in items().filter(|item| item.event.is_end() || matches!(item.event, Event::Reminder(_))) {
            let heard = store.heard(&item.key, item.episode)?;
            let heard = heard.into_iter().map(|(to, heard)| (as_configured(to), heard)).collect();
            mailbox.heard.insert((item.key.clone(), item.episode), heard);
        }
        Ok(mailbox)
    }

    /// Withdraws what is outdated; what is left of it is written anew. Returns what goes out besides.
    pub(super) fn withdraw(
        &mut self,
        dispatch: Dispatch,
        batch: &mut Batch,
        snapshot: &Snapshot,
        now: DateTime<Utc>,
    ) -> Result<(Threads, Vec<Notice>), StoreError> {
        let Dispatch { notices, withdraw, remake } = dispatch;
        for incident in &mut batch.incidents {
            incident.threads.retain(|to, id| !withdraw.contains(&(id.clone(), to.clone())));
        }
        batch.withdraw = withdraw.into_iter().map(|(id, to)| (id, address(&to))).collect();
        let mut threads = Vec::new();
        for remake in &remake {
            threads.extend(self.make_anew(remake, batch, snapshot, now)?);
        }
        Ok((threads, notices))
    }

    /// How many more mails the hourly limit allows. While something is held everything joins it: what
    /// came first is told first.
    fn room(&self, now: DateTime<Utc>) -> Result<usize, StoreError> {
        let Some(mail_writer) = &self.mail_writer else { return Ok(usize::MAX) };
        if self.housekeeping.rate_limited_since.is_some() {
            return Ok(0);
        }
        let sent = self.published.store.lock().mails_since(now - rate_limit::WINDOW)?;
        Ok(mail_writer.max_per_hour.saturating_sub(sent) as usize)
    }

    /// Renders notices into a batch, and their threads into its incidents.
    pub(super) fn write_mails(
        &mut self,
        notices: &[&Notice],
        batch: &mut Batch,
        snapshot: &Snapshot,
        now: DateTime<Utc>,
    ) -> Result<Threads, StoreError> {
        let mut threads = Vec::new();
        let Some(mail_writer) = self.mail_writer.as_ref().filter(|_| !notices.is_empty()) else {
            return Ok(threads);
        };
        let mut given_up = self.published.store.lock().given_up(&batch.withdraw)?;
        let home = lives_on(snapshot, &self.addresses);
        let clock =
            self.clock.difference().filter(|(_, decides)| *decides).map(|(words, _)| format!("{words}."));
        for notice in notices {
            for mut part in noted(notice, &self.housekeeping.store_notes, &given_up) {
                part.notes.extend(clock.clone());
                for notice in mail_writer.by_way(&part.notice) {
                    let mail = match mail_writer.write(&notice, snapshot, &part.notes, home.as_ref(), now) {
                        Ok(mail) => mail,
                        Err(error) => {
                            let to = notice.to.join(", ");
                            tracing::error!(%error, to, "no mail can be made of a notice");
                            continue;
                        }
                    };
                    batch.named.extend(names(&mut given_up, &part.names, &mail));
                    threads.extend(mail_writer.threads(&notice, &mail));
                    batch.mails.push(mail);
                }
            }
        }
        // By key: one mail may tell of twenty thousand.
        let known = batch.incidents.iter().enumerate().map(|(at, incident)| (incident.key.clone(), at));
        let mut places: BTreeMap<Key, usize> = known.collect();
        for (key, to, id) in &threads {
            let at = places.get(key).copied().or_else(|| {
                // Mailed in a summary, long after it was decided on.
                batch.incidents.push(self.engine.incidents().get(key)?.clone());
                places.insert(key.clone(), batch.incidents.len() - 1);
                Some(batch.incidents.len() - 1)
            });
            if let Some(at) = at {
                batch.incidents[at].threads.insert(to.clone(), id.clone());
            }
        }
        Ok(threads)
    }
}

fn hold(notice: &Notice, at: DateTime<Utc>) -> RateLimited {
    RateLimited { at, to: notice.to.clone(), items: notice.items.clone() }
}
