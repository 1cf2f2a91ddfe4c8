//! The world itself: one account `main`, its readings, a clock, an operator and a mail server.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration as Span;

use super::provider::{ALL, Provider};
use super::{Daemon, Fate, Mail, Received, container, modest, rich, site, start, vm};
use crate::alert::{Ack, AlertSettings, Key, Muted, Silence, Watcher};
use crate::model::freshness::all_looked;
use crate::model::snapshot::PollEnd;
use crate::model::*;
use chrono::{DateTime, Duration, Utc};

/// After a start or a sleep, the engine waits for readings at most this long.
const LOOKING_FOR: Duration = Duration::minutes(2);

pub struct World {
    /// Only tests of the log and of the store use its parts.
    pub system: Daemon,
    pub settings: AlertSettings,
    /// The recipients of the account; a change takes effect at the next reload.
    pub to: Vec<String>,
    pub now: DateTime<Utc>,
    pub received: Vec<Received>,
    pub attempts: Vec<(DateTime<Utc>, Mail, Fate)>,
    /// For each inbox, the number of mails that were taken out of its view.
    pub(super) taken: BTreeMap<String, usize>,
    book: KnownAccount,
    pub(super) provider: Provider,
    /// The account is in the configuration.
    watched: bool,
    /// The time since which readings of the state collectors are awaited, after a start or a sleep.
    pub(super) looking: Option<DateTime<Utc>>,
    pub(super) muted: Muted,
    fates: BTreeMap<String, Fate>,
    fate: Fate,
}

/// Creation of a world.
impl World {
    /// A world before its first reading.
    pub fn new(settings: AlertSettings) -> Self {
        let to = vec!["ops".to_owned()];
        Self {
            system: Daemon::start(watchers(&settings, &to), start()),
            settings,
            to,
            now: start(),
            received: Vec::new(),
            attempts: Vec::new(),
            taken: BTreeMap::new(),
            book: KnownAccount::new(Arc::new(profile())),
            provider: Provider::healthy(),
            watched: true,
            looking: Some(start()),
            muted: Muted::default(),
            fates: BTreeMap::new(),
            fate: Fate::Accept,
        }
    }

    /// A healthy world after its first start, with empty inboxes.
    pub fn healthy() -> Self {
        Self::healthy_with(AlertSettings::defaults())
    }

    pub fn healthy_with(settings: AlertSettings) -> Self {
        Self::healthy_on(rich(), settings)
    }

    /// A healthy world with a low balance, in which a balance above that of the last report is a payment.
    pub fn modest() -> Self {
        Self::healthy_on(modest(), AlertSettings::defaults())
    }

    /// A healthy world whose incidents are escalated to "boss".
    pub fn with_boss() -> Self {
        Self::healthy_with(escalating())
    }

    /// The same before its first reading.
    pub fn unborn() -> Self {
        Self::new(escalating())
    }

    fn healthy_on(report: Report, settings: AlertSettings) -> Self {
        let mut world = Self::new(settings);
        ALL[..3].iter().for_each(|&collector| world.poll(collector));
        world.read(Collector::ExpectedBalance, Read::ExpectedBalance(report));
        assert_eq!(world.take_events(), ["main/started"], "{:?}", world.received);
        world
    }
}

fn escalating() -> AlertSettings {
    AlertSettings { escalate_to: vec!["boss".into()], ..AlertSettings::defaults() }
}

/// Readings; each moves the clock by 20 seconds.
impl World {
    pub fn vms(&mut self, rows: &[(u64, &str)]) {
        self.vms_read(rows, true);
    }

    /// VM 1 in a state, under a name.
    pub fn named_vm(&mut self, name: &str, state: &str) {
        let rows = vec![Vm { name: Some(name.into()), ..vm(1, state) }];
        self.read(Collector::Vms, Read::Vms(Rows::new(rows, true)));
    }

    pub fn vms_read(&mut self, rows: &[(u64, &str)], complete: bool) {
        if complete {
            self.provider.vms = states(rows);
        }
        let rows = rows.iter().map(|&(id, state)| vm(id, state)).collect();
        self.read(Collector::Vms, Read::Vms(Rows::new(rows, complete)));
    }

    pub fn containers(&mut self, rows: &[(u64, &str)]) {
        self.containers_read(rows, true);
    }

    pub fn containers_read(&mut self, rows: &[(u64, &str)], complete: bool) {
        if complete {
            self.provider.containers = states(rows);
        }
        let rows = rows.iter().map(|&(id, state)| container(id, state)).collect();
        self.read(Collector::Containers, Read::Containers(Rows::new(rows, complete)));
    }

    /// Reads the sites of one container. The poll of sites goes on until `end(Collector::Sites, None)`.
    pub fn sites(&mut self, home: u64, rows: &[(u64, &str)]) {
        self.sites_read(home, rows, true);
    }

    pub fn sites_read(&mut self, home: u64, rows: &[(u64, &str)], complete: bool) {
        if complete {
            self.provider.sites.retain(|id, _| id / 10 != home);
            self.provider.sites.extend(states(rows));
        }
        let rows = rows.iter().map(|&(id, state)| site(id, home, state)).collect();
        self.read(Collector::Sites, Read::Sites(ContainerId::new(home), Rows::new(rows, complete)));
    }

