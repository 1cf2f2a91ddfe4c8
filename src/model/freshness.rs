//! How long a reading counts, and which collectors see states: one rule for metrics, page, terminal, mails
//! and heartbeat. How something stale is shown is decided elsewhere.
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

/// When what `collector` read at `read_at` next stops counting, or begins to, with no other reading in between.
pub(crate) fn changes_at(
    profile: &Profile,
    collector: Collector,
    read_at: DateTime<Utc>,
    now: DateTime<Utc>,
) -> Option<DateTime<Utc>> {
    if read_at > now + AHEAD {
        return Some(read_at - AHEAD);
    }
    let limit = TimeDelta::from_std(*profile.stale_after.get(&collector)?).ok()?;
    read_at.checked_add_signed(limit).filter(|&at| at >= now)
}

/// The first such moment of all that was read of an account.
pub(crate) fn next_change(state: &AccountState, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
    let sites = state.sites.values().map(|listing| (Collector::Sites, listing.read_at));
    let databases = state.databases.values().map(|tally| (Collector::Databases, Some(tally.read_at)));
    let cron_jobs = state.cron_jobs.values().map(|tally| (Collector::CronJobs, Some(tally.read_at)));
    let whole = [
        (Collector::Vms, state.vms.read_at),
        (Collector::Containers, state.containers.read_at),
        (Collector::Ips, state.ips.read_at),
        (Collector::SshKeys, state.ssh_keys.read_at),
        (Collector::ExpectedBalance, state.billing.read_at),
        (Collector::Charges, state.charges.read_at),
    ];
    let readings = whole.into_iter().chain(sites).chain(databases).chain(cron_jobs);
    readings.filter_map(|(collector, read_at)| changes_at(&state.profile, collector, read_at?, now)).min()
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

/// Has each collector that sees states looked since the start, or since the machine last slept, well or not? Until
/// then what is known may be out of date.
pub(crate) fn all_looked(state: &AccountState) -> bool {
    state_collectors(&state.profile).all(|collector| has_looked(state, collector))
}

/// Has this one?
pub(crate) fn has_looked(state: &AccountState, collector: Collector) -> bool {
    state.collectors.get(&collector).is_some_and(|status| status.looked)
}

/// Is this one of those that see states?
pub(crate) fn sees_states(collector: Collector) -> bool {
    SEE_STATES.contains(&collector)
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
    use crate::model::snapshot::{PollEnd, Read, Rows};

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

    /// Up to the moment told nothing changes, and right after it something does, wherever the clock was set.
    #[test]
    fn the_next_change_is_when_a_reading_stops_counting_or_begins_to() {
        let mut known = KnownAccount::new(Arc::new(profile()));
        assert_eq!(next_change(known.state(), at(0)), None);
        known.apply(Read::Vms(Rows { rows: Vec::new(), complete: true }), at(100));
        // No limit is set for these.
        known.apply(Read::Ips(Rows { rows: Vec::new(), complete: true }), at(50));
        let table = [(100, Some(115)), (115, Some(115)), (116, None), (98, Some(99)), (20, Some(49))];
        for (now, want) in table {
            assert_eq!(next_change(known.state(), at(now)), want.map(at), "{now}");
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
