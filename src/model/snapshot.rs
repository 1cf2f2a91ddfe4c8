//! What is known of every account at one moment, and how one listing changes it. Pure: a listing and a
//! time in, a new state and what was observed out.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use chrono_tz::Tz;

use super::billing::{Charge, Report};
use super::ids::{AccountName, ContainerId, SiteId};
use super::resources::{Container, Ip, Resource, Site, SshKey, Vm};

/// Who polls. `as_str` is the key of the schedule; sites follow their containers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Collector {
    Vms,
    Containers,
    Sites,
    ExpectedBalance,
    Charges,
    Databases,
    CronJobs,
    Ips,
    SshKeys,
}

impl Collector {
    /// All of them, those that see states first.
    pub const ALL: [Self; 9] = [
        Self::Vms,
        Self::Containers,
        Self::Sites,
        Self::ExpectedBalance,
        Self::Charges,
        Self::Databases,
        Self::CronJobs,
        Self::Ips,
        Self::SshKeys,
    ];

    /// The `collector` label and the schedule's key.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Vms => "vms",
            Self::Containers => "containers",
            Self::Sites => "sites",
            Self::ExpectedBalance => "expected_balance",
            Self::Charges => "charges",
            Self::Databases => "databases",
            Self::CronJobs => "cron_jobs",
            Self::Ips => "ips",
            Self::SshKeys => "ssh_keys",
        }
    }

    /// Whose credentials it uses (interface 5).
    pub const fn group(self) -> Group {
        match self {
            Self::Vms | Self::Ips | Self::SshKeys => Group::Vm,
            Self::Containers | Self::Sites | Self::Databases | Self::CronJobs => Group::Hosting,
            Self::ExpectedBalance | Self::Charges => Group::Billing,
        }
    }
}

/// Endpoint groups, each with its own authentication (interface 5).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Group {
    Hosting,
    Vm,
    Billing,
}

impl Group {
    pub const ALL: [Self; 3] = [Self::Hosting, Self::Vm, Self::Billing];

    /// The `group` label.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Hosting => "hosting",
            Self::Vm => "vm",
            Self::Billing => "billing",
        }
    }
}

/// What does not change between polls of an account.
#[derive(Clone, Debug)]
pub struct Profile {
    pub name: AccountName,
    /// Shown beside amounts; may be empty.
    pub currency: String,
    pub time_zone: Option<Tz>,
    /// Bytes in one unit of a VM's `memsize`; `None` until configured.
    pub vm_memory_unit_bytes: Option<u64>,
    /// Collectors that are on: scheduled and with credentials.
    pub collectors: BTreeSet<Collector>,
    /// How long a good listing is served after its last success.
    pub stale_after: BTreeMap<Collector, Duration>,
}

impl Profile {
    /// The account's zone for what people read; UTC where none is set.
    pub fn zone(&self) -> Tz {
        self.time_zone.unwrap_or(Tz::UTC)
    }
}

/// Every account, at one moment. Swapped whole, never changed.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    pub accounts: BTreeMap<AccountName, Arc<AccountState>>,
}

/// One account as last seen.
#[derive(Clone, Debug)]
pub struct AccountState {
    pub profile: Arc<Profile>,
    pub vms: Listing<Vm>,
    pub containers: Listing<Container>,
    pub sites: BTreeMap<ContainerId, Listing<Site>>,
    pub ips: Listing<Ip>,
    pub ssh_keys: Listing<SshKey>,
    /// Databases and cron jobs of a site, counted.
    pub databases: BTreeMap<SiteId, Tally>,
    pub cron_jobs: BTreeMap<SiteId, Tally>,
    pub billing: Billing,
    pub charges: Charges,
    pub collectors: BTreeMap<Collector, CollectorStatus>,
}

/// Rows of one listing in the order of their ids.
#[derive(Clone, Debug)]
pub struct Listing<T> {
    pub rows: Arc<Vec<T>>,
    /// When it was last read; `None` before the first time.
    pub read_at: Option<DateTime<Utc>>,
    /// The last reading showed every row.
    pub complete: bool,
}

impl<T> Default for Listing<T> {
    fn default() -> Self {
        Self { rows: Arc::new(Vec::new()), read_at: None, complete: false }
    }
}

impl<T: Resource> Listing<T> {
    /// The row with this id.
    pub fn get(&self, id: T::Id) -> Option<&T> {
        self.rows.binary_search_by(|row| row.id().cmp(&id)).ok().map(|index| &self.rows[index])
    }
}

/// How many rows a child listing had.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tally {
    pub count: u64,
    pub read_at: DateTime<Utc>,
}