    pub fn report(&mut self, report: Report) {
        self.provider.given = Some(report.clone());
        self.read(Collector::ExpectedBalance, Read::ExpectedBalance(report));
    }

    /// The clock goes back by so much between the reading of a report and its mails.
    pub fn report_and_set_back(&mut self, report: Report, by: Duration) {
        let collector = Collector::ExpectedBalance;
        self.later(Duration::seconds(20) + by);
        let observed = self.book.apply(Read::ExpectedBalance(report), self.now);
        self.poll_ended(collector, None, true);
        self.system.poll(&name(), &observed, Some(collector), &self.snapshot(), self.now);
        self.later(-by);
        self.deliver();
    }

    pub fn fail(&mut self, collector: Collector, kind: FailureKind) {
        self.end(collector, Some(Failure::new(kind, "it did not work")));
    }

    /// A poll ends without a reading.
    pub fn end(&mut self, collector: Collector, failure: Option<Failure>) {
        self.later(Duration::seconds(1));
        self.poll_ended(collector, failure, true);
        self.decide(&[], Some(collector));
    }

    pub(super) fn read(&mut self, collector: Collector, read: Read) {
        self.read_part(collector, read, None);
    }

    /// The poll of a listing ends, with a failure if a later page could not be read.
    pub(super) fn read_part(&mut self, collector: Collector, read: Read, failure: Option<Failure>) {
        self.later(Duration::seconds(20));
        let is_in_part = matches!(&read, Read::Vms(rows) if !rows.shows_all || !rows.unreadable.is_empty())
            || matches!(&read, Read::Containers(rows) if !rows.shows_all || !rows.unreadable.is_empty());
        let observed = self.book.apply(read, self.now);
        let ended = (collector != Collector::Sites).then_some(collector);
        if let Some(collector) = ended {
            self.poll_ended(collector, failure, !is_in_part);
        }
        self.decide(&observed, ended);
    }

    fn poll_ended(&mut self, collector: Collector, failure: Option<Failure>, is_whole: bool) {
        let (complete, duration) = (failure.is_none() && is_whole, Span::from_secs(1));
        let problem = (!is_whole).then(|| "one row was not shown".to_owned());
        self.book.end(collector, PollEnd { duration, failure, complete, problem }, self.now);
    }

    fn decide(&mut self, observed: &[Observed], ended: Option<Collector>) {
        let snapshot = self.snapshot();
        self.system.poll(&name(), observed, ended, &snapshot, self.now);
        // As soon as every collector has read, time counts again.
        if ended.is_some() && self.looking.is_some() && all_looked(self.book.state()) {
            self.looking = None;
            self.system.tick(&snapshot, self.now);
        }
        self.deliver();
    }
}

/// The clock.
impl World {
    pub fn later(&mut self, by: Duration) {
        self.now += by;
    }

    pub fn tick(&mut self) {
        if self.looking.is_some_and(|since| (self.now - since).abs() >= LOOKING_FOR) {
            self.looking = None;
            self.book.stop_looking();
        }
        self.system.tick(&self.snapshot(), self.now);
        self.deliver();
    }

    /// Lets time pass minute by minute.
    pub fn pass(&mut self, time: Duration) {
        self.pass_by(Duration::minutes(1), time);
    }

    /// Lets time pass by such steps.
    pub(super) fn pass_by(&mut self, step: Duration, time: Duration) {
        let until = self.now + time;
        while self.now < until {
            self.later(step);
            self.tick();
        }
    }

    /// The machine sleeps.
    pub fn sleep(&mut self, time: Duration) {
        self.later(time);
        self.book.look_again(self.now);
        self.looking = Some(self.now);
        self.system.wake(self.now);
    }

    /// The daemon stops, and starts again on its store after `down`.
    pub fn restart(&mut self, down: Duration) {
        let until = self.now;
        self.later(down);
        let stopped = std::mem::replace(&mut self.system, Daemon::start(BTreeMap::new(), self.now));
        self.system = stopped.restart(self.watchers(), until, self.now);
        self.system.set_muted(self.muted.clone());
        self.book = KnownAccount::new(self.book.state().profile.clone());
        self.looking = Some(self.now);
        self.deliver();
    }

    /// The store has this report, which was read before the start.
    pub fn remember(&mut self, report: &Report) {
        let new = KnownAccount::new(self.book.state().profile.clone());
        self.book = new.remembering(Some(&LastReport::of(report, self.now)));
    }
}

/// The operator.
impl World {
    /// Silences incidents that match the pattern, and returns the silence's number.
    pub fn silence(&mut self, pattern: &str, time: Duration) -> i64 {
        let id = self.muted.silences.last().map_or(1, |last| last.id + 1);
        let (pattern, until) = (pattern.to_owned(), self.now + time);
        self.muted.silences.push(Silence { id, pattern, at: self.now, until, comment: String::new() });
        self.system.set_muted(self.muted.clone());
        id
    }

