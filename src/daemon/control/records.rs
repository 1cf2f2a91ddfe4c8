//! Answers that rest on the store alone: lists, reasons, and people's decisions. The daemon uses them, and so
//! does a command if no daemon runs.

use std::collections::BTreeMap;

use chrono::{DateTime, Duration, Utc};

use super::protocol::{Reply, Request};
use crate::alert::{AlertSettings, Debts, Engine, Facts, Incident, Key, Kind, Log, Muted, Target, Watcher};
use crate::model::{AccountName, Snapshot};
use crate::store::{Restored, Store, StoreError};
use crate::view::incidents::IncidentList;
use crate::view::records::{IncidentRecords, OutboxRecords, SilenceRecords, Zones};
use crate::view::why::{self, DecisionRecord, WhyRecord};
use crate::view::{IncidentRow, decided, lookup, reasons};

/// The number of mails in a list.
const MOST_MAILS: u32 = 200;
/// The number of reasons of one incident.
const MOST_REASONS: u32 = 50;

/// The parts that an answer is made from.
pub(crate) struct World<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) log: &'a mut Log,
    /// The log's debts, and the pauses of servers.
    pub(crate) debts: Vec<Debts>,
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) muted: &'a Muted,
    pub(crate) store: &'a mut Store,
    /// Whether there is a server that mails can leave by.
    pub(crate) mails: bool,
    pub(crate) now: DateTime<Utc>,
}

/// Answers a request. The caller commits the changes in the notification log.
///
/// # Errors
/// The error is in words for the person who asked.
pub(crate) fn answer(world: World<'_>, request: Request) -> Result<Reply, String> {
    let in_memory = world.store.is_in_memory();
    let mut world = world;
    let mut reply = match request {
        Request::Health | Request::Reload | Request::Poll { .. } => {
            Err("that takes a running daemon".to_owned())
        }
        Request::Incidents => Ok(Reply::Incidents(world.incidents())),
        Request::Outbox => world.outbox(),
        Request::Silences => world.silences().map(Reply::Silences),
        Request::Why { what } => world.why(&what),
        Request::Ack { what, comment } => world.acknowledge(&what, &comment),
        Request::TakeBackAck { what } => world.take_back_ack(&what),
        Request::Silence { pattern, seconds, comment } => world.silence(&pattern, seconds, &comment),
        Request::EndSilence { id } => world.end_silence(id),
        Request::Retry { to } => world.retry(to.as_deref()),
        Request::Drop { to, key } => world.drop_owed(&to, key.as_deref()),
    };
    if let Ok(Reply::Done(done)) = &mut reply
        && in_memory
    {
        *done = decided::in_memory(done);
    }
    reply
}

/// Answers a request from the store alone, if no daemon runs.
///
/// # Errors
/// The error is in words for the person who asked.
pub(crate) fn answer_from_store(
    store: &mut Store,
    watchers: BTreeMap<AccountName, Watcher>,
    mails: bool,
    request: Request,
    now: DateTime<Utc>,
) -> Result<Reply, String> {
    let Restored { incidents, cut_offs, mut log, .. } = store.restore().map_err(failed)?;
    let muted = store.silences(now).map_err(failed)?;
    let engine = &Engine::new(watchers, incidents, cut_offs, now);
    let (snapshot, debts) = (&Snapshot::default(), log.debts(now));
    answer(World { engine, log: &mut log, debts, snapshot, muted: &muted, store, mails, now }, request)
}

type Answered<T = Reply> = Result<T, String>;

#[allow(clippy::needless_pass_by_value)] // as map_err gives it
fn failed(error: StoreError) -> String {
    error.to_string()
}

