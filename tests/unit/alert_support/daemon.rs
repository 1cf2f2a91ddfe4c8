//! The daemon as far as alerts are concerned: engine, notification log and the real store, in memory or in a
//! file. Changes are committed as in the daemon: after each reading and tick, after each result, and a mail's
//! bytes with its rows before each attempt. A restart knows nothing but the store.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Fate, FormName, Mail, Told};
use crate::alert::{
    Attempt, CalendarEntry, Engine, Event, Facts, Form, Incident, Item, Key, Kind, Lane, Log, Muted, Notice,
    Outgoing, Watcher,
};
use crate::model::{AccountIncidents, AccountName, Collector, Language, Observed, Snapshot};
use crate::store::{Flying, Rendered, Restored, Store, StoreError};
use crate::view::{IncidentRow, Reader, forms, reasons, words};
use chrono::{DateTime, Duration, Utc};

pub struct Daemon {
    pub engine: Engine,
    pub log: Log,
    store: Store,
    muted: Muted,
    /// For each recipient, the last time at which the connection to the server failed, and how often it failed
    /// in a row.
    away: BTreeMap<String, (DateTime<Utc>, usize)>,
    /// The number of claimed mails.
    pub mails: usize,
    /// The bytes of each attempt, by Message-ID.
    pub handed: Vec<(String, Vec<u8>)>,
    /// The last snapshot.
    snapshot: Snapshot,
    pub max_per_hour: usize,
    /// The directory of the store's file.
    pub directory: Option<tempfile::TempDir>,
    /// Nothing can be committed.
    pub is_disk_full: bool,
}

impl Daemon {
    /// Starts on an empty store.
    pub fn start(watchers: BTreeMap<AccountName, Watcher>, now: DateTime<Utc>) -> Self {
        Self::on(Store::in_memory().unwrap(), watchers, now)
    }

    /// Continues with the content of a store.
    pub fn on(store: Store, watchers: BTreeMap<AccountName, Watcher>, now: DateTime<Utc>) -> Self {
        let Restored { incidents, cut_offs, mut log, watched_until, .. } = store.restore().unwrap();
        let mut engine = Engine::new(watchers, incidents, cut_offs, now);
        engine.is_sure_of(now);
        if watched_until.is_some() {
            log.restart(now);
            log.wake(now);
        }
        Self {
            engine,
            log,
            store,
            muted: Muted::default(),
            mails: 0,
            away: BTreeMap::new(),
            handed: Vec::new(),
            snapshot: Snapshot::default(),
            max_per_hour: 60,
            directory: None,
            is_disk_full: false,
        }
    }

    /// Stops, and starts again on its store. `until` is the time of the last write.
    pub fn restart(
        self,
        watchers: BTreeMap<AccountName, Watcher>,
        until: DateTime<Utc>,
        now: DateTime<Utc>,
    ) -> Self {
        let Self { mut store, muted, mails, handed, snapshot, max_per_hour, directory, .. } = self;
        let Restored { incidents, cut_offs, log, .. } = store.restore().unwrap();
        let mut engine = Engine::new(watchers.clone(), incidents, cut_offs, until);
        engine.saved();
        store.save(&engine, &log, &Flying::new(), &[], until).unwrap();
        let mut new = Self {
            muted,
            mails,
            handed,
            snapshot,
            max_per_hour,
            directory,
            ..Self::on(store, watchers, now)
        };
        new.commit(now).unwrap();
        new
    }

    pub fn exported(&self, account: &AccountName, now: DateTime<Utc>) -> AccountIncidents {
        self.engine.exported(account, now)
    }

    pub fn store(&self) -> &Store {
        &self.store
    }

    pub fn store_mut(&mut self) -> &mut Store {
        &mut self.store
    }

    /// Leaves the store's file and continues in memory, as the daemon does when the file fails. `true` if the
    /// file could be read completely.
    pub fn leave_file(&mut self, now: DateTime<Utc>) -> bool {
        let was_read = self.store.fall_back(now).unwrap();
        if !was_read {
            self.log.lose_bytes(|_| false);
            self.store.decided(&self.muted).unwrap();
        }
        self.engine.write_all();
        self.log.write_all();
        was_read
    }

