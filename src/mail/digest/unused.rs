//! The resources of a digest that somebody pays for and perhaps nobody needs: VMs that have been stopped for long, IP addresses
//! without a VM. No amounts: the provider does not tell what a stopped VM costs. Pure.

use std::collections::BTreeSet;

use chrono::Duration;

use super::accounts::AccountWeek;
use crate::alert::{Item, Key, Kind};
use crate::mail::body::Section;
use crate::mail::context::Context;
use crate::mail::parts::MOST_NAMES;
use crate::model::freshness::is_fresh;
use crate::model::{AccountName, AccountState, Collector, Ip, Vm, VmState, sanitize};
use crate::view::words;

/// The time for which a VM has been stopped.
const STOPPED_FOR: Duration = Duration::days(30);

/// A line for each of them.
pub(super) fn section(open: &[&Item], accounts: &[AccountWeek<'_>], context: &Context<'_>) -> Section {
    let language = context.language;
    let several = accounts.len() > 1;
    let whose = |name: String, account: &AccountName| {
        if several { format!("{name} ({account})") } else { name }
    };
    let of_each = |names: fn(&AccountState, &[&Item], &Context<'_>) -> Vec<String>| -> Vec<String> {
        let states = accounts.iter().filter_map(|account| account.state);
        let names = states.flat_map(|state| {
            names(state, open, context).into_iter().map(|name| whose(name, &state.profile.name))
        });
        names.collect()
    };
    let is_long = |item: &&&Item| item.key.kind == Kind::VmStopped && context.now - item.began >= STOPPED_FOR;
    let stopped = open.iter().filter(is_long);
    let stopped: Vec<String> = stopped.map(|item| whose(item.name().to_owned(), &item.key.account)).collect();
    let all = [
        (stopped, "VMs stopped for 30 days or longer", "Серверы, остановленные 30 дней или дольше"),
        (
            of_each(stopped_without_incident),
            "VMs that are stopped and had no mail",
            "Остановленные серверы, о которых не было письма",
        ),
        (of_each(without_vm), "IP addresses without a VM", "IP-адреса без сервера"),
    ];
    let lines = all.into_iter().filter(|(names, ..)| !names.is_empty()).map(|(names, en, ru)| {
        format!("{}: {}.", language.pick(en, ru), words::few(&names, MOST_NAMES, language))
    });
    let title = language.pick("Perhaps no longer needed", "Возможно, больше не нужно");
    Section { lines: lines.collect(), ..Section::new(title) }
}

/// VMs that were stopped before they were first seen, or while nobody watched: no incident tells since when.
fn stopped_without_incident(state: &AccountState, open: &[&Item], context: &Context<'_>) -> Vec<String> {
    let vms = &state.vms;
    if !is_fresh(&state.profile, Collector::Vms, vms.read_at, context.now) {
        return Vec::new();
    }
    let is_listed = |vm: &Vm| {
        let key = Key::new(&state.profile.name, Kind::VmStopped, vm.id.get());
        open.iter().any(|item| item.key == key)
    };
    let stopped = vms.rows.iter().filter(|vm| vm.state == VmState::Stopped && !is_listed(vm));
    stopped
        .map(|vm| vm.name.as_deref().map_or_else(|| vm.id.to_string(), |name| sanitize::one_line(name, 60)))
        .collect()
}

/// The addresses that no VM has, by whole and fresh listings. The interface does not tell how such an address is shown (2.7), so
/// at least one address has to name its VM.
fn without_vm(state: &AccountState, _: &[&Item], context: &Context<'_>) -> Vec<String> {
    let is_known = |collector, complete: bool, read_at| {
        complete && is_fresh(&state.profile, collector, read_at, context.now)
    };
    let (ips, vms) = (&state.ips, &state.vms);
    let are_known = is_known(Collector::Ips, ips.complete, ips.read_at)
        && is_known(Collector::Vms, vms.complete, vms.read_at);
    if !are_known || ips.rows.iter().all(|ip| ip.vm.is_none()) {
        return Vec::new();
    }
    let of_vms: BTreeSet<&str> = vms
        .rows
        .iter()
        .flat_map(|vm| vm.ips.iter().flatten())
        .filter_map(|ip| ip.address.as_deref())
        .collect();
    let is_named = |ip: &Ip| ip.address.as_deref().is_some_and(|address| of_vms.contains(address));
    let is_free = |ip: &&Ip| ip.vm.is_none_or(|vm| vms.get(vm).is_none()) && !is_named(ip);
    let free = ips.rows.iter().filter(is_free);
    free.map(|ip| {
        let address = ip.address.as_deref();
        address.map_or_else(|| ip.id.to_string(), |address| sanitize::one_line(address, 45))
    })
    .collect()
}
