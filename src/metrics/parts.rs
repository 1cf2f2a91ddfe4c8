//! The parts of an account's metrics, and the source of each. Equal sources give equal text, so only parts
//! whose source changed are encoded again.

use std::any::Any;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use super::family::FactSet;
use super::given::{Given, SHARDS, shard_of};
use crate::model::{Collector, Listing, SiteId, forecast};

/// A section of an account, or one shard of it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct PagePart {
    pub(super) section: FactSet,
    /// 0 if the section is not cut.
    pub(super) shard: u8,
}

/// Everything that a part's text depends on. The rows are kept alive, so that a pointer cannot be reused for
/// other rows.
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
    /// Adds rows to the source.
    fn on<T: Send + Sync + 'static>(mut self, rows: &Arc<T>) -> Self {
        self.rows.push(Arc::clone(rows) as _);
        self
    }

    /// Adds a value to the source.
    fn and(mut self, value: impl Hash) -> Self {
        let mut hasher = DefaultHasher::new();
        (self.rest, value).hash(&mut hasher);
        self.rest = hasher.finish();
        self
    }
}

/// The parts that depend on the `which` collectors, each with its present source.
pub(super) fn sources(given: &Given<'_>, which: &[Collector]) -> Vec<(PagePart, Source)> {
    let state = given.state;
    let mut sources = vec![
        whole(FactSet::Account, start(given).and(given.incidents.are_known)),
        whole(FactSet::Incidents, Source { rows: Vec::new(), rest: 0 }.on(given.incidents)),
    ];
    for &collector in which {
        match collector {
            Collector::Vms => {
                let cut = (0..SHARDS).map(|_| listing(given, collector, &state.vms)).collect();
                sources.extend(shards(FactSet::Of(collector), cut));
            }
            Collector::Containers => {
                sources.push(whole(FactSet::Of(collector), listing(given, collector, &state.containers)));
                // Sites have a part a container. They are counted only if all of them are known.
                sites(given, &mut sources);
            }
            Collector::Sites => sites(given, &mut sources),
            Collector::Databases | Collector::CronJobs => sources.extend(counts(given, collector)),
            Collector::Ips => {
                sources.push(whole(FactSet::Of(collector), listing(given, collector, &state.ips)));
            }
            // The number of the account itself is in the first shard.
            Collector::SshKeys => sources.extend(counts(given, collector).take(1)),
            Collector::ExpectedBalance => {
                // Without a report, the part of an earlier report is removed, since the collector was switched
                // off.
                let start = || state.billing.report.iter().fold(start(given), Source::on);
                // The forecast counts its days from now, so it changes when a charge falls due.
                let read_at = state.billing.read_at;
                let due =
                    state.billing.report.as_deref().map(|report| forecast::due_counts(report, given.now));
                let balance = start().and((given.is_fresh(collector, read_at), read_at, due));
                let newest = state.billing.latest().map(|(_, at)| at);
                let disconnect = start().and((given.is_fresh(collector, read_at), newest));
                sources
                    .extend([whole(FactSet::Of(collector), balance), whole(FactSet::Disconnect, disconnect)]);
            }
            Collector::Charges => {
                let read_at = state.charges.read_at;
                let source = start(given).and(state.charges.amount);
                let source = source.and((given.is_fresh(collector, read_at), read_at));
                sources.push(whole(FactSet::Of(collector), source));
            }
        }
    }
    sources
}

fn start(given: &Given<'_>) -> Source {
    Source { rows: Vec::new(), rest: 0 }.on(&given.state.profile)
}

const fn whole(section: FactSet, source: Source) -> (PagePart, Source) {
    (PagePart { section, shard: 0 }, source)
}

fn shards(section: FactSet, sources: Vec<Source>) -> impl Iterator<Item = (PagePart, Source)> {
    (0..).map(move |shard| PagePart { section, shard }).zip(sources)
}

fn listing<T: Send + Sync + 'static>(
    given: &Given<'_>,
    collector: Collector,
    listing: &Listing<T>,
) -> Source {
    start(given).on(&listing.rows).and((given.is_fresh(collector, listing.read_at), listing.was_complete))
}

fn sites(given: &Given<'_>, sources: &mut Vec<(PagePart, Source)>) {
    let state = given.state;
    let mut cut: Vec<Source> = (0..SHARDS).map(|_| start(given)).collect();
    let mut all = listing(given, Collector::Containers, &state.containers);
    let mut hasher = DefaultHasher::new();
    for (&container, listing) in &state.sites {
        let fresh = given.is_fresh(Collector::Sites, listing.read_at);
        if fresh {
            cut[shard_of(container.get()) as usize].rows.push(Arc::clone(&listing.rows) as _);
        }
        (fresh, listing.was_complete).hash(&mut hasher);
        all.rows.push(Arc::clone(&listing.rows) as _);
    }
    sources.extend(shards(FactSet::Of(Collector::Sites), cut));
    sources.push(whole(FactSet::SiteCounts, all.and(hasher.finish())));
}

fn counts(given: &Given<'_>, collector: Collector) -> impl Iterator<Item = (PagePart, Source)> {
    let mut hashers: Vec<DefaultHasher> = (0..SHARDS).map(|_| DefaultHasher::new()).collect();
    for (site, tally) in given.state.counted.get(&collector).into_iter().flatten() {
        let fresh = given.is_fresh(collector, Some(tally.read_at));
        (site, tally.count, fresh).hash(&mut hashers[shard_of(site.map_or(0, SiteId::get)) as usize]);
    }
    let sources = hashers.into_iter().map(|hasher| start(given).and(hasher.finish())).collect();
    shards(FactSet::Of(collector), sources)
}
