//! What rests on the store alone: lists, reasons, and what people decide. The daemon answers so, and a command where no
//! daemon runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::{DateTime, Duration, Utc};

use super::protocol::{Reply, Request};
use crate::alert::{AlertSettings, Incident, Key, Kind, Target, Watcher};
use crate::config::Settings;
use crate::daemon::pipeline::Accounts;
use crate::model::{AccountName, Profile};
use crate::store::{Envelopes, Store, StoreError};
use crate::view::records::{IncidentRecords, OutboxRecords, SilenceRecords, Zones};
use crate::view::why::{DecisionRecord, Facts, WhyRecord};
use crate::view::{decided, lookup};

/// Mails that are listed.
const MOST_MAILS: u32 = 200;
/// Reasons of one incident.
const MOST_REASONS: u32 = 50;

/// What a configuration says of the accounts, as far as answers rest on it.
#[derive(Debug)]
pub(crate) struct Watching {
    pub(crate) watchers: BTreeMap<AccountName, Watcher>,
    pub(crate) profiles: BTreeMap<AccountName, Arc<Profile>>,
    /// Somebody can be told; else nothing is kept beyond the daemon's life.
    pub(crate) mails: bool,
}

impl Watching {
    pub(crate) fn of(settings: &Settings) -> Self {
        let profiles = settings.accounts.iter().map(|one| (one.name().clone(), Arc::clone(&one.profile)));
        let watchers = Accounts::of(settings).watchers;
        Self { watchers, profiles: profiles.collect(), mails: settings.mails }
    }

    pub(super) fn zones(&self) -> Zones {
        self.profiles.iter().map(|(name, profile)| (name.clone(), profile.zone())).collect()
    }
}

/// The answer; `Err` says why not, in words for people.
pub(crate) fn answer(
    store: &mut Store,
    watching: &Watching,
    request: Request,
    now: DateTime<Utc>,
) -> Result<Reply, String> {
    let in_memory = store.is_in_memory();
    let desk = Desk { store, watching, now };
    let mut reply = match request {
        Request::Health | Request::Poll { .. } => Err("that takes a running daemon".to_owned()),
        Request::Incidents => desk.incidents(),
        Request::Outbox => desk.outbox(),
        Request::Silences => desk.silences().map(Reply::Silences),
        Request::Why { what } => desk.why(&what),
        Request::Ack { what, comment } => desk.acknowledge(&what, &comment),
        Request::TakeBackAck { what } => desk.take_back_ack(&what),
        Request::Silence { pattern, seconds, comment } => desk.silence(&pattern, seconds, &comment),
        Request::EndSilence { id } => desk.end_silence(id),
        Request::Retry { mails } => desk.each(mails, Store::retry, decided::tried_again),
        Request::Drop { mails } => desk.each(mails, Store::drop_mails, decided::dropped),
    };
    if let Ok(Reply::Done(done)) = &mut reply
        && in_memory
    {
        *done = decided::in_memory(done);
    }
    reply
}

/// The store, the configuration, the time.
struct Desk<'a> {
    store: &'a mut Store,
    watching: &'a Watching,
    now: DateTime<Utc>,
}

type Answered<T = Reply> = Result<T, String>;

#[allow(clippy::needless_pass_by_value)] // as map_err gives it
fn failed(error: StoreError) -> String {
    error.to_string()
}

