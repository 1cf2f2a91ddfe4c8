//! How long a reading counts, and which collectors see states: one rule for metrics, page, terminal, mails
//! and heartbeat. What to say of what is stale is for those who show it.
//!
//! Whoever shows readings asks [`is_fresh`] of the time at which these were read; whoever speaks of a
//! collector asks [`is_read`]; whoever says whether all is well walks [`state_collectors`] of what is on.

use chrono::{DateTime, TimeDelta, Utc};

use super::snapshot::{AccountState, Collector, Profile};

/// Without one of these nobody can say that all is well.
const SEE_STATES: [Collector; 4] =
    [Collector::Vms, Collector::Containers, Collector::Sites, Collector::ExpectedBalance];

/// Clocks that are this far apart still agree.
const AHEAD: TimeDelta = TimeDelta::minutes(1);

/// Does what `collector` read at `read_at` still count? What was never read does not, nor what was read
/// after `now`: then the clock was set back, and nobody knows how old it is.
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

/// Did a poll of `collector` succeed lately enough to count?
pub(crate) fn is_read(state: &AccountState, collector: Collector, now: DateTime<Utc>) -> bool {
    let last_success = state.collectors.get(&collector).and_then(|status| status.last_success);
    is_fresh(&state.profile, collector, last_success, now)
}

/// The collectors that see states or the balance, of those that are on.
pub(crate) fn state_collectors(profile: &Profile) -> impl Iterator<Item = Collector> + '_ {
    SEE_STATES.into_iter().filter(|collector| profile.collectors.contains(collector))
}

/// Was each collector that sees states tried since the start, well or not?
pub(crate) fn attempted(state: &AccountState) -> bool {
    state_collectors(&state.profile).all(|collector| was_tried(state, collector))
}

/// Did a poll of `collector` end since the start, well or not?
pub(crate) fn was_tried(state: &AccountState, collector: Collector) -> bool {
    state.collectors.get(&collector).is_some_and(|status| status.polls > 0)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use crate::model::KnownAccount;
    use crate::model::snapshot::PollEnd;

    fn at(minutes: i64) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH + TimeDelta::minutes(minutes)
    }

    fn profile() -> Profile {
        Profile {
            name: "main".parse().unwrap(),
            currency: String::new(),
            time_zone: None,
            lead_days: 3,
            vm_memory_unit_bytes: None,
            collectors: [Collector::Ips, Collector::Sites, Collector::Vms].into(),
            stale_after: BTreeMap::from([(Collector::Vms, Duration::from_secs(900))]),
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

    #[test]
    fn a_collector_is_asked_of_only_where_it_is_on() {
        let mut known = KnownAccount::new(Arc::new(profile()));
        let on: Vec<Collector> = state_collectors(&known.state().profile).collect();
        assert_eq!(on, [Collector::Vms, Collector::Sites]);
        assert!(!attempted(known.state()) && !is_read(known.state(), Collector::Vms, at(0)));
        for collector in on {
            let end = PollEnd { duration: Duration::ZERO, failure: None, complete: true };
            known.end(collector, end, at(0));
        }
        assert!(attempted(known.state()) && is_read(known.state(), Collector::Vms, at(0)));
        assert!(!is_read(known.state(), Collector::Vms, at(16)));
    }
}
