//! Sites (interface 2.3) as metrics. Each container's listing ages by itself.

use chrono::{DateTime, Utc};

use super::encoder::{Completed, Sink};
use super::parts::shard_of;
use super::text::{Label, Value};
use super::{Settings, family::Family, states, table};
use crate::model::freshness::is_fresh;
use crate::model::{AccountState, Collector, Listing, Site, SiteState};

/// The sites of one shard's containers.
pub(super) fn encode(
    state: &AccountState,
    shard: u64,
    settings: &Settings,
    now: DateTime<Utc>,
    sink: &mut Sink<'_>,
) {
    let listings = state.sites.iter().filter(|(container, _)| shard_of(container.get()) == shard);
    let listings = listings.filter(|(_, listing)| fresh(state, listing, now));
    let sites: Vec<&Site> = listings.flat_map(|(_, listing)| listing.rows.iter()).collect();
    sink.family(&table::SITE_INFO, |lines| {
        for site in &sites {
            let labels = [
                Label::Id(site.id.get()),
                Label::maybe(site.name.as_deref()),
                Label::Id(site.container.get()),
                Label::maybe(site.engine.as_deref()),
                Label::maybe(site.engine_version.as_deref()),
            ];
            lines.put(&labels, true);
        }
    });
    sink.family(&table::SITE_STATE, |lines| {
        for site in &sites {
            states::state(
                lines,
                site.id.get(),
                site.state.as_str(),
                SiteState::KNOWN.iter().map(SiteState::as_str),
                settings,
            );
        }
    });
    let seconds = |moment: Option<DateTime<Utc>>| moment.map(|moment| moment.timestamp());
    each(sink, &table::SITE_WORKERS, &sites, |site| site.workers);
    each(sink, &table::SITE_FORCE_HTTPS, &sites, |site| site.force_https);
    each(sink, &table::SITE_CERTIFICATE, &sites, |site| site.certificate_id.map(|id| id != 0));
    each(sink, &table::SITE_CREATED, &sites, |site| seconds(site.created));
    each(sink, &table::SITE_UPDATED, &sites, |site| seconds(site.updated));
}

/// How many sites are in each state; only where those of every container are known.
pub(super) fn counts(state: &AccountState, completed: &Completed, now: DateTime<Utc>, sink: &mut Sink<'_>) {
    let containers = &state.containers;
    let all_known = completed.listings.contains(&Collector::Containers)
        && is_fresh(&state.profile, Collector::Containers, containers.read_at, now)
        && containers.rows.iter().all(|container| {
            completed.sites.contains(&container.id)
                && state.sites.get(&container.id).is_some_and(|listing| fresh(state, listing, now))
        });
    if all_known {
        let current = state.all_sites().map(|site| site.state.as_str());
        sink.family(&table::SITES_COUNT, |lines| {
            states::count(lines, SiteState::KNOWN.iter().map(SiteState::as_str), current);
        });
    }
}

fn fresh(state: &AccountState, listing: &Listing<Site>, now: DateTime<Utc>) -> bool {
    is_fresh(&state.profile, Collector::Sites, listing.read_at, now)
}

fn each<V: Value>(
    sink: &mut Sink<'_>,
    family: &'static Family,
    sites: &[&Site],
    value: impl Fn(&Site) -> Option<V>,
) {
    sink.family(family, |lines| {
        for site in sites {
            lines.maybe(&[Label::Id(site.id.get())], value(site));
        }
    });
}
