//! Limits for requests: so many in a time, or so many at once; calls in any 60 s for each limit of an account.
//! Waiting requests are admitted by priority, then in the order of arrival. Waiting is never a failure, and a
//! dropped waiter leaves no trace.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use super::endpoints::Priority;
use super::settings::Limits;
use crate::model::{Collector, Group};

/// The span of the limits.
const SPAN: Duration = Duration::from_secs(60);

/// A waiter that waits for a dropped permit or for the other queue tries again after this time.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// How long a pace stays halved.
const SLOWED_FOR: Duration = Duration::from_secs(10 * 60);
/// The part of a limit that is always left.
const LEAST_PACE: usize = 20;

/// The budgets of one account.
#[derive(Debug)]
pub(super) struct Throttle {
    /// The gates, by [`super::endpoints::CallLimit`].
    gates: [Arc<Gate>; 4],
}

impl Throttle {
    pub(super) fn new(limits: &Limits) -> Self {
        Self { gates: limits.map(|limit| Arc::new(Gate::new(limit, SPAN))) }
    }

    /// The provider refused a call of this group as one too many: the pace of the group is halved for ten minutes.
    pub(super) fn slow_down(&self, group: Group) {
        let gates = match group {
            Group::Vm => 0..2,
            Group::Hosting => 2..3,
            Group::Billing => 3..4,
        };
        self.gates[gates].iter().for_each(|gate| gate.slow_down(Instant::now()));
    }

    /// Takes over other limits. Calls that were made still count.
    pub(super) fn set_limits(&self, limits: &Limits) {
        for (gate, limit) in self.gates.iter().zip(*limits) {
            gate.set_limit(limit);
        }
    }

    /// Waits for a call of this collector. The call counts until 60 s after the permit is dropped. Drop it when
    /// the answer begins: by then the provider has counted the call.
    pub(super) async fn call(&self, collector: Collector) -> Permit {
        let row = collector.row();
        self.gates[row.limit as usize].enter(row.priority).await
    }
}

/// Admits at most `limit` entries in any `span`. With a span of zero, at most `limit` at once.
#[derive(Debug)]
pub(super) struct Gate {
    span: Duration,
    state: Mutex<GateState>,
    /// A queue for each [`Priority`]. Only the first of each waits for the gate: with five thousand accounts many
    /// thousand may wait for one host.
    queues: [tokio::sync::Mutex<()>; 2],
    /// Wakes the first waiter of each queue after a change.
    changed: Notify,
}

#[derive(Debug, Default)]
struct GateState {
    limit: usize,
    /// The times at which the pace was halved; each is forgotten after [`SLOWED_FOR`].
    halved: VecDeque<Instant>,
    inside: usize,
    /// The times at which permits were dropped, the oldest first; forgotten after `span`.
    left: VecDeque<Instant>,
}

/// A permit; dropping it frees the place.
#[derive(Debug)]
pub(super) struct Permit(Arc<Gate>);

impl Gate {
    pub(super) fn new(limit: u32, span: Duration) -> Self {
        let state = GateState { limit: limit.max(1) as usize, ..GateState::default() };
        Self { span, state: Mutex::new(state), queues: Default::default(), changed: Notify::new() }
    }

    /// Halves the pace, once for all calls that were refused together.
    fn slow_down(&self, now: Instant) {
        let mut state = self.state.lock();
        if state.halved.back().is_none_or(|&last| now >= last + self.span) {
            state.halved.push_back(now);
        }
    }

    fn set_limit(&self, limit: u32) {
        self.state.lock().limit = limit.max(1) as usize;
        self.changed.notify_waiters();
    }

    pub(super) async fn enter(self: &Arc<Self>, priority: Priority) -> Permit {
        let turn = self.queues[priority as usize].lock().await;
        loop {
            // A change from here on wakes this waiter.
            let changed = self.changed.notified();
            let Err(moment) = self.admit(priority, Instant::now()) else {
                // The first of the other queue may wait for this one.
                drop(turn);
                self.changed.notify_waiters();
                return Permit(Arc::clone(self));
            };
            let _ = timeout_at(moment, changed).await;
        }
    }

    /// Lets the first of a queue in, or returns the time to try again.
    fn admit(&self, priority: Priority, now: Instant) -> Result<(), Instant> {
        let mut state = self.state.lock();
        while state.left.front().is_some_and(|&left| now > left + self.span || self.span.is_zero()) {
            state.left.pop_front();
        }
        let is_free = |queue: Priority| self.queues[queue as usize].try_lock().is_ok();
        if priority == Priority::Inventory && !is_free(Priority::State) {
            return Err(now + LONGEST_WAIT);
        }
        let count = state.inside + state.left.len();
        let pace = state.pace(now);
        if count < pace {
            state.inside += 1;
            return Ok(());
        }
        // Where the pace was halved, more calls have to be forgotten than the oldest.
        let freed = |&oldest: &Instant| oldest + self.span + Duration::from_millis(1);
        Err(state.left.get(count - pace).map_or(now + LONGEST_WAIT, freed))
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.inside -= 1;
        if !self.0.span.is_zero() {
            state.left.push_back(Instant::now());
        }
        self.0.changed.notify_waiters();
    }
}

