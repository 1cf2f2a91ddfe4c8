//! The tasks of a daemon, the last run of each loop, and which loops are stuck. This module only keeps the
//! times; the watchdog reads them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::task::JoinSet;

use crate::alert::Lane;
use crate::mail::Way;
use crate::model::AccountName;

/// All tasks.
pub(super) type Tasks = JoinSet<Ended>;

/// A task that returned.
pub(super) enum Ended {
    /// A part that runs until the daemon stops.
    Part(&'static str),
    /// The collectors of an account, which a reload may end.
    Collectors,
}

/// A loop that runs while the daemon lives.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Loop {
    Pipeline,
    /// A way has two of them: one for mails about money, and one for the mails of all other lanes.
    Sender(Way, Lane),
    Collectors(AccountName),
}

impl Loop {
    fn name(&self) -> &'static str {
        match self {
            Self::Pipeline => "pipeline",
            Self::Sender(..) => "sender",
            Self::Collectors(_) => "collectors",
        }
    }

    /// The time without a run after which the loop is stuck.
    fn at_most(&self) -> Duration {
        Duration::from_secs(match self {
            // The pipeline checks its store twice a second; a large sweep takes seconds.
            Self::Pipeline => 120,
            // The longest attempt at a mail takes two minutes.
            Self::Sender(..) => 300,
            // Collectors run each minute or at the end of a request. The provider can ask for a pause of five
            // minutes at most.
            Self::Collectors(_) => 900,
        })
    }
}

/// The time of one loop's last run.
#[derive(Clone, Debug)]
pub(super) struct LastRun {
    start: Instant,
    seconds: Arc<AtomicU64>,
}

impl LastRun {
    /// Notes that the loop runs now.
    pub(super) fn now(&self) {
        self.seconds.store(self.start.elapsed().as_secs(), Ordering::Relaxed);
    }

    fn age(&self) -> Duration {
        let then = Duration::from_secs(self.seconds.load(Ordering::Relaxed));
        self.start.elapsed().saturating_sub(then)
    }
}

/// The last runs of all loops.
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

    /// Keeps the collectors of these accounts, and forgets others.
    pub(super) fn keep_collectors(&self, of: impl Fn(&AccountName) -> bool) {
        self.loops.lock().retain(|one, _| match one {
            Loop::Collectors(account) => of(account),
            Loop::Pipeline | Loop::Sender(..) => true,
        });
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
        let [money, other] = [Lane::Money, Lane::Other].map(|lane| Loop::Sender(Way::Smtp, lane));
        let all = [collectors("a"), collectors("b"), Loop::Pipeline, money, other];
        let watched = all.map(|one| liveness.watch(one));
        assert!(liveness.stuck().is_empty());
        // As if they had run only at the start.
        for last in &watched {
            last.seconds.store(0, Ordering::Relaxed);
        }
        assert_eq!(liveness.stuck(), ["pipeline", "sender", "collectors"]);
        watched[0].now();
        liveness.keep_collectors(|account| account.as_str() == "a");
        watched[2].now();
        watched[4].now();
        assert_eq!(liveness.stuck(), ["sender"], "one of two");
    }
}
