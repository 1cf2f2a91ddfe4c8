//! How many requests go out: calls in any 60 s for each limit of an account, and requests in flight
//! for each host. Who waits is admitted in the order of priority, then of arrival. Waiting is never a
//! failure, and a waiter that is dropped leaves no trace.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use parking_lot::Mutex;
use reqwest::Url;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use crate::clock::Clock;

use super::endpoints::{Operation, Priority};
use super::settings::Limits;

/// Requests in flight to one host.
const IN_FLIGHT: u32 = 8;
/// The span of the limits.
const SPAN: Duration = Duration::from_secs(60);

/// The budgets of one account.
#[derive(Debug)]
pub(super) struct Throttle {
    /// By [`super::endpoints::CallLimit`].
    gates: [Arc<Gate>; 4],
    /// Operations that the provider asked to leave alone, and until when.
    held: Mutex<HashMap<Operation, Instant>>,
}

impl Throttle {
    pub(super) fn new(limits: &Limits) -> Self {
        let gates = limits.each().map(|limit| Arc::new(Gate::new(limit, SPAN)));
        Self { gates, held: Mutex::default() }
    }

    /// Takes over other limits; calls already made still count.
    pub(super) fn set_limits(&self, limits: &Limits) {
        for (gate, limit) in self.gates.iter().zip(limits.each()) {
            gate.set_limit(limit);
        }
    }

    /// Waits for a call of this operation. The call counts until 60 s after the permit is dropped, so
    /// drop it when the answer begins: whenever the provider counted it, it counted it before that.
    pub(super) async fn call(&self, operation: Operation) -> Permit {
        while let Some(until) = self.held_until(operation) {
            sleep_until(until).await;
        }
        let row = operation.row();
        self.gates[row.limit as usize].enter(row.priority).await
    }

    /// Makes no call of an operation: the provider answered 429 and named a pause.
    pub(super) fn hold(&self, operation: Operation, until: Instant) {
        let mut held = self.held.lock();
        let end = held.entry(operation).or_insert(until);
        *end = until.max(*end);
    }

    fn held_until(&self, operation: Operation) -> Option<Instant> {
        let mut held = self.held.lock();
        let until = *held.get(&operation)?;
        if until <= Instant::now() {
            held.remove(&operation);
            return None;
        }
        Some(until)
    }
}

/// Places in flight, by host, and the connections to them. Clones share both: give all accounts the same
/// one. A client of its own would cost each account the authorities of TLS once more, half a megabyte.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hosts {
    gates: Arc<Mutex<HashMap<String, Arc<Gate>>>>,
    http: Arc<Mutex<Option<SharedHttp>>>,
    decoding: Arc<Gate>,
    clock: Clock,
}

/// A client, and the connect and whole time-outs that it was made with.
type SharedHttp = ((Duration, Duration), reqwest::Client);

impl Hosts {
    /// None yet; what time they have is told to this clock.
    pub(crate) fn told_to(clock: Clock) -> Self {
        Self { clock, ..Self::default() }
    }

    /// An answer from here was dated so.
    pub(super) fn heard(&self, url: &Url, date: DateTime<Utc>) {
        self.clock.heard(url.host_str().unwrap_or(""), date);
    }

    /// The time.
    pub(super) fn now(&self) -> DateTime<Utc> {
        self.clock.now()
    }

    /// Waits for a place; it is free again when the permit is dropped.
    pub(super) async fn place(&self, url: &Url, priority: Priority) -> Permit {
        let host = format!("{}:{}", url.host_str().unwrap_or(""), url.port_or_known_default().unwrap_or(0));
        let gate = {
            let mut gates = self.gates.lock();
            Arc::clone(gates.entry(host).or_insert_with(|| Arc::new(Gate::new(IN_FLIGHT, Duration::ZERO))))
        };
        gate.enter(priority).await
    }

    /// Waits until no large page is being decoded; the next one may when the permit is dropped. No server
    /// can hold it: the page is here.
    pub(super) async fn decoding_permit(&self) -> Permit {
        self.decoding.enter(Priority::State).await
    }

    /// The client that all share, made by `make` for the first who asks with these time-outs.
    pub(super) fn http<E>(
        &self,
        timeouts: (Duration, Duration),
        make: impl FnOnce() -> Result<reqwest::Client, E>,
    ) -> Result<reqwest::Client, E> {
        let mut http = self.http.lock();
        match http.as_ref() {
            Some((made_with, client)) if *made_with == timeouts => Ok(client.clone()),
            Some(_) | None => {
                let client = make()?;
                *http = Some((timeouts, client.clone()));
                Ok(client)
            }
        }
    }
}

/// Admits at most `limit` in any `span`; with a span of zero, at most `limit` at once.
#[derive(Debug)]
struct Gate {
    span: Duration,
    state: Mutex<GateState>,
}

#[derive(Debug, Default)]
struct GateState {
    limit: usize,
    inside: usize,
    /// When those who left did so, oldest first; forgotten after `span`.
    left: VecDeque<Instant>,
    /// Only the first is told that something changed: of five thousand accounts many thousand may wait for one host.
    waiting: BTreeMap<Ticket, Arc<Notify>>,
    next_ticket: u64,
}

