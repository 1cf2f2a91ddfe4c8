//! How many calls the schedules make, compared with the limits: computed from what was read.

use std::time::Duration;

use crate::config::AccountSettings;
use crate::model::{Collector, Group};
use crate::provider::Limits;
use crate::terminal::doctor::CheckVerdict;

/// The limits, and which collectors share each.
type Limit = (&'static str, fn(&Limits) -> u32, fn(Collector) -> bool);
const LIMITS: [Limit; 4] = [
    ("vm_list_per_minute", |limits| limits.vm_list_per_minute, |collector| collector == Collector::Vms),
    (
        "vm_other_per_minute",
        |limits| limits.vm_other_per_minute,
        |collector| collector.group() == Group::Vm && collector != Collector::Vms,
    ),
    (
        "hosting_per_minute",
        |limits| limits.hosting_per_minute,
        |collector| collector.group() == Group::Hosting,
    ),
    (
        "billing_per_minute",
        |limits| limits.billing_per_minute,
        |collector| collector.group() == Group::Billing,
    ),
];

/// How one reading went.
#[derive(Debug, Default)]
pub(super) struct Reading {
    pub(super) rows: u64,
    /// What could not be read of them.
    pub(super) flaw: Option<String>,
    pub(super) error: Option<String>,
    pub(super) calls: u64,
    pub(super) took: Duration,
}

/// What was read of an account.
#[derive(Debug, Default)]
pub(super) struct Readings {
    pub(super) vms: Reading,
    pub(super) containers: Reading,
    /// Of the containers that were looked into.
    pub(super) sites: Reading,
    pub(super) looked_into: u64,
    pub(super) balance: Reading,
}

impl Readings {
    /// Something of this group could not be read.
    pub(super) fn failed(&self, group: Group) -> bool {
        let of = |readings: &[&Reading]| readings.iter().any(|reading| reading.error.is_some());
        match group {
            Group::Vm => of(&[&self.vms]),
            Group::Hosting => of(&[&self.containers, &self.sites]),
            Group::Billing => of(&[&self.balance]),
        }
    }

    /// Extrapolated from the containers that were looked into to all of them.
    fn of_all(&self, of_some: u64) -> u64 {
        if self.looked_into == 0 { 0 } else { (of_some * self.containers.rows).div_ceil(self.looked_into) }
    }

    /// Calls that a sweep of each collector takes. Sites go with their containers.
    fn sweep(&self, collector: Collector) -> u64 {
        match collector {
            Collector::Vms | Collector::Ips => self.vms.calls.max(1),
            Collector::Containers => self.containers.calls.max(1) + self.of_all(self.sites.calls),
            Collector::Sites => 0,
            Collector::Databases | Collector::CronJobs => self.of_all(self.sites.rows),
            Collector::ExpectedBalance | Collector::Charges | Collector::SshKeys => 1,
        }
    }
}

/// One sweep of a collector: how many calls it takes, and how often it is made.
#[derive(Clone, Copy)]
struct Sweep(Collector, u64, Duration);

impl Sweep {
    /// Calls a minute, on the average.
    fn rate(&self) -> f64 {
        self.1 as f64 * 60.0 / self.2.as_secs_f64().max(1.0)
    }
}

/// One check for each limit that is used.
pub(super) fn checks(account: &AccountSettings, readings: &Readings) -> Vec<(String, CheckVerdict)> {
    let all = account.schedules.iter();
    let all = all.map(|(&one, schedule)| Sweep(one, readings.sweep(one), schedule.shortest_gap()));
    let all: Vec<Sweep> = all.collect();
    let check = |&(key, allowed, shares): &Limit| {
        if account.schedules.keys().any(|&one| shares(one) && readings.failed(one.group())) {
            // How many calls it takes shows once it can be read.
            return Some((budget(key), CheckVerdict::skip("not known until that works")));
        }
        let sweeps: Vec<Sweep> = all.iter().copied().filter(|sweep| shares(sweep.0)).collect();
        Some((budget(key), verdict(key, allowed(&account.api.limits), &sweeps)?))
    };
    LIMITS.iter().filter_map(check).collect()
}

/// `API budget, hosting` of `hosting_per_minute`.
fn budget(key: &str) -> String {
    format!("API budget, {}", key.trim_end_matches("_per_minute").replace('_', " "))
}

/// Whether the sweeps fit the limit that they share; `None` where there are none.
fn verdict(key: &str, allowed: u32, sweeps: &[Sweep]) -> Option<CheckVerdict> {
    let most = sweeps.iter().max_by(|a, b| a.rate().total_cmp(&b.rate()))?;
    let rate: f64 = sweeps.iter().map(Sweep::rate).sum();
    let parts =
        sweeps.iter().map(|Sweep(one, calls, gap)| format!("{} {calls} every {}", one.as_str(), every(*gap)));
    let parts = parts.collect::<Vec<_>>().join(", ");
    let says = format!("{rate:.1} of {allowed} calls/min: {parts}");
    if rate <= f64::from(allowed) {
        return Some(CheckVerdict::ok(says));
    }
    let slow = most.0.as_str();
    let remedy = format!(
        "polls will skip ticks: poll {slow} less often (schedule.{slow}), or raise limits.{key} if the provider \
         allows it"
    );
    Some(CheckVerdict::warn(says).remedy(remedy))
}

/// `2 min`, `24 h`.
fn every(gap: Duration) -> String {
    match gap.as_secs() {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds @ 120..7200 => format!("{} min", seconds / 60),
        seconds => format!("{} h", seconds / 3600),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::doctor::CheckOutcome;

    #[test]
    fn what_was_looked_into_stands_for_the_rest() {
        let reading = |rows, calls| Reading { rows, calls, ..Reading::default() };
        let readings = Readings {
            vms: reading(4, 2),
            containers: reading(60, 1),
            sites: reading(50, 20),
            looked_into: 20,
            ..Readings::default()
        };
        assert_eq!(readings.sweep(Collector::Containers), 1 + 60);
        assert_eq!(readings.sweep(Collector::Databases), 150);
        assert_eq!(readings.sweep(Collector::Ips), 2);
        assert_eq!(Readings::default().sweep(Collector::Containers), 1);
    }

    #[test]
    fn more_calls_than_the_limit_are_told_with_the_schedule_to_change() {
        let sweep = |collector, calls, seconds| Sweep(collector, calls, Duration::from_secs(seconds));
        let sweeps = [sweep(Collector::Containers, 61, 120), sweep(Collector::Databases, 150, 86_400)];
        let fits = verdict("hosting_per_minute", 31, &sweeps).unwrap();
        assert_eq!(fits.outcome, CheckOutcome::Ok);
        assert_eq!(fits.says, "30.6 of 31 calls/min: containers 61 every 2 min, databases 150 every 24 h");
        let over = verdict("hosting_per_minute", 30, &sweeps).unwrap();
        assert_eq!(over.outcome, CheckOutcome::Warn);
        assert!(over.remedy.unwrap().contains("schedule.containers"));
    }
}
