//! A small world to drive the engine with: one account, a clock, and everything it told.
#![allow(dead_code, clippy::unwrap_used)] // each test file uses its part

pub mod postbox;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration as Span;

use crate::alert::engine::Outcome;
use crate::alert::{
    AlertSettings, Delivery, Engine, Incident, Input, Key, Kind, Missed, Muted, Notice, Remembered, Silence,
    Watcher,
};
use crate::model::*;
use crate::view::{About, Alerting, IncidentRow, Query};
use chrono::{DateTime, Duration, Utc};

pub struct World {
    pub book: KnownAccount,
    pub engine: Engine,
    pub settings: AlertSettings,
    pub now: DateTime<Utc>,
    /// Every notice, in order.
    pub told: Vec<Notice>,
    /// What is watched again before anybody heard that it no longer is.
    pub goes_on: BTreeSet<Key>,
    /// Every incident as the store would have it.
    pub stored: BTreeMap<Key, Incident>,
    name: AccountName,
}

pub fn start() -> DateTime<Utc> {
    DateTime::parse_from_rfc3339("2026-03-02T12:00:00Z").unwrap().with_timezone(&Utc)
}

pub fn money(text: &str) -> Money {
    text.parse().unwrap()
}

impl World {
    /// A world that knows nothing yet.
    pub fn new(settings: AlertSettings) -> Self {
        let name: AccountName = "main".parse().unwrap();
        let collectors =
            [Collector::Vms, Collector::Containers, Collector::Sites, Collector::ExpectedBalance].into();
        let profile = Profile {
            name: name.clone(),
            currency: "RUB".into(),
            time_zone: Some(chrono_tz::UTC),
            lead_days: 3,
            vm_memory_unit_bytes: None,
            collectors,
            stale_after: BTreeMap::new(),
            guide: Default::default(),
        };
        let engine = Engine::new(watchers(&name, &settings), Remembered::default(), false, None, start());
        Self {
            book: KnownAccount::new(Arc::new(profile)),
            engine,
            settings,
            now: start(),
            told: Vec::new(),
            goes_on: BTreeSet::new(),
            stored: BTreeMap::new(),
            name,
        }
    }

    /// A world past its first start, healthy, with nothing told.
    pub fn healthy() -> Self {
        Self::healthy_with(AlertSettings::defaults())
    }

    pub fn healthy_with(settings: AlertSettings) -> Self {
        let mut world = Self::new(settings);
        world.vms(&[(1, "active"), (2, "active")]);
        world.containers(&[(10, "ENABLED"), (11, "ENABLED")]);
        world.sites(10, &[(100, "Active"), (101, "Active")]);
        world.sites(11, &[(110, "Active")]);
        world.end(Collector::Sites, None);
        world.report(rich());
        assert_eq!(world.events(), ["main/started"], "{:?}", world.told);
        world.told.clear();
        world
    }

    pub fn key(&self, kind: Kind, resource: &str) -> Key {
        Key::new(&self.name, kind, resource)
    }

    pub fn incident(&self, kind: Kind, resource: &str) -> &Incident {
        let key = self.key(kind, resource);
        self.engine.incidents().get(&key).unwrap_or_else(|| &self.stored[&key])
    }

    pub fn vms(&mut self, rows: &[(u64, &str)]) {
        self.vms_read(rows, true);
    }

    pub fn vms_read(&mut self, rows: &[(u64, &str)], complete: bool) {
        let rows = rows.iter().map(|&(id, state)| vm(id, state)).collect();
        self.read(Collector::Vms, Read::Vms(Rows { rows, complete }), true);
    }

    pub fn containers(&mut self, rows: &[(u64, &str)]) {
        self.containers_read(rows, true);
    }

    pub fn containers_read(&mut self, rows: &[(u64, &str)], complete: bool) {
        let rows = rows.iter().map(|&(id, state)| container(id, state)).collect();
        self.read(Collector::Containers, Read::Containers(Rows { rows, complete }), true);
    }

    pub fn sites(&mut self, home: u64, rows: &[(u64, &str)]) {
        self.sites_read(home, rows, true);
    }

