//! What can happen, as proptest draws it. Simple values come first, so that shrinking goes towards a quiet life.

use crate::alert::{AlertSettings, Kind, Rule, Severity};
use crate::model::{Collector, FailureKind};
use proptest::prelude::*;

/// Names of states, by resource id; what is not in it is not shown.
pub type Rows = Vec<(u64, &'static str)>;

#[derive(Clone, Debug)]
pub enum Op {
    Vms {
        rows: Rows,
        complete: bool,
    },
    Containers {
        rows: Rows,
        complete: bool,
    },
    Sites {
        home: u64,
        rows: Rows,
        complete: bool,
        /// The poll of all sites ends with this container's.
        ended: bool,
    },
    /// The poll of sites ends and has read none, for want of containers.
    NoSites,
    Report(Bill),
    Fails(Collector, FailureKind),
    /// Minutes go by, with a tick each, or as many as are worth it.
    Wait(i64),
    /// The daemon is away for so many minutes.
    Restart(i64),
    /// Somebody sets the clock, by so many minutes.
    Clock(i64),
    /// The mail server takes mail, or stops doing so.
    Smtp(bool),
    Silence {
        pattern: &'static str,
        minutes: i64,
    },
    /// Acknowledges the oldest incident that is open.
    Ack,
    /// Reloads: for so many minutes no rule speaks of VMs in error.
    RuleOff(i64),
}

/// An expected-balance report.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bill {
    /// Nothing to fear.
    Rich,
    /// As rich, with much less on the account than was foreseen.
    Dropped,
    /// Cut off in so many hours.
    CutIn(i64),
    /// No date, and the balance runs out by itself.
    RunsOut,
    /// Nothing left.
    UsedUp,
    /// The date cannot be read.
    Unreadable,
    /// No date, and it looks ahead for a day only.
    Short,
    /// As rich, with an order suspended.
    Suspended,
}

pub const VMS: [u64; 3] = [1, 2, 3];
pub const CONTAINERS: [u64; 2] = [10, 11];
pub const SITES: [u64; 3] = [100, 101, 102];

/// Wanted on, and left out by a rule in some settings: its name is `vm-2`.
pub const EXCLUDED_VM: u64 = 2;

pub fn vm_state() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        4 => Just("active"),
        4 => Just("error"),
        1 => Just("stopped"),
        1 => Just("blocked"),
        1 => Just("building"),
        1 => Just("migrating"),
    ]
}

pub fn container_state() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        6 => Just("ENABLED"),
        1 => Just("DISABLED_BY_SERVICE"),
        1 => Just("DISABLED_BY_QUOTA"),
        1 => Just("7"),
    ]
}

pub fn site_state() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        4 => Just("Active"),
        3 => Just("Error"),
        1 => Just("Stopped"),
        1 => Just("StoppedByService"),
        1 => Just("StoppedByQuota"),
        1 => Just("Backuping"),
        1 => Just("Thawing"),
    ]
}

/// A state for each of `ids`, or not shown.
pub fn rows<S: Strategy<Value = &'static str> + Clone>(
    ids: &'static [u64],
    state: S,
    shown: f64,
) -> impl Strategy<Value = Rows> {
    let one = prop::option::weighted(shown, state);
    prop::collection::vec(one, ids.len())
        .prop_map(|states| ids.iter().copied().zip(states).filter_map(|(id, s)| Some((id, s?))).collect())
}

pub fn complete() -> impl Strategy<Value = bool> {
    prop::bool::weighted(0.85)
}

pub fn bill() -> impl Strategy<Value = Bill> {
    prop_oneof![
        4 => Just(Bill::Rich),
        5 => (1i64..40 * 24).prop_map(Bill::CutIn),
        2 => (1i64..6 * 24).prop_map(Bill::CutIn),
        1 => Just(Bill::CutIn(-2)),
        1 => Just(Bill::Dropped),
        1 => Just(Bill::RunsOut),
        1 => Just(Bill::UsedUp),
        1 => Just(Bill::Unreadable),
        1 => Just(Bill::Short),
        1 => Just(Bill::Suspended),
    ]
}