    pub fn unsilence(&mut self, id: i64) {
        self.muted.silences.retain(|silence| silence.id != id);
        self.system.set_muted(self.muted.clone());
    }

    /// Acknowledges the present episode of an incident.
    pub fn ack(&mut self, key: &str) {
        let key: Key = key.parse().unwrap();
        let episode = self.system.episode(&key).unwrap();
        self.muted.acks.insert(key, Ack { episode, at: self.now, comment: String::new() });
        self.system.set_muted(self.muted.clone());
    }

    /// Takes every acknowledgement back.
    pub fn unack_all(&mut self) {
        self.muted.acks.clear();
        self.system.set_muted(self.muted.clone());
    }

    /// Reloads with the present settings and recipients.
    pub fn set_settings(&mut self) {
        let watchers = self.watchers();
        self.system.set_watchers(watchers);
        self.tick();
    }

    /// Reloads with another profile of the account.
    pub fn set_profile(&mut self, change: impl FnOnce(&mut Profile)) {
        let mut profile = (*self.book.state().profile).clone();
        change(&mut profile);
        let profile = Arc::new(profile);
        let book = std::mem::replace(&mut self.book, KnownAccount::new(profile.clone()));
        self.book = book.with_profile(profile);
        self.set_settings();
    }

    /// Reloads without the account.
    pub fn leave(&mut self) {
        self.watched = false;
        self.set_settings();
    }

    /// Reloads with the account again, before any reading of it.
    pub fn come_back(&mut self) {
        self.watched = true;
        self.book = KnownAccount::new(self.book.state().profile.clone());
        self.set_settings();
    }

    /// Sets the mail server's answer to mails for this recipient.
    pub fn server(&mut self, to: &str, fate: Fate) {
        self.fates.insert(to.to_owned(), fate);
    }

    /// Sets the mail server's answer to every mail.
    pub fn server_all(&mut self, fate: Fate) {
        self.fates.clear();
        self.fate = fate;
    }

    /// The incidents in the metrics: `disconnect/account warning 1`, with the name of a resource after its
    /// number.
    pub fn exported(&self) -> Vec<String> {
        let all = self.system.exported(&name(), self.now).series.into_iter();
        let words = |one: IncidentSeries| {
            let name = if one.name.is_empty() { String::new() } else { format!(" {}", one.name) };
            format!("{}/{}{name} {} {}", one.kind, one.resource, one.severity, u8::from(one.is_open))
        };
        all.map(words).collect()
    }

    pub fn is_known(&self) -> bool {
        self.system.exported(&name(), self.now).are_known
    }

    /// Is this container listed? Sites of other containers are not asked for.
    pub fn knows_container(&self, id: u64) -> bool {
        self.book.state().containers.get(ContainerId::new(id)).is_some()
    }

    /// The collectors that are polled again soon.
    pub fn awaited(&self) -> BTreeSet<Collector> {
        self.system.engine.awaited(self.book.state(), self.now)
    }

    pub(super) fn snapshot(&self) -> Snapshot {
        let accounts = self.watched.then(|| (name(), self.book.publish()));
        Snapshot { accounts: accounts.into_iter().collect() }
    }

    pub(super) fn watchers(&self) -> BTreeMap<AccountName, Watcher> {
        if self.watched { watchers(&self.settings, &self.to) } else { BTreeMap::new() }
    }

    fn deliver(&mut self) {
        let (snapshot, now) = (self.snapshot(), self.now);
        let Self { fates, fate, received, attempts, .. } = self;
        let mut server = |mail: &Mail| {
            let fate = fates.get(&mail.to).copied().unwrap_or(*fate);
            let is_short = fate == Fate::RefuseLong && mail.items.len() <= 1;
            let is_plain = fate == Fate::Doubt && mail.is_light;
            let is_other = fate == Fate::DoubtVm1 && mail.items.iter().all(|item| item.key.id() != Some(1));
            let fate = if is_short || is_plain || is_other { Fate::Accept } else { fate };
            if matches!(fate, Fate::Accept | Fate::LoseReply { arrived: true }) {
                received.push(Received { at: now, mail: mail.clone() });
            }
            attempts.push((now, mail.clone(), fate));
            fate
        };
        self.system.deliver(&snapshot, &mut server, now);
    }
}

fn states(rows: &[(u64, &str)]) -> BTreeMap<u64, String> {
    rows.iter().map(|&(id, state)| (id, state.to_owned())).collect()
}

pub(super) fn name() -> AccountName {
    "main".parse().unwrap()
}

fn profile() -> Profile {
    let collectors =
        [Collector::Vms, Collector::Containers, Collector::Sites, Collector::ExpectedBalance].into();
    let usual = crate::unit::account::profile("main");
    Profile { time_zone: Some(chrono_tz::UTC), collectors, stale_after: BTreeMap::new(), ..usual }
}

fn watchers(settings: &AlertSettings, to: &[String]) -> BTreeMap<AccountName, Watcher> {
    [(name(), Watcher { settings: settings.clone().into(), to: to.to_vec() })].into()
}