    pub fn sites_read(&mut self, home: u64, rows: &[(u64, &str)], complete: bool) {
        let rows = rows.iter().map(|&(id, state)| site(id, home, state)).collect();
        let read = Read::Sites(ContainerId::new(home), Rows { rows, complete });
        self.read(Collector::Sites, read, false);
    }

    pub fn report(&mut self, report: Report) {
        self.read(Collector::ExpectedBalance, Read::ExpectedBalance(report), true);
    }

    pub fn fail(&mut self, collector: Collector, kind: FailureKind) {
        self.end(collector, Some(Failure::new(kind, "it did not work")));
    }

    pub fn end(&mut self, collector: Collector, failure: Option<Failure>) {
        self.later(Duration::seconds(1));
        let complete = failure.is_none();
        let end = crate::model::snapshot::PollEnd { duration: Span::from_secs(1), failure, complete };
        self.book.end(collector, end, self.now);
        self.step(&Input::Poll { account: self.name.clone(), observed: vec![], ended: Some(collector) });
    }

    /// A reload without the account.
    pub fn leave(&mut self) {
        self.engine.set_watchers(BTreeMap::new());
        self.tick();
    }

    /// A reload that has it again; what arrived meanwhile the postbox knows.
    pub fn come_back(&mut self, postbox: &postbox::Postbox) {
        self.set_settings();
        let snapshot = Snapshot { accounts: [(self.name.clone(), self.book.publish())].into() };
        self.step(&Input::Tick(postbox.delivery(self.engine.coming_back(&snapshot))));
    }

    /// What this pattern takes in is silenced for so long.
    pub fn silence(&mut self, pattern: &str, time: Duration) {
        let silence = Silence {
            id: 1,
            pattern: pattern.to_owned(),
            at: self.now,
            until: self.now + time,
            comment: String::new(),
        };
        self.engine.set_muted(Muted { silences: vec![silence], ..Muted::default() });
    }

    /// A reload with these settings.
    pub fn set_settings(&mut self) {
        self.engine.set_watchers(watchers(&self.name, &self.settings));
    }

    pub fn tick(&mut self) {
        self.step(&Input::Tick(Delivery::default()));
    }

    pub fn later(&mut self, by: Duration) {
        self.now += by;
    }

    /// Minute by minute.
    pub fn pass(&mut self, time: Duration) {
        let until = self.now + time;
        while self.now < until {
            self.later(Duration::minutes(1));
            self.tick();
        }
    }

    /// The daemon stops and starts again after `down`, with what the store would hold.
    pub fn restart(&mut self, down: Duration) {
        self.stored.extend(self.engine.incidents().clone());
        let until = self.now;
        self.later(down);
        let kept = as_read_back(self.stored.values(), self.now);
        self.engine = Engine::new(watchers(&self.name, &self.settings), kept, true, Some(until), self.now);
        let profile = self.book.state().profile.clone();
        self.book = KnownAccount::new(profile);
    }

    /// What page and commands show.
    pub fn status(&self) -> crate::view::Status {
        let snapshot = Snapshot { accounts: [(self.name.clone(), self.book.publish())].into() };
        let muted = self.engine.muted();
        let rows = self.engine.watched().filter_map(|one| IncidentRow::of(one, muted, self.now));
        let alerting = Alerting { incidents: rows.collect(), ..Alerting::default() };
        let about = About { version: "0", commit: "", started_at: start() };
        crate::view::Status::new(&snapshot, &alerting, &about, &Query::default(), self.now)
    }

    /// `key/event` of everything told, in order; a mail without items is its form.
    pub fn events(&self) -> Vec<String> {
        let of = |notice: &Notice| -> Vec<String> {
            if notice.items.is_empty() {
                return vec!["main/started".to_owned()];
            }
            notice.items.iter().map(|item| format!("{} {}", item.key, item.event)).collect()
        };
        self.told.iter().flat_map(of).collect()
    }

    pub fn take_events(&mut self) -> Vec<String> {
        let events = self.events();
        self.told.clear();
        events
    }

    /// The last notice became a mail that opens its threads.
    pub fn last_opens_threads(&mut self) {
        let id = format!("mail-{}", self.told.len());
        let threads = postbox::threads(&(id, self.told.last().unwrap().clone()));
        self.engine.commit(Outcome::default(), threads);
    }

