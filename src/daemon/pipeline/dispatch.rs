//! Mails that can leave. Once its sender is free and connected, each is claimed from the notification log, rendered,
//! and stored with its bytes; only then the sender gets it. The result comes back and goes into the log.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;

use super::super::delivery::{Fault, SendFailure, ServerHold};
use super::super::sender::{Job, Order, SenderId, Tried};
use super::decide::facts;
use super::senders::Quiet;
use super::{Message, Paced, Pipeline, story};
use crate::alert::{Attempt, Debts, Lane, NotReached, Notice, Outgoing};
use crate::failpoint;
use crate::mail::{self, Way};
use crate::metrics::own::Notification;
use crate::model::lives_on;
use crate::store::{Rendered, StoreError};

/// The longest pause between two updates of the outbox, since the machine may have stood still during one.
const SHOW_PAUSE_AT_MOST: Duration = Duration::from_secs(10);

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
        let mut recipients = self.log.recipients();
        recipients.sort_by_key(|to| self.senders.served.get(to));
        // Money goes first, and digests last, whoever they are for.
        let lanes = [Lane::Money, Lane::Other, Lane::Digest];
        for (most, to) in lanes.iter().flat_map(|most| recipients.iter().map(move |to| (*most, to))) {
            let way = Way::to(to);
            while self.senders.may_be_served(to, &way, most, now) {
                match self.claim(to, &way, most) {
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

    /// Hands over the next mail to a recipient; false if none can leave, and notes why.
    fn claim(&mut self, to: &str, way: &Way, most: Lane) -> Result<bool, StoreError> {
        let Some(writer) = &self.mail_writer else { return Ok(false) };
        let (snapshot, id) = (self.common.snapshot.get(), writer.new_id());
        let facts = facts!(self, &snapshot);
        let senders = &self.senders;
        let is_ready = |lane| lane <= most && senders.is_ready(way, lane);
        let claimed = self.log.claim(to, &id, &facts, is_ready);
        let Ok(Some(Outgoing { lane, id, notice, unreached, is_light })) = claimed else {
            let (until, waits) = (self.log.next_try(to, self.now), claimed.err());
            self.senders.quiet.insert(to.to_owned(), Quiet { until, waits });
            if let Some(lane) = waits.filter(|lane| *lane <= most) {
                self.senders.await_sender(way, lane);
            }
            return self.commit().map(|()| false);
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
                return self.commit().map(|()| true);
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
        let session = self.senders.carriers.get(way).and_then(|carrier| carrier.get().take());
        let job = Job { to: to.to_owned(), lane, mail };
        self.senders.order(SenderId::of(way, lane), Order::Send(job, session.map(Box::new)));
        self.senders.served.insert(to.to_owned(), Instant::now());
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
        let clock = self.common.clock.difference().filter(|(_, decides)| *decides).map(|(ahead, _)| ahead);
        let lives_on = lives_on(&snapshot, &self.addresses);
        let context = writer.context(&snapshot, self.now);
        let context = mail::Context { language, clock, lives_on, unreached, is_light, ..context };
        match writer.write(notice, id, &context) {
            Ok(mail) => Some(mail),
            Err(error) => {
                tracing::error!(%error, to = notice.to, "no mail can be made of a notice");
                None
            }
        }
    }

    /// Takes in the result of an order.
    pub(super) fn tried(&mut self, tried: Tried) {
        let Tried { of, job, done } = tried;
        self.senders.busy.remove(&of);
        let failure = done.as_ref().err();
        let Some(Job { to, lane, mail }) = job else {
            return self.connected(&of.way, failure);
        };
        if failure.is_none_or(|failure| failure.fault != Fault::Untried) {
            self.note_attempt(&of.way, &to, lane, &mail, failure);
        }
        if let Ok(Some(number)) = done {
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
        self.log_result(way, to, mail, incident.as_deref(), failure);
        if let Some(failure) = failure.filter(|failure| failure.is_of_server()) {
            self.note_unusable(way, failure);
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

    /// A connection was made for the mails that wait for it, or it failed. A server that refuses another connection
    /// beside one that waits can be used.
    fn connected(&mut self, way: &Way, failure: Option<&SendFailure>) {
        let hold = self.senders.holds.get_mut(way).filter(|hold| hold.is_on(self.now));
        let Some(failure) = failure else { return hold.into_iter().for_each(ServerHold::end) };
        if self.senders.is_connected(way) {
            return;
        }
        self.note_unusable(way, failure);
        self.common.own.notification(Notification::Retry);
        let snapshot = self.common.snapshot.get();
        let facts = facts!(self, &snapshot);
        for to in self.log.recipients().iter().filter(|to| Way::to(to) == *way) {
            if let Err(lane) = self.log.claim(to, "", &facts, |_| false) {
                self.log.failed(to, lane, &failure.error, false, self.now);
            }
        }
        let committed = self.commit();
        self.note_store_result(committed);
    }

    /// No mail leaves this way for a while.
    fn note_unusable(&mut self, way: &Way, failure: &SendFailure) {
        let before = self.senders.holds.get(way);
        if before.is_none() {
            tracing::warn!(error = %failure, "{} cannot be used; mails wait", way.words());
        }
        let hold = ServerHold::after(before, failure, self.now);
        self.senders.holds.insert(way.clone(), hold);
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
        failure: Option<&SendFailure>,
    ) {
        let Rendered { message_id, subject, .. } = mail;
        let Some(failure @ SendFailure { error, .. }) = failure else {
            tracing::info!(recipient, incident, subject, message_id, "mail sent");
            return self.common.own.notification(Notification::Sent);
        };
        match failure.attempt() {
            Attempt::Away => {}
            Attempt::Held | Attempt::InDoubt => {
                tracing::warn!(recipient, incident, subject, message_id, %error, "{} takes no mail from us; the mail waits", way.words());
            }
            Attempt::RecipientRefused | Attempt::MailRefused => {
                tracing::error!(recipient, incident, subject, message_id, %error, "mail refused");
            }
            Attempt::Sent | Attempt::Deferred | Attempt::ReplyLost => {
                tracing::warn!(recipient, incident, subject, message_id, %error, "mail will be tried again");
            }
        }
        let is_refusal = failure.is_refusal();
        self.common.own.notification(if is_refusal { Notification::Refused } else { Notification::Retry });
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
