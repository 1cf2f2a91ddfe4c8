//! Everything that can happen, as proptest draws it. Simple values come first, so that shrinking leads to quiet
//! histories.

use std::time::Duration as Span;

use crate::alert::{AlertSettings, Kind, Rule, Severity};
use crate::model::{Collector, FailureKind};
use proptest::prelude::*;

use super::alert_support::Fate;

/// Names of states by resource id. The listing has these resources only.
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
        /// The poll of all sites ends with this container's sites.
        ended: bool,
    },
    /// The poll of sites ends and has read nothing, because no containers are known.
    NoSites,
    Report(Bill),
    Fails(Collector, FailureKind),
    /// Minutes pass, with a tick in each minute, or with fewer ticks for long times.
    Wait(i64),
    /// The daemon is stopped for so many minutes.
    Restart(i64),
    /// The machine sleeps for so many minutes.
    Sleep(i64),
    /// Somebody moves the clock by so many minutes.
    Clock(i64),
    /// The mail server gives this answer from now on, to mails for one recipient or for all.
    Server(Option<&'static str>, Fate),
    Silence {
        pattern: &'static str,
        minutes: i64,
    },
    /// Ends the oldest silence.
    Unsilence,
    /// Acknowledges an incident that the newest mails tell as wrong: the last of them, or an earlier one.
    Ack(usize),
    /// Takes all acknowledgements back.
    Unack,
    /// Reloads with a rule switched on or off.
    Rule(Kind, bool),
    /// Reloads with ann as one of the account's recipients, or without her.
    Ann(bool),
}

/// An expected-balance report.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bill {
    /// The account is paid for long.
    Rich,
    /// The same, with a balance much below its forecast.
    Dropped,
    /// A cut-off in so many seconds, with a balance of so many roubles.
    CutIn(i64, i64),
    /// No date, and the charges use up the balance.
    RunsOut,
    /// An empty balance.
    UsedUp,
    /// An empty balance, and the date is so many seconds ahead.
    UsedUpAhead(i64),
    /// The date cannot be read.
    Unreadable,
    /// No date, and the report covers only a day.
    Short,
    /// Paid for long, with an order suspended.
    Suspended,
}

pub const VMS: [u64; 3] = [1, 2, 3];
pub const CONTAINERS: [u64; 2] = [10, 11];
pub const SITES: [u64; 3] = [100, 101, 102];

/// This VM is expected to run, and some settings exclude it by a rule: its name is `vm-2`.
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

/// A state for each of `ids`; some of them are not listed.
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
    const HOUR: i64 = 3600;
    let balance = || prop::sample::select(vec![500i64, 700, 900, 3000]);
    prop_oneof![
        4 => Just(Bill::Rich),
        5 => (1i64..40 * 24, balance()).prop_map(|(hours, left)| Bill::CutIn(hours * HOUR, left)),
        3 => (1i64..9 * 24, balance()).prop_map(|(hours, left)| Bill::CutIn(hours * HOUR, left)),
        1 => (0i64..48).prop_map(|hours| Bill::CutIn(-hours * HOUR, 500)),
        1 => Just(Bill::Dropped),
        1 => Just(Bill::RunsOut),
        1 => Just(Bill::UsedUp),
        1 => (1i64..9 * 24).prop_map(|hours| Bill::UsedUpAhead(hours * HOUR)),
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

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        6 => Just(Fate::Accept),
        2 => Just(Fate::Away),
        2 => Just(Fate::Defer),
        2 => any::<bool>().prop_map(|arrived| Fate::LoseReply { arrived }),
        1 => Just(Fate::RefuseRecipient),
        1 => Just(Fate::RefuseMail),
    ]
}

fn server() -> impl Strategy<Value = Op> {
    let to = prop::sample::select(vec![None, Some("ops"), Some("ann"), Some("boss")]);
    (to, fate()).prop_map(|(to, fate)| Op::Server(to, fate))
}

fn reload() -> impl Strategy<Value = Op> {
    let kinds = vec![Kind::VmError, Kind::VmBlocked, Kind::ContainerDisabled, Kind::Disconnect];
    prop_oneof![
        2 => (prop::sample::select(kinds), any::<bool>()).prop_map(|(kind, on)| Op::Rule(kind, on)),
        1 => any::<bool>().prop_map(Op::Ann),
    ]
}

fn silence() -> impl Strategy<Value = Op> {
    let patterns = vec!["main/vm_*/*", "vm-1", "*", "main/disconnect/*"];
    (prop::sample::select(patterns), minutes())
        .prop_map(|(pattern, minutes)| Op::Silence { pattern, minutes })
}

