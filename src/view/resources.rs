//! VMs, containers and sites as one list: filtered by kind, state and name, in pages. Pure.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::{Alerting, IncidentRow};
use crate::model::freshness::{is_fresh, is_shown};
use crate::model::{AccountName, AccountState, Health, SeenResource, Snapshot, Sort};

/// The number of rows on a page.
const PAGE_ROWS: usize = 100;

/// The accounts and resources that are asked for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Query {
    pub account: Option<String>,
    pub kind: Option<String>,
    pub state: Option<String>,
    /// A part of a name, or an id.
    pub text: String,
    /// Counts from 1. A number past the end means the last page.
    pub page: usize,
}

impl Query {
    /// The accounts that are asked for.
    pub(crate) fn accounts<'a>(&self, snapshot: &'a Snapshot) -> Vec<&'a AccountState> {
        let all = snapshot.accounts.values().map(|state| &**state);
        all.filter(|state| self.is_of(&state.profile.name)).collect()
    }

    /// Their incidents.
    pub(crate) fn incidents<'a>(&self, alerting: &'a Alerting) -> Vec<&'a IncidentRow> {
        alerting.incidents.iter().filter(|row| self.is_of(&row.account)).collect()
    }

    fn is_of(&self, account: &AccountName) -> bool {
        self.account.as_deref().is_none_or(|one| one == account.as_str())
    }
}

/// The resources on one page, with counts.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Resources {
    /// The number of all resources, without the filter.
    pub total: usize,
    /// The number of resources that match kind, state and name.
    pub matching: usize,
    /// Counts from 1.
    pub page: usize,
    pub pages: usize,
    /// The counts of all resources by kind and state.
    pub states: Vec<StateCount>,
    pub rows: Vec<ResourceRow>,
}

/// The number of resources of a kind in a state.
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

impl Resources {
    pub(super) fn select<'a>(
        accounts: impl Iterator<Item = &'a AccountState>,
        query: &Query,
        now: DateTime<Utc>,
    ) -> Self {
        // Only the rows of one page are made: 100 of perhaps 31,000.
        let all: Vec<SeenResource<'a>> = accounts.flat_map(|account| entries(account, now)).collect();
        let mut states: BTreeMap<(Sort, Health, &str), usize> = BTreeMap::new();
        for entry in &all {
            *states.entry((entry.kind, entry.health, entry.state)).or_default() += 1;
        }
        let wanted = query.text.to_lowercase();
        let matches = |entry: &SeenResource<'_>| {
            query.kind.as_deref().is_none_or(|kind| kind == entry.kind.as_str())
                && query.state.as_deref().is_none_or(|state| state == entry.state)
                && (wanted.is_empty()
                    || entry.name.is_some_and(|name| name.to_lowercase().contains(&wanted))
                    || entry.id.to_string() == wanted)
        };
        let mut found: Vec<SeenResource<'a>> = all.iter().copied().filter(matches).collect();
        let order =
            |entry: &SeenResource<'a>| (entry.health, entry.kind, entry.name, entry.account, entry.id);
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
            rows: rows.map(ResourceRow::of).collect(),
        }
    }
}

/// One resource, if it is listed.
pub(super) fn find(account: &AccountState, kind: Sort, id: u64, now: DateTime<Utc>) -> Option<ResourceRow> {
    entries(account, now).find(|entry| entry.kind == kind && entry.id == id).as_ref().map(ResourceRow::of)
}

impl ResourceRow {
    fn of(seen: &SeenResource<'_>) -> Self {
        Self {
            account: seen.account.clone(),
            kind: seen.kind,
            id: seen.id,
            name: seen.name.map(Into::into),
            state: seen.state.into(),
            health: seen.health,
            container: seen.container,
        }
    }
}

/// All resources. A stale state counts as unknown; so does a fine state that the last poll or listing did not show.
pub(crate) fn entries(account: &AccountState, now: DateTime<Utc>) -> impl Iterator<Item = SeenResource<'_>> {
    account.resources().map(move |seen| {
        let collector = seen.kind.seen_by();
        let is_known = is_fresh(&account.profile, collector, seen.read_at, now)
            && (seen.health != Health::Fine
                || (seen.is_listed && is_shown(account, collector, seen.read_at)));
        SeenResource { health: if is_known { seen.health } else { Health::Unknown }, ..seen }
    })
}
