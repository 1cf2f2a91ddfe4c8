//! A daemon's life without the daemon: book, engine and outbox put together as the pipeline does it, with an
//! auditor who looks at every decision.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration as Span;

use crate::alert::{
    Ack, AlertSettings, Delivery, Engine, Incident, Input, Key, Kind, Muted, Remembered, Silence, Stage,
    Watcher,
};
use crate::model::*;
use chrono::{DateTime, Duration, Utc};

use super::alert_support::postbox::{self, Postbox, State};
use super::alert_support::{as_read_back, container, money, site, start, vm};
use super::auditor::Auditor;
use super::evidence::{Evidence, Witness};
use super::ops::{Bill, Op};

pub struct Life {
    pub auditor: Auditor,
    pub engine: Engine,
    pub now: DateTime<Utc>,
    pub settings: AlertSettings,
    /// As the store has them.
    stored: BTreeMap<Key, Incident>,
    book: KnownAccount,
    witness: Witness,
    muted: Muted,
    pub postbox: Postbox,
    smtp_up: bool,
    watched_until: DateTime<Utc>,
}

impl Life {
    pub fn new(settings: AlertSettings) -> Self {
        let engine = Engine::new(watchers(&settings), Remembered::default(), false, None, start());
        Self {
            auditor: Auditor::new(settings.clone()),
            engine,
            now: start(),
            settings,
            stored: BTreeMap::new(),
            book: KnownAccount::new(Arc::new(profile())),
            witness: Witness::default(),
            muted: Muted::default(),
            postbox: Postbox::default(),
            smtp_up: true,
            watched_until: start(),
        }
    }

    pub fn live(&mut self, op: &Op) {
        match op {
            Op::RuleOff(minutes) => {
                let mut settings = self.settings.clone();
                settings.rules.entry(Kind::VmError).or_default().enabled = Some(false);
                self.engine.set_watchers(watchers(&settings));
                self.live(&Op::Wait(*minutes));
                self.engine.set_watchers(watchers(&self.settings));
            }
            Op::Vms { rows, complete } => {
                let rows = rows.iter().map(|&(id, state)| vm(id, state)).collect();
                self.read(op, Collector::Vms, Read::Vms(Rows { rows, complete: *complete }), true);
            }
            Op::Containers { rows, complete } => {
                let rows = rows.iter().map(|&(id, state)| container(id, state)).collect();
                let read = Read::Containers(Rows { rows, complete: *complete });
                self.read(op, Collector::Containers, read, true);
            }
            // Nobody asks for the sites of a container that is not listed.
            Op::Sites { home, .. } if self.book.state().containers.get(ContainerId::new(*home)).is_none() => {
            }
            Op::Sites { home, rows, complete, ended } => {
                let rows = rows.iter().map(|&(id, state)| site(id, *home, state)).collect();
                let read = Read::Sites(ContainerId::new(*home), Rows { rows, complete: *complete });
                self.read(op, Collector::Sites, read, *ended);
            }
            Op::NoSites => {
                self.later(Duration::seconds(1));
                let evidence = self.witness.look(op, self.now);
                self.end(Collector::Sites, None, true);
                let ended = Some(Collector::Sites);
                self.step(&Input::Poll { account: name(), observed: Vec::new(), ended }, &evidence);
            }
            Op::Report(bill) => {
                let read = Read::ExpectedBalance(report(*bill, self.now));
                self.read(op, Collector::ExpectedBalance, read, true);
            }
            Op::Fails(collector, kind) => {
                self.later(Duration::seconds(1));
                let evidence = self.witness.look(op, self.now);
                let failure = Failure::new(*kind, "it did not work");
                self.end(*collector, Some(failure), true);
                let input = Input::Poll { account: name(), observed: Vec::new(), ended: Some(*collector) };
                self.step(&input, &evidence);
            }
            Op::Wait(minutes) => {
                // Beyond an hour of minutes, fewer looks are as good.
                let looks = (*minutes).clamp(1, 60);
                let until = self.now + Duration::minutes(*minutes);
                if *minutes >= 2 {
                    self.book.stop_looking();
                }
                for left in (0..looks).rev() {
                    self.now = until - Duration::minutes(minutes * left / looks);
                    self.step(&Input::Tick(Delivery::default()), &Evidence::new());
                    self.watched_until = self.now;
                }
            }
            Op::Restart(minutes) => self.restart(Duration::minutes(*minutes)),
            Op::Clock(minutes) => self.later(Duration::minutes(*minutes)),
            Op::Smtp(up) => {
                self.smtp_up = *up;
                self.deliver();
            }
            Op::Silence { pattern, minutes } => {
                let id = self.muted.silences.len() as i64 + 1;
                let until = self.now + Duration::minutes(*minutes);
                let silence =
                    Silence { id, pattern: (*pattern).into(), at: self.now, until, comment: String::new() };
                self.muted.silences.push(silence);
                self.engine.set_muted(self.muted.clone());
            }
            Op::Ack => {
                let open = self.engine.incidents().values().find(|incident| incident.phase.is_open());
                if let Some(incident) = open {
                    let ack = Ack { episode: incident.episode, at: self.now, comment: String::new() };
                    self.muted.acks.insert(incident.key.clone(), ack);
                    self.engine.set_muted(self.muted.clone());
                }
            }
        }
    }

