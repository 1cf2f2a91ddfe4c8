//! What the samples of an account are made of, and how old a reading may be to be shown. Writes no text.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};

use super::settings::StateSeries;
use crate::model::freshness;
use crate::model::{AccountState, Collector, ContainerId, Listing};

/// One account at one moment, as the families' rows see it.
#[derive(Clone, Copy)]
pub(super) struct Given<'a> {
    pub(super) state: &'a AccountState,
    pub(super) completed: &'a Completed,
    pub(super) state_series: StateSeries,
    /// The share of the sites, or of many VMs, that is asked for.
    pub(super) shard: u64,
    pub(super) now: DateTime<Utc>,
}

/// Which listings were ever read completely: counts before that would be too small.
#[derive(Debug, Default)]
pub(super) struct Completed {
    pub(super) listings: BTreeSet<Collector>,
    pub(super) sites: BTreeSet<ContainerId>,
}

/// How many shards the sites are cut into, so that one site's change does not encode 20,000 anew, and many VMs. More make
/// changes cheaper and the page larger.
pub(super) const SHARDS: u64 = 16;

/// The shard of a VM, a container or a site by its id.
pub(super) const fn shard_of(id: u64) -> u64 {
    id % SHARDS
}

impl<'a> Given<'a> {
    /// A good reading is served for a time: is it still?
    pub(super) fn is_fresh(&self, collector: Collector, read_at: Option<DateTime<Utc>>) -> bool {
        freshness::is_fresh(&self.state.profile, collector, read_at, self.now)
    }

    /// The rows of a listing; none where they are stale.
    pub(super) fn rows<T>(&self, collector: Collector, listing: &'a Listing<T>) -> &'a [T] {
        if self.is_fresh(collector, listing.read_at) { listing.rows.as_slice() } else { &[] }
    }

    /// The rows of a listing, where they are to be counted.
    pub(super) fn counted<T>(&self, collector: Collector, listing: &'a Listing<T>) -> Option<&'a [T]> {
        let counted = self.completed.listings.contains(&collector);
        (counted && self.is_fresh(collector, listing.read_at)).then_some(listing.rows.as_slice())
    }

    /// Is it the shard that has what is not cut?
    pub(super) const fn is_first_shard(&self) -> bool {
        self.shard == 0
    }

    /// Is the shard of this VM, container or site asked for?
    pub(super) fn wants(&self, id: u64) -> bool {
        shard_of(id) == self.shard
    }
}

impl Completed {
    /// Notes which listings are complete now.
    pub(super) fn note(&mut self, state: &AccountState) {
        // What was switched off begins anew.
        self.listings.retain(|collector| state.profile.collectors.contains(collector));
        let listings = [
            (Collector::Vms, state.vms.complete),
            (Collector::Containers, state.containers.complete),
            (Collector::SshKeys, state.ssh_keys.complete),
        ];
        self.listings.extend(listings.into_iter().filter(|(_, complete)| *complete).map(|(which, _)| which));
        self.sites.retain(|container| state.sites.contains_key(container));
        self.sites.extend(state.sites.iter().filter(|(_, sites)| sites.complete).map(|(&id, _)| id));
    }
}
