//! What is known of every account at one moment. How a listing changes it is in `account`.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use chrono_tz::Tz;

use super::billing::{Charge, Report};
use super::forecast::{self, Disconnect};
use super::ids::{AccountName, ContainerId, SiteId};
use super::resources::{Container, Counted, Ip, Resource, Site, Vm};

/// Who polls. `as_str` is the key of the schedule; sites follow their containers.
#[derive(
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Debug,
    serde::Serialize,
    serde::Deserialize,
    strum::IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case", const_into_str)]
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
        self.into_str()
    }

    /// Whose schedule it shares: sites are read after each listing of the containers.
    pub fn follows(self) -> Option<Self> {
        (self == Self::Sites).then_some(Self::Containers)
    }

    /// What it reads, in a sentence: `cannot read VMs`.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Vms => "VMs",
            Self::Containers => "containers",
            Self::Sites => "sites",
            Self::ExpectedBalance => "the balance",
            Self::Charges => "charges",
            Self::Databases => "databases",
            Self::CronJobs => "cron jobs",
            Self::Ips => "IP addresses",
            Self::SshKeys => "SSH keys",
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
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum Group {
    Hosting,
    Vm,
    Billing,
}

impl Group {
    pub const ALL: [Self; 3] = [Self::Hosting, Self::Vm, Self::Billing];

    /// The `group` label.
    pub const fn as_str(self) -> &'static str {
        self.into_str()
    }
}

/// What does not change between polls of an account.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Profile {
    pub name: AccountName,
    /// Shown beside amounts; may be empty.
    pub currency: String,
    pub time_zone: Option<Tz>,
    /// How long a payment takes to arrive, in days.
    pub lead_days: u32,
    /// Bytes in one unit of a VM's `memsize`; `None` until configured.
    pub vm_memory_unit_bytes: Option<u64>,
    /// Collectors that are on: scheduled and with credentials.
    pub collectors: BTreeSet<Collector>,
    /// How long a good listing is served after its last success.
    pub stale_after: BTreeMap<Collector, Duration>,
    pub guide: Guide,
}

/// Where its owner sends people, and what they are to know of paying; nothing where it names nothing.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Guide {
    /// Of the provider's panel, with `{kind}` and `{id}` where the resource stands.
    pub panel_link: Option<String>,
    pub pay_link: Option<String>,
    pub pay_note: Option<String>,
}

impl Profile {
    /// The account's zone for what people read; UTC where none is set.
    pub(crate) fn zone(&self) -> Tz {
        self.time_zone.unwrap_or(Tz::UTC)
    }
}

/// Every account, at one moment. Swapped whole, never changed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Snapshot {
    pub accounts: BTreeMap<AccountName, Arc<AccountState>>,
}

/// One account as last seen.
#[derive(Clone, Debug)]
pub(crate) struct AccountState {
    pub profile: Arc<Profile>,
    pub vms: Listing<Vm>,
    pub containers: Listing<Container>,
    pub sites: BTreeMap<ContainerId, Listing<Site>>,
    pub ips: Listing<Ip>,
    pub ssh_keys: Listing<Counted>,
    /// Databases and cron jobs of a site, counted.
    pub databases: BTreeMap<SiteId, RowCount>,
    pub cron_jobs: BTreeMap<SiteId, RowCount>,
    pub billing: Reports,
    pub charges: Charges,
    pub collectors: BTreeMap<Collector, CollectorStatus>,
    /// Where each site lives; kept by `account`, so that nobody searches a thousand listings for one.
    pub(super) homes: Arc<HashMap<SiteId, ContainerId>>,
}

/// Rows of one listing in the order of their ids.
#[derive(Clone, Debug)]
pub(crate) struct Listing<T> {
    pub rows: Arc<Vec<T>>,
    /// When it was last read; `None` before the first time.
    pub read_at: Option<DateTime<Utc>>,
    /// The last reading showed every row.
    pub complete: bool,
    /// Rows that the last whole reading did not show. One that slips from one page to another is not gone:
    /// that takes two whole readings without it.
    pub(super) missing: BTreeSet<u64>,
}

