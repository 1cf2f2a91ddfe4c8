//! The parts into which an account's facts are cut, and from what each was made: equal sources give
//! equal text, so a part with its old source is not encoded again. Writes no text.

use std::any::Any;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use chrono::{DateTime, Utc};

use super::encoder::Completed;
use crate::model::freshness::is_fresh;
use crate::model::{AccountState, Collector, Listing, Profile, SiteId, Tally};

/// What is encoded together. Sites are cut into shards by container, so that one site's change does
/// not encode 20,000 anew.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum Part {
    Account,
    Vms,
    Containers,
    Sites(u64),
    SiteCounts,
    Databases(u64),
    CronJobs(u64),
    Ips,
    SshKeys,
    Balance,
    Disconnect,
    Charges,
}

impl Part {
    /// Whose readings it shows; none for what is configured.
    pub(super) const fn collector(self) -> Option<Collector> {
        Some(match self {
            Self::Account => return None,
            Self::Vms => Collector::Vms,
            Self::Containers => Collector::Containers,
            Self::Sites(_) | Self::SiteCounts => Collector::Sites,
            Self::Databases(_) => Collector::Databases,
            Self::CronJobs(_) => Collector::CronJobs,
            Self::Ips => Collector::Ips,
            Self::SshKeys => Collector::SshKeys,
            Self::Balance | Self::Disconnect => Collector::ExpectedBalance,
            Self::Charges => Collector::Charges,
        })
    }
}

/// How many shards; more make changes cheaper and the page larger.
const SHARDS: u64 = 16;

/// The shard of a container or a site by its id.
pub(super) const fn shard_of(id: u64) -> u64 {
    id % SHARDS
}

/// All that a part's text depends on. Rows are held, so that a pointer cannot come to mean others.
#[derive(Debug)]
pub(super) struct Source {
    rows: Vec<Arc<dyn Any + Send + Sync>>,
    rest: u64,
}

impl PartialEq for Source {
    fn eq(&self, other: &Self) -> bool {
        let address = |rows: &Arc<dyn Any + Send + Sync>| Arc::as_ptr(rows).cast::<()>();
        self.rest == other.rest && self.rows.iter().map(address).eq(other.rows.iter().map(address))
    }
}

impl Source {
    fn new(profile: &Arc<Profile>) -> Self {
        Self { rows: vec![Arc::clone(profile) as _], rest: 0 }
    }

    /// Depends on these rows.
    fn on<T: Send + Sync + 'static>(mut self, rows: &Arc<T>) -> Self {
        self.rows.push(Arc::clone(rows) as _);
        self
    }

    /// Depends on this value.
    fn and(mut self, value: impl Hash) -> Self {
        let mut hasher = DefaultHasher::new();
        (self.rest, value).hash(&mut hasher);
        self.rest = hasher.finish();
        self
    }
}

/// The parts that `which` collectors feed, each with its source as of `now`.
pub(super) fn sources(
    state: &AccountState,
    which: &[Collector],
    completed: &Completed,
    now: DateTime<Utc>,
) -> Vec<(Part, Source)> {
    let profile = &state.profile;
    let start = || Source::new(profile);
    let fresh = |collector, read_at| is_fresh(profile, collector, read_at, now);
    let counted = |collector| completed.listings.contains(&collector);
    let mut sources = vec![(Part::Account, start())];
    for &collector in which {
        match collector {
            Collector::Vms => {
                let vms = &state.vms;
                let source = start().on(&vms.rows).and((fresh(collector, vms.read_at), counted(collector)));
                sources.push((Part::Vms, source));
            }
            Collector::Containers => {
                let rows = &state.containers.rows;
                let source = start().on(rows).and(fresh(collector, state.containers.read_at));
                sources.push((Part::Containers, source.and(counted(collector))));
                // Sites go with their container, and are counted only where all of them are known.
                sites(state, completed, now, &mut sources);
            }
            Collector::Sites => sites(state, completed, now, &mut sources),
            Collector::Databases => {
                tallies(state, collector, &state.databases, now, Part::Databases, &mut sources);
            }
            Collector::CronJobs => {
                tallies(state, collector, &state.cron_jobs, now, Part::CronJobs, &mut sources);
            }
            Collector::Ips => {
                let source = start().on(&state.ips.rows).and(fresh(collector, state.ips.read_at));
                sources.push((Part::Ips, source));
            }
            Collector::SshKeys => {
                let keys = &state.ssh_keys;
                let source = start().on(&keys.rows).and((fresh(collector, keys.read_at), counted(collector)));
                sources.push((Part::SshKeys, source));
            }
            Collector::ExpectedBalance => {
                // Without a report, what was made of one before the collector was switched off goes.
                let start = || match &state.billing.report {
                    Some(report) => start().on(report),
                    None => start(),
                };
                // The forecast counts its days from when the report was read.
                let read_at = state.billing.read_at;
                sources.push((Part::Balance, start().and((fresh(collector, read_at), read_at))));
                sources.push((Part::Disconnect, start()));
            }
            Collector::Charges => {
                let read_at = state.charges.read_at;
                let source = start().on(&state.charges.rows).and((fresh(collector, read_at), read_at));
                sources.push((Part::Charges, source));
            }
        }
    }
    sources
}

fn sites(state: &AccountState, completed: &Completed, now: DateTime<Utc>, sources: &mut Vec<(Part, Source)>) {
    let fresh = |listing: &Listing<_>| is_fresh(&state.profile, Collector::Sites, listing.read_at, now);
    let mut shards: Vec<Source> = (0..SHARDS).map(|_| Source::new(&state.profile)).collect();
    let mut all = Source::new(&state.profile).on(&state.containers.rows);
    let mut hasher = DefaultHasher::new();
    let containers = &state.containers;
    is_fresh(&state.profile, Collector::Containers, containers.read_at, now).hash(&mut hasher);
    completed.listings.contains(&Collector::Containers).hash(&mut hasher);
    for (container, listing) in &state.sites {
        let is_fresh = fresh(listing);
        if is_fresh {
            shards[shard_of(container.get()) as usize].rows.push(Arc::clone(&listing.rows) as _);
        }
        (is_fresh, completed.sites.contains(container)).hash(&mut hasher);
        all.rows.push(Arc::clone(&listing.rows) as _);
    }
    sources.extend((0..).map(Part::Sites).zip(shards));
    sources.push((Part::SiteCounts, all.and(hasher.finish())));
}

fn tallies(
    state: &AccountState,
    collector: Collector,
    tallies: &BTreeMap<SiteId, Tally>,
    now: DateTime<Utc>,
    part: fn(u64) -> Part,
    sources: &mut Vec<(Part, Source)>,
) {
    let mut shards: Vec<DefaultHasher> = (0..SHARDS).map(|_| DefaultHasher::new()).collect();
    for (site, tally) in tallies {
        let fresh = is_fresh(&state.profile, collector, Some(tally.read_at), now);
        (site, tally.count, fresh).hash(&mut shards[shard_of(site.get()) as usize]);
    }
    let shards = shards.into_iter().map(|shard| Source::new(&state.profile).and(shard.finish()));
    sources.extend((0..).map(part).zip(shards));
}
