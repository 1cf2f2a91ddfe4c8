//! The engine and its log, the readings that drive them, and the observer beside them.
#![allow(clippy::wildcard_enum_match_arm, reason = "this world has a few of them")]

use std::collections::BTreeMap;
use std::sync::Arc;

use super::observer::Observer;
use super::ops::{ANN, Answer, BOB, Op};
use super::planted::Plant;
use super::readings::{Bill, profile};
use super::truth::{Observation, Resource, name};
use crate::alert::{
    Ack, AlertSettings, Attempt, CutOff, Engine, Facts, Incident, Key, Kind, Lane, Log, Muted, Notice, Rule,
    Silence, Watcher,
};
use crate::model::freshness::all_looked;
use crate::model::snapshot::PollEnd;
use crate::model::*;
use crate::unit::alert_support::start;
use chrono::{DateTime, Duration, Utc};

/// The time between two readings of one collector.
const POLLS: Duration = Duration::minutes(20);
/// After a start, the engine waits for readings at most this long.
const LOOKING_FOR: Duration = Duration::minutes(2);

/// One state of the world.
#[derive(Clone)]
pub struct Life {
    pub engine: Engine,
    pub log: Log,
    pub observer: Observer,
    pub now: DateTime<Utc>,
    pub muted: Muted,
    pub bill: Bill,
    pub to: Vec<String>,
    /// How the next attempt to a recipient is answered.
    pub answers: BTreeMap<String, Answer>,
    pub is_down: bool,
    pub looking: Option<DateTime<Utc>>,
    pub book: KnownAccount,
    /// When each collector was last polled.
    pub polled: BTreeMap<Collector, DateTime<Utc>>,
    pub plant: Option<Plant>,
    /// The last mail of each recipient and lane, as the store has its bytes.
    pub bytes: BTreeMap<(String, Lane), Notice>,
    /// Mails whose bytes a planted bug keeps.
    pub stale: Vec<(DateTime<Utc>, Handed)>,
    /// A text of every attempt, if a test wants to read them.
    pub journal: Option<Vec<String>>,
}

/// A mail at one attempt.
#[derive(Clone)]
pub struct Handed {
    pub id: String,
    pub lane: Lane,
    pub notice: Notice,
    /// The server has got the same bytes before.
    pub is_repeated: bool,
}

/// A law that does not hold, as text.
pub type Broken = String;

impl Life {
    /// A healthy account after its first start.
    pub fn healthy(plant: Option<Plant>) -> Self {
        let mut life = Self::empty(plant);
        for resource in Resource::ALL {
            life.read(resource, Observation::Good).unwrap();
        }
        life.bill_read().unwrap();
        life
    }

    /// An empty store, before any reading.
    pub fn empty(plant: Option<Plant>) -> Self {
        let to = vec![ANN.to_owned(), BOB.to_owned()];
        Self {
            engine: Engine::new(watchers(&to), BTreeMap::new(), BTreeMap::new(), start()),
            log: Log::default(),
            observer: Observer::default(),
            now: start(),
            muted: Muted::default(),
            bill: Bill::clear(start()),
            to,
            answers: BTreeMap::new(),
            is_down: false,
            looking: Some(start()),
            book: KnownAccount::new(Arc::new(profile())),
            polled: BTreeMap::new(),
            plant,
            bytes: BTreeMap::new(),
            stale: Vec::new(),
            journal: None,
        }
    }

