//! The account, and the databases, cron jobs, IP addresses and SSH keys of it, its sites and its VMs.

use super::family::{Family, facts};
use super::given::Given;
use super::text::{Label, Lines};
use crate::model::{Collector, SiteId};

/// In seconds.
const DAY: u64 = 86_400;

pub(super) const ACCOUNT: &[Family] = facts! {
    Account "hosting_account_info" ["currency", "time_zone"]
        "Currency and time zone of the account as configured, always 1. It is absent until each collector that sees states has read once, now or before the last start. From then on hostwatch_incident_open shows every open incident."
        => |given, lines| {
            if !given.incidents.are_known {
                return;
            }
            let profile = &given.state.profile;
            let zone = profile.time_zone.map(|zone| zone.name());
            lines.put(&[Label::Text(&profile.currency), Label::maybe(zone)], true);
        };
    Account "hosting_billing_lead_seconds" []
        "How long a payment takes to arrive, billing.lead_days in seconds, absent where billing is not polled."
        => |given, lines| {
            let profile = &given.state.profile;
            let polled = profile.collectors.contains(&Collector::ExpectedBalance);
            lines.maybe(&[], polled.then_some(u64::from(profile.lead_days) * DAY));
        };
};

pub(super) const FAMILIES: &[Family] = facts! {
    Of(Databases) "hosting_databases" ["site"] "Databases of the site."
        => |given, lines| counts(given, Collector::Databases, lines);
    Of(CronJobs) "hosting_cron_jobs" ["site"] "Cron jobs of the site."
        => |given, lines| counts(given, Collector::CronJobs, lines);
    Of(Ips) "hosting_ip_info" ["ip", "address", "vm"]
        "The IP record with this id: its address and the numeric id of its VM, always 1."
        => |given, lines| {
            for ip in given.rows(Collector::Ips, &given.state.ips) {
                let vm = ip.vm.map_or(Label::Text(""), |vm| Label::Id(vm.get()));
                lines.put(&[Label::Id(ip.id.get()), Label::maybe(ip.address.as_deref()), vm], true);
            }
        };
    Of(SshKeys) "hosting_ssh_keys" [] "SSH keys of the account, once the listing was read completely."
        => |given, lines| counts(given, Collector::SshKeys, lines);
};

fn counts(given: &Given<'_>, collector: Collector, lines: &mut Lines<'_>) {
    for (site, tally) in given.state.counted.get(&collector).into_iter().flatten() {
        let label = site.map(|site| Label::Id(site.get()));
        if given.wants(site.map_or(0, SiteId::get)) && given.is_fresh(collector, Some(tally.read_at)) {
            lines.put(label.as_slice(), tally.count);
        }
    }
}