impl<T> Default for Listing<T> {
    fn default() -> Self {
        Self { rows: Arc::new(Vec::new()), read_at: None, complete: false, missing: BTreeSet::new() }
    }
}

impl<T: Resource> Listing<T> {
    /// The row with this id.
    pub(crate) fn get(&self, id: T::Id) -> Option<&T> {
        self.rows.binary_search_by(|row| row.id().cmp(&id)).ok().map(|index| &self.rows[index])
    }
}

/// How many databases or cron jobs a site has, and when they were read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RowCount {
    pub count: u64,
    pub read_at: DateTime<Utc>,
}

/// The last good report that says what is ahead, and the one before it, which an earlier life of the daemon may have read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reports {
    pub report: Option<Arc<Report>>,
    pub read_at: Option<DateTime<Utc>>,
    pub previous: Option<Arc<Report>>,
    /// Before the first one since the start: what an earlier life of the daemon read last, and when. Rules and
    /// metrics look at what was read by this one only.
    pub remembered: Option<(Arc<Report>, DateTime<Utc>)>,
    /// A newer one that takes a known cut-off back and proves nothing: nobody is told from it.
    pub doubted: Option<(Arc<Report>, DateTime<Utc>)>,
    /// Since when reports have been without a single charge.
    bare_since: Option<DateTime<Utc>>,
}

/// What people were mailed of an account's cut-off, until it is over: one good report does not end it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Told {
    pub cut_off: Option<Disconnect>,
    /// Since when reports have been without a single charge, also from before the start.
    pub bare_since: Option<DateTime<Utc>>,
}

impl Reports {
    /// Takes in a report that was read at `at`.
    pub(super) fn take(&mut self, report: Arc<Report>, told: Told, at: DateTime<Utc>) {
        let bare_since = told.bare_since.or(self.bare_since);
        self.bare_since = forecast::is_bare(&report).then(|| bare_since.unwrap_or(at));
        let is_new_bare = self.bare_since.is_some_and(|since| at - since < forecast::BARE);
        let known =
            self.last_known().map(|(kept, _)| told.cut_off.unwrap_or_else(|| forecast::disconnect(kept)));
        if known.is_some_and(|known| forecast::proves_nothing(&report, known, is_new_bare).is_some()) {
            if self.report.is_none() {
                (self.report, self.read_at) = self.remembered.take().unzip();
            }
            self.doubted = Some((report, at));
        } else {
            let remembered = self.remembered.take().map(|(report, _)| report);
            self.previous = self.report.replace(report).or(remembered);
            (self.read_at, self.doubted) = (Some(at), None);
        }
        self.remembered = None;
    }

    /// The last one that was read since the start, whatever it is worth.
    pub(crate) fn latest(&self) -> Option<(&Report, DateTime<Utc>)> {
        let doubted = self.doubted.as_ref().map(|(report, at)| (&**report, *at));
        doubted.or_else(|| self.report.as_deref().zip(self.read_at))
    }

    /// When the one was read that people are told from, where a newer one takes its cut-off back and proves nothing.
    pub(crate) fn unconfirmed(&self) -> Option<DateTime<Utc>> {
        self.read_at.filter(|_| self.doubted.is_some())
    }

    /// The last one known and when it was read: what people are told from.
    pub(crate) fn last_known(&self) -> Option<(&Report, DateTime<Utc>)> {
        let read = self.report.as_deref().zip(self.read_at);
        read.or_else(|| self.remembered.as_ref().map(|(report, at)| (&**report, *at)))
    }
}

/// Past charges, newest first, some 30 days of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Charges {
    pub rows: Arc<Vec<Charge>>,
    pub read_at: Option<DateTime<Utc>>,
}

