//! How many requests go out: calls in any 60 s for each limit of an account, and requests in flight
//! for each host. Who waits is admitted in the order of urgency, then of arrival. Waiting is never a
//! failure, and a waiter that is dropped leaves no trace.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use reqwest::Url;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use super::endpoint::{Limit, Operation, Urgency};
use super::settings::Limits;

/// Requests in flight to one host.
const IN_FLIGHT: u32 = 8;
/// The span of the limits.
const SPAN: Duration = Duration::from_secs(60);

/// The budgets of one account.
#[derive(Debug)]
pub(super) struct Throttle {
    vm_list: Arc<Gate>,
    vm_other: Arc<Gate>,
    hosting: Arc<Gate>,
    billing: Arc<Gate>,
    /// Operations that the provider asked to leave alone, and until when.
    held: Mutex<HashMap<Operation, Instant>>,
}

impl Throttle {
    pub fn new(limits: &Limits) -> Self {
        let gate = |limit| Arc::new(Gate::new(limit, SPAN));
        Self {
            vm_list: gate(limits.vm_list_per_minute),
            vm_other: gate(limits.vm_other_per_minute),
            hosting: gate(limits.hosting_per_minute),
            billing: gate(limits.billing_per_minute),
            held: Mutex::default(),
        }
    }

    /// Takes over other limits; calls already made still count.
    pub fn set_limits(&self, limits: &Limits) {
        self.vm_list.set_limit(limits.vm_list_per_minute);
        self.vm_other.set_limit(limits.vm_other_per_minute);
        self.hosting.set_limit(limits.hosting_per_minute);
        self.billing.set_limit(limits.billing_per_minute);
    }

    /// Waits for a call of this operation. The call counts until 60 s after the permit is dropped, so
    /// drop it when the answer begins: whenever the provider counted it, it counted it before that.
    pub async fn call(&self, operation: Operation) -> Permit {
        while let Some(until) = self.held_until(operation) {
            sleep_until(until).await;
        }
        let gate = match operation.limit() {
            Limit::VmList => &self.vm_list,
            Limit::VmOther => &self.vm_other,
            Limit::Hosting => &self.hosting,
            Limit::Billing => &self.billing,
        };
        gate.enter(operation.urgency()).await
    }

    /// Leaves an operation alone: the provider said 429 and named a pause.
    pub fn hold(&self, operation: Operation, until: Instant) {
        let mut held = lock(&self.held);
        let end = held.entry(operation).or_insert(until);
        *end = until.max(*end);
    }

    fn held_until(&self, operation: Operation) -> Option<Instant> {
        let mut held = lock(&self.held);
        let until = *held.get(&operation)?;
        if until <= Instant::now() {
            held.remove(&operation);
            return None;
        }
        Some(until)
    }
}

/// Places in flight, by host. Clones share them: give all accounts the same one.
#[derive(Clone, Debug, Default)]
pub struct Hosts(Arc<Mutex<HashMap<String, Arc<Gate>>>>);

impl Hosts {
    /// Waits for a place; it is free again when the permit is dropped.
    pub(super) async fn place(&self, url: &Url, urgency: Urgency) -> Permit {
        let host = format!("{}:{}", url.host_str().unwrap_or(""), url.port_or_known_default().unwrap_or(0));
        let gate = {
            let mut hosts = lock(&self.0);
            Arc::clone(hosts.entry(host).or_insert_with(|| Arc::new(Gate::new(IN_FLIGHT, Duration::ZERO))))
        };
        gate.enter(urgency).await
    }
}

/// Admits at most `limit` in any `span`; with a span of zero, at most `limit` at once.
#[derive(Debug)]
struct Gate {
    span: Duration,
    state: Mutex<GateState>,
    changed: Notify,
}

#[derive(Debug)]
struct GateState {
    limit: usize,
    inside: usize,
    /// When those who left did so, oldest first; forgotten after `span`.
    left: VecDeque<Instant>,
    waiting: BTreeSet<Ticket>,
    next_ticket: u64,
}

/// Smaller goes first.
type Ticket = (Urgency, u64);

/// A place taken; given back when dropped.
#[derive(Debug)]
pub(super) struct Permit(Arc<Gate>);

enum Admission {
    Granted,
    /// Not before this moment.
    At(Instant),
    /// When somebody else moves.
    Later,
}

impl Gate {
    fn new(limit: u32, span: Duration) -> Self {
        let state = GateState {
            limit: limit.max(1) as usize,
            inside: 0,
            left: VecDeque::new(),
            waiting: BTreeSet::new(),
            next_ticket: 0,
        };
        Self { span, state: Mutex::new(state), changed: Notify::new() }
    }

    fn set_limit(&self, limit: u32) {
        lock(&self.state).limit = limit.max(1) as usize;
        self.changed.notify_waiters();
    }

    async fn enter(self: &Arc<Self>, urgency: Urgency) -> Permit {
        let waiter = Waiter::new(self, urgency);
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            // Registered before looking, so that no change is missed in between.
            changed.as_mut().enable();
            match self.admit(waiter.ticket, Instant::now()) {
                Admission::Granted => return Permit(Arc::clone(self)),
                Admission::Later => changed.await,
                Admission::At(moment) => tokio::select! {
                    () = changed => {}
                    () = sleep_until(moment) => {}
                },
            }
        }
    }

    fn admit(&self, ticket: Ticket, now: Instant) -> Admission {
        let mut state = lock(&self.state);
        while state.left.front().is_some_and(|&left| now > left + self.span || self.span.is_zero()) {
            state.left.pop_front();
        }
        if state.waiting.first() != Some(&ticket) {
            return Admission::Later;
        }
        if state.inside + state.left.len() < state.limit {
            state.inside += 1;
            state.waiting.remove(&ticket);
            drop(state);
            self.changed.notify_waiters();
            return Admission::Granted;
        }
        match state.left.front() {
            Some(&oldest) => Admission::At(oldest + self.span + Duration::from_millis(1)),
            None => Admission::Later,
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut state = lock(&self.0.state);
        state.inside -= 1;
        if !self.0.span.is_zero() {
            state.left.push_back(Instant::now());
        }
        drop(state);
        self.0.changed.notify_waiters();
    }
}

/// A ticket in the queue, taken out again if its holder stops waiting.
struct Waiter<'a> {
    gate: &'a Gate,
    ticket: Ticket,
}

impl<'a> Waiter<'a> {
    fn new(gate: &'a Gate, urgency: Urgency) -> Self {
        let mut state = lock(&gate.state);
        let ticket = (urgency, state.next_ticket);
        state.next_ticket += 1;
        state.waiting.insert(ticket);
        Self { gate, ticket }
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        if lock(&self.gate.state).waiting.remove(&self.ticket) {
            self.gate.changed.notify_waiters();
        }
    }
}

/// Nothing here panics while it holds a lock, and if it did the counts would still be whole.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
