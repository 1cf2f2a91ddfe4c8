//! What time it is. The only place that reads the wall clock; everything else is told the time.
//!
//! [`now`] is the wall clock as it stands, for commands. A daemon asks its [`Clock`], which heeds the provider's.

#[path = "clock/belief.rs"] // as a bench compiles this file by its path
mod belief;

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use parking_lot::Mutex;
use rustix::time::{ClockId, clock_gettime};
use tokio::sync::watch;

use belief::Belief;

/// The time by the wall clock, in UTC.
#[allow(clippy::disallowed_methods)]
pub(crate) fn now() -> DateTime<Utc> {
    Utc::now()
}

/// The clock of a daemon. Clones are one clock.
#[derive(Clone, Debug)]
pub(crate) struct Clock(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    wall: fn() -> DateTime<Utc>,
    /// By the steady clock.
    start: TimeDelta,
    belief: Mutex<Belief>,
    /// Counts how often everybody was asked to look again.
    looks: watch::Sender<u64>,
}

impl Clock {
    /// A clock by this wall clock.
    pub(crate) fn by(wall: fn() -> DateTime<Utc>) -> Self {
        let belief = Mutex::new(Belief::new(wall(), TimeDelta::zero()));
        Self(Arc::new(Inner { wall, start: since_boot(), belief, looks: watch::Sender::new(0) }))
    }

    /// The time.
    pub(crate) fn now(&self) -> DateTime<Utc> {
        let (wall, steady) = self.both();
        self.0.belief.lock().now(wall, steady)
    }

    /// What this machine's own clock shows.
    pub(crate) fn wall(&self) -> DateTime<Utc> {
        (self.0.wall)()
    }

    /// An answer of this host was dated so.
    pub(crate) fn heard(&self, host: &str, date: DateTime<Utc>) {
        let (wall, steady) = self.both();
        self.0.belief.lock().heard(host, date, wall, steady);
    }

    /// No date from before this is believed at once.
    pub(crate) fn has_lived_until(&self, moment: DateTime<Utc>) {
        self.0.belief.lock().has_lived_until(moment);
    }

    /// Is it the time beyond doubt?
    pub(crate) fn is_sure(&self) -> bool {
        self.0.belief.lock().is_sure(self.steady())
    }

    /// The wall clock was set, and is not followed yet.
    pub(crate) fn is_doubted(&self) -> bool {
        self.0.belief.lock().is_doubted()
    }

    /// How this machine's clock differs from the provider's, in words; true where the provider's decides.
    pub(crate) fn difference(&self) -> Option<(String, bool)> {
        self.0.belief.lock().difference_in_words()
    }

    /// What was known may be out of date: whoever sees states is to look now.
    pub(crate) fn look_again(&self) {
        self.0.looks.send_modify(|count| *count += 1);
    }

    /// Tells when to look again.
    pub(crate) fn looks(&self) -> watch::Receiver<u64> {
        self.0.looks.subscribe()
    }

    /// The wall clock and the steady one, read together: between two readings a machine may sleep.
    fn both(&self) -> (DateTime<Utc>, TimeDelta) {
        loop {
            let (before, wall, after) = (self.steady(), self.wall(), self.steady());
            if after - before < TimeDelta::seconds(1) {
                return (wall, after);
            }
        }
    }

    /// How long it has run, by a clock that is never set.
    fn steady(&self) -> TimeDelta {
        since_boot() - self.0.start
    }
}

/// Goes on while the machine sleeps, which [`std::time::Instant`] does not: what then has moved is no wall clock that was
/// set.
fn since_boot() -> TimeDelta {
    let time = clock_gettime(ClockId::Boottime);
    TimeDelta::seconds(time.tv_sec) + TimeDelta::nanoseconds(time.tv_nsec)
}

impl Default for Clock {
    fn default() -> Self {
        Self::by(now)
    }
}
