//! A life in the world of alerts: steps go in, and an auditor looks at every mail that comes out.

use std::sync::Arc;

use crate::alert::Kind;
use crate::model::*;
use chrono::{DateTime, Duration, Utc};

use super::alert_support::{Fate, World, roubles};
use super::auditor::Auditor;
use super::evidence::{Evidence, Witness};
use super::ops::{Bill, Config, Op};

pub struct Life {
    pub world: World,
    pub auditor: Auditor,
    witness: Witness,
    silences: Vec<i64>,
    /// The number of attempts that the auditor saw.
    audited: usize,
}

impl Life {
    pub fn new(config: &Config) -> Self {
        let mut world = World::new(config.settings.clone());
        world.to.clone_from(&config.to);
        world.system.max_per_hour = config.max_per_hour;
        let mut life = Self {
            auditor: Auditor::new(config, world.now),
            world,
            witness: Witness::default(),
            silences: Vec::new(),
            audited: 0,
        };
        life.world.set_settings();
        life.audit(&Evidence::new());
        life
    }

    pub fn live(&mut self, op: &Op) {
        match op {
            Op::Vms { rows, complete } => {
                self.world.vms_read(rows, *complete);
                self.saw(op, Collector::Vms, true);
            }
            Op::Containers { rows, complete } => {
                self.world.containers_read(rows, *complete);
                self.saw(op, Collector::Containers, true);
            }
            Op::Sites { home, .. } if !self.world.knows_container(*home) => {}
            Op::Sites { home, rows, complete, ended } => {
                self.world.sites_read(*home, rows, *complete);
                let (home, rows, complete) = (*home, rows.clone(), *complete);
                let listing = Op::Sites { home, rows, complete, ended: false };
                let evidence = self.witness.look(&listing, self.world.now);
                self.auditor.read(self.witness.sites_in(home));
                self.audit(&evidence);
                if *ended {
                    self.live(&Op::NoSites);
                }
            }
            Op::NoSites => {
                self.world.end(Collector::Sites, None);
                self.saw(op, Collector::Sites, true);
            }
            Op::Report(bill) => {
                let at = self.world.now + Duration::seconds(20);
                self.auditor.reported(*bill, at);
                self.world.report(report(*bill, at));
                self.saw(op, Collector::ExpectedBalance, true);
            }
            Op::Fails(collector, kind) => {
                self.world.fail(*collector, *kind);
                self.saw(op, *collector, false);
            }
            // In a wait of more than an hour, mails are looked at less often than each minute.
            Op::Wait(minutes) => self.pass(*minutes, (*minutes).clamp(1, 60)),
            Op::Restart(minutes) => {
                self.auditor.restarts(self.world.now + Duration::minutes(*minutes));
                self.world.restart(Duration::minutes(*minutes));
                self.audit(&Evidence::new());
            }
            Op::Sleep(minutes) | Op::Clock(minutes) => {
                self.world.sleep(Duration::minutes(*minutes));
                self.auditor.wakes(self.world.now);
                self.world.tick();
                self.audit(&Evidence::new());
            }
            Op::Server(None, fate) => self.world.server_all(*fate),
            Op::Server(Some(to), fate) => self.world.server(to, *fate),
            Op::Silence { pattern, minutes } => {
                let time = Duration::minutes(*minutes);
                self.silences.push(self.world.silence(pattern, time));
                self.auditor.silenced(pattern, self.world.now + time);
            }
            Op::Unsilence => self.end_silences(1),
            Op::Ack(before) => {
                if let Some(key) = self.auditor.last_told(*before) {
                    self.world.ack(&key.to_string());
                    self.auditor.acknowledged(&key, self.world.now);
                }
            }
            Op::Unack => {
                self.world.unack_all();
                self.auditor.unacknowledged();
            }
            Op::Rule(kind, on) => {
                self.world.settings.rules.entry(*kind).or_default().enabled = Some(*on);
                self.reload();
            }
            Op::Ann(is_there) => {
                self.world.to.retain(|to| to != "ann");
                self.world.to.extend(is_there.then(|| "ann".to_owned()));
                self.reload();
            }
        }
    }