    /// Commits all changes.
    pub fn commit(&mut self, now: DateTime<Utc>) -> Result<(), StoreError> {
        self.commit_with(&Flying::new(), now)
    }

    /// Commits all changes, with the bytes of a mail that is about to be handed to the server.
    fn commit_with(&mut self, mails: &Flying, now: DateTime<Utc>) -> Result<(), StoreError> {
        if self.is_disk_full {
            return Err(StoreError::Content("the disk is full".to_owned()));
        }
        self.store.save(&self.engine, &self.log, mails, &[], now)?;
        self.engine.saved();
        self.log.saved();
        Ok(())
    }

    fn commit_if_possible(&mut self, now: DateTime<Utc>) {
        if self.engine.is_saved() && self.log.is_saved() {
            return;
        }
        let result = self.commit(now);
        assert!(result.is_ok() || self.is_disk_full, "{result:?}");
    }

    /// Calls `act` with the log and all facts that it is compared with now.
    fn with_facts<T>(&mut self, now: DateTime<Utc>, act: impl FnOnce(&mut Log, &Facts<'_>) -> T) -> T {
        let Self { engine, log, muted, snapshot, max_per_hour, .. } = self;
        act(log, &Facts::new(engine, snapshot, muted, *max_per_hour, now))
    }
}

/// Readings and the clock.
impl Daemon {
    /// Takes a reloaded configuration; a tick follows.
    pub fn set_watchers(&mut self, watchers: BTreeMap<AccountName, Watcher>) {
        self.engine.set_watchers(watchers);
    }

    pub fn set_muted(&mut self, muted: Muted) {
        self.muted = muted;
    }

    /// The machine slept until now, or its clock was set.
    pub fn wake(&mut self, now: DateTime<Utc>) {
        self.engine.wake(now);
        self.engine.is_sure_of(now);
        self.log.wake(now);
        self.commit_if_possible(now);
    }

    /// Takes readings that were already applied to the snapshot, and the end of a poll.
    pub fn poll(
        &mut self,
        account: &AccountName,
        observed: &[Observed],
        ended: Option<Collector>,
        snapshot: &Snapshot,
        now: DateTime<Utc>,
    ) {
        self.snapshot = snapshot.clone();
        self.engine.poll(account, observed, ended, snapshot, now);
        self.note(now, false);
    }

    pub fn tick(&mut self, snapshot: &Snapshot, now: DateTime<Utc>) {
        self.snapshot = snapshot.clone();
        self.engine.tick(snapshot, now);
        self.note(now, true);
    }

    fn note(&mut self, now: DateTime<Utc>, all: bool) {
        let changed = self.engine.take_changed();
        self.with_facts(now, |log, facts| {
            if all || !log.is_started() {
                log.note_all(facts);
            } else {
                log.note_reading(changed.into_keys(), facts);
            }
        });
        self.commit_if_possible(now);
    }
}

/// Mails.
impl Daemon {
    /// Attempts every mail that can be sent now, to each recipient. `server` decides the result of each
    /// attempt.
    pub fn deliver(
        &mut self,
        snapshot: &Snapshot,
        server: &mut dyn FnMut(&Mail) -> Fate,
        now: DateTime<Utc>,
    ) {
        self.snapshot = snapshot.clone();
        for to in self.log.recipients() {
            let pause = |times: usize| Duration::seconds([30, 120, 300, 900, 1800][times.min(5) - 1]);
            if self.away.get(&to).is_some_and(|&(at, times)| now - at < pause(times) && now >= at) {
                continue;
            }
            // More mails than there are forms and cut-offs would be an endless loop.
            for _ in 0..100 {
                let id = format!("mail-{}", self.mails);
                let claimed = self.with_facts(now, |log, facts| {
                    let outgoing = log.claim(&to, &id, facts, |_| true).unwrap()?;
                    let made = outgoing.notice.as_ref().map(|notice| as_sent(&outgoing, notice, facts));
                    Some((outgoing, made))
                });
                let Some((outgoing, made)) = claimed else {
                    // The bytes of an older mail may have been dropped.
                    self.commit_if_possible(now);
                    break;
                };
                self.mails += 1;
                // A mail is sent only after its bytes are in the store.
                let kept = self.keep_bytes(&to, &outgoing, made.as_ref(), now);
                let attempt = kept.map_or(Attempt::Away, |mail| outcome(server(&mail)));
                self.with_facts(now, |log, facts| {
                    log.settle(&to, outgoing.lane, &outgoing.id, attempt, facts);
                });
                if self.is_disk_full {
                    break;
                }
                self.commit_if_possible(now);
                if attempt == Attempt::Away {
                    let times = self.away.get(&to).map_or(1, |(_, times)| times + 1);
                    self.away.insert(to.clone(), (now, times));
                    break;
                }
                self.away.remove(&to);
            }
        }
    }