    /// None of their mails arrived, and somebody can be reached.
    pub fn not_delivered(&mut self, keys: Vec<Key>) {
        self.step(&Input::Tick(Delivery { unheard: keys, ..Delivery::default() }));
    }

    /// To these nothing about it was mailed.
    pub fn newcomers(&mut self, key: Key, to: &[&str]) {
        let to = to.iter().map(|&to| to.to_owned()).collect();
        self.missed(Missed { key, to, refused: None });
    }

    pub fn missed(&mut self, missed: Missed) {
        self.step(&Input::Tick(Delivery { missed: vec![missed], ..Delivery::default() }));
    }

    fn read(&mut self, collector: Collector, read: Read, ended: bool) {
        self.later(Duration::seconds(20));
        let observed = self.book.apply(read, self.now);
        if ended {
            let end = crate::model::snapshot::PollEnd {
                duration: Span::from_secs(1),
                failure: None,
                complete: true,
            };
            self.book.end(collector, end, self.now);
        }
        let ended = ended.then_some(collector);
        self.step(&Input::Poll { account: self.name.clone(), observed, ended });
    }

    fn step(&mut self, input: &Input) {
        let snapshot = Snapshot { accounts: [(self.name.clone(), self.book.publish())].into() };
        let outcome = self.engine.step(input, &snapshot, self.now);
        self.told.extend(outcome.notices.iter().cloned());
        self.goes_on.extend(outcome.goes_on.iter().cloned());
        self.stored.extend(outcome.incidents.iter().map(|one| (one.key.clone(), one.clone())));
        self.engine.commit(outcome, Vec::new());
    }
}

/// What a start makes of these; what is not in the store's form is lost.
pub fn as_read_back<'a>(stored: impl Iterator<Item = &'a Incident>, now: DateTime<Utc>) -> Remembered {
    Remembered::of(stored.map(|one| serde_json::from_str(&serde_json::to_string(one).unwrap())), now).unwrap()
}

fn watchers(name: &AccountName, settings: &AlertSettings) -> BTreeMap<AccountName, Watcher> {
    [(name.clone(), Watcher { settings: settings.clone().into(), to: vec!["ops".into()] })].into()
}

pub fn vm(id: u64, state: &str) -> Vm {
    Vm {
        id: id.into(),
        state: state.into(),
        vm_id: None,
        name: Some(format!("vm-{id}").into()),
        tariff: None,
        ncpu: None,
        memsize: None,
        monitoring_enabled: None,
        ips: None,
        disks: None,
    }
}

pub fn container(id: u64, state: &str) -> Container {
    Container {
        id: id.into(),
        state: state.into(),
        login: None,
        name: Some(format!("cont-{id}").into()),
        server: None,
        memory_limit_mb: None,
        disk_quota_mb: None,
        created: None,
        updated: None,
        in_transfer: None,
    }
}

pub fn site(id: u64, home: u64, state: &str) -> Site {
    Site {
        id: id.into(),
        state: state.into(),
        container: home.into(),
        name: Some(format!("site-{id}").into()),
        main_alias: None,
        engine: None,
        engine_version: None,
        workers: None,
        force_https: None,
        certificate_id: None,
        created: None,
        updated: None,
    }
}

/// Paid for longer than anybody looks.
pub fn rich() -> Report {
    report("5000.00", Edd::Null)
}

/// 90 days of 10 a day from tomorrow on.
pub fn report(balance: &str, edd: Edd) -> Report {
    let mut left = money(balance);
    let moments = (1..=90).map(|day| {
        left -= money("10");
        ChargeMoment {
            at: start() + Duration::days(day),
            amount: money("10"),
            balance: left,
            positive: Some(left.is_positive()),
            order: None,
        }
    });
    let moments: Vec<_> = moments.collect();
    Report {
        date: Some(start() + Duration::days(91)),
        edd,
        error: None,
        expected_balance: Some(left),
        moments: moments.into(),
        orders: Vec::new(),
        moments_rejected: 0,
    }
}

/// A report that names a disconnect in so many hours from the start.
pub fn cut_off_in(hours: i64) -> Report {
    report("25.50", Edd::At(start() + Duration::hours(hours)))
}