/// Smaller goes first.
type Ticket = (Priority, u64);

/// A place taken; given back when dropped.
#[derive(Debug)]
pub(super) struct Permit(Arc<Gate>);

enum CallAdmission {
    Granted,
    /// Not before this moment.
    At(Instant),
    /// When another permit changes hands.
    Later,
}

/// One at a time.
impl Default for Gate {
    fn default() -> Self {
        Self::new(1, Duration::ZERO)
    }
}

impl Gate {
    fn new(limit: u32, span: Duration) -> Self {
        let state = GateState { limit: limit.max(1) as usize, ..GateState::default() };
        Self { span, state: Mutex::new(state) }
    }

    fn set_limit(&self, limit: u32) {
        let mut state = self.state.lock();
        state.limit = limit.max(1) as usize;
        state.tell_first();
    }

    async fn enter(self: &Arc<Self>, priority: Priority) -> Permit {
        let waiter = Waiter::new(self, priority);
        loop {
            match self.admit(waiter.ticket, Instant::now()) {
                CallAdmission::Granted => return Permit(Arc::clone(self)),
                // What changed since it was asked is kept for it.
                CallAdmission::Later => waiter.changed.notified().await,
                CallAdmission::At(moment) => tokio::select! {
                    () = waiter.changed.notified() => {}
                    () = sleep_until(moment) => {}
                },
            }
        }
    }

    fn admit(&self, ticket: Ticket, now: Instant) -> CallAdmission {
        let mut state = self.state.lock();
        while state.left.front().is_some_and(|&left| now > left + self.span || self.span.is_zero()) {
            state.left.pop_front();
        }
        if state.waiting.first_key_value().map(|(first, _)| first) != Some(&ticket) {
            return CallAdmission::Later;
        }
        if state.inside + state.left.len() < state.limit {
            state.inside += 1;
            state.waiting.remove(&ticket);
            if state.waiting.is_empty() {
                // An empty one keeps room for eleven, and of four gates an account hardly any ever has a waiter.
                state.waiting = BTreeMap::new();
            }
            state.tell_first();
            return CallAdmission::Granted;
        }
        match state.left.front() {
            Some(&oldest) => CallAdmission::At(oldest + self.span + Duration::from_millis(1)),
            None => CallAdmission::Later,
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.inside -= 1;
        if !self.0.span.is_zero() {
            state.left.push_back(Instant::now());
        }
        state.tell_first();
    }
}

impl GateState {
    /// Who is first looks again.
    fn tell_first(&self) {
        if let Some((_, first)) = self.waiting.first_key_value() {
            first.notify_one();
        }
    }
}

/// A ticket in the queue, taken out again if its holder stops waiting.
struct Waiter<'a> {
    gate: &'a Gate,
    ticket: Ticket,
    changed: Arc<Notify>,
}