/// How a collector's polls went.
#[derive(Clone, Debug, Default)]
pub(crate) struct CollectorStatus {
    /// Polls that ended, well or not.
    pub polls: u64,
    pub success: bool,
    pub complete: bool,
    pub duration: Duration,
    /// One ended that began since the start, or since the machine last slept; or it is waited for no longer.
    pub looked: bool,
    /// When the last one that ended began.
    pub began: Option<DateTime<Utc>>,
    pub last_success: Option<DateTime<Utc>>,
    /// When the first of the present run of good polls ended.
    pub good_since: Option<DateTime<Utc>>,
    /// When the first of the present run of failures ended.
    pub failing_since: Option<DateTime<Utc>>,
    pub failures_in_a_row: u32,
    pub failure: Option<Failure>,
}

/// Why a poll failed, in words for people; holds no credential.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Failure {
    pub kind: FailureKind,
    pub message: String,
    /// The provider was asked. Where it was left alone, what it said before stands.
    pub asked: bool,
}

impl Failure {
    pub(crate) fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), asked: true }
    }
}

/// What class of failure, for the rules.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FailureKind {
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
pub(crate) struct Rows<T> {
    pub rows: Vec<T>,
    pub complete: bool,
}

/// One listing that was read.
#[derive(Clone, Debug)]
pub(crate) enum Read {
    Vms(Rows<Vm>),
    Containers(Rows<Container>),
    Sites(ContainerId, Rows<Site>),
    Ips(Rows<Ip>),
    SshKeys(Rows<Counted>),
    /// There are no other sites, where these are looked up and have no listings of their own.
    AllSites(BTreeSet<SiteId>),
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
pub(crate) struct PollEnd {
    pub duration: Duration,
    pub failure: Option<Failure>,
    pub complete: bool,
}

impl AccountState {
    /// A site by its id, wherever it lives.
    pub(crate) fn site(&self, id: SiteId) -> Option<&Site> {
        self.sites.get(self.homes.get(&id)?)?.get(id)
    }

    /// Is this site in any listing?
    pub(crate) fn has_site(&self, id: SiteId) -> bool {
        self.homes.contains_key(&id)
    }

    /// Did the last poll that ended read what shows this collector's resource? One container's sites may be read
    /// well while another's are not.
    pub(crate) fn is_seen(&self, collector: Collector, id: Option<u64>) -> bool {
        let Some(status) = self.collectors.get(&collector) else { return true };
        let home = id.filter(|_| collector == Collector::Sites).and_then(|id| self.homes.get(&id.into()));
        let listing = home.and_then(|home| self.sites.get(home));
        status.success
            || listing.is_some_and(|listing| status.began.is_some() && listing.read_at >= status.began)
    }

    /// Is it among what is known? A listing that is short may leave it out.
    pub(crate) fn lists(&self, collector: Collector, id: u64) -> bool {
        match collector {
            Collector::Vms => self.vms.get(id.into()).is_some(),
            Collector::Containers => self.containers.get(id.into()).is_some(),
            Collector::Sites => self.has_site(id.into()),
            // Of these no single row is asked for.
            Collector::ExpectedBalance
            | Collector::Charges
            | Collector::Databases
            | Collector::CronJobs
            | Collector::Ips
            | Collector::SshKeys => true,
        }
    }

    /// Every site, container by container.
    pub(crate) fn all_sites(&self) -> impl Iterator<Item = &Site> {
        self.sites.values().flat_map(|listing| listing.rows.iter())
    }

    /// Listed containers whose sites were never read.
    pub(crate) fn containers_without_sites_read(&self) -> usize {
        let read = |id| self.sites.get(id).is_some_and(|listing| listing.read_at.is_some());
        self.containers.rows.iter().filter(|container| !read(&container.id)).count()
    }

    /// VMs, containers and sites: what "watching N resources" counts.
    pub(crate) fn resource_count(&self) -> usize {
        self.vms.rows.len()
            + self.containers.rows.len()
            + self.sites.values().map(|listing| listing.rows.len()).sum::<usize>()
    }
}
