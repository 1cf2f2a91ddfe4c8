//! The known state of every account at one moment. `account` applies listings to it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use chrono_tz::Tz;

use super::billing::Report;
use super::ids::{AccountName, ContainerId, SiteId};
use super::language::Language;
use super::money::Money;
use super::reports::Reports;
use super::resources::{Container, Ip, Resource, Site, Vm};

/// A collector. `as_str` is its key in the schedule; sites follow their containers.
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
    strum::VariantArray,
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
    /// All collectors, in the order of their declaration.
    pub const ALL: [Self; <Self as strum::VariantArray>::VARIANTS.len()] =
        *<Self as strum::VariantArray>::VARIANTS.first_chunk().expect("the length is that of the list");

    /// The `collector` label and the schedule's key.
    pub const fn as_str(self) -> &'static str {
        self.into_str()
    }

    /// The collector whose schedule it shares: sites are read after each listing of the containers.
    pub fn follows(self) -> Option<Self> {
        (self == Self::Sites).then_some(Self::Containers)
    }

    /// The data that it reads, for a sentence: `cannot read VMs`.
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

    /// The group whose credentials it uses (interface 5).
    pub const fn group(self) -> Group {
        match self {
            Self::Vms | Self::Ips | Self::SshKeys => Group::Vm,
            Self::Containers | Self::Sites | Self::Databases | Self::CronJobs => Group::Hosting,
            Self::ExpectedBalance | Self::Charges => Group::Billing,
        }
    }
}

/// A group of endpoints with its own authentication (interface 5).
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

/// The facts of an account that stay the same between polls.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Profile {
    pub name: AccountName,
    /// The currency shown beside amounts; may be empty.
    pub currency: String,
    pub time_zone: Option<Tz>,
    /// The number of days that a payment takes to arrive.
    pub lead_days: u32,
    /// The last threshold before a cut-off that is mailed, in days.
    pub tightest_rung: u32,
    /// Bytes in one unit of a VM's `memsize`; `None` until configured.
    pub vm_memory_unit_bytes: Option<u64>,
    /// The collectors that are on: they have a schedule and credentials.
    pub collectors: BTreeSet<Collector>,
    /// How long a good listing is served after its last success.
    pub stale_after: BTreeMap<Collector, Duration>,
    pub guide: Guide,
    /// The language of mails, chat messages and the page.
    pub language: Language,
}

/// The owner's links and note about paying; empty if none is configured.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Guide {
    /// The address of the provider's panel, with `{kind}` and `{id}` in place of the resource.
    pub panel_link: Option<String>,
    pub pay_link: Option<String>,
    pub pay_note: Option<String>,
}

impl Profile {
    /// The account's zone for texts; UTC if none is set.
    pub(crate) fn zone(&self) -> Tz {
        self.time_zone.unwrap_or(Tz::UTC)
    }
}

/// All accounts at one moment. It is replaced as a whole and never changed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Snapshot {
    pub accounts: BTreeMap<AccountName, Arc<AccountState>>,
}

/// One account as last read.
#[derive(Clone, Debug)]
pub(crate) struct AccountState {
    pub profile: Arc<Profile>,
    pub vms: Listing<Vm>,
    pub containers: Listing<Container>,
    pub sites: BTreeMap<ContainerId, Listing<Site>>,
    pub ips: Listing<Ip>,
    /// The number of databases and of cron jobs of each site, and of SSH keys.
    pub counted: BTreeMap<Collector, BTreeMap<Option<SiteId>, RowCount>>,
    pub billing: Reports,
    pub charges: Charges,
    pub collectors: BTreeMap<Collector, CollectorStatus>,
    /// The container of each site. `account` maintains it, so that no caller searches a thousand listings.
    pub(super) homes: Arc<HashMap<SiteId, ContainerId>>,
}

/// The account of this name.
pub(crate) fn account_of<'a>(accounts: &[&'a AccountState], name: &AccountName) -> Option<&'a AccountState> {
    accounts.iter().find(|state| state.profile.name == *name).copied()
}

