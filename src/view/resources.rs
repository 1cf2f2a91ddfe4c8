//! VMs, containers and sites as one list to look through: by kind and state, by name, page by page. Pure.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::health::Health;
use crate::alert::Sort;
use crate::model::freshness::is_fresh;
use crate::model::{AccountName, AccountState, Collector};

/// Rows of one page.
const PAGE_ROWS: usize = 100;

/// Which accounts are shown, and what of their resources.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Query {
    pub account: Option<String>,
    pub kind: Option<String>,
    pub state: Option<String>,
    /// Part of a name, or an id.
    pub text: String,
    /// From 1; what is past the end is the last one.
    pub page: usize,
}

impl Query {
    /// Is this account asked for?
    pub(crate) fn is_of(&self, account: &AccountName) -> bool {
        self.account.as_deref().is_none_or(|one| one == account.as_str())
    }
}

/// The part of all resources that was asked for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Resources {
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
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct StateCount {
    pub kind: Sort,
    pub state: String,
    pub health: Health,
    pub count: usize,
}

/// One resource.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct ResourceRow {
    pub account: AccountName,
    pub kind: Sort,
    pub id: u64,
    pub name: Option<String>,
    pub state: String,
    pub health: Health,
    /// The id of a site's container.
    pub container: Option<u64>,
}

/// A row before it is known whether it is shown: of 31,000 resources a page shows 100.
#[derive(Clone, Copy)]
struct ShownRow<'a> {
    account: &'a AccountName,
    kind: Sort,
    id: u64,
    name: Option<&'a str>,
    state: &'a str,
    health: Health,
    container: Option<u64>,
}

impl Resources {
    pub(super) fn select<'a>(
        accounts: impl Iterator<Item = &'a AccountState>,
        query: &Query,
        now: DateTime<Utc>,
    ) -> Self {
        let all: Vec<ShownRow<'a>> = accounts.flat_map(|account| entries(account, now)).collect();
        let mut states: BTreeMap<(Sort, Health, &str), usize> = BTreeMap::new();
        for entry in &all {
            *states.entry((entry.kind, entry.health, entry.state)).or_default() += 1;
        }
        let wanted = query.text.to_lowercase();
        let matches = |entry: &ShownRow<'_>| {
            query.kind.as_deref().is_none_or(|kind| kind == entry.kind.as_str())
                && query.state.as_deref().is_none_or(|state| state == entry.state)
                && (wanted.is_empty()
                    || entry.name.is_some_and(|name| name.to_lowercase().contains(&wanted))
                    || entry.id.to_string() == wanted)
        };
        let mut found: Vec<ShownRow<'a>> = all.iter().copied().filter(matches).collect();
        let order = |entry: &ShownRow<'a>| (entry.health, entry.kind, entry.name, entry.account, entry.id);
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
            rows: rows.map(ShownRow::row).collect(),
        }
    }
}

/// One resource, where it is listed.
pub(super) fn find(account: &AccountState, kind: Sort, id: u64, now: DateTime<Utc>) -> Option<ResourceRow> {
    entries(account, now).find(|entry| entry.kind == kind && entry.id == id).map(|entry| entry.row())
}

impl ShownRow<'_> {
    fn row(&self) -> ResourceRow {
        ResourceRow {
            account: self.account.clone(),
            kind: self.kind,
            id: self.id,
            name: self.name.map(Into::into),
            state: self.state.into(),
            health: self.health,
            container: self.container,
        }
    }
}

/// What is stale is not known, whatever it was.
fn entries(account: &AccountState, now: DateTime<Utc>) -> impl Iterator<Item = ShownRow<'_>> {
    let name = &account.profile.name;
    let health = move |health, collector, read_at| {
        if is_fresh(&account.profile, collector, read_at, now) { health } else { Health::Unknown }
    };
    let vms = account.vms.rows.iter().map(move |vm| ShownRow {
        account: name,
        kind: Sort::Vm,
        id: vm.id.get(),
        name: vm.name.as_deref(),
        state: vm.state.as_str(),
        health: health((&vm.state).into(), Collector::Vms, account.vms.read_at),
        container: None,
    });
    let containers = account.containers.rows.iter().map(move |container| ShownRow {
        account: name,
        kind: Sort::Container,
        id: container.id.get(),
        name: container.name.as_deref(),
        state: container.state.as_str(),
        health: health((&container.state).into(), Collector::Containers, account.containers.read_at),
        container: None,
    });
    let sites =
        account.sites.values().flat_map(|listing| listing.rows.iter().map(|site| (site, listing.read_at)));
    let sites = sites.map(move |(site, read_at)| ShownRow {
        account: name,
        kind: Sort::Site,
        id: site.id.get(),
        name: site.name.as_deref(),
        state: site.state.as_str(),
        health: health((&site.state).into(), Collector::Sites, read_at),
        container: Some(site.container.get()),
    });
    vms.chain(containers).chain(sites)
}
