//! From an input of the engine to one commit: incidents, reasons, rendered mails.

use chrono::{DateTime, Utc};

use super::super::notes::concerns;
use super::Pipeline;
use crate::alert::{Cause, Input, Key, Notice, Outcome, rate_limit};
use crate::failpoint;
use crate::model::{Snapshot, lives_on};
use crate::store::{Batch, RateLimited, StoreError};

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
        self.store_said(result);
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
        let now = (self.clock)();
        let snapshot = self.snapshot.get();
        let unsent = self.published.store.lock().unsent()?;
        let outcome = self.engine.step(input, &snapshot, &unsent, now);
        if outcome.is_empty() {
            self.engine.commit(outcome, Vec::new());
            return Ok(());
        }
        failpoint::reach("decided");
        let (batch, threads) = self.batch(&outcome, &snapshot, now)?;
        self.published.store.lock().commit(&batch, now)?;
        failpoint::reach("committed");
        for (key, reason) in &batch.decisions {
            tracing::info!(incident = %key, reason = reason.to_string(), "decided");
        }
        self.engine.commit(outcome, threads);
        self.committed(&batch, now);
        Ok(())
    }

    /// What follows a commit: the sender is called and the view shows it. Nothing in here undoes it.
    pub(super) fn committed(&mut self, batch: &Batch, now: DateTime<Utc>) {
        self.housekeeping.took(batch, now);
        if !batch.mails.is_empty() {
            failpoint::reach("waking-sender");
            self.wake.new_mail();
            // What cannot be shown is kept all the same: deciding again would count one reading twice.
            if let Err(error) = self.published.show_outbox() {
                tracing::error!(%error, "the outbox cannot be shown");
            }
        }
        self.published.show_incidents(&self.engine, now);
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
            withdraw: outcome.withdraw.clone(),
            started: outcome.started,
            ..Batch::default()
        };
        let (capped, free): (Vec<&Notice>, Vec<&Notice>) =
            outcome.notices.iter().partition(|notice| rate_limit::applies(&notice.form));
        let mut notices = free;
        if !capped.is_empty() {
            let room = self.room(now)?;
            let fits = capped.len().min(room);
            notices.extend(&capped[..fits]);
            for notice in &capped[fits..] {
                for item in &notice.items {
                    batch.decisions.push((item.key.clone(), Cause::HourlyLimit.into()));
                }
                batch.rate_limited.push(RateLimited {
                    at: now,
                    to: notice.to.clone(),
                    items: notice.items.clone(),
                });
            }
        }
        let threads = self.write_mails(&notices, &mut batch, snapshot, now)?;
        Ok((batch, threads))
    }

    /// How many more mails the hourly cap allows. While something is held everything joins it: what
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
        let given_up = self.published.store.lock().unreported()?;
        let home = lives_on(snapshot, &self.addresses);
        for (notice, mut notes) in
            notices.iter().flat_map(|notice| self.housekeeping.store_notes.split(notice))
        {
            let named: Vec<_> = given_up.iter().filter(|mail| concerns(mail, &notice)).collect();
            notes.extend(
                named
                    .iter()
                    .map(|mail| format!("A mail to {} had to be given up: {}", mail.recipient, mail.error)),
            );
            let mail = match mail_writer.write(&notice, snapshot, &notes, home.as_ref(), now) {
                Ok(mail) => mail,
                Err(error) => {
                    tracing::error!(%error, to = notice.to.join(", "), "no mail can be made of a notice");
                    continue;
                }
            };
            batch.reported.extend(named.iter().map(|mail| mail.envelope));
            threads.extend(mail_writer.threads(&notice, &mail));
            batch.mails.push(mail);
        }
        for (key, to, id) in &threads {
            let known = batch.incidents.iter().position(|incident| incident.key == *key);
            let at = known.or_else(|| {
                // Told of by a summary, long after it was decided on.
                batch.incidents.push(self.engine.incidents().get(key)?.clone());
                Some(batch.incidents.len() - 1)
            });
            if let Some(at) = at {
                batch.incidents[at].threads.insert(to.clone(), id.clone());
            }
        }
        Ok(threads)
    }
}
