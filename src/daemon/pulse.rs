//! Whether the daemon's loops still turn: each says so as it goes, and what has not for too long is
//! told to the log, the metrics and systemd, whose watchdog then starts the daemon anew.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::model::AccountName;

/// The pipeline looks at its store twice a second; one large sweep holds it up for seconds.
const PIPELINE_AT_MOST: Duration = Duration::from_secs(120);
/// The longest attempt at a mail takes two minutes, a store that is in the way some seconds more.
const SENDER_AT_MOST: Duration = Duration::from_secs(300);
/// A collector wakes each minute, or ends a request; the longest wait it may be told is five minutes.
const COLLECTORS_AT_MOST: Duration = Duration::from_secs(900);

/// When one loop last turned.
#[derive(Clone, Debug)]
pub(super) struct Beat {
    start: Instant,
    seconds: Arc<AtomicU64>,
}

impl Beat {
    fn new(start: Instant) -> Self {
        let beat = Self { start, seconds: Arc::default() };
        beat.now();
        beat
    }

    /// It turns.
    pub(super) fn now(&self) {
        self.seconds.store(self.start.elapsed().as_secs(), Ordering::Relaxed);
    }

    fn age(&self) -> Duration {
        let then = Duration::from_secs(self.seconds.load(Ordering::Relaxed));
        self.start.elapsed().saturating_sub(then)
    }
}

/// The beats of all loops.
#[derive(Debug)]
pub(super) struct Pulse {
    start: Instant,
    pub(super) pipeline: Beat,
    /// Where mail is on.
    sender: Mutex<Option<Beat>>,
    collectors: Mutex<BTreeMap<AccountName, Beat>>,
}

impl Pulse {
    pub(super) fn new() -> Self {
        let start = Instant::now();
        Self { start, pipeline: Beat::new(start), sender: Mutex::default(), collectors: Mutex::default() }
    }

    /// The beat of the sender, from now on.
    pub(super) fn sender(&self) -> Beat {
        let beat = Beat::new(self.start);
        *self.sender.lock().unwrap_or_else(PoisonError::into_inner) = Some(beat.clone());
        beat
    }

    /// The beat of an account's collectors, from now on.
    pub(super) fn collectors(&self, account: &AccountName) -> Beat {
        let mut collectors = self.collectors.lock().unwrap_or_else(PoisonError::into_inner);
        let beat = collectors.entry(account.clone()).or_insert_with(|| Beat::new(self.start)).clone();
        beat.now();
        beat
    }

    /// Only these accounts are polled now.
    pub(super) fn keep(&self, accounts: impl Fn(&AccountName) -> bool) {
        let mut collectors = self.collectors.lock().unwrap_or_else(PoisonError::into_inner);
        collectors.retain(|account, _| accounts(account));
    }

    /// How long each loop has not turned: `pipeline`, `sender`, `collectors` (those that waited longest).
    pub(super) fn ages(&self) -> Vec<(&'static str, Duration)> {
        let mut ages = vec![("pipeline", self.pipeline.age())];
        let sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner);
        ages.extend(sender.as_ref().map(|beat| ("sender", beat.age())));
        let collectors = self.collectors.lock().unwrap_or_else(PoisonError::into_inner);
        ages.extend(collectors.values().map(Beat::age).max().map(|age| ("collectors", age)));
        ages
    }

    /// Loops that have not turned for too long.
    pub(super) fn stuck(&self) -> Vec<&'static str> {
        let at_most = |name| match name {
            "pipeline" => PIPELINE_AT_MOST,
            "sender" => SENDER_AT_MOST,
            _ => COLLECTORS_AT_MOST,
        };
        let stuck = self.ages().into_iter().filter(|&(name, age)| age > at_most(name));
        stuck.map(|(name, _)| name).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_that_stopped_turning_is_named() {
        let pulse = Pulse::new();
        let account = "main".parse().unwrap();
        let beat = pulse.collectors(&account);
        pulse.sender();
        assert!(pulse.stuck().is_empty());
        // Started a while ago, and has turned at its start only.
        let Some(start) = Instant::now().checked_sub(Duration::from_secs(1000)) else { return };
        let old = || Beat { start, seconds: Arc::default() };
        let pulse = Pulse { pipeline: old(), ..pulse };
        assert_eq!(pulse.stuck(), ["pipeline"]);
        *pulse.sender.lock().unwrap() = Some(old());
        pulse.collectors.lock().unwrap().insert(account, old());
        assert_eq!(pulse.stuck(), ["pipeline", "sender", "collectors"]);
        pulse.pipeline.now();
        pulse.keep(|_| false);
        assert_eq!(pulse.stuck(), ["sender"]);
        beat.now();
    }
}
