//! Records in their wire form, field by field as in section 2 of the interface.

use super::time::moment;
use super::world::World;
use super::world::ledger::{Charge, Order};
use super::world::records::{Container, CronJob, Database, Ip, Key, Site, Vm};
use serde_json::{Value, json};

/// Renders records of one world.
#[derive(Clone, Copy)]
pub(super) struct Wire<'a>(pub &'a World);

/// memcache and redis of a container. The interface does not show their structure.
fn service(memory: Option<i64>) -> Value {
    json!({ "enabled": memory.is_some(), "memory_limit": memory.unwrap_or(0) })
}

/// Section 2.8, Order.
pub(super) fn order(order: &Order) -> Value {
    let tariff = &order.tariff;
    json!({
        "id": order.id,
        "comment": order.comment,
        "last_charge_date": order.last_charge.map(moment),
        "paid_till": order.paid_till.map(moment),
        "start_date": moment(order.start),
        "end_date": order.end.map(moment),
        "state": order.state,
        "tariff": {
            "id": tariff.id,
            "amount": format!("{:.2}", tariff.amount),
            "billing_period": tariff.billing,
            "charge_period": tariff.charge,
            "generic_type": tariff.generic_type,
            "independent": tariff.independent,
            "name": &*tariff.name,
            "short_name": tariff.short_name,
            "type": tariff.kind,
        },
    })
}

impl Wire<'_> {
    /// Section 2.1.
    pub(super) fn container(&self, c: &Container) -> Value {
        let sites = c.sites.iter().filter_map(|id| self.0.sites.get(*id));
        // The structure of its items is not shown.
        let sites: Vec<Value> = sites.map(|s| json!({ "id": s.id, "name": s.name })).collect();
        json!({
            "id": c.id,
            "login": c.login,
            "name": c.name,
            "service_address": c.service_address,
            "service_ip": c.service_ip,
            "memory_limit": c.memory_limit,
            "quota": c.quota,
            "state": c.state.0,
            "created": moment(c.created),
            "updated": moment(c.updated),
            "environment": c.environment,
            "virtualhosts": sites,
            "memcache": service(c.memcache),
            "redis": service(c.redis),
            "is_in_transfer": c.in_transfer,
        })
    }

    /// Section 2.3.
    pub(super) fn site(&self, s: &Site) -> Value {
        // The structure of the container inside a site is not shown.
        let container = self.0.containers.get(s.container).map(|c| {
            json!({
                "id": c.id,
                "login": c.login,
                "name": c.name,
                "service_address": c.service_address,
            })
        });
        json!({
            "id": s.id,
            "name": s.name,
            "state": s.life.state,
            "created": moment(s.created),
            "updated": moment(s.updated),
            "force_https": s.force_https,
            "certificate_id": s.certificate_id,
            "main_alias": s.main_alias,
            "aliases": s.aliases,
            "engine": s.engine,
            "engine_version": s.engine_version,
            "engine_directives": s.engine_directives,
            "charset": s.charset,
            "cron_mail": s.cron_mail,
            "environment_variables": [],
            "read_only_environment_variables": [format!("SITE_ID={}", s.id)],
            "num_workers": s.num_workers,
            "cache_static": s.cache_static,
            "comment": s.comment,
            "container": container,
        })
    }

    /// Section 2.2.
    pub(super) fn database(&self, d: &Database) -> Value {
        json!({
            "id": d.id,
            "name": d.name,
            "charset": d.charset,
            "created": moment(d.created),
            "updated": moment(d.updated),
        })
    }

    /// Section 2.4.
    pub(super) fn cron(&self, j: &CronJob) -> Value {
        let [minutes, hours, days, months, weekdays] = &j.schedule;
        json!({
            "id": j.id,
            "command": j.command,
            "comment": j.comment,
            "created": moment(j.created),
            "updated": moment(j.updated),
            "virtualhost_id": j.site,
            "minutes": minutes,
            "hours": hours,
            "days": days,
            "months": months,
            "weekdays": weekdays,
        })
    }

    /// A VM in lists and reads: its addresses are objects (section 2.5).
    pub(super) fn vm(&self, vm: &Vm) -> Value {
        let ips = vm.ips.iter().filter_map(|id| self.0.ips.get(*id));
        let ips: Vec<Value> = ips.map(|ip| json!({ "id": ip.id, "ipvalue": ip.value })).collect();
        let mut shown = self.vm_after_action(vm);
        shown["ips"] = ips.into();
        shown["ssh_keys"] = json!(vm.ssh_keys);
        shown
    }

    /// A VM in the answers to start, stop and reboot: its addresses are plain ids.
    pub(super) fn vm_after_action(&self, vm: &Vm) -> Value {
        json!({
            "id": vm.id,
            "vm_id": vm.vm_id,
            "name": vm.name,
            "type": vm.kind,
            "ncpu": vm.ncpu,
            "memsize": vm.memsize,
            "state": vm.life.state,
            "monitoring_enabled": vm.monitoring,
            "ips": vm.ips,
            "storages": vm.storages,
        })
    }

    /// Section 2.6.
    pub(super) fn key(&self, k: &Key) -> Value {
        json!({ "id": k.id, "title": k.title, "pubkey": k.pubkey, "fingerprint": k.fingerprint })
    }

    /// Section 2.7.
    pub(super) fn ip(&self, ip: &Ip) -> Value {
        json!({ "id": ip.id, "ipvalue": ip.value, "vm": ip.vm })
    }

    /// Section 2.9.
    pub(super) fn charge(&self, c: &Charge) -> Value {
        json!({
            "description": &*c.description,
            "event_date": c.at.date().to_string(),
            "price": format!("{:.2}", c.price),
            "quantity": format!("{}.00", c.quantity),
            "total": format!("{:.2}", c.total()),
            "resource_uri": format!("/api/v1/charge/{}/", c.id),
        })
    }
}