/// The zone of an account for texts; UTC if the account is gone.
pub(crate) fn zone_of(account: Option<&AccountState>) -> Tz {
    account.map_or(Tz::UTC, |state| state.profile.zone())
}

/// The rows of one listing, sorted by id.
#[derive(Clone, Debug)]
pub(crate) struct Listing<T> {
    pub rows: Arc<Vec<T>>,
    /// The time of the last reading; `None` before the first.
    pub read_at: Option<DateTime<Utc>>,
    /// Whether the last reading showed every row.
    pub complete: bool,
    /// Whether some reading since the collector is on showed every row. Before that, counts would be too low.
    pub was_complete: bool,
    /// Rows that the last complete reading lacked. A row that slips from one page to another is not gone: only
    /// two complete readings in a row prove that.
    pub missing: BTreeSet<u64>,
    /// Rows that the last reading could not decode. Their last known state stands, and is not shown as known.
    pub(crate) unreadable: BTreeSet<u64>,
    /// The time since when readings are empty though rows were known. For an hour that proves nothing.
    pub(super) empty_since: Option<DateTime<Utc>>,
}

impl<T> Default for Listing<T> {
    fn default() -> Self {
        Self {
            rows: Arc::new(Vec::new()),
            read_at: None,
            complete: false,
            was_complete: false,
            missing: BTreeSet::new(),
            unreadable: BTreeSet::new(),
            empty_since: None,
        }
    }
}

impl<T: Resource> Listing<T> {
    /// The row with this id.
    pub(crate) fn get(&self, id: T::Id) -> Option<&T> {
        self.rows.binary_search_by(|row| row.id().cmp(&id)).ok().map(|index| &self.rows[index])
    }
}

/// The number of databases or cron jobs of a site, and the time of reading.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RowCount {
    pub count: u64,
    pub read_at: DateTime<Utc>,
}

/// The sum of the charges in the 30 days up to the day of the reading, in the account's zone.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Charges {
    pub amount: Option<Money>,
    pub read_at: Option<DateTime<Utc>>,
}

/// The state of a collector's polls.
#[derive(Clone, Debug, Default)]
pub(crate) struct CollectorStatus {
    /// The number of ended polls, good and failed.
    pub polls: u64,
    pub success: bool,
    pub complete: bool,
    pub duration: Duration,
    /// Whether a poll ended that began since the start or the last sleep, or the collector is no longer waited
    /// for.
    pub looked: bool,
    /// The beginning of the poll that ended last.
    pub began: Option<DateTime<Utc>>,
    pub last_success: Option<DateTime<Utc>>,
    /// The end of the first of the last failed polls in a row.
    pub failing_since: Option<DateTime<Utc>>,
    /// The beginning of the last failed poll before the last poll.
    pub failed_before: Option<DateTime<Utc>>,
    pub failure: Option<Failure>,
    /// The first thing that the last poll could not read, in words for people.
    pub problem: Option<String>,
}

impl CollectorStatus {
    fn moments(&mut self) -> impl Iterator<Item = &mut DateTime<Utc>> {
        let failures = [&mut self.failing_since, &mut self.failed_before];
        [&mut self.began, &mut self.last_success].into_iter().chain(failures).flatten()
    }
}

/// The reason why a poll failed, in words for people. It holds no credential.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Failure {
    pub kind: FailureKind,
    pub message: String,
    /// Whether the provider was asked. If it was not, its last answer still counts.
    pub asked: bool,
}

impl Failure {
    pub(crate) fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), asked: true }
    }
}

/// The class of a failure, for the rules.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FailureKind {
    /// 401, or a hosting token that is not to be had.
    Credentials,
    /// 403 before any success of these credentials: they are wrong, or the account is suspended.
    NeverAccepted,
    /// 402, or 403 to credentials that were accepted: a limit, a firewall, a suspended account.
    Refused,
    /// 404 for an operation of the interface.
    NotFound,
    /// A billing report that carries an `error`.
    ReportError,
    /// Any other answer: another status, or contents that cannot be read.
    Unusable,
    /// No answer.
    Other,
}

