//! How many calls the schedules make, against the limits: arithmetic over what was counted.

use std::time::Duration;

use crate::config::Account;
use crate::model::{Collector, Group};
use crate::terminal::doctor::{Check, Outcome};

/// Calls that one sweep of a collector takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Sweep {
    pub(super) collector: Collector,
    pub(super) calls: u64,
}

/// What was counted of an account.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counted {
    pub(super) vm_calls: u64,
    pub(super) container_calls: u64,
    pub(super) containers: u64,
    /// Of the containers that were looked into.
    pub(super) site_calls: u64,
    pub(super) sites: u64,
    pub(super) looked_into: u64,
}

impl Counted {
    /// All containers are taken to be like those that were looked into.
    fn of_all(self, of_some: u64) -> u64 {
        if self.looked_into == 0 { 0 } else { (of_some * self.containers).div_ceil(self.looked_into) }
    }

    /// What a sweep of each collector takes. Sites go with their containers.
    fn sweep(self, collector: Collector) -> u64 {
        let sites = self.of_all(self.sites);
        match collector {
            Collector::Vms | Collector::Ips => self.vm_calls.max(1),
            Collector::Containers => self.container_calls.max(1) + self.of_all(self.site_calls),
            Collector::Sites => 0,
            Collector::Databases | Collector::CronJobs => sites,
            Collector::ExpectedBalance | Collector::Charges | Collector::SshKeys => 1,
        }
    }
}

/// The collectors that share a limit.
#[derive(Clone, Debug)]
struct Load {
    key: &'static str,
    allowed: u32,
    sweeps: Vec<(Sweep, Duration)>,
}

impl Load {
    /// Calls a minute, on the average.
    fn per_minute(&self) -> f64 {
        let each = |(sweep, gap): &(Sweep, Duration)| sweep.calls as f64 * 60.0 / gap.as_secs_f64().max(1.0);
        self.sweeps.iter().map(each).sum()
    }

    fn check(&self) -> Check {
        let parts = self.sweeps.iter().map(|(sweep, gap)| {
            format!("{} {} every {}", sweep.collector.as_str(), sweep.calls, every(*gap))
        });
        let parts = parts.collect::<Vec<_>>().join(", ");
        let (rate, allowed) = (self.per_minute(), self.allowed);
        let says = format!("{rate:.1} a minute of {allowed}: {parts}");
        let what = format!("calls, {}", self.key);
        if rate <= f64::from(allowed) {
            return Check::new(what, Outcome::Ok, says);
        }
        let most = self.sweeps.iter().max_by(|a, b| {
            let rate = |(sweep, gap): &(Sweep, Duration)| sweep.calls as f64 / gap.as_secs_f64().max(1.0);
            rate(a).total_cmp(&rate(b))
        });
        let slow = most.map_or("vms", |(sweep, _)| sweep.collector.as_str());
        let remedy = format!(
            "polls will skip ticks: poll {slow} less often (schedule.{slow}), or raise limits.{} if the provider \
             allows it",
            self.key
        );
        Check::new(what, Outcome::Warn, says).remedy(remedy)
    }
}

/// One check for each limit that is used.
pub(super) fn checks(account: &Account, counted: Counted) -> Vec<Check> {
    let limits = &account.api.limits;
    let mut loads = [
        Load { key: "vm_list_per_minute", allowed: limits.vm_list_per_minute, sweeps: Vec::new() },
        Load { key: "vm_other_per_minute", allowed: limits.vm_other_per_minute, sweeps: Vec::new() },
        Load { key: "hosting_per_minute", allowed: limits.hosting_per_minute, sweeps: Vec::new() },
        Load { key: "billing_per_minute", allowed: limits.billing_per_minute, sweeps: Vec::new() },
    ];
    for (&collector, schedule) in &account.schedules {
        let index = match (collector.group(), collector) {
            (Group::Vm, Collector::Vms) => 0,
            (Group::Vm, _) => 1,
            (Group::Hosting, _) => 2,
            (Group::Billing, _) => 3,
        };
        let sweep = Sweep { collector, calls: counted.sweep(collector) };
        loads[index].sweeps.push((sweep, schedule.shortest_gap()));
    }
    loads.iter().filter(|load| !load.sweeps.is_empty()).map(Load::check).collect()
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

    const COUNTED: Counted = Counted {
        vm_calls: 2,
        container_calls: 1,
        containers: 60,
        site_calls: 20,
        sites: 50,
        looked_into: 20,
    };

    #[test]
    fn what_was_looked_into_stands_for_the_rest() {
        assert_eq!(COUNTED.sweep(Collector::Containers), 1 + 60);
        assert_eq!(COUNTED.sweep(Collector::Databases), 150);
        assert_eq!(COUNTED.sweep(Collector::Ips), 2);
        assert_eq!(Counted::default().sweep(Collector::Containers), 1);
    }

    #[test]
    fn more_calls_than_the_limit_are_told_with_the_schedule_to_change() {
        let sweep = |collector, calls, seconds| (Sweep { collector, calls }, Duration::from_secs(seconds));
        let sweeps = vec![sweep(Collector::Containers, 61, 120), sweep(Collector::Databases, 150, 86_400)];
        let load = |allowed| Load { key: "hosting_per_minute", allowed, sweeps: sweeps.clone() }.check();
        let fits = load(31);
        assert_eq!(fits.outcome, Outcome::Ok);
        assert_eq!(fits.says, "30.6 a minute of 31: containers 61 every 2 min, databases 150 every 24 h");
        let over = load(30);
        assert_eq!(over.outcome, Outcome::Warn);
        assert!(over.remedy.unwrap().contains("schedule.containers"));
    }
}
