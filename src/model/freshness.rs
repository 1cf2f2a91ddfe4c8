//! How long a reading counts, and which collectors see states: one rule for metrics, page, terminal, mails and
//! heartbeat. Each of them decides how it shows a stale reading.
//!
//! A caller that shows readings asks [`is_fresh`] with the time of the reading. A caller that speaks of a
//! collector asks [`is_read`]. A caller that says whether all is well walks the [`state_collectors`] that are
//! on.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use super::snapshot::{AccountState, Collector, Profile};

/// Only if all of these were read can anybody say that all is well.
const SEE_STATES: [Collector; 4] =
    [Collector::Vms, Collector::Containers, Collector::Sites, Collector::ExpectedBalance];

/// After a start, a sleep or a change of the clock, readings of these collectors are awaited for this long
/// before mails are sent without them. The reading of a possible cause is awaited as long.
pub(crate) const AWAITED_FOR: Duration = Duration::from_secs(120);

/// Clocks that differ by up to this much agree.
const AHEAD: TimeDelta = TimeDelta::minutes(1);

/// Whether a reading of `collector` at `read_at` still counts. A missing reading does not. A reading after
/// `now` does not either: the clock was set back, so its age is unknown.
pub(crate) fn is_fresh(
    profile: &Profile,
    collector: Collector,
    read_at: Option<DateTime<Utc>>,
    now: DateTime<Utc>,
) -> bool {
    let Some(read_at) = read_at.filter(|&at| at <= now + AHEAD) else { return false };
    let age = (now - read_at).to_std().unwrap_or_default();
    profile.stale_after.get(&collector).is_none_or(|&limit| age <= limit)
}

/// Whether a poll of `collector` succeeded recently enough to count.
pub(crate) fn is_read(state: &AccountState, collector: Collector, now: DateTime<Utc>) -> bool {
    let last_success = state.collectors.get(&collector).and_then(|status| status.last_success);
    is_fresh(&state.profile, collector, last_success, now)
}

/// Whether the last poll of `collector` showed the reading of `read_at`. Parts that a failed poll could read
/// count, too.
pub(crate) fn is_shown(state: &AccountState, collector: Collector, read_at: Option<DateTime<Utc>>) -> bool {
    let Some(status) = state.collectors.get(&collector) else { return false };
    status.success || status.began.is_some_and(|began| read_at.is_some_and(|at| at >= began))
}

/// The collectors that are on and see states or the balance.
pub(crate) fn state_collectors(profile: &Profile) -> impl Iterator<Item = Collector> + '_ {
    SEE_STATES.into_iter().filter(|collector| profile.collectors.contains(collector))
}

/// Whether each collector that sees states was tried since the start, successfully or not.
pub(crate) fn attempted(state: &AccountState) -> bool {
    state_collectors(&state.profile).all(|collector| was_tried(state, collector))
}

/// Whether each collector that sees states has polled since the start or the last sleep, successfully or not.
/// Until then the known state may be out of date.
pub(crate) fn all_looked(state: &AccountState) -> bool {
    state_collectors(&state.profile).all(|collector| has_looked(state, collector))
}

/// Whether this collector has.
pub(crate) fn has_looked(state: &AccountState, collector: Collector) -> bool {
    state.collectors.get(&collector).is_some_and(|status| status.looked)
}

/// Whether this collector sees states.
pub(crate) fn sees_states(collector: Collector) -> bool {
    SEE_STATES.contains(&collector)
}

/// Whether a poll of `collector` ended since the start, successfully or not.
pub(crate) fn was_tried(state: &AccountState, collector: Collector) -> bool {
    state.collectors.get(&collector).is_some_and(|status| status.polls > 0)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use super::*;

    fn at(minutes: i64) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH + TimeDelta::minutes(minutes)
    }

    fn profile() -> Profile {
        Profile {
            collectors: [Collector::Ips, Collector::Sites, Collector::Vms].into(),
            stale_after: BTreeMap::from([(Collector::Vms, Duration::from_secs(900))]),
            ..crate::unit::account::profile("main")
        }
    }

    #[test]
    fn a_reading_counts_for_its_time_and_none_from_the_future_does() {
        let profile = profile();
        let table = [
            (Collector::Vms, None, false),
            (Collector::Vms, Some(100), true),
            (Collector::Vms, Some(85), true),
            (Collector::Vms, Some(84), false),
            (Collector::Vms, Some(101), true),
            (Collector::Vms, Some(102), false),
            // No limit is set.
            (Collector::Sites, Some(0), true),
            (Collector::Sites, Some(102), false),
        ];
        for (collector, read, want) in table {
            assert_eq!(is_fresh(&profile, collector, read.map(at), at(100)), want, "{collector:?} {read:?}");
        }
    }
}
