//! The facts from which the samples of an account are made, and the maximum age of a reading.

use std::sync::Arc;

use chrono::{DateTime, Utc};

use super::settings::StateSeries;
use crate::model::freshness;
use crate::model::{AccountIncidents, AccountState, Collector, Listing};

/// One account at one moment, as the rows of families see it.
#[derive(Clone, Copy)]
pub(super) struct Given<'a> {
    pub(super) state: &'a AccountState,
    pub(super) incidents: &'a Arc<AccountIncidents>,
    pub(super) state_series: StateSeries,
    /// The requested shard of the sites, or of many VMs.
    pub(super) shard: u64,
    pub(super) now: DateTime<Utc>,
}

/// The number of shards of the sites, and of many VMs, so that one site's change does not encode 20,000 others.
/// More shards make changes cheaper and the page larger.
pub(super) const SHARDS: u64 = 16;

/// The shard of a VM, a container or a site by its id.
pub(super) const fn shard_of(id: u64) -> u64 {
    id % SHARDS
}

impl<'a> Given<'a> {
    /// Whether a reading is still fresh enough to be served.
    pub(super) fn is_fresh(&self, collector: Collector, read_at: Option<DateTime<Utc>>) -> bool {
        freshness::is_fresh(&self.state.profile, collector, read_at, self.now)
    }

    /// The rows of a listing; none if they are stale.
    pub(super) fn rows<T>(&self, collector: Collector, listing: &'a Listing<T>) -> &'a [T] {
        if self.is_fresh(collector, listing.read_at) { listing.rows.as_slice() } else { &[] }
    }

    /// The rows of a listing, if they can be counted.
    pub(super) fn counted<T>(&self, collector: Collector, listing: &'a Listing<T>) -> Option<&'a [T]> {
        (listing.was_complete && self.is_fresh(collector, listing.read_at)).then_some(listing.rows.as_slice())
    }

    /// Whether this is the shard with the parts that are not cut.
    pub(super) const fn is_first_shard(&self) -> bool {
        self.shard == 0
    }

    /// Whether this shard has a VM, container or site.
    pub(super) fn wants(&self, id: u64) -> bool {
        shard_of(id) == self.shard
    }
}