impl Desk<'_> {
    fn incidents(&self) -> Answered {
        let (known, muted) = (self.known()?, self.store.silences(self.now).map_err(failed)?);
        Ok(Reply::Incidents(IncidentRecords::of(&known, &muted, self.watching.zones(), self.now)))
    }

    fn known(&self) -> Answered<Vec<Incident>> {
        self.store.incidents().map_err(failed)
    }

    /// The incident that a person means; the inner error says why there is none. The store is locked meanwhile, so as
    /// few as possible are read.
    fn find(&self, what: &str) -> Answered<Answered<Incident>> {
        if let Some(incident) = self.store.incident(what).map_err(failed)? {
            return Ok(Ok(incident));
        }
        let near = self.store.incidents_near(what).map_err(failed)?;
        Ok(lookup::find(&near, what).cloned())
    }

    fn outbox(&self) -> Answered {
        let mails = self.store.envelopes(MOST_MAILS).map_err(failed)?;
        let zones = self.watching.zones();
        Ok(Reply::Outbox(OutboxRecords { generated_at: self.now, time_zones: zones, mails }))
    }

    fn silences(&self) -> Answered<SilenceRecords> {
        let silences = self.store.silences(self.now).map_err(failed)?.silences;
        Ok(SilenceRecords::of(&silences, &self.known()?, &self.watching.zones(), self.now))
    }

    fn why(&self, what: &str) -> Answered {
        let found = self.find(what)?;
        let (key, incident) = match &found {
            Ok(incident) => (incident.key.clone(), Some(incident)),
            // Of what was never wrong, the configuration may say why.
            Err(unknown) => (self.silent_key(what).ok_or_else(|| unknown.clone())?, None),
        };
        let decisions = self.store.decisions(&key.to_string(), MOST_REASONS).map_err(failed)?.into_iter();
        let decisions = decisions.map(|(at, reason)| DecisionRecord { at, reason: reason.to_string() });
        let episode = incident.map_or(0, |incident| incident.episode);
        let mails = self.store.mails_about(&key.to_string(), episode).map_err(failed)?;
        let muted = self.store.silences(self.now).map_err(failed)?;
        let facts = Facts {
            key: &key,
            incident,
            decisions: decisions.collect(),
            mails,
            muted: &muted,
            watcher: self.watching.watchers.get(&key.account),
            zone: self.watching.zones().of(&key.account),
            now: self.now,
        };
        Ok(Reply::Why(Box::new(WhyRecord::of(facts))))
    }

    /// A key of an account that is watched and of a kind that is off, or that is about the account itself.
    fn silent_key(&self, what: &str) -> Option<Key> {
        let key: Key = what.parse().ok()?;
        let settings: &AlertSettings = &self.watching.watchers.get(&key.account)?.settings;
        let account_wide = matches!(key.kind, Kind::Disconnect | Kind::BillingReport | Kind::BalanceDrop);
        let of_account = account_wide && key.resource == Target::Account;
        (of_account || !settings.enabled(key.kind)).then_some(key)
    }

    fn acknowledge(self, what: &str, comment: &str) -> Answered {
        let incident = self.find(what)??;
        if !incident.phase.is_open() {
            return Err(decided::not_open(&incident.key));
        }
        self.store.acknowledge(&incident.key, incident.episode, comment, self.now).map_err(failed)?;
        Ok(Reply::Done(match self.watching.mails {
            true => decided::acknowledged(&incident, self.now),
            false => decided::acknowledged_without_mails(&incident.key),
        }))
    }

    fn take_back_ack(self, what: &str) -> Answered {
        let key = &self.find(what)??.key;
        match self.store.take_back_ack(key).map_err(failed)? {
            true => Ok(Reply::Done(decided::no_longer_acknowledged(key))),
            false => Err(format!("{key} was not acknowledged")),
        }
    }

    fn silence(self, pattern: &str, seconds: u64, comment: &str) -> Answered {
        let span = i64::try_from(seconds).ok().and_then(Duration::try_seconds);
        let until = span.and_then(|span| self.now.checked_add_signed(span));
        let until = until.ok_or_else(|| "--for: that is too long".to_owned())?;
        let id = self.store.silence(pattern, until, comment, self.now).map_err(failed)?;
        let all = self.silences()?;
        let one = all.silences.iter().find(|one| one.id == id);
        one.map(|one| Reply::Done(decided::silenced(one, self.watching.mails, self.now)))
            .ok_or_else(|| format!("silence {id} is not there any more"))
    }

    fn end_silence(self, id: i64) -> Answered {
        match self.store.end_silence(id, self.now).map_err(failed)? {
            true => Ok(Reply::Done(decided::silence_ended(id))),
            false => {
                Err(format!("there is no silence {id}; `hostwatch silence --list` shows those that are on"))
            }
        }
    }

    /// Does something to these mails, or to all; `None` for all.
    fn each(
        self,
        mails: Option<Vec<i64>>,
        act: fn(&mut Store, Envelopes, DateTime<Utc>) -> Result<usize, StoreError>,
        words: fn(usize) -> String,
    ) -> Answered {
        let Some(ids) = mails else {
            return act(self.store, Envelopes::All, self.now)
                .map(|count| Reply::Done(words(count)))
                .map_err(failed);
        };
        // All or none: what was done is never behind an error.
        if let Some(id) = self.store.first_settled(&ids).map_err(failed)? {
            return Err(format!(
                "mail {id} neither waits nor was given up, so nothing was done; `hostwatch outbox list` shows the mails"
            ));
        }
        let done = act(self.store, Envelopes::These(ids), self.now).map_err(failed)?;
        Ok(Reply::Done(words(done)))
    }
}