    /// Does one step. `false` if the step would change nothing or makes no sense.
    pub fn step(&mut self, op: Op) -> Result<bool, Broken> {
        match op {
            Op::Read(resource, observation) => self.read(resource, observation)?,
            Op::Heals(resource) => {
                if !self.observer.truth.is_open(&resource.key()) {
                    return Ok(false);
                }
                self.read(resource, Observation::Good)?;
                self.read(resource, Observation::Good)?;
            }
            Op::Bill(turn) => {
                let Some(bill) = self.bill.turn(turn, self.observer.truth.cut_off.date, self.now) else {
                    return Ok(false);
                };
                self.bill = bill;
                self.bill_read()?;
            }
            Op::BillAgain => self.bill_read()?,
            Op::BillFails => self.poll(Collector::ExpectedBalance, None)?,
            Op::Answer(to, answer) => {
                return Ok(self.answers.insert(to.to_owned(), answer) != Some(answer));
            }
            Op::Down | Op::Up => {
                let is_down = op == Op::Down;
                return Ok(std::mem::replace(&mut self.is_down, is_down) != is_down);
            }
            Op::Restart => self.restart()?,
            Op::Silence | Op::Unsilence | Op::Ack | Op::Unack => {
                if !self.mute(op) {
                    return Ok(false);
                }
                self.tick()?;
            }
            Op::Add(to) | Op::Remove(to) => {
                let has = self.to.iter().any(|one| one == to);
                if has == matches!(op, Op::Add(_)) {
                    return Ok(false);
                }
                if has {
                    self.to.retain(|one| one != to);
                } else {
                    self.to.push(to.to_owned());
                }
                self.engine.set_watchers(watchers(&self.to));
                self.tick()?;
            }
            Op::Minutes => self.pass(Duration::minutes(5))?,
            Op::Hour => self.pass(Duration::minutes(70))?,
            Op::Day => self.pass(Duration::hours(24))?,
        }
        Ok(true)
    }

    pub fn pass(&mut self, time: Duration) -> Result<(), Broken> {
        self.now += time;
        self.tick()
    }

    fn tick(&mut self) -> Result<(), Broken> {
        if self.looking.is_some_and(|since| self.now - since >= LOOKING_FOR) {
            self.looking = None;
            self.book.stop_looking();
        }
        self.observer.truth.time(self.is_silenced(), self.now);
        let snapshot = self.snapshot();
        self.engine.tick(&snapshot, self.now);
        self.note(&snapshot, true);
        self.deliver()
    }

    pub fn is_silenced(&self) -> bool {
        self.muted.silences.iter().any(|one| one.is_on(self.now))
    }

    fn mute(&mut self, op: Op) -> bool {
        let was_silenced = self.is_silenced();
        match op {
            Op::Silence if !was_silenced => {
                let (at, until) = (self.now, self.now + Duration::hours(23));
                self.muted.silences =
                    vec![Silence { id: 1, pattern: "*".to_owned(), at, until, comment: String::new() }];
            }
            Op::Unsilence if was_silenced => self.muted.silences.clear(),
            Op::Ack if self.muted.acks.is_empty() => {
                let open = self.engine.incidents().values().filter(|one| one.phase.is_open());
                let ack = |one: &Incident| Ack { episode: one.episode, at: self.now, comment: String::new() };
                self.muted.acks = open.map(|one| (one.key.clone(), ack(one))).collect();
                return !self.muted.acks.is_empty();
            }
            Op::Unack if !self.muted.acks.is_empty() => self.muted.acks.clear(),
            _ => return false,
        }
        true
    }

    fn read(&mut self, resource: Resource, observation: Observation) -> Result<(), Broken> {
        self.poll(resource.collector(), Some((resource, observation)))
    }

    fn bill_read(&mut self) -> Result<(), Broken> {
        self.next_poll(Collector::ExpectedBalance)?;
        let observed = self.book.apply(self.bill.read(), self.now);
        self.observer.truth.cut_off.read(&self.bill, self.now);
        self.ended(Collector::ExpectedBalance, &observed, false)
    }

