//! Applies one listing to the known state of an account. Pure: a listing and a time in, a new state and
//! observations out.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};

use super::billing::Order;
use super::freshness::is_fresh;
use super::ids::{ContainerId, SiteId};
use super::last_report::LastReport;
use super::reports::{Believed, Reports};
use super::resources::{Container, Resource, Site, Vm};
use super::snapshot::{
    AccountState, Charges, Collector, CollectorStatus, Listing, PollEnd, Profile, Read, RowCount, Rows,
};
use super::sort::Stated as _;
use super::states::VmState;

/// The observation of one reading. Rows that it did not show are frozen: the reading says nothing of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Observed {
    Vms(Seen),
    Containers(Seen),
    Sites(ContainerId, Seen),
    Report,
}

impl Observed {
    /// The collector that read it.
    pub(crate) const fn collector(&self) -> Collector {
        match self {
            Self::Vms(_) => Collector::Vms,
            Self::Containers(_) => Collector::Containers,
            Self::Sites(..) => Collector::Sites,
            Self::Report => Collector::ExpectedBalance,
        }
    }
}

/// The rows of a listing that were shown, and those that are known to be gone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Seen {
    pub shown: BTreeSet<u64>,
    /// Rows that two complete listings in a row lack, and that were there before; with their last names.
    pub removed: BTreeMap<u64, Option<Box<str>>>,
    /// VMs that are stopped now, and that were active at the last reading a short while ago.
    pub stopped: BTreeSet<u64>,
    /// The number of rows that were known, if this complete listing has none.
    pub emptied: Option<usize>,
    /// Whether no row is missing but the unreadable ones of the listing.
    pub shows_all: bool,
}

impl Seen {
    /// A complete listing without rows, after which these are gone.
    pub(crate) fn nothing(removed: BTreeMap<u64, Option<Box<str>>>) -> Self {
        let (shown, stopped) = (BTreeSet::new(), BTreeSet::new());
        Self { shown, removed, stopped, emptied: None, shows_all: true }
    }
}

/// Applies readings to one account. It keeps the container of each site, so that a site that moved never
/// appears twice.
#[derive(Clone, Debug)]
pub(crate) struct KnownAccount {
    /// The state that was published last, until it changes.
    state: Arc<AccountState>,
    believed: Believed,
    /// The last time that the known state may have been out of date.
    awake_since: Option<DateTime<Utc>>,
}

impl KnownAccount {
    /// An account without any known state.
    pub(crate) fn new(profile: Arc<Profile>) -> Self {
        let collectors = profile.collectors.iter().map(|&on| (on, CollectorStatus::default())).collect();
        let state = AccountState {
            profile,
            vms: Listing::default(),
            containers: Listing::default(),
            sites: BTreeMap::new(),
            ips: Listing::default(),
            counted: BTreeMap::new(),
            billing: Reports::default(),
            charges: Charges::default(),
            collectors,
            homes: Arc::default(),
        };
        Self { state: Arc::new(state), believed: Believed::default(), awake_since: None }
    }

    fn state_mut(&mut self) -> &mut AccountState {
        Arc::make_mut(&mut self.state)
    }

    /// Takes over a changed configuration. The state of collectors that are off now is forgotten.
    pub(crate) fn with_profile(mut self, profile: Arc<Profile>) -> Self {
        let state = self.state_mut();
        for &on in &profile.collectors {
            state.collectors.entry(on).or_default();
        }
        let on = |collector| profile.collectors.contains(&collector);
        state.collectors.retain(|&collector, _| on(collector));
        state.counted.retain(|&collector, _| on(collector));
        forget_if(!on(Collector::Vms), &mut state.vms);
        forget_if(!on(Collector::Containers), &mut state.containers);
        forget_if(!on(Collector::Sites), &mut state.sites);
        forget_if(!on(Collector::Sites), &mut state.homes);
        forget_if(!on(Collector::Ips), &mut state.ips);
        forget_if(!on(Collector::ExpectedBalance), &mut state.billing);
        forget_if(!on(Collector::Charges), &mut state.charges);
        state.profile = profile;
        self
    }

    /// Takes over the last report that the daemon read before its start.
    pub(crate) fn remembering(mut self, last: Option<&LastReport>) -> Self {
        if self.state.profile.collectors.contains(&Collector::ExpectedBalance) {
            self.state_mut().billing.remembered =
                last.map(|last| (Arc::new(last.report.clone()), last.read_at));
        }
        self
    }

    /// The present state.
    pub(crate) fn state(&self) -> &AccountState {
        &self.state
    }

    /// The present state, shared for publishing.
    pub(crate) fn publish(&self) -> Arc<AccountState> {
        Arc::clone(&self.state)
    }

    /// Sets the belief by which later reports are judged.
    pub(crate) fn believe(&mut self, believed: Believed) {
        self.believed = believed;
    }

