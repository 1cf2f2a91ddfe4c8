//! Mails that can leave. Each is claimed from the notification log, rendered, and stored with its bytes; only
//! then its sender gets it. The result comes back and goes into the log.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::sync::mpsc::{self, UnboundedSender};
use tokio::time::Instant;

use super::super::delivery::{Fault, SendFailure, ServerHold};
use super::super::sender::{Job, Tried};
use super::decide::facts;
use super::{Message, Paced, Pipeline, story};
use crate::alert::{Attempt, Debts, Lane, NotReached, Notice, Outgoing};
use crate::failpoint;
use crate::mail::{self, Way};
use crate::metrics::own::Notification;
use crate::model::lives_on;
use crate::store::{Flying, Rendered, StoreError};

/// The senders, and the state of their servers.
#[derive(Debug, Default)]
pub(in crate::daemon) struct Senders {
    jobs: BTreeMap<Way, [UnboundedSender<Job>; 2]>,
    holds: BTreeMap<Way, ServerHold>,
    /// Mails without a result. After a hold only one mail is handed over at a time.
    pub(super) flying: Flying,
    /// Recipients that no mail can leave to now, and the time at which that may change.
    quiet: BTreeMap<String, Option<DateTime<Utc>>>,
}

/// The longest pause between two updates of the outbox, since the machine may have stood still during one.
const SHOW_PAUSE_AT_MOST: Duration = Duration::from_secs(10);

impl Senders {
    /// `jobs`: for each way the sender of mails about money, and that of all others.
    pub(in crate::daemon) fn new(jobs: BTreeMap<Way, [UnboundedSender<Job>; 2]>) -> Self {
        Self { jobs, ..Self::default() }
    }

    /// Whether there is a server for this way.
    pub(super) fn serves(&self, way: &Way) -> bool {
        self.jobs.contains_key(way)
    }

    /// Allows attempts at once: somebody asked for them, or the servers' settings changed. A pause that a
    /// server asked for stays.
    pub(super) fn try_now(&mut self) {
        self.holds.values_mut().for_each(ServerHold::end);
        self.quiet.clear();
    }

    /// Something new is owed: recipients are no longer quiet, and a server that could not be reached is tried
    /// again soon.
    pub(super) fn stir(&mut self) {
        self.quiet.clear();
        self.holds.values_mut().for_each(ServerHold::shorten);
    }

    /// The clock was set: recipients that were quiet until a time may not be.
    pub(super) fn forget_quiet(&mut self) {
        self.quiet.clear();
    }

    /// Whether this server gets no mail now: it could not be used, or one mail is finding out whether it can be
    /// used again.
    fn is_closed(&self, way: &Way, now: DateTime<Utc>) -> bool {
        let is_probed = || self.flying.keys().any(|(to, _)| Way::to(to) == *way);
        self.holds.get(way).is_some_and(|hold| hold.is_on(now) || is_probed())
    }

    /// The debts with the holds of their servers, which delay the next attempt.
    fn delay(&self, mut debts: Vec<Debts>, now: DateTime<Utc>) -> Vec<Debts> {
        for debt in &mut debts {
            let way = Way::to(&debt.recipient);
            if debt.is_owed() && !self.serves(&way) {
                let to = &debt.recipient;
                debt.error = Some(format!(
                    "nothing carries mails to {to}: configure it again, or `hostwatch outbox drop {to}`"
                ));
            }
            let Some(hold) = self.holds.get(&way) else { continue };
            debt.is_held |= hold.is_refusal();
            (debt.is_server_down, debt.is_login_refused) = (way == Way::Smtp, hold.is_of_login());
            debt.error = Some(hold.error.clone());
            debt.next_try = debt.next_try.max(hold.ends(now));
        }
        debts
    }

    /// The next message, or `None` once all senders have ended and every message of theirs was taken in.
    async fn last(&self, messages: &mut mpsc::Receiver<Message>) -> Option<Message> {
        let ended = async {
            for sender in self.jobs.values().flatten() {
                sender.closed().await;
            }
        };
        tokio::select! {
            biased;
            message = messages.recv() => message,
            () = ended => None,
        }
    }

    fn hand_over(&self, way: &Way, job: Job) {
        let Some([money, others]) = self.jobs.get(way) else { return };
        let sender = if job.lane == Lane::Money { money } else { others };
        // If the sender has ended, the daemon ends too: the next start finds the mail in the store.
        let _ = sender.send(job);
    }
}