    /// Lets time pass, with so many looks at the mails.
    pub fn pass(&mut self, minutes: i64, looks: i64) {
        let from = self.world.now;
        for look in 1..=looks {
            self.world.now = from + Duration::minutes(minutes * look / looks);
            self.world.tick();
            self.audit(&Evidence::new());
        }
    }

    /// Ends all silences, switches on every rule that a reload switched, and lets the server take every mail.
    pub fn calm_down(&mut self) {
        self.end_silences(usize::MAX);
        for kind in [Kind::VmError, Kind::VmBlocked, Kind::ContainerDisabled, Kind::Disconnect] {
            self.world.settings.rules.entry(kind).or_default().enabled = Some(true);
        }
        self.world.server_all(Fate::Accept);
        self.reload();
    }

    fn end_silences(&mut self, most: usize) {
        for id in self.silences.drain(..most.min(self.silences.len())) {
            self.world.unsilence(id);
            self.auditor.lifted_oldest_silence();
        }
    }

    fn reload(&mut self) {
        self.auditor.reloaded(&self.world.settings, &self.world.to, self.world.now);
        self.world.set_settings();
        self.audit(&Evidence::new());
    }

    /// Tells the auditor that a poll ended.
    fn saw(&mut self, op: &Op, collector: Collector, is_good: bool) {
        let evidence = self.witness.look(op, self.world.now);
        self.auditor.read(evidence.keys().cloned());
        self.auditor.polled(collector, is_good, self.world.now);
        self.audit(&evidence);
    }

    fn audit(&mut self, evidence: &Evidence) {
        let Self { world, auditor, audited, .. } = self;
        auditor.look(evidence, world.now);
        for (at, mail, fate) in &world.attempts[*audited..] {
            auditor.attempted(*at, mail, *fate);
        }
        *audited = world.attempts.len();
    }
}

/// The content of a bill before the charges of the day: kopecks on the account, and the date.
pub fn meaning(bill: Bill, now: DateTime<Utc>) -> (i64, Edd) {
    match bill {
        Bill::Rich | Bill::Short | Bill::Suspended => (500_000, Edd::Null),
        Bill::Dropped => (200_000, Edd::Null),
        Bill::CutIn(seconds, left) => (left * 100, Edd::At(now + Duration::seconds(seconds))),
        Bill::RunsOut => (2550, Edd::Null),
        Bill::UsedUp => (-300, Edd::Null),
        Bill::UsedUpAhead(seconds) => (-300, Edd::At(now + Duration::seconds(seconds))),
        Bill::Unreadable => (500_000, Edd::Unknown),
    }
}

/// A report of ninety days at 10 a day from `now` on.
fn report(bill: Bill, now: DateTime<Utc>) -> Report {
    let (kopecks, edd) = meaning(bill, now);
    let mut left = roubles(kopecks);
    let days = if bill == Bill::Short { 1 } else { 90 };
    let moments = (1..=days).map(|day| {
        left -= roubles(1000);
        let positive = Some(left.is_positive());
        let order = Some(0);
        ChargeMoment { at: now + Duration::days(day), amount: roubles(1000), balance: left, positive, order }
    });
    let moments: Vec<_> = moments.collect();
    let state = if bill == Bill::Suspended { OrderState::Suspended } else { OrderState::Ordered };
    let order = Order { id: OrderId::new(7), state, comment: None, tariff: None };
    Report {
        date: Some(now + Duration::days(days + 1)),
        edd,
        error: None,
        expected_balance: Some(left),
        moments: moments.into_iter().collect(),
        orders: vec![Arc::new(order)],
        made: None,
        moments_rejected: 0,
        whole_until: None,
    }
}