    /// One poll of a collector; it fails if it has no observation of a resource.
    fn poll(&mut self, collector: Collector, shown: Option<(Resource, Observation)>) -> Result<(), Broken> {
        self.next_poll(collector)?;
        let listing = shown.and_then(|(resource, observation)| resource.listing(observation));
        let fails = listing.is_none();
        let observed = listing.map_or_else(Vec::new, |read| self.book.apply(read, self.now));
        match shown {
            Some((resource, observation)) => {
                self.observer.truth.things.entry(resource).or_default().read(observation, self.now);
            }
            None => self.observer.truth.cut_off.fails = true,
        }
        self.ended(collector, &observed, fails)
    }

    /// Two readings of one collector are some time apart; readings of different collectors may come at the same
    /// time.
    fn next_poll(&mut self, collector: Collector) -> Result<(), Broken> {
        if self.polled.get(&collector).is_some_and(|at| self.now - *at < POLLS) {
            self.now = self.polled[&collector];
            self.pass(POLLS)?;
        }
        self.polled.insert(collector, self.now);
        Ok(())
    }

    fn ended(&mut self, collector: Collector, observed: &[Observed], fails: bool) -> Result<(), Broken> {
        let failure = fails.then(|| Failure::new(FailureKind::Other, "it did not work"));
        let duration = std::time::Duration::from_secs(1);
        self.book.end(collector, PollEnd { duration, failure, complete: !fails, problem: None }, self.now);
        self.observer.truth.time(self.is_silenced(), self.now);
        let snapshot = self.snapshot();
        self.engine.poll(&name(), observed, Some(collector), &snapshot, self.now);
        self.note(&snapshot, false);
        if self.looking.is_some() && all_looked(self.book.state()) {
            self.looking = None;
            return self.tick();
        }
        self.deliver()
    }

    fn note(&mut self, snapshot: &Snapshot, all: bool) {
        let changed = self.engine.take_changed();
        let muted = self.known_muted();
        let Self { engine, log, now, .. } = self;
        let facts = Facts::new(engine, snapshot, &muted, 60, *now);
        if all || !log.is_started() {
            log.note_all(&facts);
        } else {
            log.note_reading(changed, &facts);
        }
    }

    /// Stops and starts again, through the stored form.
    fn restart(&mut self) -> Result<(), Broken> {
        fn stored<T: serde::Serialize + serde::de::DeserializeOwned>(value: &T) -> T {
            serde_json::from_str(&serde_json::to_string(value).unwrap()).unwrap()
        }
        let incidents: BTreeMap<Key, Incident> =
            self.engine.incidents().iter().map(|(key, one)| (key.clone(), stored(one))).collect();
        let cut_offs: BTreeMap<AccountName, CutOff> =
            self.engine.cut_offs().iter().map(|(account, one)| (account.clone(), stored(one))).collect();
        self.now += Duration::minutes(1);
        self.engine = Engine::new(watchers(&self.to), incidents, cut_offs, self.now);
        self.engine.wake(self.now);
        self.log.restart(self.now);
        self.log.wake(self.now);
        let state = self.book.state();
        let last = state.billing.last_known().map(|(report, at)| LastReport::of(report, at));
        self.book = KnownAccount::new(state.profile.clone()).remembering(last.as_ref());
        self.looking = Some(self.now);
        self.observer.truth.restart();
        self.tick()
    }

    /// Attempts every mail that can be sent now.
    fn deliver(&mut self) -> Result<(), Broken> {
        self.resend()?;
        for to in self.log.recipients() {
            if !self.skips(&to) && self.serve(&to)? {
                return self.restart();
            }
        }
        Ok(())
    }

