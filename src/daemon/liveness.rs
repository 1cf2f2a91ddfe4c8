//! What runs in a daemon: its tasks, when each of their loops last ran, and which are stuck. Only keeps the times: the
//! watchdog reads them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::task::JoinSet;

use crate::model::AccountName;
use crate::store::Queue;

/// Everything that runs.
pub(super) type Tasks = JoinSet<Ended>;

/// A task that returned.
pub(super) enum Ended {
    /// Which runs until the daemon stops.
    Part(&'static str),
    /// An account's collectors, which a reload may end.
    Collectors,
}

/// What runs again and again while the daemon lives.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Loop {
    Pipeline,
    Sender(Queue),
    Collectors(AccountName),
}

impl Loop {
    fn name(&self) -> &'static str {
        match self {
            Self::Pipeline => "pipeline",
            Self::Sender(_) => "sender",
            Self::Collectors(_) => "collectors",
        }
    }

    /// It is stuck after this long without a run.
    fn at_most(&self) -> Duration {
        Duration::from_secs(match self {
            // It checks its store twice a second; one large sweep takes it seconds.
            Self::Pipeline => 120,
            // The longest attempt at a mail takes two minutes, a store that is slow some seconds more.
            Self::Sender(_) => 300,
            // They run each minute, or end a request; the provider can ask them to wait five minutes at most.
            Self::Collectors(_) => 900,
        })
    }
}

/// When one loop last ran.
#[derive(Clone, Debug)]
pub(super) struct LastRun {
    start: Instant,
    seconds: Arc<AtomicU64>,
}

impl LastRun {
    /// It runs now.
    pub(super) fn now(&self) {
        self.seconds.store(self.start.elapsed().as_secs(), Ordering::Relaxed);
    }

    fn age(&self) -> Duration {
        let then = Duration::from_secs(self.seconds.load(Ordering::Relaxed));
        self.start.elapsed().saturating_sub(then)
    }
}

/// All loops.
#[derive(Debug)]
pub(super) struct Liveness {
    start: Instant,
    loops: Mutex<BTreeMap<Loop, LastRun>>,
}

impl Liveness {
    pub(super) fn new() -> Self {
        Self { start: Instant::now(), loops: Mutex::default() }
    }

    /// Watches a loop from now on.
    pub(super) fn watch(&self, of: Loop) -> LastRun {
        let new = || LastRun { start: self.start, seconds: Arc::default() };
        let last = self.loops.lock().entry(of).or_insert_with(new).clone();
        last.now();
        last
    }

    /// Watches the collectors of these accounts alone.
    pub(super) fn keep_collectors(&self, of: impl Fn(&AccountName) -> bool) {
        self.loops.lock().retain(|one, _| match one {
            Loop::Collectors(account) => of(account),
            Loop::Pipeline | Loop::Sender(_) => true,
        });
    }

    /// How long ago each loop ran: `pipeline`, `sender`, `collectors` (those that waited longest).
    pub(super) fn ages(&self) -> BTreeMap<&'static str, Duration> {
        let mut ages = BTreeMap::new();
        for (one, last) in self.loops.lock().iter() {
            let oldest: &mut Duration = ages.entry(one.name()).or_default();
            *oldest = last.age().max(*oldest);
        }
        ages
    }

    /// Loops that have not run for too long.
    pub(super) fn stuck(&self) -> Vec<&'static str> {
        let loops = self.loops.lock();
        let stuck = loops.iter().filter(|(one, last)| last.age() > one.at_most());
        let mut names: Vec<_> = stuck.map(|(one, _)| one.name()).collect();
        names.dedup();
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_that_is_stuck_is_named() {
        let Some(start) = Instant::now().checked_sub(Duration::from_secs(1000)) else { return };
        let liveness = Liveness { start, loops: Mutex::default() };
        let collectors = |name: &str| Loop::Collectors(name.parse().unwrap());
        let all = [collectors("a"), collectors("b"), Loop::Sender(Queue::Mail), Loop::Pipeline];
        let watched = all.map(|one| liveness.watch(one));
        assert!(liveness.stuck().is_empty());
        // As if they had run at the start only.
        for last in &watched {
            last.seconds.store(0, Ordering::Relaxed);
        }
        assert_eq!(liveness.stuck(), ["pipeline", "sender", "collectors"]);
        watched[0].now();
        assert_eq!(liveness.ages()["collectors"].as_secs(), 1000, "those that waited longest");
        liveness.keep_collectors(|account| account.as_str() == "a");
        watched[3].now();
        assert_eq!(liveness.stuck(), ["sender"]);
    }
}