impl GateState {
    /// The limit at this time.
    fn pace(&mut self, now: Instant) -> usize {
        while self.halved.front().is_some_and(|&at| now >= at + SLOWED_FOR) {
            self.halved.pop_front();
        }
        (self.limit >> self.halved.len().min(8)).max(self.limit / LEAST_PACE).max(1)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use tokio::task::JoinSet;

    /// The times at which `calls` calls were admitted and ended, if each takes `lasting`.
    async fn admitted(limit: u32, calls: u32, lasting: Duration) -> Vec<(Instant, Instant)> {
        let throttle = Arc::new(Throttle::new(&[limit; 4]));
        let mut tasks = JoinSet::new();
        for _ in 0..calls {
            let throttle = Arc::clone(&throttle);
            tasks.spawn(async move {
                let permit = throttle.call(Collector::Containers).await;
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
            // The provider may count a call at any time while it runs, so the sixth begins 60 s after the first
            // ended.
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
    async fn states_come_before_inventory_and_then_the_order_of_arrival_counts() {
        let throttle = Arc::new(Throttle::new(&[1; 4]));
        drop(throttle.call(Collector::Containers).await);
        let order = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = JoinSet::new();
        let waiting = [
            (Collector::Databases, "inventory 1"),
            (Collector::CronJobs, "inventory 2"),
            (Collector::Sites, "state 1"),
            (Collector::Containers, "state 2"),
        ];
        for (collector, name) in waiting {
            let (throttle, order) = (Arc::clone(&throttle), Arc::clone(&order));
            tasks.spawn(async move {
                let _permit = throttle.call(collector).await;
                order.lock().push(name);
            });
            tokio::task::yield_now().await;
        }
        tasks.join_all().await;
        assert_eq!(*order.lock(), ["state 1", "state 2", "inventory 1", "inventory 2"]);
    }

    #[tokio::test(start_paused = true)]
    async fn each_limit_is_a_budget_of_its_own() {
        let throttle = Throttle::new(&[1; 4]);
        let started = Instant::now();
        for collector in [Collector::Vms, Collector::Ips, Collector::Sites, Collector::Charges] {
            drop(throttle.call(collector).await);
        }
        assert_eq!(started.elapsed(), Duration::ZERO);
        drop(throttle.call(Collector::SshKeys).await);
        assert!(started.elapsed() > SPAN, "the SSH keys count with the IPs");
    }

    #[tokio::test(start_paused = true)]
    async fn one_who_stops_waiting_holds_nobody_up() {
        let throttle = Throttle::new(&[1; 4]);
        let permit = throttle.call(Collector::Sites).await;
        let impatient = tokio::time::timeout(Duration::from_secs(1), throttle.call(Collector::Sites));
        let patient = tokio::time::timeout(2 * SPAN, throttle.call(Collector::Databases));
        let (impatient, (), patient) = tokio::join!(impatient, async { drop(permit) }, patient);
        assert!(impatient.is_err() && patient.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_raised_limit_lets_waiters_in_and_calls_made_still_count() {
        let throttle = Throttle::new(&[1; 4]);
        drop(throttle.call(Collector::Sites).await);
        let started = Instant::now();
        let (second, ()) = tokio::join!(throttle.call(Collector::Sites), async {
            tokio::task::yield_now().await;
            throttle.set_limits(&[2; 4]);
        });
        assert_eq!(started.elapsed(), Duration::ZERO);
        drop(second);
        drop(throttle.call(Collector::Sites).await);
        assert!(started.elapsed() >= SPAN);
    }

    /// A provider allows 100 calls in any 60 s and counts refused ones. Each container is asked for up to three times a
    /// sweep, and sweeps follow one another.
    #[tokio::test(start_paused = true)]
    async fn a_provider_that_counts_refused_calls_shows_a_thousand_containers_within_the_hour() {
        let throttle = Throttle::new(&[200, 60, 300, 30]);
        let (started, mut calls) = (Instant::now(), VecDeque::new());
        let mut unread: Vec<u32> = (0..1000).collect();
        while !unread.is_empty() {
            let mut left = Vec::new();
            for container in unread {
                let mut is_read = false;
                for pause in [1, 3, 0] {
                    drop(throttle.call(Collector::Sites).await);
                    let now = Instant::now();
                    calls.push_back(now);
                    calls.retain(|&at| at + SPAN > now);
                    is_read = calls.len() <= 100;
                    if is_read {
                        break;
                    }
                    throttle.slow_down(Group::Hosting);
                    tokio::time::sleep(Duration::from_secs(pause)).await;
                }
                if !is_read {
                    left.push(container);
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            unread = left;
        }
        let took = started.elapsed();
        assert!(took < Duration::from_secs(3000), "{took:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_bare_429_halves_the_pace_of_its_group_for_ten_minutes_down_to_a_twentieth() {
        let throttle = Throttle::new(&[100; 4]);
        let minutes = |n: u64| Duration::from_secs(60 * n);
        let begun = Instant::now();
        let pace = |collector: Collector| {
            throttle.gates[collector.row().limit as usize].state.lock().pace(Instant::now())
        };
        let mut paces = Vec::new();
        for _ in 0..6 {
            throttle.slow_down(Group::Vm);
            throttle.slow_down(Group::Vm);
            paces.push(pace(Collector::Ips));
            tokio::time::advance(minutes(1)).await;
        }
        assert_eq!(paces, [50, 25, 12, 6, 5, 5]);
        assert_eq!([Collector::Vms, Collector::Sites, Collector::Charges].map(pace), [5, 100, 100]);
        tokio::time::advance(minutes(5)).await;
        assert_eq!((pace(Collector::Vms), begun.elapsed()), (6, minutes(11)), "two of six are forgotten");
        tokio::time::advance(minutes(5)).await;
        assert_eq!(pace(Collector::Vms), 100);
    }

    #[tokio::test(start_paused = true)]
    async fn only_the_first_of_many_waiters_is_woken() {
        const MANY: usize = 500;
        let (gate, looks) = (Arc::new(Gate::new(1, Duration::ZERO)), Arc::new(AtomicUsize::new(0)));
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
}