    /// Takes in one listing.
    pub(crate) fn apply(&mut self, read: Read, at: DateTime<Utc>) -> Vec<Observed> {
        match read {
            Read::Vms(rows) => {
                let stopped = self.newly_stopped(&rows, at);
                return vec![Observed::Vms(Seen { stopped, ..self.state_mut().vms.take(rows, at) })];
            }
            Read::Containers(rows) => return self.apply_containers(rows, at),
            Read::Sites(container, rows) => return self.apply_sites(container, rows, at),
            Read::ExpectedBalance(mut report) => {
                let believed = self.believed;
                let billing = &mut self.state_mut().billing;
                if let Some(old) = &billing.report {
                    share_orders(&old.orders, &mut report.orders);
                    report.moments.share(&old.moments);
                }
                billing.take(Arc::new(report), believed, at);
                return vec![Observed::Report];
            }
            Read::Ips(rows) => drop(self.state_mut().ips.take(rows, at)),
            Read::Counted(collector, site, count) => {
                let counts = self.state_mut().counted.entry(collector).or_default();
                counts.insert(site, RowCount { count, read_at: at });
            }
            Read::Charges(amount) => {
                self.state_mut().charges = Charges { amount: Some(amount), read_at: Some(at) };
            }
        }
        Vec::new()
    }

    /// The known state may be out of date. No reading lies ahead of the clock, even if that was set back.
    pub(crate) fn look_again(&mut self, now: DateTime<Utc>) {
        self.awake_since = Some(now);
        let state = self.state_mut();
        state.collectors.values_mut().for_each(|status| status.looked = false);
        state.moments().filter(|at| **at > now).for_each(|at| *at = now);
    }

    /// Stops waiting for collectors that have not polled yet.
    pub(crate) fn stop_looking(&mut self) {
        self.state_mut().collectors.values_mut().for_each(|status| status.looked = true);
    }

    /// The poll that ended last began too early to show the present.
    pub(crate) fn not_looked(&mut self, collector: Collector) {
        self.state_mut().collectors.entry(collector).or_default().looked = false;
    }

    /// Takes in the end of a poll.
    pub(crate) fn end(&mut self, collector: Collector, end: PollEnd, at: DateTime<Utc>) {
        let status = self.state_mut().collectors.entry(collector).or_default();
        if status.polls > 0 && !status.success {
            status.failed_before = status.began;
        }
        status.polls += 1;
        status.looked = true;
        status.duration = end.duration;
        status.began =
            chrono::TimeDelta::from_std(end.duration).ok().and_then(|took| at.checked_sub_signed(took));
        status.success = end.failure.is_none();
        status.complete = status.success && end.complete;
        if status.success {
            status.last_success = Some(at);
            status.failing_since = None;
        } else {
            status.failing_since.get_or_insert(at);
        }
        status.problem = end.problem;
        status.failure = match (status.failure.take(), end.failure) {
            (Some(before), Some(failure)) if !failure.asked => Some(before),
            (_, failure) => failure,
        };
    }

    /// The VMs that stopped between the last two readings. If these are far apart, or the machine slept between
    /// them, nobody knows when a VM stopped.
    fn newly_stopped(&self, read: &Rows<Vm>, at: DateTime<Utc>) -> BTreeSet<u64> {
        let before = &self.state.vms;
        let is_of_before = self.awake_since.is_some() && before.read_at <= self.awake_since;
        if is_of_before || !is_fresh(&self.state.profile, Collector::Vms, before.read_at, at) {
            return BTreeSet::new();
        }
        let was_active = |vm: &&Vm| before.get(vm.id).is_some_and(|old| old.state == VmState::Active);
        let stopped = read.rows.iter().filter(|vm| vm.state == VmState::Stopped).filter(was_active);
        stopped.map(|vm| vm.id.get()).collect()
    }

    fn apply_containers(&mut self, rows: Rows<Container>, at: DateTime<Utc>) -> Vec<Observed> {
        let seen = self.state_mut().containers.take(rows, at);
        let mut observed = Vec::new();
        for &gone in seen.removed.keys() {
            let container = ContainerId::new(gone);
            let Some(listing) = self.state_mut().sites.remove(&container) else { continue };
            for site in listing.rows.iter() {
                self.forget_site(site.id);
            }
            let removed = listing.rows.iter().map(last_name).collect();
            observed.push(Observed::Sites(container, Seen::nothing(removed)));
        }
        observed.insert(0, Observed::Containers(seen));
        observed
    }

    fn apply_sites(
        &mut self,
        container: ContainerId,
        mut rows: Rows<Site>,
        at: DateTime<Utc>,
    ) -> Vec<Observed> {
        let state = self.state_mut();
        let before = state.sites.get(&container).and_then(|listing| listing.read_at);
        rows.rows.retain(|site| !is_at_home(state, site, container, before));
        for site in &rows.rows {
            let old = state.homes.get(&site.id).copied();
            if old == Some(container) {
                continue;
            }
            Arc::make_mut(&mut state.homes).insert(site.id, container);
            if let Some(listing) = old.and_then(|old| state.sites.get_mut(&old)) {
                Arc::make_mut(&mut listing.rows).retain(|row| row.id != site.id);
            }
        }
        let listing = state.sites.entry(container).or_default();
        let seen = listing.take(rows, at);
        for &gone in seen.removed.keys() {
            self.forget_site(SiteId::new(gone));
        }
        vec![Observed::Sites(container, seen)]
    }