impl<'a> Waiter<'a> {
    fn new(gate: &'a Gate, priority: Priority) -> Self {
        let mut state = gate.state.lock();
        let ticket = (priority, state.next_ticket);
        state.next_ticket += 1;
        let changed = Arc::new(Notify::new());
        state.waiting.insert(ticket, Arc::clone(&changed));
        Self { gate, ticket, changed }
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        let mut state = self.gate.state.lock();
        if state.waiting.remove(&self.ticket).is_some() {
            state.tell_first();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use tokio::task::JoinSet;

    fn limits(each: u32) -> Limits {
        Limits {
            vm_list_per_minute: each,
            vm_other_per_minute: each,
            hosting_per_minute: each,
            billing_per_minute: each,
        }
    }

    /// When each of `calls` calls was let through, each lasting `lasting`.
    async fn admitted(limit: u32, calls: u32, lasting: Duration) -> Vec<(Instant, Instant)> {
        let throttle = Arc::new(Throttle::new(&limits(limit)));
        let mut tasks = JoinSet::new();
        for _ in 0..calls {
            let throttle = Arc::clone(&throttle);
            tasks.spawn(async move {
                let permit = throttle.call(Operation::Containers).await;
                let begun = Instant::now();
                tokio::time::sleep(lasting).await;
                drop(permit);
                (begun, Instant::now())
            });
        }
        let mut all = tasks.join_all().await;
        all.sort();
        all
    }

    #[tokio::test(start_paused = true)]
    async fn never_more_calls_than_the_limit_in_any_60_s() {
        for lasting in [Duration::ZERO, Duration::from_millis(700), Duration::from_secs(25)] {
            let calls = admitted(5, 23, lasting).await;
            assert_eq!(calls.len(), 23);
            // Wherever within a call the provider counts it: the sixth begins 60 s after the first ended.
            for (earlier, later) in calls.iter().zip(&calls[5..]) {
                assert!(later.0 > earlier.1 + SPAN, "{lasting:?}");
            }
            let whole = calls[22].0 - calls[0].0;
            assert!(
                whole < (SPAN + lasting) * 4 + Duration::from_secs(1),
                "no longer than needed: {whole:?}"
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn states_go_before_inventory_and_else_who_came_first() {
        let throttle = Arc::new(Throttle::new(&limits(1)));
        drop(throttle.call(Operation::Containers).await);
        let order = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = JoinSet::new();
        let waiting = [
            (Operation::Databases, "inventory 1"),
            (Operation::CronJobs, "inventory 2"),
            (Operation::Sites, "state 1"),
            (Operation::Containers, "state 2"),
        ];
        for (operation, name) in waiting {
            let (throttle, order) = (Arc::clone(&throttle), Arc::clone(&order));
            tasks.spawn(async move {
                let _permit = throttle.call(operation).await;
                order.lock().push(name);
            });
            tokio::task::yield_now().await;
        }
        tasks.join_all().await;
        assert_eq!(*order.lock(), ["state 1", "state 2", "inventory 1", "inventory 2"]);
    }

    #[tokio::test(start_paused = true)]
    async fn each_limit_is_a_budget_of_its_own() {
        let throttle = Throttle::new(&limits(1));
        let started = Instant::now();
        for operation in [Operation::Vms, Operation::Ips, Operation::Sites, Operation::Charges] {
            drop(throttle.call(operation).await);
        }
        assert_eq!(started.elapsed(), Duration::ZERO);
        drop(throttle.call(Operation::SshKeys).await);
        assert!(started.elapsed() > SPAN, "the SSH keys count with the IPs");
    }

    #[tokio::test(start_paused = true)]
    async fn one_who_stops_waiting_holds_nobody_up() {
        let throttle = Throttle::new(&limits(1));
        let permit = throttle.call(Operation::Sites).await;
        let impatient = tokio::time::timeout(Duration::from_secs(1), throttle.call(Operation::Sites));
        let patient = tokio::time::timeout(2 * SPAN, throttle.call(Operation::Databases));
        let (impatient, (), patient) = tokio::join!(impatient, async { drop(permit) }, patient);
        assert!(impatient.is_err() && patient.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_raised_limit_lets_waiters_in_and_calls_made_still_count() {
        let throttle = Throttle::new(&limits(1));
        drop(throttle.call(Operation::Sites).await);
        let started = Instant::now();
        let (second, ()) = tokio::join!(throttle.call(Operation::Sites), async {
            tokio::task::yield_now().await;
            throttle.set_limits(&limits(2));
        });
        assert_eq!(started.elapsed(), Duration::ZERO);
        drop(second);
        drop(throttle.call(Operation::Sites).await);
        assert!(started.elapsed() >= SPAN);
    }

    #[tokio::test(start_paused = true)]
    async fn an_operation_on_hold_waits_and_the_longer_hold_counts() {
        let throttle = Throttle::new(&limits(9));
        let started = Instant::now();
        throttle.hold(Operation::Vms, started + Duration::from_secs(30));
        throttle.hold(Operation::Vms, started + Duration::from_secs(10));
        drop(throttle.call(Operation::Ips).await);
        assert_eq!(started.elapsed(), Duration::ZERO);
        drop(throttle.call(Operation::Vms).await);
        assert!(started.elapsed() >= Duration::from_secs(30));
    }

    #[tokio::test(start_paused = true)]
    async fn of_many_who_wait_only_the_first_is_woken() {
        const MANY: usize = 500;
        let (gate, looks) = (Arc::new(Gate::default()), Arc::new(AtomicUsize::new(0)));
        let mut tasks = JoinSet::new();
        for _ in 0..MANY {
            let (gate, looks) = (Arc::clone(&gate), Arc::clone(&looks));
            tasks.spawn(async move {
                let mut entered = Box::pin(gate.enter(Priority::State));
                let permit = std::future::poll_fn(|context| {
                    looks.fetch_add(1, Ordering::Relaxed);
                    entered.as_mut().poll(context)
                });
                let permit = permit.await;
                tokio::task::yield_now().await;
                drop(permit);
            });
        }
        tasks.join_all().await;
        let looks = looks.load(Ordering::Relaxed);
        assert!(looks <= 4 * MANY, "{looks} looks of {MANY} that waited");
    }

    #[tokio::test(start_paused = true)]
    async fn eight_in_flight_a_host_whoever_asks() {
        let hosts = Hosts::default();
        let url = |text: &str| text.parse::<Url>().unwrap();
        let here = url("https://a.example/x");
        let mut places = Vec::new();
        for _ in 0..8 {
            places.push(hosts.clone().place(&here, Priority::State).await);
        }
        let second = Duration::from_secs(1);
        let same = url("https://a.example:443/other");
        let ninth = tokio::time::timeout(second, hosts.place(&same, Priority::State)).await;
        assert!(ninth.is_err(), "the ninth waits");
        hosts.place(&url("https://b.example/"), Priority::State).await;
        places.pop();
        assert!(tokio::time::timeout(second, hosts.place(&same, Priority::State)).await.is_ok());
    }
}