impl FailureKind {
    /// Whether non-payment may explain it.
    pub(crate) const fn may_be_unpaid(self) -> bool {
        matches!(self, Self::NeverAccepted | Self::Refused)
    }
}

/// The rows of one listing as read.
#[derive(Clone, Debug)]
pub(crate) struct Rows<T> {
    pub rows: Vec<T>,
    /// Whether no row is missing but the unreadable ones: pages did not shift, and every id was read.
    pub shows_all: bool,
    /// The ids of rows that could not be decoded.
    pub unreadable: BTreeSet<u64>,
}

impl<T> Rows<T> {
    pub(crate) fn new(rows: Vec<T>, shows_all: bool) -> Self {
        Self { rows, shows_all, unreadable: BTreeSet::new() }
    }
}

/// One listing that was read.
#[derive(Clone, Debug)]
pub(crate) enum Read {
    Vms(Rows<Vm>),
    Containers(Rows<Container>),
    Sites(ContainerId, Rows<Site>),
    Ips(Rows<Ip>),
    /// The number of rows, of a site or of the account.
    Counted(Collector, Option<SiteId>, u64),
    ExpectedBalance(Report),
    /// The sum of all charges of the last 30 days.
    Charges(Money),
}

/// The end of a poll.
#[derive(Clone, Debug)]
pub(crate) struct PollEnd {
    pub duration: Duration,
    pub failure: Option<Failure>,
    pub complete: bool,
    /// The first thing that could not be read, in words for people. It holds no credential.
    pub problem: Option<String>,
}

impl AccountState {
    /// A site by its id, in any container.
    pub(crate) fn site(&self, id: SiteId) -> Option<&Site> {
        self.sites.get(self.homes.get(&id)?)?.get(id)
    }

    /// Whether any listing has this site.
    pub(crate) fn has_site(&self, id: SiteId) -> bool {
        self.homes.contains_key(&id)
    }

    /// The moments of readings and polls, by this machine's clock.
    pub(super) fn moments(&mut self) -> impl Iterator<Item = &mut DateTime<Utc>> {
        let of_listings = [
            &mut self.vms.read_at,
            &mut self.containers.read_at,
            &mut self.ips.read_at,
            &mut self.charges.read_at,
        ];
        let of_sites = self.sites.values_mut().map(|listing| &mut listing.read_at);
        let counts = self.counted.values_mut().flat_map(BTreeMap::values_mut);
        let of_counts = counts.map(|count| &mut count.read_at);
        let of_polls = self.collectors.values_mut().flat_map(CollectorStatus::moments);
        let known = of_listings.into_iter().chain(of_sites).flatten();
        known.chain(of_counts).chain(of_polls).chain(self.billing.moments())
    }

    /// The name of a container on one line, at most `longest` characters.
    pub(crate) fn container_name(&self, id: ContainerId, longest: usize) -> Option<String> {
        Some(super::sanitize::one_line(self.containers.get(id)?.name.as_deref()?, longest))
    }

    /// Every site, container by container.
    pub(crate) fn all_sites(&self) -> impl Iterator<Item = &Site> {
        self.sites.values().flat_map(|listing| listing.rows.iter())
    }

    /// The number of listed containers whose sites were never read.
    pub(crate) fn containers_without_sites_read(&self) -> usize {
        let read = |id| self.sites.get(id).is_some_and(|listing| listing.read_at.is_some());
        self.containers.rows.iter().filter(|container| !read(&container.id)).count()
    }

    /// The number of VMs, containers and sites, as "watching N resources" counts it.
    pub(crate) fn resource_count(&self) -> usize {
        self.vms.rows.len()
            + self.containers.rows.len()
            + self.sites.values().map(|listing| listing.rows.len()).sum::<usize>()
    }
}
