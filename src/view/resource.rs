//! One resource: its state and since when, its place, and its past problems. Pure.

use super::advice::addresses;
use super::cards::{Card, Cards};
use super::headline::Urgency;
use super::history::{self, PastRow};
use super::incidents::IncidentRow;
use super::reader::Reader;
use super::resources::{self, ResourceRow};
use super::words;
use crate::alert::{History, Key, Kind, Target};
use crate::model::freshness::is_read;
use crate::model::{AccountName, AccountState, ContainerId, Health, Sort, sanitize, say};

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
}

impl ResourceId {
    /// The keys of incidents about the resource.
    pub(crate) fn keys(&self) -> Vec<Key> {
        let own = Kind::ALL.iter().filter(|kind| kind.sort() == Some(self.kind));
        let mut keys: Vec<Key> = own.map(|&kind| Key::new(&self.account, kind, self.id)).collect();
        keys.push(Key::new(&self.account, Kind::ResourceGone, Target::Of(self.kind, self.id)));
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
        if row.is_none() && history.episodes.is_empty() {
            return None;
        }
        let noun = words::sort_label(which.kind, reader.language);
        let title = match row.as_ref().and_then(|row| row.name.as_deref()) {
            Some(name) => format!("{noun} {}", sanitize::one_line(name, 120)),
            None => format!("{noun} {}", which.id),
        };
        let keys = which.keys();
        let is_open = |row: &&IncidentRow| row.is_open() && keys.contains(&row.key);
        let open: Vec<&IncidentRow> = incidents.iter().copied().filter(is_open).collect();
        let id = row.as_ref().and_then(|row| row.container).map(ContainerId::new);
        let container = id.map(|id| (id, state.container_name(id, 60).unwrap_or_else(|| id.to_string())));
        Some(Self {
            title,
            since: since(&open, history, reader),
            address: address(which, state),
            container,
            open: open.into_iter().map(|row| Cards::one(row, &[state], reader)).collect(),
            past: history::rows(&history.episodes, |_| reader.zone, reader),
            is_read: row.is_some() || is_read(state, which.kind.seen_by(), reader.now),
            row,
        })
    }
}

/// Since when it is as it is: its oldest open incident, else the end of its last.
fn since(open: &[&IncidentRow], history: &History, reader: Reader) -> String {
    let begun = open.iter().map(|row| row.since).min();
    let ended = history.episodes.iter().filter_map(|episode| episode.ended).max();
    match begun.or(ended) {
        Some(at) => format!("{} ({})", reader.moment(at), reader.age(at)),
        None => say!(
            reader.language,
            "no incident is known of the last {DAYS} days",
            "за последние {DAYS} дней проблем не отмечено"
        ),
    }
}

fn address(which: &ResourceId, state: &AccountState) -> Option<String> {
    match which.kind {
        Sort::Vm => {
            let all = addresses(state, which.id);
            (!all.is_empty()).then(|| all.join(", "))
        }
        Sort::Container => {
            let server = state.containers.get(ContainerId::new(which.id))?.server.as_deref()?;
            Some(sanitize::one_line(server, 80))
        }
        Sort::Site => None,
    }
}