    /// The mail that the server gets, from the bytes in the store. The bytes of a new mail are stored before
    /// the server gets it; the bytes of a repeated mail were stored before.
    fn keep_bytes(
        &mut self,
        to: &str,
        outgoing: &Outgoing,
        made: Option<&Mail>,
        now: DateTime<Utc>,
    ) -> Option<Mail> {
        let rendered = |mail: &Mail| Rendered {
            message_id: outgoing.id.clone(),
            sender: "hostwatch@example.com".to_owned(),
            subject: mail.items.first().map_or_else(String::new, |told| told.words.clone()),
            raw: serde_json::to_vec(mail).unwrap(),
        };
        let place = (to.to_owned(), outgoing.lane);
        let made: Flying = made.map(|mail| (place, Arc::new(rendered(mail)))).into_iter().collect();
        if self.commit_with(&made, now).is_err() {
            assert!(self.is_disk_full);
            return None;
        }
        let stored = self.store.rendered(to, outgoing.lane).unwrap().unwrap();
        assert_eq!(stored.message_id, outgoing.id);
        let mail: Mail = serde_json::from_slice(&stored.raw).unwrap();
        self.handed.push((outgoing.id.clone(), stored.raw));
        // 0.2 used the same bytes for all recipients of a mail.
        Some(Mail { to: to.to_owned(), ..mail })
    }

    /// The lane of the next mail to a recipient, which is claimed if its sender is one of these.
    pub fn claim(&mut self, to: &str, ready: &[Lane], now: DateTime<Utc>) -> Result<Option<Lane>, Lane> {
        let claim =
            |log: &mut Log, facts: &Facts<'_>| log.claim(to, "id", facts, |lane| ready.contains(&lane));
        Ok(self.with_facts(now, claim)?.map(|mail| mail.lane))
    }

    /// The server took a mail that was claimed by `claim`.
    pub fn settle(&mut self, to: &str, lane: Lane, now: DateTime<Utc>) {
        self.with_facts(now, |log, facts| log.settle(to, lane, "id", Attempt::Sent, facts));
    }

    /// Claims a mail and commits it without its bytes.
    pub fn claim_without_bytes(&mut self, to: &str, now: DateTime<Utc>) -> Result<(), StoreError> {
        self.with_facts(now, |log, facts| log.claim(to, "unwritten", facts, |_| true)).unwrap();
        self.commit(now)
    }

    /// `outbox drop`.
    pub fn let_go(&mut self, to: &str, key: Option<&Key>, now: DateTime<Utc>) {
        self.with_facts(now, |log, facts| log.let_go(to, key, facts));
        self.commit_if_possible(now);
    }