impl World<'_> {
    fn facts(&self) -> Facts<'_> {
        Facts::new(self.engine, self.snapshot, self.muted, usize::MAX, self.now)
    }

    fn zones(&self) -> Zones {
        let zones = self.engine.watchers().iter();
        Zones(zones.map(|(name, one)| (name.clone(), one.settings.zone)).collect())
    }

    fn incidents(&self) -> IncidentRecords {
        let facts = self.facts();
        let rows: Vec<IncidentRow> =
            self.engine.incidents.values().filter_map(|one| IncidentRow::of(one, self.log, &facts)).collect();
        let incidents = IncidentList::of(rows.iter(), self.now);
        IncidentRecords { generated_at: self.now, time_zones: self.zones(), incidents }
    }

    /// The incident with this key, or with this name or number if only one has it.
    fn find(&self, what: &str) -> Answered<&Incident> {
        lookup::find(self.engine.incidents.values(), self.snapshot, what)
    }

    fn outbox(&self) -> Answered {
        let sent = self.store.sent(MOST_MAILS).map_err(failed)?;
        Ok(Reply::Outbox(OutboxRecords::of(&self.debts, sent, self.zones(), self.now)))
    }

    fn silences(&self) -> Answered<SilenceRecords> {
        let silences = self.store.silences(self.now).map_err(failed)?.silences;
        let incidents = self.engine.incidents.values();
        Ok(SilenceRecords::of(&silences, incidents, &self.zones(), self.now))
    }

    fn why(&self, what: &str) -> Answered {
        let found = self.find(what);
        let (key, incident) = match &found {
            Ok(incident) => (incident.key.clone(), Some(*incident)),
            Err(unknown) => (self.silent_key(what).ok_or_else(|| unknown.clone())?, None),
        };
        let decisions = self.store.decisions(&key.to_string(), MOST_REASONS).map_err(failed)?.into_iter();
        let decisions = decisions.map(|(at, reason)| DecisionRecord { at, reason: reasons::stored(reason) });
        let facts = self.facts();
        let record = WhyRecord::of(why::Facts {
            key: &key,
            incident,
            row: incident.and_then(|incident| IncidentRow::of(incident, self.log, &facts)),
            decisions: decisions.collect(),
            mails: self.store.sent_about(&key).map_err(failed)?,
            answers: self.log.answers(&key, &facts),
            debts: &self.debts,
            watcher: self.engine.watchers().get(&key.account),
            zone: self.zones().of(&key.account),
            now: self.now,
        });
        Ok(Reply::Why(Box::new(record)))
    }

    /// The key of a watched account whose kind is off, or which is about the account itself.
    fn silent_key(&self, what: &str) -> Option<Key> {
        let key: Key = what.parse().ok()?;
        let settings: &AlertSettings = &self.engine.watchers().get(&key.account)?.settings;
        let account_wide = matches!(key.kind, Kind::Disconnect | Kind::BillingReport | Kind::BalanceDrop);
        let of_account = account_wide && key.resource == Target::Account;
        (of_account || !settings.watches(&key)).then_some(key)
    }

    fn acknowledge(&mut self, what: &str, comment: &str) -> Answered {
        let incident = self.find(what)?.clone();
        if !incident.phase.is_open() {
            return Err(decided::not_open(&incident.key));
        }
        self.store.acknowledge(&incident.key, incident.episode, comment, self.now).map_err(failed)?;
        let (facts, key) = (self.facts(), &incident.key);
        Ok(Reply::Done(decided::acknowledged(key, facts.cut_off(key), self.mails, self.now)))
    }

    fn take_back_ack(&mut self, what: &str) -> Answered {
        let key = &self.find(what)?.key.clone();
        match self.store.take_back_ack(key).map_err(failed)? {
            true => Ok(Reply::Done(decided::no_longer_acknowledged(key))),
            false => Err(format!("{key} was not acknowledged")),
        }
    }

    fn silence(&mut self, pattern: &str, seconds: u64, comment: &str) -> Answered {
        let span = i64::try_from(seconds).ok().and_then(Duration::try_seconds);
        let until = span.and_then(|span| self.now.checked_add_signed(span));
        let until = until.ok_or_else(|| "--for: that is too long".to_owned())?;
        let id = self.store.silence(pattern, until, comment, self.now).map_err(failed)?;
        let all = self.silences()?;
        let one = all.silences.iter().find(|one| one.id == id);
        one.map(|one| Reply::Done(decided::silenced(one, self.mails, self.now)))
            .ok_or_else(|| format!("silence {id} is not there any more"))
    }

    fn end_silence(&mut self, id: i64) -> Answered {
        match self.store.end_silence(id, self.now).map_err(failed)? {
            true => Ok(Reply::Done(decided::silence_ended(id))),
            false => {
                Err(format!("there is no silence {id}; `hostwatch silence --list` shows those that are on"))
            }
        }
    }

    fn retry(&mut self, to: Option<&str>) -> Answered {
        let to = match to {
            Some(to) => Some(self.debts_to(to)?.recipient),
            None => None,
        };
        self.log.retry(to.as_deref(), self.now);
        Ok(Reply::Done(decided::tried_again(to.as_deref())))
    }

    fn drop_owed(&mut self, to: &str, key: Option<&str>) -> Answered {
        let Debts { recipient, owed, .. } = self.debts_to(to)?;
        let key = key.map(|what| self.find(what).map(|incident| incident.key.clone())).transpose()?;
        let keys =
            owed.into_iter().map(|one| one.key).filter(|one| key.as_ref().is_none_or(|key| key == one));
        let keys: Vec<Key> = keys.collect();
        if keys.is_empty() {
            return Err(decided::nothing_owed(&recipient));
        }
        let facts = Facts::new(self.engine, self.snapshot, self.muted, usize::MAX, self.now);
        self.log.let_go(&recipient, key.as_ref(), &facts);
        let incident = key.map_or_else(|| "all".to_owned(), |key| key.to_string());
        tracing::info!(recipient, incident, "dropped from the outbox");
        Ok(Reply::Done(decided::dropped(&recipient, &keys)))
    }

    fn debts_to(&self, to: &str) -> Answered<Debts> {
        lookup::recipient(&self.debts, to).cloned()
    }
}