impl Pipeline {
    /// Hands over every mail that can leave now.
    pub(super) fn dispatch(&mut self) {
        if self.mail_writer.is_none() {
            return;
        }
        if std::mem::take(&mut self.log.tidings.has_news) {
            self.senders.stir();
        }
        let now = self.now;
        for to in self.log.recipients() {
            let way = Way::to(&to);
            let is_quiet =
                self.senders.quiet.get(&to).is_some_and(|until| until.is_none_or(|until| now < until));
            while !is_quiet && self.senders.serves(&way) && !self.senders.is_closed(&way, now) {
                match self.claim(&to, &way) {
                    Ok(true) => {}
                    Ok(false) => break,
                    Err(error) => {
                        self.note_store_result(Err(error));
                        return;
                    }
                }
            }
        }
        self.show_outbox();
    }

    /// Shows the debts to all recipients. If there are many, it does not do so at every change.
    fn show_outbox(&mut self) {
        if !self.outbox_shown.is_due(Duration::ZERO, SHOW_PAUSE_AT_MOST) {
            return;
        }
        let began = Instant::now();
        self.common.show_outbox(&self.debts(), self.housekeeping.last_sent);
        self.outbox_shown = Paced::since(began);
    }

    /// The debts to each recipient, and the state of its deliveries.
    pub(super) fn debts(&self) -> Vec<Debts> {
        self.senders.delay(self.log.debts(self.now), self.now)
    }

    /// Claims the next mail to a recipient; false if none can leave.
    fn claim(&mut self, to: &str, way: &Way) -> Result<bool, StoreError> {
        let Some(writer) = &self.mail_writer else { return Ok(false) };
        let (snapshot, id) = (self.common.snapshot.get(), writer.new_id());
        let facts = facts!(self, &snapshot);
        let Some(Outgoing { lane, id, notice, unreached, is_light }) = self.log.claim(to, &id, &facts) else {
            self.senders.quiet.insert(to.to_owned(), self.log.next_try(to, self.now));
            self.commit()?;
            return Ok(false);
        };
        let mail = match notice {
            Some(notice) => Ok(self.render(&notice, &unreached, is_light, &id)),
            None => self.common.store.lock().rendered(to, lane),
        };
        let mail = match mail {
            Ok(Some(mail)) => Arc::new(mail),
            Ok(None) => {
                // The notice cannot be rendered. It is tried again as a mail is that the server refused.
                self.settle(to, lane, &id, Attempt::MailRefused);
                self.commit()?;
                return Ok(true);
            }
            Err(error) => {
                self.settle(to, lane, &id, Attempt::Away);
                return self.leave_file(error).map(|()| false);
            }
        };
        let place = (to.to_owned(), lane);
        self.senders.flying.insert(place.clone(), Arc::clone(&mail));
        if let Err(error) = self.commit() {
            self.senders.flying.remove(&place);
            self.settle(to, lane, &id, Attempt::Away);
            return Err(error);
        }
        failpoint::reach("claimed");
        self.senders.hand_over(way, Job { to: to.to_owned(), lane, mail });
        Ok(true)
    }

    fn render(
        &mut self,
        notice: &Notice,
        unreached: &[NotReached],
        is_light: bool,
        id: &str,
    ) -> Option<Rendered> {
        let writer = self.mail_writer.as_ref()?;
        let snapshot = self.common.snapshot.get();
        let language = writer.language(&notice.to, &notice.accounts);
        let difference = self.common.clock.difference().filter(|(_, decides)| *decides);
        let notes: Vec<String> = difference.map(|(words, _)| format!("{words}.")).into_iter().collect();
        let lives_on = lives_on(&snapshot, &self.addresses);
        let context = writer.context(&snapshot, &notes, self.now);
        let context = mail::Context { language, lives_on, unreached, is_light, ..context };
        match writer.write(notice, id, &context) {
            Ok(mail) => Some(mail),
            Err(error) => {
                tracing::error!(%error, to = notice.to, "no mail can be made of a notice");
                None
            }
        }
    }

    /// Takes in the result of an attempt.
    pub(super) fn tried(&mut self, tried: Tried) {
        let Tried { way, job, sent } = tried;
        let Job { to, lane, mail } = job;
        let failure = sent.as_ref().err();
        if failure.is_none_or(|failure| failure.fault != Fault::Untried) {
            self.note_attempt(&way, &to, lane, &mail, failure);
        }
        if let Ok(Some(number)) = sent {
            self.note_chat(&to, &mail, number);
        }
        self.settle(&to, lane, &mail.message_id, failure.map_or(Attempt::Sent, SendFailure::attempt));
        self.senders.quiet.remove(&to);
        // If the reply was lost, a store that lost the bytes gets them again.
        let committed = self.commit();
        self.senders.flying.remove(&(to, lane));
        failpoint::reach("recorded");
        self.note_store_result(committed);
        self.edit_what_is_over();
    }

