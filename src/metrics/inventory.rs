//! What hangs off an account, its sites and its VMs: databases, cron jobs, IP addresses, SSH keys.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use super::encoder::{Completed, Sink};
use super::family::Family;
use super::parts::shard_of;
use super::table;
use super::text::Label;
use crate::model::freshness::is_fresh;
use crate::model::{AccountState, Collector, SiteId, Tally};

/// The account as configured.
pub(super) fn account(state: &AccountState, sink: &mut Sink<'_>) {
    let zone = state.profile.time_zone.map(|zone| zone.name());
    sink.family(&table::ACCOUNT_INFO, |lines| {
        lines.put(&[Label::Text(&state.profile.currency), Label::maybe(zone)], true);
    });
}

/// Databases of each site of one shard.
pub(super) fn databases(state: &AccountState, shard: u64, now: DateTime<Utc>, sink: &mut Sink<'_>) {
    tallies(state, Collector::Databases, &state.databases, shard, now, &table::DATABASES, sink);
}

/// Cron jobs of each site of one shard.
pub(super) fn cron_jobs(state: &AccountState, shard: u64, now: DateTime<Utc>, sink: &mut Sink<'_>) {
    tallies(state, Collector::CronJobs, &state.cron_jobs, shard, now, &table::CRON_JOBS, sink);
}

/// IP records (interface 2.7).
pub(super) fn ips(state: &AccountState, now: DateTime<Utc>, sink: &mut Sink<'_>) {
    if !is_fresh(&state.profile, Collector::Ips, state.ips.read_at, now) {
        return;
    }
    sink.family(&table::IP_INFO, |lines| {
        for ip in state.ips.rows.iter() {
            let vm = ip.vm.map_or(Label::Text(""), |vm| Label::Id(vm.get()));
            lines.put(&[Label::Id(ip.id.get()), Label::maybe(ip.address.as_deref()), vm], true);
        }
    });
}

/// SSH keys (interface 2.6): how many.
pub(super) fn ssh_keys(state: &AccountState, completed: &Completed, now: DateTime<Utc>, sink: &mut Sink<'_>) {
    let fresh = is_fresh(&state.profile, Collector::SshKeys, state.ssh_keys.read_at, now);
    if fresh && completed.listings.contains(&Collector::SshKeys) {
        sink.family(&table::SSH_KEYS, |lines| lines.put(&[], state.ssh_keys.rows.len() as u64));
    }
}

fn tallies(
    state: &AccountState,
    collector: Collector,
    tallies: &BTreeMap<SiteId, Tally>,
    shard: u64,
    now: DateTime<Utc>,
    family: &'static Family,
    sink: &mut Sink<'_>,
) {
    sink.family(family, |lines| {
        for (site, tally) in tallies.iter().filter(|(site, _)| shard_of(site.get()) == shard) {
            if is_fresh(&state.profile, collector, Some(tally.read_at), now) {
                lines.put(&[Label::Id(site.get())], tally.count);
            }
        }
    });
}