pub fn op() -> impl Strategy<Value = Op> {
    let home = || prop::sample::select(CONTAINERS.to_vec());
    prop_oneof![
        10 => (rows(&VMS, vm_state().boxed(), 0.85), complete())
            .prop_map(|(rows, complete)| Op::Vms { rows, complete }),
        5 => (rows(&CONTAINERS, container_state().boxed(), 0.9), complete())
            .prop_map(|(rows, complete)| Op::Containers { rows, complete }),
        8 => (home(), rows(&SITES, site_state().boxed(), 0.5), complete(), any::<bool>())
            .prop_map(|(home, rows, complete, ended)| Op::Sites { home, rows, complete, ended }),
        8 => bill().prop_map(Op::Report),
        4 => failure().prop_map(|(collector, kind)| Op::Fails(collector, kind)),
        6 => minutes().prop_map(Op::Wait),
        2 => minutes().prop_map(Op::Restart),
        1 => minutes().prop_map(Op::Sleep),
        1 => minutes().prop_map(|by| Op::Clock(-by)),
        4 => server(),
        1 => silence(),
        1 => Just(Op::Unsilence),
        1 => (0usize..3).prop_map(Op::Ack),
        1 => Just(Op::Unack),
        1 => reload(),
    ]
}

/// Any history.
pub fn history() -> impl Strategy<Value = Vec<Op>> {
    prop::collection::vec(op(), 1..60)
}

/// All VMs come and go together, again and again, with other events in between.
pub fn unsteady_history() -> impl Strategy<Value = Vec<Op>> {
    let vms = |state| Op::Vms { rows: VMS.map(|id| (id, state)).to_vec(), complete: true };
    let turn = (prop::sample::select(vec!["error", "blocked", "active"]), 1usize..4)
        .prop_map(move |(state, looks)| vec![vms(state); looks]);
    let others = op().prop_map(|op| vec![op]);
    let calm = Just(vec![Op::Wait(31)]);
    let reload = (any::<bool>(), minutes())
        .prop_map(|(on, minutes)| vec![Op::Rule(Kind::VmError, on), Op::Wait(minutes)]);
    let parts = prop_oneof![16 => turn, 4 => others, 2 => calm, 1 => reload];
    prop::collection::vec(parts, 10..50).prop_map(|parts| parts.concat())
}

/// Reports and days, on a mail server that fails at times.
pub fn billed_history() -> impl Strategy<Value = Vec<Op>> {
    let reports = (bill(), 1usize..4).prop_map(|(bill, times)| vec![Op::Report(bill); times]);
    let goes_on = (bill(), 1usize..30).prop_map(|(bill, times)| {
        let at = |hours: i64| match bill {
            Bill::CutIn(seconds, left) => Bill::CutIn(seconds - hours * 3600, left),
            Bill::UsedUpAhead(seconds) => Bill::UsedUpAhead((seconds - hours * 3600).max(1)),
            other => other,
        };
        (0i64..).step_by(3).take(times).flat_map(|hours| [Op::Report(at(hours)), Op::Wait(180)]).collect()
    });
    let others = op().prop_map(|op| vec![op]);
    let days = prop_oneof![(60i64..4 * 1440).prop_map(Op::Wait), (60i64..4 * 1440).prop_map(Op::Sleep)];
    let days = days.prop_map(|op| vec![op]);
    let server = server().prop_map(|op| vec![op]);
    let parts = prop_oneof![8 => reports, 2 => goes_on, 3 => others, 3 => days, 2 => server];
    prop::collection::vec(parts, 3..25).prop_map(|parts| parts.concat())
}

/// The settings of a user that a history depends on.
#[derive(Clone, Debug)]
pub struct Config {
    pub settings: AlertSettings,
    pub to: Vec<String>,
    pub max_per_hour: usize,
}

impl Config {
    pub fn of(settings: AlertSettings) -> Self {
        Self { settings, to: vec!["ops".into()], max_per_hour: 60 }
    }
}

pub fn config() -> impl Strategy<Value = Config> {
    let max_per_hour = prop_oneof![3 => Just(60usize), 1 => 1usize..4];
    (settings(), any::<bool>(), max_per_hour).prop_map(|(settings, ann, max_per_hour)| {
        let mut config = Config { max_per_hour, ..Config::of(settings) };
        if ann {
            config.to.push("ann".into());
        }
        config
    })
}

fn settings() -> impl Strategy<Value = AlertSettings> {
    (1u32..=3, 1u32..=3, any::<[bool; 7]>()).prop_map(|(confirm, recover, on)| {
        let mut settings = AlertSettings::defaults();
        settings.confirm_polls = confirm;
        settings.recover_polls = recover;
        let [except, off, extra, severity, to, escalate, deletion] = on;
        if except {
            let rule = Rule { except: vec![format!("vm-{EXCLUDED_VM}")], ..Rule::default() };
            settings.rules.insert(Kind::VmError, rule);
        }
        if off {
            settings.rules.insert(Kind::SiteBlocked, Rule { enabled: Some(false), ..Rule::default() });
        }
        if extra {
            settings.rules.insert(Kind::VmStopped, Rule { enabled: Some(false), ..Rule::default() });
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
            settings.escalate_after = Span::from_secs(3 * 3600);
            settings.escalate_to = vec!["boss".into()];
        }
        if deletion {
            settings.deletion_days = 10;
        }
        settings
    })
}
