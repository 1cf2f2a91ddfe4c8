//! The time. This is the only place that reads the wall clock; other modules take the time as an argument.
//!
//! [`now`] is the wall clock's time, for commands. A daemon uses its [`Clock`], which also takes the provider's
//! time into account.

#[path = "clock/belief.rs"] // as a bench compiles this file by its path
mod belief;

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use parking_lot::Mutex;
use rustix::time::{ClockId, clock_gettime};

use belief::Belief;

/// The time by the wall clock, in UTC.
#[allow(clippy::disallowed_methods)]
pub(crate) fn now() -> DateTime<Utc> {
    Utc::now()
}

/// The clock of a daemon. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct Clock(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    wall: fn() -> DateTime<Utc>,
    /// The start by the steady clock.
    start: TimeDelta,
    belief: Mutex<Belief>,
}

impl Clock {
    /// A clock that reads this wall clock.
    pub(crate) fn by(wall: fn() -> DateTime<Utc>) -> Self {
        let belief = Mutex::new(Belief::new(wall(), TimeDelta::zero()));
        Self(Arc::new(Inner { wall, start: since_boot(), belief }))
    }

    /// The time.
    pub(crate) fn now(&self) -> DateTime<Utc> {
        let (wall, steady) = self.both();
        self.0.belief.lock().now(wall, steady)
    }

    /// The time on this machine's own clock.
    pub(crate) fn wall(&self) -> DateTime<Utc> {
        (self.0.wall)()
    }

    /// Takes in the date of an answer of this host.
    pub(crate) fn heard(&self, host: &str, date: DateTime<Utc>) {
        let (wall, steady) = self.both();
        self.0.belief.lock().heard(host, date, wall, steady);
    }

    /// Sets a moment that has surely passed. Earlier dates are not believed at once.
    pub(crate) fn has_lived_until(&self, moment: DateTime<Utc>) {
        self.0.belief.lock().has_lived_until(moment);
    }

    /// Whether the time is certain.
    pub(crate) fn is_sure(&self) -> bool {
        self.0.belief.lock().is_sure(self.steady())
    }

    /// Whether the wall clock was set and is not followed yet.
    pub(crate) fn is_doubted(&self) -> bool {
        self.0.belief.lock().is_doubted()
    }

    /// The time by which this machine's clock is ahead of the provider's, if they differ. True if the provider's clock
    /// decides.
    pub(crate) fn difference(&self) -> Option<(TimeDelta, bool)> {
        self.0.belief.lock().difference_to_say()
    }

    /// The wall clock and the steady one. Both are read again if the machine may have slept between the two
    /// readings.
    fn both(&self) -> (DateTime<Utc>, TimeDelta) {
        loop {
            let (before, wall, after) = (self.steady(), self.wall(), self.steady());
            if after - before < TimeDelta::seconds(1) {
                return (wall, after);
            }
        }
    }

    /// The running time by the steady clock, which is never set.
    fn steady(&self) -> TimeDelta {
        since_boot() - self.0.start
    }
}

/// A clock that runs on while the machine sleeps, which [`std::time::Instant`] does not. So a sleep does not
/// look like a wall clock that was set.
fn since_boot() -> TimeDelta {
    let time = clock_gettime(ClockId::Boottime);
    TimeDelta::seconds(time.tv_sec) + TimeDelta::nanoseconds(time.tv_nsec)
}

impl Default for Clock {
    fn default() -> Self {
        Self::by(now)
    }
}