fn failure() -> impl Strategy<Value = (Collector, FailureKind)> {
    let collectors =
        [Collector::Vms, Collector::Containers, Collector::Sites, Collector::ExpectedBalance].to_vec();
    let kinds =
        [FailureKind::Other, FailureKind::Credentials, FailureKind::NotFound, FailureKind::ReportError];
    (prop::sample::select(collectors), prop::sample::select(kinds.to_vec())).prop_map(|(collector, kind)| {
        // Only a report can carry an error.
        let report = collector == Collector::ExpectedBalance;
        (collector, if kind == FailureKind::ReportError && !report { FailureKind::Other } else { kind })
    })
}

fn minutes() -> impl Strategy<Value = i64> {
    prop_oneof![4 => 1i64..5, 2 => 5i64..50, 2 => 50i64..600, 1 => 600i64..6 * 1440]
}

pub fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        10 => (rows(&VMS, vm_state().boxed(), 0.85), complete())
            .prop_map(|(rows, complete)| Op::Vms { rows, complete }),
        5 => (rows(&CONTAINERS, container_state().boxed(), 0.9), complete())
            .prop_map(|(rows, complete)| Op::Containers { rows, complete }),
        8 => (prop::sample::select(CONTAINERS.to_vec()), rows(&SITES, site_state().boxed(), 0.5), complete(), any::<bool>())
            .prop_map(|(home, rows, complete, ended)| Op::Sites { home, rows, complete, ended }),
        7 => bill().prop_map(Op::Report),
        4 => failure().prop_map(|(collector, kind)| Op::Fails(collector, kind)),
        5 => minutes().prop_map(Op::Wait),
        2 => minutes().prop_map(Op::Restart),
        2 => prop_oneof![minutes(), minutes().prop_map(|by| -by)].prop_map(Op::Clock),
        2 => any::<bool>().prop_map(Op::Smtp),
        1 => (prop::sample::select(vec!["main/vm_*/*", "vm-1", "*", "main/disconnect/*"]), minutes())
            .prop_map(|(pattern, minutes)| Op::Silence { pattern, minutes }),
        1 => Just(Op::Ack),
    ]
}

/// A first look at everything, as each start brings it; then whatever comes.
pub fn history() -> impl Strategy<Value = Vec<Op>> {
    prop::collection::vec(op(), 1..60)
}

/// All VMs come and go together, again and again, with whatever else comes in between.
pub fn unsteady_history() -> impl Strategy<Value = Vec<Op>> {
    let vms = |state| Op::Vms { rows: VMS.map(|id| (id, state)).to_vec(), complete: true };
    let turn = (prop::sample::select(vec!["error", "blocked", "active"]), 1usize..4)
        .prop_map(move |(state, looks)| vec![vms(state); looks]);
    let others = op().prop_map(|op| vec![op]);
    let calm = Just(vec![Op::Wait(31)]);
    let reload = minutes().prop_map(|minutes| vec![Op::RuleOff(minutes)]);
    let parts = prop_oneof![16 => turn, 4 => others, 2 => calm, 1 => reload];
    prop::collection::vec(parts, 10..50).prop_map(|parts| parts.concat())
}

pub fn settings() -> impl Strategy<Value = AlertSettings> {
    (1u32..=3, 1u32..=3, any::<[bool; 6]>()).prop_map(|(confirm, recover, on)| {
        let mut settings = AlertSettings::defaults();
        settings.confirm_polls = confirm;
        settings.recover_polls = recover;
        let [except, off, extra, severity, to, escalate] = on;
        if except {
            let rule = Rule { except: vec![format!("vm-{EXCLUDED_VM}")], ..Rule::default() };
            settings.rules.insert(Kind::VmError, rule);
        }
        if off {
            settings.rules.insert(Kind::SiteBlocked, Rule { enabled: Some(false), ..Rule::default() });
        }
        if extra {
            settings.rules.insert(Kind::VmStopped, Rule { enabled: Some(true), ..Rule::default() });
        }
        if severity {
            settings
                .rules
                .insert(Kind::VmBlocked, Rule { severity: Some(Severity::Info), ..Rule::default() });
        }
        if to {
            let rule = Rule { to: vec!["web".into(), "ops".into()], ..Rule::default() };
            settings.rules.insert(Kind::SiteError, rule);
        }
        if escalate {
            settings.escalate_after = std::time::Duration::from_secs(3 * 3600);
            settings.escalate_to = vec!["boss".into()];
        }
        settings
    })
}
