//! One resource: how it is and since when, where it is, what was wrong with it. Pure.

use chrono::{DateTime, Utc};

use super::cards::{Card, Cards};
use super::history::{self, Bar, PastRow};
use super::incidents::IncidentRow;
use super::resources::{self, ResourceRow};
use super::words;
use crate::alert::{Episode, History, Key, Kind, Sort, Target};
use crate::model::{AccountName, AccountState, ContainerId, VmId, sanitize};

/// The days of its past that are shown.
pub(crate) const DAYS: i64 = 30;

/// Which resource.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ResourceId {
    pub account: AccountName,
    pub kind: Sort,
    pub id: u64,
}

/// What is known of it.
#[derive(Clone, Debug)]
pub(crate) struct ResourceFacts {
    /// `VM web-1`.
    pub title: String,
    /// `None` where the provider does not list it.
    pub row: Option<ResourceRow>,
    /// `Sun 1 Mar 15:00 MSK (23 min)`.
    pub since: String,
    /// Of a VM its addresses, of a container its server.
    pub address: Option<String>,
    /// Of a site its container, by name.
    pub container: Option<(ContainerId, String)>,
    pub open: Vec<Card>,
    pub past: Vec<PastRow>,
    pub bar: Bar,
}

impl ResourceId {
    /// The incidents that are about it, and those about reading it.
    pub(crate) fn keys(&self) -> Vec<Key> {
        let own = Kind::ALL.iter().filter(|kind| kind.sort() == Some(self.kind));
        let mut keys: Vec<Key> = own.map(|&kind| Key::new(&self.account, kind, self.id)).collect();
        let gone = Target::of(self.kind, &self.id.to_string());
        keys.push(Key::new(&self.account, Kind::ResourceGone, gone));
        let collector = self.kind.seen_by();
        for target in [Target::Collector(collector), Target::Group(collector.group())] {
            keys.push(Key::new(&self.account, Kind::CollectorFailing, target.clone()));
            keys.push(Key::new(&self.account, Kind::CredentialsRejected, target));
        }
        keys
    }
}

impl ResourceFacts {
    /// `None` where nothing was ever known of it. `history` is that of its keys.
    pub(crate) fn of(
        which: &ResourceId,
        state: &AccountState,
        incidents: &[&IncidentRow],
        history: &History,
        now: DateTime<Utc>,
    ) -> Option<Self> {
        let row = resources::find(state, which.kind, which.id, now);
        let zone = state.profile.zone();
        let own: Vec<Episode> =
            history.episodes.iter().filter(|one| !history::is_about_reading(one.key.kind)).cloned().collect();
        if row.is_none() && own.is_empty() {
            return None;
        }
        let noun = which.kind.noun();
        let title = match row.as_ref().and_then(|row| row.name.as_deref()) {
            Some(name) => format!("{noun} {}", sanitize::one_line(name, 120)),
            None => format!("{noun} {}", which.id),
        };
        let keys = which.keys();
        let open: Vec<&IncidentRow> = incidents
            .iter()
            .copied()
            .filter(|row| row.is_open() && keys.contains(&row.key) && !history::is_about_reading(row.kind))
            .collect();
        let container = row.as_ref().and_then(|row| row.container).map(|id| {
            let id = ContainerId::new(id);
            let name = state.containers.get(id).and_then(|found| found.name.as_deref());
            (id, name.map_or_else(|| id.to_string(), |name| sanitize::one_line(name, 60)))
        });
        Some(Self {
            title,
            since: since(&open, &own, history, zone, now),
            address: address(which, state),
            container,
            open: open.into_iter().map(|row| Cards::one(row, &[state], now)).collect(),
            past: history::rows(&own, |_| zone, now),
            bar: Bar::of(history, DAYS, zone, now),
            row,
        })
    }
}

/// Since when it is as it is: its oldest open incident, else the end of its last, else as long as it was watched.
fn since(
    open: &[&IncidentRow],
    past: &[Episode],
    history: &History,
    zone: chrono_tz::Tz,
    now: DateTime<Utc>,
) -> String {
    let said = |at| format!("{} ({})", words::sentence_moment(at, zone, now), words::lasted(now - at));
    let begun = open.iter().map(|row| row.since).min();
    let ended = past.iter().filter_map(|episode| episode.ended).max();
    match (begun.or(ended), history.watched_since) {
        (Some(at), _) => said(at),
        (None, Some(first)) if now - first < chrono::Duration::days(DAYS) => {
            format!("no incident since {}, when hostwatch began to watch", said(first))
        }
        (None, _) => format!("no incident for {DAYS} days or longer"),
    }
}

fn address(which: &ResourceId, state: &AccountState) -> Option<String> {
    match which.kind {
        Sort::Vm => {
            let vm = state.vms.get(VmId::new(which.id))?;
            let all = vm.ips.iter().flatten().filter_map(|ip| ip.address.as_deref());
            let all: Vec<String> = all.map(|address| sanitize::one_line(address, 45)).collect();
            (!all.is_empty()).then(|| all.join(", "))
        }
        Sort::Container => {
            let server = state.containers.get(ContainerId::new(which.id))?.server.as_deref()?;
            Some(sanitize::one_line(server, 80))
        }
        Sort::Site => None,
    }
}
