//! One resource: its state and since when, its place, and its past problems. Pure.

use std::collections::BTreeMap;

use chrono_tz::Tz;

use super::cards::{Card, Cards};
use super::headline::Urgency;
use super::history::{self, Bar, BarOf, PastRow};
use super::incidents::IncidentRow;
use super::reader::Reader;
use super::resources::{self, ResourceRow};
use super::words;
use crate::alert::{Episode, History, Key, Kind, Target};
use crate::model::freshness::is_read;
use crate::model::{AccountName, AccountState, ContainerId, Health, Sort, VmId, sanitize, say};

/// The number of days of the past that are shown.
pub(crate) const DAYS: i64 = 30;

/// The id of a resource.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ResourceId {
    pub account: AccountName,
    pub kind: Sort,
    pub id: u64,
}

/// The facts about a resource.
#[derive(Clone, Debug)]
pub(crate) struct ResourceFacts {
    /// `VM web-1`.
    pub title: String,
    /// `None` if the provider does not list it, or if its listing was not read yet.
    pub row: Option<ResourceRow>,
    pub is_read: bool,
    /// `Sun 1 Mar 15:00 MSK (23 min)`.
    pub since: String,
    /// The addresses of a VM, or the server of a container.
    pub address: Option<String>,
    /// The container of a site, with its name.
    pub container: Option<(ContainerId, String)>,
    pub open: Vec<Card>,
    pub past: Vec<PastRow>,
    pub bar: Bar,
}

impl ResourceId {
    /// The keys of incidents about the resource, and of those about reading it.
    pub(crate) fn keys(&self) -> Vec<Key> {
        let own = Kind::ALL.iter().filter(|kind| kind.sort() == Some(self.kind));
        let mut keys: Vec<Key> = own.map(|&kind| Key::new(&self.account, kind, self.id)).collect();
        let gone = Target::of(self.kind, &self.id.to_string());
        keys.push(Key::new(&self.account, Kind::ResourceGone, gone));
        let group = Target::Group(self.kind.seen_by().group());
        keys.push(Key::new(&self.account, Kind::CredentialsRejected, group));
        // Past incidents do not keep the names of unread data; it may have been this resource's.
        keys.push(Key::account_wide(&self.account, Kind::CollectorFailing));
        keys
    }
}

impl ResourceFacts {
    /// The urgency of the resource's present state.
    pub(crate) fn level(&self) -> Urgency {
        match self.row.as_ref().map(|row| row.health) {
            Some(Health::Fine) if self.open.is_empty() => Urgency::Fine,
            // It works again, and its incident is not over yet.
            Some(Health::Fine) => Urgency::Notice,
            _ if !self.open.is_empty() => Urgency::Attention,
            Some(Health::Bad | Health::Off | Health::Passing) => Urgency::Notice,
            Some(Health::Unknown) | None => Urgency::Unknown,
        }
    }

    /// The facts; `None` if nothing was ever known of it. `history` is that of its keys.
    pub(crate) fn of(
        which: &ResourceId,
        state: &AccountState,
        incidents: &[&IncidentRow],
        history: &History,
        reader: Reader,
    ) -> Option<Self> {
        let reader = reader.of(Some(state));
        let row = resources::find(state, which.kind, which.id, reader.now);
        let own: Vec<Episode> =
            history.episodes.iter().filter(|one| !history::is_about_reading(one.key.kind)).cloned().collect();
        if row.is_none() && own.is_empty() {
            return None;
        }
        let noun = words::sort_label(which.kind, reader.language);
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
        let id = row.as_ref().and_then(|row| row.container).map(ContainerId::new);
        let container = id.map(|id| (id, state.container_name(id, 60).unwrap_or_else(|| id.to_string())));
        Some(Self {
            title,
            since: since(&open, &own, history, reader),
            address: address(which, state),
            container,
            open: open.into_iter().map(|row| Cards::one(row, &[state], reader)).collect(),
            past: history::rows(&own, |_| reader.zone, reader),
            bar: BarOf {
                episodes: history.episodes.iter().collect(),
                history,
                is_fine: row.as_ref().is_some_and(|row| row.health == Health::Fine),
            }
            .bar(DAYS, reader),
            is_read: row.is_some() || is_read(state, which.kind.seen_by(), reader.now),
            row,
        })
    }
}

/// The bar of each resource, from a history of all incidents.
pub(crate) fn bars(
    rows: &[ResourceRow],
    history: &History,
    zone_of: impl Fn(&AccountName) -> Tz,
    reader: Reader,
) -> Vec<Bar> {
    let mut known: BTreeMap<&Key, Vec<&Episode>> = BTreeMap::new();
    for episode in &history.episodes {
        known.entry(&episode.key).or_default().push(episode);
    }
    let bar = |row: &ResourceRow| {
        let which = ResourceId { account: row.account.clone(), kind: row.kind, id: row.id };
        let episodes = which.keys().iter().filter_map(|key| known.get(key)).flatten().copied().collect();
        BarOf { episodes, history, is_fine: row.health == Health::Fine }
            .bar(DAYS, reader.within(zone_of(&row.account)))
    };
    rows.iter().map(bar).collect()
}

/// Since when it is as it is: its oldest open incident, else the end of its last, else as long as it was watched.
fn since(open: &[&IncidentRow], past: &[Episode], history: &History, reader: Reader) -> String {
    let said = |at| format!("{} ({})", reader.moment(at), reader.age(at));
    let begun = open.iter().map(|row| row.since).min();
    let ended = past.iter().filter_map(|episode| episode.ended).max();
    match (begun.or(ended), history.watched_since) {
        (Some(at), _) => said(at),
        (None, Some(first)) if reader.now - first < chrono::Duration::days(DAYS) => {
            let first = said(first);
            say!(
                reader.language,
                "no incident since {first}, when hostwatch began to watch",
                "без проблем с {first}, когда началось наблюдение"
            )
        }
        (None, _) => {
            say!(
                reader.language,
                "no incident for {DAYS} days or longer",
                "без проблем {DAYS} дней или дольше"
            )
        }
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
