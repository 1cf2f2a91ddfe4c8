//! How one listing changes what is known of an account. Pure: a listing and a time in, a new state and
//! what was observed out.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use chrono::{DateTime, Utc};

use super::billing::Order;
use super::ids::{ContainerId, SiteId};
use super::resources::{Container, Resource, Site};
use super::snapshot::{
    AccountState, Billing, Charges, Collector, CollectorStatus, Listing, PollEnd, Profile, Read, Rows, Tally,
};

/// What one reading showed. Ids of rows it did not show are frozen: nothing is known of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Observed {
    Vms(Seen),
    Containers(Seen),
    Sites(ContainerId, Seen),
    Report,
    /// Nothing that a rule looks at.
    Other,
}

/// Which rows of a listing were shown, and which are known to be gone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Seen {
    pub shown: Shown,
    /// Was there before, and a complete listing no longer has it.
    pub removed: Vec<u64>,
    pub complete: bool,
}

/// The rows that a reading showed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Shown {
    /// All that the listing now holds.
    All,
    These(BTreeSet<u64>),
}

impl Shown {
    /// Was this row shown?
    pub(crate) fn has(&self, id: u64) -> bool {
        match self {
            Self::All => true,
            Self::These(ids) => ids.contains(&id),
        }
    }
}

/// Applies readings to one account. Keeps track of where each site lives, so that a site that moved is
/// never shown twice.
#[derive(Debug)]
pub(crate) struct KnownAccount {
    state: AccountState,
}

impl KnownAccount {
    /// An account of which nothing is known yet.
    pub(crate) fn new(profile: Arc<Profile>) -> Self {
        let collectors = profile.collectors.iter().map(|&on| (on, CollectorStatus::default())).collect();
        let state = AccountState {
            profile,
            vms: Listing::default(),
            containers: Listing::default(),
            sites: BTreeMap::new(),
            ips: Listing::default(),
            ssh_keys: Listing::default(),
            databases: BTreeMap::new(),
            cron_jobs: BTreeMap::new(),
            billing: Billing::default(),
            charges: Charges::default(),
            collectors,
            homes: Arc::default(),
        };
        Self { state }
    }

    /// Goes on with a changed configuration; what collectors that are off knew is forgotten.
    pub(crate) fn with_profile(mut self, profile: Arc<Profile>) -> Self {
        let fresh = Self::new(profile);
        for (collector, status) in fresh.state.collectors {
            self.state.collectors.entry(collector).or_insert(status);
        }
        let on = fresh.state.profile.collectors.clone();
        self.state.collectors.retain(|collector, _| on.contains(collector));
        for off in Collector::ALL.into_iter().filter(|collector| !on.contains(collector)) {
            match off {
                Collector::Vms => self.state.vms = Listing::default(),
                Collector::Containers => self.state.containers = Listing::default(),
                Collector::Sites => {
                    self.state.sites = BTreeMap::new();
                    self.state.homes = Arc::default();
                }
                Collector::ExpectedBalance => self.state.billing = Billing::default(),
                Collector::Charges => self.state.charges = Charges::default(),
                Collector::Databases => self.state.databases = BTreeMap::new(),
                Collector::CronJobs => self.state.cron_jobs = BTreeMap::new(),
                Collector::Ips => self.state.ips = Listing::default(),
                Collector::SshKeys => self.state.ssh_keys = Listing::default(),
            }
        }
        self.state.profile = fresh.state.profile;
        self
    }

    /// The state as it stands.
    pub(crate) fn state(&self) -> &AccountState {
        &self.state
    }

    /// A copy to publish; rows are shared.
    pub(crate) fn publish(&self) -> Arc<AccountState> {
        Arc::new(self.state.clone())
    }