    /// `outbox retry`.
    pub fn retry(&mut self, to: Option<&str>, now: DateTime<Utc>) {
        self.away.clear();
        self.log.retry(to, now);
        self.commit_if_possible(now);
    }
}

/// The answers of page and commands.
impl Daemon {
    pub fn rows(&self, now: DateTime<Utc>) -> Vec<IncidentRow> {
        let Self { engine, log, muted, snapshot, max_per_hour, .. } = self;
        let facts = Facts::new(engine, snapshot, muted, *max_per_hour, now);
        let watched = engine.incidents.values().filter(|one| facts.watcher(&one.key.account).is_some());
        watched.filter_map(|incident| IncidentRow::of(incident, log, &facts)).collect()
    }

    /// The number of the present or last episode of an incident, as an acknowledgement names it.
    pub fn episode(&self, key: &Key) -> Option<u32> {
        self.engine.incidents.get(key).map(|incident| incident.episode)
    }

    /// The cut-off that `/calendar.ics` shows.
    pub fn calendar(&self, account: &AccountName) -> Option<CalendarEntry> {
        self.engine.cut_offs.get(account)?.calendar
    }
}

fn outcome(fate: Fate) -> Attempt {
    match fate {
        Fate::Accept => Attempt::Sent,
        Fate::Defer => Attempt::Deferred,
        Fate::Away => Attempt::Away,
        Fate::RefuseRecipient => Attempt::RecipientRefused,
        Fate::RefuseMail | Fate::RefuseLong => Attempt::MailRefused,
        Fate::Doubt | Fate::DoubtVm1 => Attempt::InDoubt,
        Fate::LoseReply { .. } => Attempt::ReplyLost,
    }
}

fn as_sent(outgoing: &Outgoing, notice: &Notice, facts: &Facts<'_>) -> Mail {
    let started = if let Form::Started(started) = &notice.form { Some(started.clone()) } else { None };
    Mail {
        id: outgoing.id.clone(),
        to: notice.to.clone(),
        form: name_of(notice),
        is_light: outgoing.is_light,
        items: notice.told(outgoing.is_light).iter().map(|item| as_told(item, facts)).collect(),
        started,
    }
}

fn name_of(notice: &Notice) -> FormName {
    match &notice.form {
        Form::Started(_) => "started",
        Form::News if notice.items.iter().any(Item::is_alone) => "disconnect",
        Form::News => "incidents",
        Form::Summary(_) => "summary",
        Form::Digest(_) => "digest",
        Form::Test => "test",
    }
}

fn as_told(item: &Item, facts: &Facts<'_>) -> Told {
    let is_off = item.cut_off.as_ref().is_some_and(|cut_off| cut_off.is_overdue(item.at));
    let words = if item.key.kind == Kind::Disconnect {
        let time = if is_off { "is" } else { "will be" };
        format!("Account {} {time} cut off for non-payment", item.key.account)
    } else {
        words_of(&item.incident, &item.event)
    };
    Told {
        key: item.key.clone(),
        event: item.event.clone(),
        severity: item.severity,
        words,
        detail: detail(item, facts),
        reason: reason(item),
        since: item.began,
        at: item.incident.ended.filter(|_| item.event.is_end()).unwrap_or(item.at),
        thread: item.thread.clone(),
        covers: item.covers.iter().chain(&item.says).map(|one| words_of(one, &Event::Opened)).collect(),
    }
}

fn words_of(incident: &Incident, event: &Event) -> String {
    words::capital(&forms::listed(incident, event, Language::En))
}

fn reason(item: &Item) -> String {
    let reason = reasons::cause(&item.why, Language::En);
    match item.as_of {
        Some(at) => {
            let at = Reader::english(chrono_tz::UTC, item.at).moment(at);
            format!("{reason} (as of {at}; no newer report confirms it)")
        }
        None => reason,
    }
}

fn detail(item: &Item, facts: &Facts<'_>) -> String {
    match (&item.cut_off, facts.watcher(&item.key.account)) {
        (Some(cut_off), Some(watcher)) => {
            let reader = Reader::english(watcher.settings.zone, item.at);
            format!("cut-off {}", reader.cut_off_labelled(cut_off.disconnect()))
        }
        _ => reasons::detail(&item.incident.detail, Language::En),
    }
}
