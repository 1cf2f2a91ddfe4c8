//! VMs, containers and sites as one list to look through: by kind and state, by name, page by page. Pure.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::health::{Health, SeenResource};
use crate::alert::Sort;
use crate::model::freshness::is_fresh;
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

impl Resources {
    pub(super) fn select<'a>(
        accounts: impl Iterator<Item = &'a AccountState>,
        query: &Query,
        now: DateTime<Utc>,
    ) -> Self {
        // Of 31,000 resources a page shows 100.
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

/// One resource, where it is listed.
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

/// What is stale is not known, whatever it was.
fn entries(account: &AccountState, now: DateTime<Utc>) -> impl Iterator<Item = SeenResource<'_>> {
    SeenResource::all(account).map(move |seen| {
        let is_fresh = is_fresh(&account.profile, seen.kind.seen_by(), seen.read_at, now);
        SeenResource { health: if is_fresh { seen.health } else { Health::Unknown }, ..seen }
    })
}