    /// Attempts every mail to one recipient. `true` if the daemon was killed during an attempt.
    fn serve(&mut self, to: &str) -> Result<bool, Broken> {
        let (snapshot, muted) = (self.snapshot(), self.known_muted());
        // More mails than there are forms would be an endless loop.
        for turn in 0..20 {
            let before = self.plant.map(|_| self.log.clone());
            let Self { engine, log, now, .. } = &mut *self;
            let facts = Facts::new(engine, &snapshot, &muted, 60, *now);
            // Two paths to the same state give the same Message-ID.
            let id = format!("{} {turn} {to}", now.timestamp());
            let Some(outgoing) = log.claim(to, &id, &facts) else { return Ok(false) };
            let (lane, is_repeated) = (outgoing.lane, outgoing.notice.is_none());
            let place = (to.to_owned(), lane);
            self.bytes.extend(outgoing.notice.map(|notice| (place.clone(), notice)));
            let (id, notice) = (outgoing.id, self.bytes[&place].clone());
            let mail = Handed { lane, id, notice, is_repeated };
            let answer = self.attempt(&mail)?;
            if let Answer::Killed { .. } = answer {
                self.killed(&mail, before, &snapshot);
                return Ok(true);
            }
            let attempt = self.heard(&mail, outcome(answer));
            let Self { engine, log, now, .. } = &mut *self;
            let facts = Facts::new(engine, &snapshot, &muted, 60, *now);
            log.settle(to, lane, &mail.id, attempt, &facts);
            // A server that is away is tried again at the next moment, as the sender does.
            if attempt == Attempt::Away {
                return Ok(false);
            }
        }
        Err(format!("mails to {to} do not end"))
    }

    /// The server's answer to one attempt. The observer sees each mail that is attempted and each that arrives.
    pub fn attempt(&mut self, mail: &Handed) -> Result<Answer, Broken> {
        let to = &mail.notice.to;
        if self.drops(mail) {
            return Ok(Answer::Accept);
        }
        let once = self.answers.remove(to);
        let answer = if self.is_down { Answer::Away } else { once.unwrap_or(Answer::Accept) };
        if let Some(journal) = &mut self.journal {
            let says: Vec<String> = mail.notice.items.iter().map(|item| item.event_key()).collect();
            let again = if mail.is_repeated { " again" } else { "" };
            journal.push(format!("    {} {to}{again} {says:?}: {answer:?}", self.now.format("%a %H:%M")));
        }
        let is_silenced = self.is_silenced();
        let is_acked =
            |key: &Key, episode| self.muted.acks.get(key).is_some_and(|ack| ack.episode == episode);
        self.observer.attempt(&mail.notice, answer, is_silenced, &is_acked, self.now)?;
        Ok(answer)
    }

    /// The mails whose same bytes may be sent again.
    pub fn bytes_on_their_way(&self) -> Vec<(&(String, Lane), &Notice)> {
        let is_on_its_way = |to: &str, notice: &Notice| {
            let of_mail =
                |(one, key): (&str, &Key)| one == to && notice.items.iter().any(|item| item.key == *key);
            notice.items.is_empty() || self.log.on_their_way().any(of_mail)
        };
        self.bytes.iter().filter(|((to, _), notice)| is_on_its_way(to, notice)).collect()
    }

    pub fn snapshot(&self) -> Snapshot {
        Snapshot { accounts: [(name(), self.book.publish())].into() }
    }
}

fn outcome(answer: Answer) -> Attempt {
    match answer {
        Answer::Accept => Attempt::Sent,
        Answer::Later => Attempt::Deferred,
        Answer::Away => Attempt::Away,
        Answer::NoRecipient => Attempt::RecipientRefused,
        Answer::NoMail => Attempt::MailRefused,
        Answer::Lost { .. } | Answer::Killed { .. } => Attempt::ReplyLost,
    }
}

/// Kinds are off if they have no end or belong to no resource of this world.
pub fn watchers(to: &[String]) -> BTreeMap<AccountName, Watcher> {
    let off = |kind| (kind, Rule { enabled: Some(false), ..Rule::default() });
    let rules = [off(Kind::BalanceDrop), off(Kind::OrderCost), off(Kind::CollectorFailing)].into();
    let settings = AlertSettings { rules, ..AlertSettings::defaults() };
    [(name(), Watcher { settings: settings.into(), to: to.to_vec() })].into()
}
