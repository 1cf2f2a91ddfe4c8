//! Sites (interface 2.3) as metrics. The listing of each container becomes stale on its own.

use super::family::{Family, facts};
use super::given::Given;
use super::states;
use super::text::Label;
use crate::model::{Collector, Listing, Site, SiteState};

pub(super) const FAMILIES: &[Family] = facts! {
    Of(Sites) "hosting_site_info" ["site", "name", "container", "engine", "engine_version"]
        "Descriptions of the site with this id, always 1."
        => |given, lines| lines.info(sites(given), |site| [
            Label::Id(site.id.get()),
            Label::maybe(site.name.as_deref()),
            Label::Id(site.container.get()),
            Label::maybe(site.engine.as_deref()),
            Label::maybe(site.engine_version.as_deref()),
        ]);
    Of(Sites) "hosting_site_state" ["site", "state"] "State of the site, 1 on the current one."
        => |given, lines| {
            let states = sites(given).map(|site| (site.id.get(), site.state.as_str()));
            states::each(lines, states, SiteState::known_names, given.state_series);
        };
    Of(Sites) "hosting_site_workers" ["site"] "Workers of the site."
        => |given, lines| lines.each(sites(given), |site| site.workers);
    Of(Sites) "hosting_site_force_https" ["site"]
        "Whether the site redirects to HTTPS (0 or 1); effective only with a certificate."
        => |given, lines| lines.each(sites(given), |site| site.force_https);
    Of(Sites) "hosting_site_certificate" ["site"] "Whether the site has a TLS certificate (0 or 1)."
        => |given, lines| lines.each(sites(given), |site| site.certificate_id.map(|id| id != 0));
    Of(Sites) "hosting_site_created_timestamp_seconds" ["site"]
        "When the site was created, in seconds since the Unix epoch."
        => |given, lines| lines.each(sites(given), |site| site.created);
    Of(Sites) "hosting_site_updated_timestamp_seconds" ["site"]
        "When the site was changed last, in seconds since the Unix epoch."
        => |given, lines| lines.each(sites(given), |site| site.updated);
    SiteCounts "hosting_sites" ["state"]
        "Sites by state, once those of every known container were read completely."
        => |given, lines| {
            if all_are_known(given) {
                let sites = given.state.all_sites();
                states::count(lines, SiteState::known_names(), sites.map(|site| site.state.as_str()));
            }
        };
};

/// The sites of the shard's containers.
fn sites<'a>(given: &Given<'a>) -> impl Iterator<Item = &'a Site> {
    let given = *given;
    let listings = given.state.sites.iter().filter(move |(container, _)| given.wants(container.get()));
    listings.flat_map(move |(_, listing)| given.rows(Collector::Sites, listing))
}

fn all_are_known(given: &Given<'_>) -> bool {
    let is_known =
        |sites: &Listing<Site>| sites.was_complete && given.is_fresh(Collector::Sites, sites.read_at);
    let containers = given.counted(Collector::Containers, &given.state.containers);
    containers.is_some_and(|containers| {
        containers.iter().all(|container| given.state.sites.get(&container.id).is_some_and(is_known))
    })
}