    /// Everything that was ever silenced is not any more.
    pub fn end_silences(&mut self) {
        self.muted.silences.clear();
        self.engine.set_muted(self.muted.clone());
    }

    /// Every incident ever, as the engine last had it.
    pub fn incidents(&self) -> BTreeMap<Key, Incident> {
        let mut all = self.stored.clone();
        all.extend(self.engine.incidents().clone());
        all
    }

    fn read(&mut self, op: &Op, collector: Collector, read: Read, ended: bool) {
        self.later(Duration::seconds(20));
        let evidence = self.witness.look(op, self.now);
        let observed = self.book.apply(read, self.now);
        self.end(collector, None, ended);
        let ended = ended.then_some(collector);
        self.step(&Input::Poll { account: name(), observed, ended }, &evidence);
    }

    fn end(&mut self, collector: Collector, failure: Option<Failure>, ended: bool) {
        if ended {
            let complete = failure.is_none();
            let end = PollEnd { duration: Span::from_secs(1), failure, complete };
            self.book.end(collector, end, self.now);
        }
    }

    fn restart(&mut self, away: Duration) {
        self.later(away);
        let kept = as_read_back(self.incidents().values(), self.now);
        let started = self.engine.is_started();
        self.engine =
            Engine::new(watchers(&self.settings), kept, started, Some(self.watched_until), self.now);
        self.engine.set_muted(self.muted.clone());
        self.book = KnownAccount::new(Arc::new(profile()));
        self.deliver();
    }

    fn step(&mut self, input: &Input, evidence: &Evidence) {
        let snapshot = Snapshot { accounts: [(name(), self.book.publish())].into() };
        let mut outcome = self.engine.step(input, &snapshot, self.now);
        self.auditor.look(input, evidence, &self.incidents(), &outcome, self.now);
        let made = self.postbox.take(outcome.notices.clone(), &outcome.goes_on);
        postbox::forget_threads(&mut outcome.incidents, &self.postbox);
        self.auditor.withdrawn(&self.postbox);
        for (id, notice) in &made {
            self.auditor.mailed(id, notice);
        }
        let threads = made.iter().flat_map(postbox::threads).collect();
        self.stored.extend(outcome.incidents.iter().map(|one| (one.key.clone(), one.clone())));
        self.engine.commit(outcome, threads);
        self.watched_until = self.now;
        self.deliver();
    }

    fn deliver(&mut self) {
        if self.smtp_up {
            self.postbox.deliver();
        } else {
            // Of some the reply is lost.
            let lost = |mail: &postbox::Mail| mail.id.ends_with(['3', '7']);
            self.postbox.attempt(|mail| {
                State::Waits(if lost(mail) { Stage::PerhapsArrived } else { Stage::NotArrived })
            });
        }
    }

    fn later(&mut self, by: Duration) {
        self.now += by;
    }
}

pub fn name() -> AccountName {
    "main".parse().unwrap()
}

fn watchers(settings: &AlertSettings) -> BTreeMap<AccountName, Watcher> {
    [(name(), Watcher { settings: settings.clone().into(), to: vec!["ops".into()] })].into()
}

fn profile() -> Profile {
    Profile {
        name: name(),
        currency: "RUB".into(),
        time_zone: Some(chrono_tz::UTC),
        lead_days: 3,
        vm_memory_unit_bytes: None,
        collectors: [Collector::Vms, Collector::Containers, Collector::Sites, Collector::ExpectedBalance]
            .into(),
        stale_after: BTreeMap::new(),
        guide: Default::default(),
    }
}

/// Ninety days of 10 a day from `now` on.
fn report(bill: Bill, now: DateTime<Utc>) -> Report {
    let (balance, edd) = match bill {
        Bill::Rich | Bill::Short | Bill::Suspended => ("5000", Edd::Null),
        Bill::Dropped => ("2000", Edd::Null),
        Bill::CutIn(hours) => ("500", Edd::At(now + Duration::hours(hours))),
        Bill::RunsOut => ("25.50", Edd::Null),
        Bill::UsedUp => ("-3", Edd::Null),
        Bill::Unreadable => ("5000", Edd::Unknown),
    };
    let mut left = money(balance);
    let days = if bill == Bill::Short { 1 } else { 90 };
    let moments = (1..=days).map(|day| {
        left -= money("10");
        let positive = Some(left.is_positive());
        let order = Some(0);
        ChargeMoment { at: now + Duration::days(day), amount: money("10"), balance: left, positive, order }
    });
    let moments: Vec<_> = moments.collect();
    let state = if bill == Bill::Suspended { OrderState::Suspended } else { OrderState::Ordered };
    let order = Order { id: OrderId::new(7), state, comment: None, tariff: None };
    Report {
        date: Some(now + Duration::days(days + 1)),
        edd,
        error: None,
        expected_balance: Some(left),
        moments: moments.into(),
        orders: vec![Arc::new(order)],
        moments_rejected: 0,
    }
}