    fn forget_site(&mut self, site: SiteId) {
        let state = self.state_mut();
        Arc::make_mut(&mut state.homes).remove(&site);
        for counts in state.counted.values_mut() {
            counts.remove(&Some(site));
        }
    }
}

/// Whether a site that this container lists stays with a container that lists it too. The worse state counts, and of
/// equally bad ones the lower number, so that it is the same one after each poll. `before`: the last reading of this
/// container; an older listing shows nothing, nor does that of a container that is missing itself.
fn is_at_home(
    state: &AccountState,
    site: &Site,
    container: ContainerId,
    before: Option<DateTime<Utc>>,
) -> bool {
    let is_there =
        |home: &&ContainerId| **home != container && !state.containers.missing.contains(&home.get());
    let Some(home) = state.homes.get(&site.id).filter(is_there) else { return false };
    state.sites.get(home).is_some_and(|listing| {
        let is_read =
            listing.complete && listing.read_at >= before && !listing.missing.contains(&site.id.get());
        let counts = |row: &Site| (row.health(), *home) < (site.health(), container);
        is_read && listing.get(site.id).is_some_and(counts)
    })
}

fn forget_if<T: Default>(is_off: bool, known: &mut T) {
    if is_off {
        *known = T::default();
    }
}

fn last_name<T: Resource<Id: Into<u64>>>(row: &T) -> (u64, Option<Box<str>>) {
    (row.id().into(), row.name().map(Box::from))
}

/// Keeps the old copy of each unchanged order, since ten thousand of them hold much text. Both lists are sorted
/// by id.
fn share_orders(old: &[Arc<Order>], new: &mut [Arc<Order>]) {
    for order in new {
        let same = old.binary_search_by_key(&order.id, |old| old.id).ok().map(|place| &old[place]);
        if let Some(same) = same.filter(|same| *same == order) {
            *order = Arc::clone(same);
        }
    }
}

/// For so long an empty listing after a full one removes nothing.
pub(crate) const EMPTY_FOR: TimeDelta = TimeDelta::hours(1);

impl<T: Resource<Id: Into<u64>> + Clone + PartialEq> Listing<T> {
    /// Takes in the rows of a reading. A listing that is suddenly empty proves nothing for an hour. A complete
    /// listing replaces the rows, except for rows that only this one lacks, and for those that it has in an
    /// unreadable form. An incomplete listing is merged and removes none. If nothing changed, the old rows stay, so
    /// that a comparison of pointers finds no change.
    fn take(&mut self, read: Rows<T>, at: DateTime<Utc>) -> Seen {
        let Rows { mut rows, shows_all, unreadable } = read;
        rows.sort_by_key(Resource::id);
        rows.dedup_by_key(|row| row.id());
        self.read_at = Some(at);
        let is_sudden = rows.is_empty() && unreadable.is_empty() && !self.rows.is_empty();
        self.empty_since = self.empty_since.filter(|_| is_sudden).or(is_sudden.then_some(at));
        let emptied = (is_sudden && shows_all).then_some(self.rows.len());
        let shows_all = shows_all && self.empty_since.is_none_or(|since| at - since >= EMPTY_FOR);
        self.complete = shows_all && unreadable.is_empty();
        self.was_complete |= self.complete;
        let has = |old: &&T| rows.binary_search_by_key(&old.id(), Resource::id).is_ok();
        let not_shown = self.rows.iter().filter(|old| !has(old));
        let is_missing = |old: &&T| self.missing.contains(&old.id().into());
        let is_there = |old: &&T| unreadable.contains(&old.id().into());
        let (kept, removed): (Vec<&T>, Vec<&T>) =
            not_shown.partition(|old| !shows_all || is_there(old) || !is_missing(old));
        let removed = removed.into_iter().map(last_name).collect();
        let missing = kept.iter().filter(|old| !is_there(old) && (shows_all || is_missing(old)));
        let missing: BTreeSet<u64> = missing.map(|old| old.id().into()).collect();
        let shown = rows.iter().map(|row| row.id().into()).collect();
        let kept: Vec<T> = kept.into_iter().cloned().collect();
        if !kept.is_empty() {
            rows.extend(kept);
            rows.sort_by_key(Resource::id);
        }
        (self.missing, self.unreadable) = (missing, unreadable);
        if *self.rows != rows {
            rows.shrink_to_fit();
            self.rows = Arc::new(rows);
        }
        Seen { shown, removed, stopped: BTreeSet::new(), emptied, shows_all }
    }
}

#[cfg(test)]
mod tests;
