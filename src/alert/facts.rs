//! The facts that the notification log is compared with: incidents, readings, people's decisions, and the time.

use std::collections::BTreeMap;

use chrono::{DateTime, NaiveDate, Utc};

use super::case::Evidence;
use super::cut_off::CutOff;
use super::engine::Engine;
use super::incident::{Incident, Phase};
use super::key::Key;
use super::kind::Kind;
use super::settings::Watcher;
use super::silence::{Ack, Muted};
use crate::model::freshness::{AWAITED_FOR, all_looked};
use crate::model::{AccountName, Snapshot};

/// All facts of one comparison.
pub(crate) struct Facts<'a> {
    pub engine: &'a Engine,
    pub snapshot: &'a Snapshot,
    pub muted: &'a Muted,
    pub max_per_hour: usize,
    pub now: DateTime<Utc>,
    /// The incidents that each incident explains.
    pub(super) explained: BTreeMap<&'a Key, Vec<&'a Incident>>,
}

impl<'a> Facts<'a> {
    pub(crate) fn new(
        engine: &'a Engine,
        snapshot: &'a Snapshot,
        muted: &'a Muted,
        max_per_hour: usize,
        now: DateTime<Utc>,
    ) -> Self {
        let mut explained: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for incident in engine.incidents.values().filter(|one| one.phase == Phase::Firing) {
            if let Some(cause) = &incident.cause {
                explained.entry(cause).or_default().push(incident);
            }
        }
        Self { engine, snapshot, muted, max_per_hour, now, explained }
    }

    pub(crate) fn watcher(&self, account: &AccountName) -> Option<&'a Watcher> {
        self.engine.watchers().get(account)
    }

    pub(crate) fn incident(&self, key: &Key) -> Option<&'a Incident> {
        self.engine.incidents.get(key)
    }

    /// Whether the readings that an incident rests on count.
    pub(super) fn evidence(&self, incident: &Incident) -> Evidence {
        let state = self.snapshot.accounts.get(&incident.key.account).map(AsRef::as_ref);
        let causes = state.map(|state| self.engine.causes(state, self.now));
        causes.map_or(Evidence::Sound, |causes| causes.evidence(incident))
    }

    pub(crate) fn cut_off(&self, key: &Key) -> Option<&'a CutOff> {
        Some(key)
            .filter(|key| key.kind == Kind::Disconnect)
            .and_then(|key| self.engine.cut_offs.get(&key.account))
    }

    /// The day in the account's zone.
    pub(super) fn day_of(&self, account: &AccountName, at: DateTime<Utc>) -> Option<NaiveDate> {
        Some(at.with_timezone(&self.watcher(account)?.settings.zone).date_naive())
    }

    /// The end of the silence that an incident is under.
    pub(super) fn silenced(&self, incident: &Incident) -> Option<DateTime<Utc>> {
        self.muted.silence(incident, self.now).map(|silence| silence.until)
    }

    /// The acknowledgement of an incident, if somebody took it on.
    pub(crate) fn ack(&self, incident: &Incident) -> Option<&'a Ack> {
        let settings = self.watcher(&incident.key.account).map(|one| &*one.settings);
        self.muted.ack(incident, self.cut_off(&incident.key).zip(settings), self.now)
    }

    /// The time at which the data of a cut-off account are deleted, if it is known.
    pub(crate) fn deleted_at(&self, key: &Key) -> Option<DateTime<Utc>> {
        let watcher = self.watcher(&key.account)?;
        self.cut_off(key)?.deletion(&watcher.settings, self.now)
    }

    /// The recipients of all accounts, without those of escalations alone.
    pub(super) fn recipients(&self) -> impl Iterator<Item = &'a String> {
        self.engine.watchers().values().flat_map(Watcher::all_recipients)
    }

    /// All recipients in the configuration.
    pub(super) fn everybody(&self) -> impl Iterator<Item = &'a String> {
        self.engine.watchers().values().flat_map(Watcher::everybody)
    }

    pub(crate) fn is_recipient(&self, to: &str, key: &Key) -> bool {
        self.watcher(&key.account).is_some_and(|one| one.recipients(key.kind).iter().any(|one| one == to))
    }

    /// Whether a collector that sees states has not read since the start or the last sleep, and is waited for.
    pub(super) fn is_looking(&self) -> bool {
        let looked = || self.snapshot.accounts.values().all(|state| all_looked(state));
        self.now < self.engine.horizon + AWAITED_FOR && !looked()
    }
}

/// Whether the incident's mails have a lane of their own.
pub(super) const fn is_money(key: &Key) -> bool {
    matches!(key.kind, Kind::Disconnect)
}
