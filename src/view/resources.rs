//! VMs, containers and sites as one list to look through: by kind and state, by name, page by page.

use std::collections::BTreeMap;

use serde::Serialize;

use super::status::Query;
use crate::model::{AccountState, ContainerState, SiteState, VmState};

/// Rows of one page.
pub const PAGE_ROWS: usize = 100;

/// How a state is to be taken. The order is that of the list: what needs eyes first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Health {
    Bad,
    /// A state that the interface does not list.
    Unknown,
    /// On its way to another state.
    Passing,
    /// Off by its owner's wish.
    Off,
    Fine,
}

impl Health {
    /// A word and a sign, so that colour is never alone.
    pub fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Bad => ("✕", "not well"),
            Self::Unknown => ("?", "not known"),
            Self::Passing => ("…", "changing"),
            Self::Off => ("○", "off"),
            Self::Fine => ("●", "fine"),
        }
    }
}

pub(super) fn of_vm(state: &VmState) -> Health {
    match state {
        VmState::Active => Health::Fine,
        VmState::Stopped => Health::Off,
        VmState::Pending | VmState::Building => Health::Passing,
        VmState::Blocked | VmState::Error => Health::Bad,
        VmState::Unknown(_) => Health::Unknown,
    }
}

pub(super) fn of_site(state: &SiteState) -> Health {
    match state {
        SiteState::Active => Health::Fine,
        SiteState::Stopped => Health::Off,
        SiteState::Building
        | SiteState::Starting
        | SiteState::Stopping
        | SiteState::Restarting
        | SiteState::Updating
        | SiteState::Backuping
        | SiteState::Restoring => Health::Passing,
        SiteState::StoppedByAdmin
        | SiteState::StoppedByService
        | SiteState::StoppedByQuota
        | SiteState::Error => Health::Bad,
        SiteState::Unknown(_) => Health::Unknown,
    }
}

pub(super) fn of_container(state: &ContainerState) -> Health {
    match state {
        ContainerState::Enabled => Health::Fine,
        ContainerState::DisabledByService
        | ContainerState::DisabledByAdmin
        | ContainerState::DisabledByQuota => Health::Bad,
        ContainerState::Unknown(_) => Health::Unknown,
    }
}

/// The part of all resources that was asked for.
#[derive(Clone, Debug, Serialize)]
pub struct Resources {
    /// All, before the filter.
    pub total: usize,
    /// Those that match kind, state and name.
    pub matching: usize,
    /// From 1.
    pub page: usize,
    pub pages: usize,
    /// All of them by kind and state.
    pub states: Vec<StateCount>,
    pub rows: Vec<ResourceRow>,
}

/// How many of a kind are in a state.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct StateCount {
    pub kind: &'static str,
    pub state: String,
    pub health: Health,
    pub count: usize,
}

/// One resource.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ResourceRow {
    pub account: String,
    /// `vm`, `container` or `site`.
    pub kind: &'static str,
    pub id: u64,
    pub name: Option<String>,
    pub state: String,
    pub health: Health,
    /// The id of a site's container.
    pub container: Option<u64>,
}

#[derive(Clone, Copy)]
struct Entry<'a> {
    account: &'a str,
    kind: &'static str,
    id: u64,
    name: Option<&'a str>,
    state: &'a str,
    health: Health,
    container: Option<u64>,
}

impl Resources {
    pub(super) fn select<'a>(accounts: impl Iterator<Item = &'a AccountState>, query: &Query) -> Self {
        let all: Vec<Entry<'a>> = accounts.flat_map(entries).collect();
        let mut states: BTreeMap<(&str, Health, &str), usize> = BTreeMap::new();
        for entry in &all {
            *states.entry((entry.kind, entry.health, entry.state)).or_default() += 1;
        }
        let wanted = query.text.to_lowercase();
        let matches = |entry: &Entry<'_>| {
            query.kind.as_deref().is_none_or(|kind| kind == entry.kind)
                && query.state.as_deref().is_none_or(|state| state == entry.state)
                && (wanted.is_empty()
                    || entry.name.is_some_and(|name| name.to_lowercase().contains(&wanted))
                    || entry.id.to_string() == wanted)
        };
        let mut found: Vec<Entry<'a>> = all.iter().copied().filter(matches).collect();
        let order = |entry: &Entry<'a>| (entry.health, entry.kind, entry.name, entry.account, entry.id);
        found.sort_unstable_by(|a, b| order(a).cmp(&order(b)));
        let pages = found.len().div_ceil(PAGE_ROWS).max(1);
        let page = query.page.clamp(1, pages);
        let rows = found.iter().skip((page - 1) * PAGE_ROWS).take(PAGE_ROWS);
        Self {
            total: all.len(),
            matching: found.len(),
            page,
            pages,
            states: states
                .into_iter()
                .map(|((kind, health, state), count)| StateCount { kind, state: state.into(), health, count })
                .collect(),
            rows: rows.map(Entry::row).collect(),
        }
    }
}

impl Entry<'_> {
    fn row(&self) -> ResourceRow {
        ResourceRow {
            account: self.account.into(),
            kind: self.kind,
            id: self.id,
            name: self.name.map(Into::into),
            state: self.state.into(),
            health: self.health,
            container: self.container,
        }
    }
}

/// How many of an account's resources are in each health.
pub(super) fn tally(account: &AccountState) -> BTreeMap<Health, usize> {
    let mut tally = BTreeMap::new();
    for entry in entries(account) {
        *tally.entry(entry.health).or_default() += 1;
    }
    tally
}

fn entries(account: &AccountState) -> impl Iterator<Item = Entry<'_>> {
    let name = account.profile.name.as_str();
    let vms = account.vms.rows.iter().map(move |vm| Entry {
        account: name,
        kind: "vm",
        id: vm.id.get(),
        name: vm.name.as_deref(),
        state: vm.state.as_str(),
        health: of_vm(&vm.state),
        container: None,
    });
    let containers = account.containers.rows.iter().map(move |container| Entry {
        account: name,
        kind: "container",
        id: container.id.get(),
        name: container.name.as_deref(),
        state: container.state.as_str(),
        health: of_container(&container.state),
        container: None,
    });
    let sites = account.all_sites().map(move |site| Entry {
        account: name,
        kind: "site",
        id: site.id.get(),
        name: site.name.as_deref(),
        state: site.state.as_str(),
        health: of_site(&site.state),
        container: Some(site.container.get()),
    });
    vms.chain(containers).chain(sites)
}
