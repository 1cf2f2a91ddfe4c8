//! The simulated account: its resources, its money and its time. Pure: it moves only when it gets the time, and
//! the events in between happen in order. No sockets, no clock.

mod change;
mod commands;
mod create;
pub(super) mod ledger;
pub(super) mod period;
pub(super) mod records;
pub(super) mod report;
pub(super) mod table;
pub(super) mod tariffs;
mod unpaid;

use super::control::Command;
use super::faults::Faults;
use super::limits::Limits;
use super::time::{local_to_utc, to_local};
use super::tokens::Tokens;
use chrono::{DateTime, NaiveDateTime, TimeDelta, Utc};
use chrono_tz::Tz;
use ledger::Ledger;
use records::{Container, CronJob, Database, Ip, Key, Life, Site, State, Vm};
use std::collections::BTreeMap;
use table::Table;
use tariffs::Tariffs;

/// The resource whose state a transition changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    Vm(u64),
    Site(u64),
}

#[derive(Debug)]
struct Transition {
    target: Target,
    epoch: u32,
    state: State,
}

/// The simulated account.
#[derive(Debug)]
pub struct World {
    now: DateTime<Utc>,
    pub zone: Tz,
    pub rng: fastrand::Rng,
    pub vms: Table<Vm>,
    pub ips: Table<Ip>,
    pub keys: Table<Key>,
    pub containers: Table<Container>,
    pub sites: Table<Site>,
    pub databases: Table<Database>,
    pub cron_jobs: Table<CronJob>,
    pub ledger: Ledger,
    pub tariffs: Tariffs,
    pub faults: Faults,
    pub limits: Limits,
    pub tokens: Tokens,
    /// The report's `error`, if a scenario sets one.
    pub report_error: Option<String>,
    /// The time at which the account was cut off for non-payment.
    pub cut_off: Option<NaiveDateTime>,
    transitions: BTreeMap<(DateTime<Utc>, u64), Transition>,
    timetable: BTreeMap<(DateTime<Utc>, u64), Command>,
    sequence: u64,
    next_storage: u64,
}

impl World {
    /// An empty account.
    pub fn new(now: DateTime<Utc>, zone: Tz, seed: u64) -> World {
        World {
            now,
            zone,
            rng: fastrand::Rng::with_seed(seed),
            vms: Table::starting_at("vm", 10_001),
            ips: Table::starting_at("ip", 5_001),
            keys: Table::starting_at("ssh key", 71),
            containers: Table::starting_at("container", 301),
            sites: Table::starting_at("site", 2_001),
            databases: Table::starting_at("database", 401),
            cron_jobs: Table::starting_at("cron job", 901),
            ledger: Ledger::new(),
            tariffs: Tariffs::default(),
            faults: Faults::default(),
            limits: Limits::default(),
            tokens: Tokens::default(),
            report_error: None,
            cut_off: None,
            transitions: BTreeMap::new(),
            timetable: BTreeMap::new(),
            sequence: 0,
            next_storage: 8_001,
        }
    }

    /// This world's time.
    pub fn now(&self) -> DateTime<Utc> {
        self.now
    }

    /// This world's time on the account's wall clock.
    pub fn local_now(&self) -> NaiveDateTime {
        to_local(self.now, self.zone)
    }

    /// Adds a command to the timetable.
    pub fn plan(&mut self, at: DateTime<Utc>, command: Command) {
        self.sequence += 1;
        self.timetable.insert((at, self.sequence), command);
    }

    /// Lets all events up to `to` happen, in order. At the same moment commands of the timetable come first,
    /// then charges, then transitions. If the clock goes back, the world stands still.
    pub fn tick(&mut self, to: DateTime<Utc>) {
        loop {
            let command = self.timetable.first_key_value().map(|((at, _), _)| *at);
            let charge = self.ledger.schedule.next_at().map(|at| local_to_utc(at, self.zone));
            let transition = self.transitions.first_key_value().map(|((at, _), _)| *at);
            let Some(first) =
                [command, charge, transition].into_iter().flatten().min().filter(|at| *at <= to)
            else {
                break;
            };
            self.now = self.now.max(first);
            if command == Some(first) {
                if let Some((_, command)) = self.timetable.pop_first() {
                    // The scenario was checked when it was read. A name that has gone since is no error.
                    if let Err(error) = self.obey(&command) {
                        tracing::warn!(%error, "an event of the timetable came to nothing");
                    }
                }
            } else if charge == Some(first) {
                self.charge_due(first);
            } else if let Some((_, transition)) = self.transitions.pop_first() {
                self.complete(transition);
            }
        }
        self.now = self.now.max(to);
    }

    /// Lives through the past of a new account: charges are made, but nobody is cut off, and the balance starts
    /// afterwards.
    pub fn live_through(&mut self, to: DateTime<Utc>) {
        let until = to_local(to, self.zone);
        while self.ledger.charge_next(until).is_some() {}
        self.now = self.now.max(to);
    }

    fn charge_due(&mut self, at: DateTime<Utc>) {
        // The end is a time on the schedule's wall clock, which a change of the clock can make differ from
        // `at`. The first moment of the schedule is always due here.
        let until = self.ledger.schedule.next_at().unwrap_or_else(|| to_local(at, self.zone));
        while self.ledger.charge_next(until).is_some() {}
        self.settle();
    }

    fn life(&mut self, target: Target) -> Option<&mut Life> {
        match target {
            Target::Vm(id) => self.vms.get_mut(id).map(|vm| &mut vm.life),
            Target::Site(id) => self.sites.get_mut(id).map(|site| &mut site.life),
        }
    }

    /// Sets a state now and drops a running transition.
    fn enter(&mut self, target: Target, state: impl Into<State>) -> u32 {
        let Some(life) = self.life(target) else { return 0 };
        life.state = state.into();
        life.epoch += 1;
        life.epoch
    }

    /// Passes through `through` states, each for its time, to `end`.
    fn pass(&mut self, target: Target, through: &[(&'static str, TimeDelta)], end: impl Into<State>) {
        let Some((first, rest)) = through.split_first() else { return };
        let epoch = self.enter(target, first.0);
        let mut at = self.now + first.1;
        for (state, time) in rest {
            self.later(at, target, epoch, (*state).into());
            at += *time;
        }
        self.later(at, target, epoch, end.into());
    }

    fn later(&mut self, at: DateTime<Utc>, target: Target, epoch: u32, state: State) {
        self.sequence += 1;
        self.transitions.insert((at, self.sequence), Transition { target, epoch, state });
    }

    fn complete(&mut self, transition: Transition) {
        let Transition { target, epoch, state } = transition;
        if let Some(life) = self.life(target).filter(|life| life.epoch == epoch) {
            life.state = state;
        }
        if self.cut_off.is_some() {
            self.block(target);
        }
    }

    /// The time of a transition: 1 to 3 s (issue 3).
    fn moment_of_work(&mut self) -> TimeDelta {
        TimeDelta::milliseconds(self.rng.i64(1_000..=3_000))
    }
}
