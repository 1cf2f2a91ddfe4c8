//! VMs, containers and sites as one list to look through: by kind and state, by name, page by page. Pure.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::health::Health;
use crate::model::{AccountName, AccountState};

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

/// What a resource is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ResourceKind {
    Container,
    Site,
    Vm,
}

impl ResourceKind {
    /// The word in JSON, on the page and in its queries.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Container => "container",
            Self::Site => "site",
            Self::Vm => "vm",
        }
    }
}

impl fmt::Display for ResourceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
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
    pub kind: ResourceKind,
    pub state: String,
    pub health: Health,
    pub count: usize,
}

/// One resource.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct ResourceRow {
    pub account: AccountName,
    pub kind: ResourceKind,
    pub id: u64,
    pub name: Option<String>,
    pub state: String,
    pub health: Health,
    /// The id of a site's container.
    pub container: Option<u64>,
}

/// A row before it is known whether it is shown: of 31,000 resources a page shows 100.
#[derive(Clone, Copy)]
struct Entry<'a> {
    account: &'a AccountName,
    kind: ResourceKind,
    id: u64,
    name: Option<&'a str>,
    state: &'a str,
    health: Health,
    container: Option<u64>,
}

impl Resources {
    pub(super) fn select<'a>(accounts: impl Iterator<Item = &'a AccountState>, query: &Query) -> Self {
        let all: Vec<Entry<'a>> = accounts.flat_map(entries).collect();
        let mut states: BTreeMap<(ResourceKind, Health, &str), usize> = BTreeMap::new();
        for entry in &all {
            *states.entry((entry.kind, entry.health, entry.state)).or_default() += 1;
        }
        let wanted = query.text.to_lowercase();
        let matches = |entry: &Entry<'_>| {
            query.kind.as_deref().is_none_or(|kind| kind == entry.kind.as_str())
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

fn entries(account: &AccountState) -> impl Iterator<Item = Entry<'_>> {
    let name = &account.profile.name;
    let vms = account.vms.rows.iter().map(move |vm| Entry {
        account: name,
        kind: ResourceKind::Vm,
        id: vm.id.get(),
        name: vm.name.as_deref(),
        state: vm.state.as_str(),
        health: (&vm.state).into(),
        container: None,
    });
    let containers = account.containers.rows.iter().map(move |container| Entry {
        account: name,
        kind: ResourceKind::Container,
        id: container.id.get(),
        name: container.name.as_deref(),
        state: container.state.as_str(),
        health: (&container.state).into(),
        container: None,
    });
    let sites = account.all_sites().map(move |site| Entry {
        account: name,
        kind: ResourceKind::Site,
        id: site.id.get(),
        name: site.name.as_deref(),
        state: site.state.as_str(),
        health: (&site.state).into(),
        container: Some(site.container.get()),
    });
    vms.chain(containers).chain(sites)
}