    /// Takes in one listing.
    pub(crate) fn apply(&mut self, read: Read, at: DateTime<Utc>) -> Vec<Observed> {
        match read {
            Read::Vms(rows) => vec![Observed::Vms(self.state.vms.take(rows, at))],
            Read::Containers(rows) => self.apply_containers(rows, at),
            Read::Sites(container, rows) => self.apply_sites(container, rows, at),
            Read::Ips(rows) => {
                self.state.ips.take(rows, at);
                vec![Observed::Other]
            }
            Read::SshKeys(rows) => {
                self.state.ssh_keys.take(rows, at);
                vec![Observed::Other]
            }
            Read::AllSites(sites) => {
                self.state.databases.retain(|site, _| sites.contains(site));
                self.state.cron_jobs.retain(|site, _| sites.contains(site));
                vec![Observed::Other]
            }
            Read::Databases(site, count) => {
                self.state.databases.insert(site, Tally { count, read_at: at });
                vec![Observed::Other]
            }
            Read::CronJobs(site, count) => {
                self.state.cron_jobs.insert(site, Tally { count, read_at: at });
                vec![Observed::Other]
            }
            Read::ExpectedBalance(mut report) => {
                let billing = &mut self.state.billing;
                if let Some(old) = &billing.report {
                    share_orders(&old.orders, &mut report.orders);
                }
                billing.previous = billing.report.replace(Arc::new(report));
                billing.read_at = Some(at);
                vec![Observed::Report]
            }
            Read::Charges(rows) => {
                self.state.charges = Charges { rows: Arc::new(rows), read_at: Some(at) };
                vec![Observed::Other]
            }
        }
    }

    /// Takes in how a poll ended.
    pub(crate) fn end(&mut self, collector: Collector, end: PollEnd, at: DateTime<Utc>) {
        let status = self.state.collectors.entry(collector).or_default();
        status.polls += 1;
        status.duration = end.duration;
        status.success = end.failure.is_none();
        status.complete = status.success && end.complete;
        if status.success {
            status.last_success = Some(at);
            status.failing_since = None;
            status.failures_in_a_row = 0;
        } else {
            status.failing_since.get_or_insert(at);
            status.failures_in_a_row = status.failures_in_a_row.saturating_add(1);
        }
        status.failure = end.failure;
    }

    fn apply_containers(&mut self, rows: Rows<Container>, at: DateTime<Utc>) -> Vec<Observed> {
        let seen = self.state.containers.take(rows, at);
        let mut observed = Vec::new();
        for &gone in &seen.removed {
            let container = ContainerId::new(gone);
            let Some(listing) = self.state.sites.remove(&container) else { continue };
            for site in listing.rows.iter() {
                self.forget_site(site.id);
            }
            let removed = listing.rows.iter().map(|site| site.id.get()).collect();
            let gone = Seen { shown: Shown::These(BTreeSet::new()), removed, complete: true };
            observed.push(Observed::Sites(container, gone));
        }
        observed.insert(0, Observed::Containers(seen));
        observed
    }

    fn apply_sites(&mut self, container: ContainerId, rows: Rows<Site>, at: DateTime<Utc>) -> Vec<Observed> {
        for site in &rows.rows {
            let old = self.state.homes.get(&site.id).copied();
            if old == Some(container) {
                continue;
            }
            Arc::make_mut(&mut self.state.homes).insert(site.id, container);
            if let Some(listing) = old.and_then(|old| self.state.sites.get_mut(&old)) {
                Arc::make_mut(&mut listing.rows).retain(|row| row.id != site.id);
            }
        }
        let listing = self.state.sites.entry(container).or_default();
        let seen = listing.take(rows, at);
        for &gone in &seen.removed {
            self.forget_site(SiteId::new(gone));
        }
        vec![Observed::Sites(container, seen)]
    }

    fn forget_site(&mut self, site: SiteId) {
        Arc::make_mut(&mut self.state.homes).remove(&site);
        self.state.databases.remove(&site);
        self.state.cron_jobs.remove(&site);
    }
}

/// Keeps the old copy of each order that is as it was: ten thousand of them hold much text. Both by id.
fn share_orders(old: &[Arc<Order>], new: &mut [Arc<Order>]) {
    for order in new {
        let same = old.binary_search_by_key(&order.id, |old| old.id).ok().map(|place| &old[place]);
        if let Some(same) = same.filter(|same| *same == order) {
            *order = Arc::clone(same);
        }
    }
}

