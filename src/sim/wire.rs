//! Records in their wire form (section 2 of the interface), with the parts that other records hold.

use super::time::moment;
use super::world::World;
use super::world::ledger::{Charge, Order};
use super::world::records::{Container, Site, Vm};
use serde::Serialize;
use serde_json::{Value, json};

/// Renders records of one world.
#[derive(Clone, Copy)]
pub(super) struct Wire<'a>(pub &'a World);

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

/// A record without parts of others.
pub(super) fn plain<T: Serialize>(record: &T) -> Value {
    serde_json::to_value(record).unwrap_or_default()
}

/// Section 2.9.
pub(super) fn charge(c: &Charge) -> Value {
    json!({
        "description": &*c.description,
        "event_date": c.at.date().to_string(),
        "price": format!("{:.2}", c.price),
        "quantity": format!("{}.00", c.quantity),
        "total": format!("{:.2}", c.total()),
        "resource_uri": format!("/api/v1/charge/{}/", c.id),
    })
}

impl Wire<'_> {
    /// Section 2.1.
    pub(super) fn container(&self, c: &Container) -> Value {
        let sites = c.sites.iter().filter_map(|id| self.0.sites.get(*id));
        let mut shown = plain(c);
        // The structure of its items is not shown.
        shown["virtualhosts"] = sites.map(|s| json!({ "id": s.id, "name": s.name })).collect();
        shown
    }

    /// Section 2.3.
    pub(super) fn site(&self, s: &Site) -> Value {
        let mut shown = plain(s);
        shown["environment_variables"] = json!([]);
        shown["read_only_environment_variables"] = json!([format!("SITE_ID={}", s.id)]);
        // The structure of the container inside a site is not shown.
        shown["container"] = self.0.containers.get(s.container).map_or(Value::Null, |c| {
            json!({
                "id": c.id,
                "login": c.login,
                "name": c.name,
                "service_address": c.service_address,
            })
        });
        shown
    }

    /// A VM in lists and reads: its addresses are objects (section 2.5).
    pub(super) fn vm(&self, vm: &Vm) -> Value {
        let ips = vm.ips.iter().filter_map(|id| self.0.ips.get(*id));
        let mut shown = plain(vm);
        shown["ips"] = ips.map(|ip| json!({ "id": ip.id, "ipvalue": ip.value })).collect();
        shown["ssh_keys"] = json!(vm.ssh_keys);
        shown
    }
}
