//! Which open incident explains another, wherever problems stand together: what it covers stands with it. Pure.

use std::collections::BTreeMap;

use super::incidents::IncidentRow;
use crate::alert::{Key, Kind, Sort, explains_site};
use crate::model::{AccountName, AccountState, SiteId};

const LONGEST_CHAIN: usize = 8;

/// The open incidents of a page, and what is known of their containers.
pub(super) struct Causes<'a> {
    open: BTreeMap<&'a Key, &'a IncidentRow>,
    /// Accounts with a container that is off.
    accounts: BTreeMap<&'a AccountName, &'a AccountState>,
}

impl<'a> Causes<'a> {
    pub(super) fn among(accounts: &[&'a AccountState], incidents: &[&'a IncidentRow]) -> Self {
        let open: BTreeMap<&Key, &IncidentRow> =
            incidents.iter().filter(|row| row.is_open()).map(|row| (&row.key, *row)).collect();
        let has_one_off = |state: &&&AccountState| {
            let name = &state.profile.name;
            open.values().any(|row| row.kind == Kind::ContainerDisabled && row.account == *name)
        };
        let accounts = accounts.iter().filter(has_one_off).map(|&state| (&state.profile.name, state));
        Self { accounts: accounts.collect(), open }
    }

    /// The incident that explains this one: of a chain of causes the first.
    pub(super) fn of(&self, row: &'a IncidentRow) -> Option<&'a IncidentRow> {
        let next = |row: &'a IncidentRow| self.next(row);
        let first = std::iter::successors(next(row), |cause| next(cause)).take(LONGEST_CHAIN).last()?;
        // Those that explain each other explain nothing.
        next(first).is_none().then_some(first)
    }

    /// Whose mail covers it; else, of a site that was mailed before its container went off, that container.
    fn next(&self, row: &'a IncidentRow) -> Option<&'a IncidentRow> {
        let open = |key: &Key| self.open.get(key).copied();
        row.caused_by.as_ref().and_then(open).or_else(|| open(&self.container_of(row)?))
    }

    fn container_of(&self, row: &IncidentRow) -> Option<Key> {
        let state = self.accounts.get(&row.account).filter(|_| row.kind.sort() == Some(Sort::Site))?;
        let site = state.site(SiteId::new(row.key.id()?))?;
        let key = Key::new(&row.account, Kind::ContainerDisabled, site.container.get());
        let container = self.open.get(&key)?;
        explains_site(container.by_sites, row.kind, site).then_some(key)
    }
}