    fn settle(&mut self, to: &str, lane: Lane, id: &str, attempt: Attempt) {
        let snapshot = self.common.snapshot.get();
        let facts = facts!(self, &snapshot);
        self.log.settle(to, lane, id, attempt, &facts);
    }

    /// Logs, counts and shows the result of an attempt, and its meaning for the server.
    fn note_attempt(
        &mut self,
        way: &Way,
        to: &str,
        lane: Lane,
        mail: &Rendered,
        failure: Option<&SendFailure>,
    ) {
        let incident = story::several(self.log.in_mail(to, lane));
        let result = failure.map(|failure| (failure.attempt(), failure.error.as_str()));
        self.log_result(way, to, mail, incident.as_deref(), result);
        let unusable = failure.filter(|failure| failure.is_of_server());
        if let Some(failure) = unusable {
            let hold = ServerHold::after(self.senders.holds.get(way), failure, self.now);
            self.senders.holds.insert(way.clone(), hold);
        } else if self.senders.holds.remove(way).is_some() {
            if failure.is_none() {
                tracing::info!("{} accepts mail again", way.words());
            }
            self.senders.quiet.clear();
        }
        if let Some(failure) = failure {
            self.log.failed(to, lane, &failure.error, failure.is_refusal(), self.now);
        } else {
            self.housekeeping.last_sent = Some(self.now);
        }
    }

    /// The daemon stops. Results are still taken in while the senders wait for their last replies.
    pub(super) async fn finish(&mut self, messages: &mut mpsc::Receiver<Message>) {
        while !self.senders.flying.is_empty() {
            match self.senders.last(messages).await {
                Some(Message::Tried(tried)) => self.tried(*tried),
                Some(_) => {}
                None => return,
            }
        }
    }

    fn log_result(
        &self,
        way: &Way,
        recipient: &str,
        mail: &Rendered,
        incident: Option<&str>,
        failure: Option<(Attempt, &str)>,
    ) {
        let Rendered { message_id, subject, .. } = mail;
        let counted = match failure {
            None => {
                tracing::info!(recipient, incident, subject, message_id, "mail sent");
                Notification::Sent
            }
            Some((Attempt::Away, error)) => {
                if !self.senders.holds.contains_key(way) {
                    tracing::warn!(%error, "{} cannot be used; mails wait", way.words());
                }
                Notification::Retry
            }
            Some((Attempt::Held, error)) => {
                tracing::warn!(recipient, incident, subject, message_id, %error, "{} takes no mail from us; the mail waits", way.words());
                Notification::Retry
            }
            Some((Attempt::RecipientRefused | Attempt::MailRefused, error)) => {
                tracing::error!(recipient, incident, subject, message_id, %error, "mail refused");
                Notification::Refused
            }
            Some((Attempt::Sent | Attempt::Deferred | Attempt::ReplyLost, error)) => {
                tracing::warn!(recipient, incident, subject, message_id, %error, "mail will be tried again");
                Notification::Retry
            }
        };
        self.common.own.notification(counted);
    }

    /// Forgets recipients whose webhook, chat or mail server left the configuration: they are owed nothing.
    pub(super) fn forget_unserved(&mut self) {
        let unserved: Vec<String> =
            self.log.recipients().into_iter().filter(|to| !self.senders.serves(&Way::to(to))).collect();
        for to in unserved {
            tracing::warn!(
                recipient = to,
                "nothing carries mails to this recipient any more: nothing is owed there"
            );
            self.log.forget(&to);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_last_results_are_taken_in_until_the_senders_have_ended() {
        let ((money, jobs), (others, other_jobs)) = (mpsc::unbounded_channel(), mpsc::unbounded_channel());
        let senders = Senders::new([(Way::Smtp, [money, others])].into());
        // Others hold this end too, so the channel stays open.
        let (results, mut messages) = mpsc::channel(1);
        let second = Duration::from_secs(1);
        drop(jobs);
        let early = tokio::time::timeout(second, senders.last(&mut messages)).await;
        assert!(early.is_err(), "one sender still waits for a reply");
        assert!(results.send(Message::Tick).await.is_ok());
        drop(other_jobs);
        for is_last in [false, true] {
            let next = tokio::time::timeout(second, senders.last(&mut messages)).await;
            assert_eq!(next.expect("no sender is left").is_none(), is_last);
        }
    }
}