impl<T: Resource<Id: Into<u64>> + Clone + PartialEq> Listing<T> {
    /// Takes in rows as read: a complete listing replaces, an incomplete one merges and removes nothing.
    /// Where nothing changed the old rows stay, so that whoever compares pointers sees no change.
    fn take(&mut self, read: Rows<T>, at: DateTime<Utc>) -> Seen {
        let Rows { mut rows, complete } = read;
        rows.sort_by_key(Resource::id);
        rows.dedup_by_key(|row| row.id());
        self.read_at = Some(at);
        self.complete = complete;
        let (shown, removed) = if complete {
            let has = |id| rows.binary_search_by_key(&id, Resource::id).is_ok();
            let removed = self.rows.iter().map(Resource::id).filter(|&id| !has(id)).map(Into::into);
            (Shown::All, removed.collect())
        } else {
            let shown = rows.iter().map(|row| row.id().into()).collect();
            let kept =
                self.rows.iter().filter(|old| rows.binary_search_by_key(&old.id(), Resource::id).is_err());
            let kept: Vec<T> = kept.cloned().collect();
            rows.extend(kept);
            rows.sort_by_key(Resource::id);
            (Shown::These(shown), Vec::new())
        };
        if *self.rows != rows {
            rows.shrink_to_fit();
            self.rows = Arc::new(rows);
        }
        Seen { shown, removed, complete }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::model::ids::VmId;
    use crate::model::resources::Vm;
    use crate::model::snapshot::{Failure, FailureKind};
    use crate::model::states::{ContainerState, SiteState, VmState};

    fn known() -> KnownAccount {
        KnownAccount::new(Arc::new(Profile {
            name: "main".parse().unwrap(),
            currency: String::new(),
            time_zone: None,
            lead_days: 3,
            vm_memory_unit_bytes: None,
            collectors: Collector::ALL.into(),
            stale_after: BTreeMap::new(),
        }))
    }

    fn vm(id: u64, state: &str) -> Vm {
        Vm {
            id: VmId::new(id),
            state: VmState::from(state),
            vm_id: None,
            name: None,
            tariff: None,
            ncpu: None,
            memsize: None,
            monitoring_enabled: None,
            ips: None,
            disks: None,
        }
    }

    fn site(id: u64, container: u64) -> Site {
        Site {
            id: SiteId::new(id),
            state: SiteState::Active,
            container: ContainerId::new(container),
            name: None,
            engine: None,
            engine_version: None,
            workers: None,
            force_https: None,
            certificate_id: None,
            created: None,
            updated: None,
        }
    }

    fn home(id: u64) -> Container {
        Container {
            id: ContainerId::new(id),
            state: ContainerState::Enabled,
            login: None,
            name: None,
            server: None,
            memory_limit_mb: None,
            disk_quota_mb: None,
            created: None,
            updated: None,
            in_transfer: None,
        }
    }

    fn ids(listing: &Listing<Vm>) -> Vec<u64> {
        listing.rows.iter().map(|vm| vm.id.get()).collect()
    }

    fn at() -> DateTime<Utc> {
        DateTime::from_timestamp(1_700_000_000, 0).unwrap()
    }

    #[test]
    fn a_complete_listing_replaces_and_an_incomplete_one_merges() {
        let mut known = known();
        known.apply(Read::Vms(Rows { rows: vec![vm(3, "active"), vm(1, "active")], complete: true }), at());
        assert_eq!(ids(&known.state().vms), [1, 3]);
        let seen = known
            .apply(Read::Vms(Rows { rows: vec![vm(2, "active"), vm(3, "error")], complete: false }), at());
        assert_eq!(ids(&known.state().vms), [1, 2, 3], "nothing is removed by what was not shown");
        assert_eq!(known.state().vms.get(VmId::new(3)).unwrap().state, VmState::Error);
        let Observed::Vms(seen) = &seen[0] else { panic!("{seen:?}") };
        assert!(!seen.shown.has(1) && seen.shown.has(2) && seen.removed.is_empty());
        let seen = known.apply(Read::Vms(Rows { rows: vec![vm(2, "active")], complete: true }), at());
        let Observed::Vms(seen) = &seen[0] else { panic!("{seen:?}") };
        assert_eq!(seen.removed, [1, 3]);
    }

    #[test]
    fn rows_stay_the_same_object_where_nothing_changed() {
        let mut known = known();
        let read = || Read::Vms(Rows { rows: vec![vm(1, "active")], complete: true });
        known.apply(read(), at());
        let before = Arc::clone(&known.state().vms.rows);
        known.apply(read(), at());
        assert!(Arc::ptr_eq(&before, &known.state().vms.rows));
    }

    #[test]
    fn a_site_lives_in_one_container_only_and_goes_with_it() {
        let mut known = known();
        let sites = |container, ids: &[u64]| {
            let rows = ids.iter().map(|&id| site(id, container)).collect();
            Read::Sites(ContainerId::new(container), Rows { rows, complete: true })
        };
        known.apply(sites(1, &[10, 11]), at());
        known.apply(sites(2, &[20, 11]), at());
        assert_eq!(known.state().all_sites().map(|site| site.id.get()).collect::<Vec<_>>(), [10, 11, 20]);
        assert_eq!(known.state().site(SiteId::new(11)).unwrap().container, ContainerId::new(2));
        // A later listing of the old home without it does not remove it from the new one.
        let seen = known.apply(sites(1, &[10]), at());
        let Observed::Sites(_, seen) = &seen[0] else { panic!("{seen:?}") };
        assert!(seen.removed.is_empty());
        assert!(known.state().site(SiteId::new(11)).is_some());
    }

    proptest::proptest! {
        /// Whatever is read in whatever order, a site is found exactly where a listing shows it, and once.
        #[test]
        fn a_site_is_found_where_it_is_listed(
            reads in proptest::collection::vec((0..4_u64, proptest::collection::vec(0..8_u64, 0..5), proptest::bool::ANY), 1..20)
        ) {
            let mut known = known();
            for (container, ids, complete) in reads {
                if container == 0 {
                    // The containers of the account are now those with these ids.
                    let rows = ids.into_iter().filter(|id| (1..4).contains(id)).map(home).collect();
                    known.apply(Read::Containers(Rows { rows, complete }), at());
                } else {
                    let rows = ids.into_iter().map(|id| site(id, container)).collect();
                    known.apply(Read::Sites(ContainerId::new(container), Rows { rows, complete }), at());
                }
                let listed: Vec<_> = known.state().all_sites().map(|site| (site.id, site.container)).collect();
                for id in (0..8).map(SiteId::new) {
                    let homes: Vec<_> = listed.iter().filter(|(site, _)| *site == id).map(|&(_, home)| home).collect();
                    proptest::prop_assert!(homes.len() <= 1, "{id} is in {homes:?}");
                    proptest::prop_assert_eq!(known.state().has_site(id), !homes.is_empty());
                    proptest::prop_assert_eq!(known.state().site(id).map(|site| site.container), homes.first().copied());
                }
            }
        }
    }

    #[test]
    fn orders_that_stay_the_same_are_kept_once() {
        use crate::model::forecast::tests::report;
        use crate::model::{Edd, OrderState};
        let mut known = known();
        known.apply(Read::ExpectedBalance(report("100", "10", 5, Edd::Null)), at());
        let mut next = report("90", "10", 5, Edd::Null);
        Arc::make_mut(&mut next.orders[1]).state = OrderState::Suspended;
        known.apply(Read::ExpectedBalance(next.clone()), at());
        let billing = &known.state().billing;
        let (old, new) = (billing.previous.as_ref().unwrap(), billing.report.as_ref().unwrap());
        assert_eq!(**new, next);
        assert!(Arc::ptr_eq(&old.orders[0], &new.orders[0]) && !Arc::ptr_eq(&old.orders[1], &new.orders[1]));
    }

    #[test]
    fn failures_are_counted_from_the_first_and_forgotten_at_success() {
        let mut known = known();
        let end = |failed: bool| PollEnd {
            duration: Duration::from_secs(1),
            failure: failed.then(|| Failure { kind: FailureKind::Other, message: "down".into() }),
            complete: true,
        };
        known.end(Collector::Vms, end(true), at());
        known.end(Collector::Vms, end(true), at() + chrono::Duration::seconds(60));
        let status = &known.state().collectors[&Collector::Vms];
        assert_eq!((status.failing_since, status.failures_in_a_row), (Some(at()), 2));
        assert!(!status.success && !status.complete && status.last_success.is_none());
        known.end(Collector::Vms, end(false), at());
        let status = &known.state().collectors[&Collector::Vms];
        assert_eq!((status.failing_since, status.failures_in_a_row, status.success), (None, 0, true));
    }
}