/// The last good report and the one before it.
#[derive(Clone, Debug, Default)]
pub struct Billing {
    pub report: Option<Arc<Report>>,
    pub read_at: Option<DateTime<Utc>>,
    pub previous: Option<Arc<Report>>,
}

/// Past charges, newest first, some 30 days of them.
#[derive(Clone, Debug, Default)]
pub struct Charges {
    pub rows: Arc<Vec<Charge>>,
    pub read_at: Option<DateTime<Utc>>,
}

/// How a collector's polls went.
#[derive(Clone, Debug, Default)]
pub struct CollectorStatus {
    /// Polls that ended, well or not.
    pub polls: u64,
    pub success: bool,
    pub complete: bool,
    pub duration: Duration,
    pub last_success: Option<DateTime<Utc>>,
    /// When the first of the present run of failures ended.
    pub failing_since: Option<DateTime<Utc>>,
    pub failures_in_a_row: u32,
    pub failure: Option<Failure>,
}

/// Why a poll failed, in words for people; holds no credential.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    pub kind: FailureKind,
    pub message: String,
}

/// What class of failure, for the rules.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FailureKind {
    /// 401 or 403.
    Credentials,
    /// 404 where the interface has one.
    NotFound,
    /// A billing report that carries an `error`.
    ReportError,
    /// Anything else: transport, time out, other status, content.
    Other,
}

/// Rows of one listing as read. `complete` is false where pages shifted or rows were undecodable.
#[derive(Clone, Debug)]
pub struct Rows<T> {
    pub rows: Vec<T>,
    pub complete: bool,
}

/// One listing that was read.
#[derive(Clone, Debug)]
pub enum Read {
    Vms(Rows<Vm>),
    Containers(Rows<Container>),
    Sites(ContainerId, Rows<Site>),
    Ips(Rows<Ip>),
    SshKeys(Rows<SshKey>),
    /// How many databases a site has.
    Databases(SiteId, u64),
    /// How many cron jobs a site has.
    CronJobs(SiteId, u64),
    ExpectedBalance(Report),
    /// All charges known, newest first.
    Charges(Vec<Charge>),
}

/// The end of a poll.
#[derive(Clone, Debug)]
pub struct PollEnd {
    pub duration: Duration,
    pub failure: Option<Failure>,
    pub complete: bool,
}

/// What one reading showed. Ids of rows it did not show are frozen: nothing is known of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Observed {
    Vms(Seen),
    Containers(Seen),
    Sites(ContainerId, Seen),
    Report,
    /// Nothing that a rule looks at.
    Other,
}

/// Which rows of a listing were shown, and which are known to be gone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Seen {
    pub shown: Shown,
    /// Was there before, and a complete listing no longer has it.
    pub removed: Vec<u64>,
    pub complete: bool,
}

/// The rows that a reading showed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Shown {
    /// All that the listing now holds.
    All,
    These(BTreeSet<u64>),
}

impl Shown {
    /// Was this row shown?
    pub fn has(&self, id: u64) -> bool {
        match self {
            Self::All => true,
            Self::These(ids) => ids.contains(&id),
        }
    }
}

/// Applies readings to one account. Keeps beside the state where each site lives, so that a site that
/// moved is never shown twice.
#[derive(Debug)]
pub struct AccountBook {
    state: AccountState,
    homes: HashMap<SiteId, ContainerId>,
}

