//! The number of calls that the schedules make, compared with the limits. It is computed from the readings.

use std::time::Duration;

use crate::config::AccountSettings;
use crate::model::{Collector, Group};
use crate::provider::CallLimit;
use crate::terminal::doctor::CheckVerdict;

/// The result of one reading.
#[derive(Debug, Default)]
pub(super) struct Reading {
    pub(super) rows: u64,
    /// The part of the rows that could not be read.
    pub(super) flaw: Option<String>,
    pub(super) error: Option<String>,
    pub(super) calls: u64,
    pub(super) took: Duration,
}

/// The readings of an account.
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
    /// Whether a reading of this group failed.
    pub(super) fn failed(&self, group: Group) -> bool {
        let of = |readings: &[&Reading]| readings.iter().any(|reading| reading.error.is_some());
        match group {
            Group::Vm => of(&[&self.vms]),
            Group::Hosting => of(&[&self.containers, &self.sites]),
            Group::Billing => of(&[&self.balance]),
        }
    }

    /// Extrapolates from the containers that were looked into to all of them.
    fn of_all(&self, of_some: u64) -> u64 {
        if self.looked_into == 0 { 0 } else { (of_some * self.containers.rows).div_ceil(self.looked_into) }
    }

    /// The number of calls in a sweep of a collector. Sites belong to the sweep of the containers.
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

/// One sweep of a collector: its number of calls, and the shortest and longest time to the next.
#[derive(Clone, Copy)]
struct Sweep {
    collector: Collector,
    calls: u64,
    gaps: (Duration, Duration),
}

impl Sweep {
    /// The calls a minute while its ticks are nearest. A sweep that still runs at the next tick skips that.
    fn rate(&self) -> f64 {
        self.calls as f64 * 60.0 / self.gaps.0.as_secs_f64().max(1.0)
    }

    /// `containers 61 every 2 min`
    fn words(&self) -> String {
        let Self { collector, calls, gaps: (shortest, longest) } = self;
        let every = if shortest == longest { "every" } else { "at the most every" };
        format!("{} {calls} {every} {}", collector.as_str(), span(*shortest))
    }
}

/// One check for each limit in use.
pub(super) fn checks(account: &AccountSettings, readings: &Readings) -> Vec<(String, CheckVerdict)> {
    let all = account.schedules.iter();
    let all = all.map(|(&one, schedule)| Sweep {
        collector: one,
        calls: readings.sweep(one),
        gaps: (schedule.shortest_gap(), schedule.longest_gap()),
    });
    let all: Vec<Sweep> = all.collect();
    let check = |(limit, allowed): (CallLimit, u32)| {
        let counts = |sweep: &Sweep| sweep.collector.call_limit() == limit;
        let sweeps: Vec<Sweep> = all.iter().copied().filter(counts).collect();
        // The number of calls is known only after a reading that works.
        let is_known = sweeps.iter().all(|sweep| !readings.failed(sweep.collector.group()));
        let verdict = match is_known {
            true => verdict(limit, allowed, &sweeps)?,
            false => CheckVerdict::skip("not known until that works"),
        };
        Some((format!("API budget, {}", <&str>::from(limit).replace('_', " ")), verdict))
    };
    CallLimit::ALL.into_iter().zip(account.api.limits).filter_map(check).collect()
}

/// Whether the sweeps fit the limit that they share; `None` without sweeps.
fn verdict(limit: CallLimit, allowed: u32, sweeps: &[Sweep]) -> Option<CheckVerdict> {
    let most = sweeps.iter().max_by(|a, b| a.rate().total_cmp(&b.rate()))?;
    let rate: f64 = sweeps.iter().map(Sweep::rate).sum();
    let parts = sweeps.iter().map(Sweep::words).collect::<Vec<_>>().join(", ");
    let says = format!("at most {rate:.1} of {allowed} calls/min: {parts}");
    if rate <= f64::from(allowed) {
        return Some(CheckVerdict::ok(says));
    }
    let slow = most.collector.as_str();
    let remedy = format!(
        "polls will skip ticks: poll {slow} less often (schedule.{slow}), or raise limits.{} if the provider \
         allows it",
        limit.key()
    );
    Some(CheckVerdict::warn(says).remedy(remedy))
}

/// `2 min`, `24 h`.
fn span(gap: Duration) -> String {
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
    fn the_sampled_accounts_stand_for_the_rest() {
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
        let sweep = |collector, calls, seconds| Sweep {
            collector,
            calls,
            gaps: (Duration::from_secs(seconds), Duration::from_secs(seconds)),
        };
        let sweeps = [sweep(Collector::Containers, 61, 120), sweep(Collector::Databases, 150, 86_400)];
        let fits = verdict(CallLimit::Hosting, 31, &sweeps).unwrap();
        assert_eq!(fits.outcome, CheckOutcome::Ok);
        assert_eq!(
            fits.says,
            "at most 30.6 of 31 calls/min: containers 61 every 2 min, databases 150 every 24 h"
        );
        let over = verdict(CallLimit::Hosting, 30, &sweeps).unwrap();
        assert_eq!(over.outcome, CheckOutcome::Warn);
        assert!(over.remedy.unwrap().contains("schedule.containers"));
    }

    #[test]
    fn a_schedule_with_uneven_ticks_is_not_said_to_keep_its_shortest_gap() {
        let schedule: crate::provider::cron::Schedule = "0,5 3 * * *".parse().unwrap();
        let gaps = (schedule.shortest_gap(), schedule.longest_gap());
        let sweep = Sweep { collector: Collector::Databases, calls: 150, gaps };
        let says = verdict(CallLimit::Hosting, 30, &[sweep]).unwrap().says;
        assert_eq!(says, "at most 30.0 of 30 calls/min: databases 150 at the most every 5 min");
    }
}
