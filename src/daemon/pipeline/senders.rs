//! The senders and the state of their servers: who may get a mail now, and for whom a sender connects first.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use tokio::sync::Notify;
use tokio::sync::mpsc::{self, UnboundedSender};
use tokio::time::Instant;

use super::super::carrier::Carrier;
use super::super::delivery::ServerHold;
use super::super::sender::{Order, SenderId};
use super::Message;
use crate::alert::{Debts, Lane};
use crate::mail::Way;
use crate::state::Shared;
use crate::store::Flying;

/// The senders, and the state of their servers.
#[derive(Default)]
pub(in crate::daemon) struct Senders {
    orders: BTreeMap<SenderId, UnboundedSender<Order>>,
    pub(super) carriers: BTreeMap<Way, Shared<Carrier>>,
    /// Tells senders that connect to do so anew.
    again: Arc<Notify>,
    /// Senders with an order, and whether it is to connect. After a hold only one of a way has one.
    pub(super) busy: BTreeMap<SenderId, bool>,
    pub(super) holds: BTreeMap<Way, ServerHold>,
    /// Mails without a result.
    pub(super) flying: Flying,
    /// Recipients that no mail can leave to now, and what may change that.
    pub(super) quiet: BTreeMap<String, Quiet>,
    /// The time of the last mail to each recipient: whoever had none for longest is next.
    pub(super) served: BTreeMap<String, Instant>,
}

/// Why no mail can leave to a recipient now.
pub(super) struct Quiet {
    /// Something may leave from then on.
    pub(super) until: Option<DateTime<Utc>>,
    /// A mail of this lane is made once its sender is free and connected.
    pub(super) waits: Option<Lane>,
}

impl Senders {
    pub(in crate::daemon) fn new(
        orders: BTreeMap<SenderId, UnboundedSender<Order>>,
        carriers: BTreeMap<Way, Shared<Carrier>>,
        again: Arc<Notify>,
    ) -> Self {
        Self { orders, carriers, again, ..Self::default() }
    }

    /// Whether there is a server for this way.
    pub(super) fn serves(&self, way: &Way) -> bool {
        self.carriers.contains_key(way)
    }

    /// Allows attempts at once: somebody asked for them, or the servers' settings changed. A pause that a
    /// server asked for stays. A server that does not greet is asked again.
    pub(super) fn try_now(&mut self) {
        self.again.notify_waiters();
        self.holds.values_mut().for_each(ServerHold::end);
        self.quiet.clear();
    }

    /// Something new is owed: recipients are no longer quiet, and a server that could not be reached is tried
    /// again soon.
    pub(super) fn stir(&mut self) {
        self.quiet.clear();
        self.holds.values_mut().for_each(ServerHold::shorten);
    }

    /// Whether this server gets no mail now: it could not be used, or one mail is finding out whether it can be
    /// used again.
    fn is_closed(&self, way: &Way, now: DateTime<Utc>) -> bool {
        let is_probed = || self.busy.keys().any(|busy| busy.way == *way);
        self.holds.get(way).is_some_and(|hold| hold.is_on(now) || is_probed())
    }

    /// Whether it may be seen now what can leave to a recipient, of lanes up to `most`.
    pub(super) fn may_be_served(&self, to: &str, way: &Way, most: Lane, now: DateTime<Utc>) -> bool {
        let is_quiet = self.quiet.get(to).is_some_and(|&Quiet { until, waits }| {
            let is_waiting =
                waits.is_none_or(|lane| lane > most || self.busy.contains_key(&SenderId::of(way, lane)));
            is_waiting && until.is_none_or(|until| now < until)
        });
        !is_quiet && self.serves(way) && !self.is_closed(way, now)
    }

    /// Whether a mail of this lane could leave at once.
    pub(super) fn is_ready(&self, way: &Way, lane: Lane) -> bool {
        !self.busy.contains_key(&SenderId::of(way, lane)) && self.is_connected(way)
    }

    /// Whether a connection waits for a mail.
    pub(super) fn is_connected(&self, way: &Way) -> bool {
        self.carriers.get(way).is_some_and(|carrier| carrier.get().is_connected())
    }

    /// The debts with the holds of their servers, which delay the next attempt.
    pub(super) fn delay(&self, mut debts: Vec<Debts>, now: DateTime<Utc>) -> Vec<Debts> {
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
    pub(super) async fn last(&self, messages: &mut mpsc::Receiver<Message>) -> Option<Message> {
        let ended = async {
            for sender in self.orders.values() {
                sender.closed().await;
            }
        };
        tokio::select! {
            biased;
            message = messages.recv() => message,
            () = ended => None,
        }
    }

    /// Gives an order to a sender that is free.
    pub(super) fn order(&mut self, of: SenderId, order: Order) {
        let Some(sender) = self.orders.get(&of) else { return };
        self.busy.insert(of, matches!(order, Order::Connect));
        // If the sender has ended, the daemon ends too: the next start finds the mail in the store.
        let _ = sender.send(order);
    }

    /// A mail of this lane waits: its sender connects unless it is busy, or a connection is there. Some servers allow one
    /// connection at a time, and mails about money go first.
    pub(super) fn await_sender(&mut self, way: &Way, lane: Lane) {
        let of = SenderId::of(way, lane);
        let money_connects = self.busy.get(&SenderId::of(way, Lane::Money)) == Some(&true);
        if !self.busy.contains_key(&of) && !self.is_connected(way) && !money_connects {
            self.order(of, Order::Connect);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_last_results_are_taken_in_until_the_senders_have_ended() {
        let ((money, orders), (others, other_orders)) =
            (mpsc::unbounded_channel(), mpsc::unbounded_channel());
        let id = |lane| SenderId::of(&Way::Smtp, lane);
        let all = [(id(Lane::Money), money), (id(Lane::Other), others)];
        let senders = Senders::new(all.into(), BTreeMap::new(), Arc::default());
        // Others hold this end too, so the channel stays open.
        let (results, mut messages) = mpsc::channel(1);
        let second = Duration::from_secs(1);
        drop(orders);
        let early = tokio::time::timeout(second, senders.last(&mut messages)).await;
        assert!(early.is_err(), "one sender still waits for a reply");
        assert!(results.send(Message::Tick).await.is_ok());
        drop(other_orders);
        for is_last in [false, true] {
            let next = tokio::time::timeout(second, senders.last(&mut messages)).await;
            assert_eq!(next.expect("no sender is left").is_none(), is_last);
        }
    }
}