impl AccountBook {
    /// An account of which nothing is known yet.
    pub fn new(profile: Arc<Profile>) -> Self {
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
        };
        Self { state, homes: HashMap::new() }
    }

    /// Goes on with a changed configuration; what collectors that are off knew is forgotten.
    pub fn with_profile(mut self, profile: Arc<Profile>) -> Self {
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
                    self.homes = HashMap::new();
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
    pub fn state(&self) -> &AccountState {
        &self.state
    }

    /// A copy to publish; rows are shared.
    pub fn publish(&self) -> Arc<AccountState> {
        Arc::new(self.state.clone())
    }

    /// Takes in one listing.
    pub fn apply(&mut self, read: Read, at: DateTime<Utc>) -> Vec<Observed> {
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
            Read::Databases(site, count) => {
                self.state.databases.insert(site, Tally { count, read_at: at });
                vec![Observed::Other]
            }
            Read::CronJobs(site, count) => {
                self.state.cron_jobs.insert(site, Tally { count, read_at: at });
                vec![Observed::Other]
            }
            Read::ExpectedBalance(report) => {
                let billing = &mut self.state.billing;
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
    pub fn end(&mut self, collector: Collector, end: PollEnd, at: DateTime<Utc>) {
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
            if let Some(old) = self.homes.insert(site.id, container)
                && old != container
                && let Some(listing) = self.state.sites.get_mut(&old)
            {
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
        self.homes.remove(&site);
        self.state.databases.remove(&site);
        self.state.cron_jobs.remove(&site);
    }
}

impl AccountState {
    /// A site by its id, wherever it lives.
    pub fn site(&self, id: SiteId) -> Option<&Site> {
        self.sites.values().find_map(|listing| listing.get(id))
    }

    /// Every site, container by container.
    pub fn all_sites(&self) -> impl Iterator<Item = &Site> {
        self.sites.values().flat_map(|listing| listing.rows.iter())
    }

    /// VMs, containers and sites: what "watching N resources" counts.
    pub fn resource_count(&self) -> usize {
        self.vms.rows.len()
            + self.containers.rows.len()
            + self.sites.values().map(|listing| listing.rows.len()).sum::<usize>()
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
    use super::*;
    use crate::model::ids::VmId;
    use crate::model::states::{SiteState, VmState};

    fn book() -> AccountBook {
        AccountBook::new(Arc::new(Profile {
            name: "main".parse().unwrap(),
            currency: String::new(),
            time_zone: None,
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

    fn ids(listing: &Listing<Vm>) -> Vec<u64> {
        listing.rows.iter().map(|vm| vm.id.get()).collect()
    }

    fn at() -> DateTime<Utc> {
        DateTime::from_timestamp(1_700_000_000, 0).unwrap()
    }

    #[test]
    fn a_complete_listing_replaces_and_an_incomplete_one_merges() {
        let mut book = book();
        book.apply(Read::Vms(Rows { rows: vec![vm(3, "active"), vm(1, "active")], complete: true }), at());
        assert_eq!(ids(&book.state().vms), [1, 3]);
        let seen = book
            .apply(Read::Vms(Rows { rows: vec![vm(2, "active"), vm(3, "error")], complete: false }), at());
        assert_eq!(ids(&book.state().vms), [1, 2, 3], "nothing is removed by what was not shown");
        assert_eq!(book.state().vms.get(VmId::new(3)).unwrap().state, VmState::Error);
        let Observed::Vms(seen) = &seen[0] else { panic!("{seen:?}") };
        assert!(!seen.shown.has(1) && seen.shown.has(2) && seen.removed.is_empty());
        let seen = book.apply(Read::Vms(Rows { rows: vec![vm(2, "active")], complete: true }), at());
        let Observed::Vms(seen) = &seen[0] else { panic!("{seen:?}") };
        assert_eq!(seen.removed, [1, 3]);
    }

    #[test]
    fn rows_stay_the_same_object_where_nothing_changed() {
        let mut book = book();
        let read = || Read::Vms(Rows { rows: vec![vm(1, "active")], complete: true });
        book.apply(read(), at());
        let before = Arc::clone(&book.state().vms.rows);
        book.apply(read(), at());
        assert!(Arc::ptr_eq(&before, &book.state().vms.rows));
    }

    #[test]
    fn a_site_lives_in_one_container_only_and_goes_with_it() {
        let mut book = book();
        let sites = |container, ids: &[u64]| {
            let rows = ids.iter().map(|&id| site(id, container)).collect();
            Read::Sites(ContainerId::new(container), Rows { rows, complete: true })
        };
        book.apply(sites(1, &[10, 11]), at());
        book.apply(sites(2, &[20, 11]), at());
        assert_eq!(book.state().all_sites().map(|site| site.id.get()).collect::<Vec<_>>(), [10, 11, 20]);
        assert_eq!(book.state().site(SiteId::new(11)).unwrap().container, ContainerId::new(2));
        // A later listing of the old home without it does not remove it from the new one.
        let seen = book.apply(sites(1, &[10]), at());
        let Observed::Sites(_, seen) = &seen[0] else { panic!("{seen:?}") };
        assert!(seen.removed.is_empty());
        assert!(book.state().site(SiteId::new(11)).is_some());
    }

    #[test]
    fn failures_are_counted_from_the_first_and_forgotten_at_success() {
        let mut book = book();
        let end = |failed: bool| PollEnd {
            duration: Duration::from_secs(1),
            failure: failed.then(|| Failure { kind: FailureKind::Other, message: "down".into() }),
            complete: true,
        };
        book.end(Collector::Vms, end(true), at());
        book.end(Collector::Vms, end(true), at() + chrono::Duration::seconds(60));
        let status = &book.state().collectors[&Collector::Vms];
        assert_eq!((status.failing_since, status.failures_in_a_row), (Some(at()), 2));
        assert!(!status.success && !status.complete && status.last_success.is_none());
        book.end(Collector::Vms, end(false), at());
        let status = &book.state().collectors[&Collector::Vms];
        assert_eq!((status.failing_since, status.failures_in_a_row, status.success), (None, 0, true));
    }
}
