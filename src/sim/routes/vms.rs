//! Virtual machines: the ten operations of section 4.5.

use super::{Request, named, page};
use crate::answer::{Answer, Outcome, Refusal};
use crate::names;
use crate::validate::{Fields, truth};
use crate::wire::{Wire, plain};
use crate::world::World;
use crate::world::records::Vm;
use serde_json::json;

pub(super) fn route(world: &mut World, rq: &Request<'_>, rest: &[&str]) -> Outcome {
    match (rq.method, rest) {
        ("GET", []) => page::numbered(rq, world.vms.rows(), |vm| Wire(world).vm(vm)),
        ("POST", []) => create(world, rq),
        ("GET", [part]) => shown(world, named(&world.vms, part)?),
        ("PATCH", [part]) => change(world, rq, part),
        ("DELETE", [part]) => delete(world, rq, part),
        ("POST", [part, "start"]) => act(world, part, ["stopped", "active"]),
        ("POST", [part, "stop"]) => act(world, part, ["active", "stopped"]),
        // Only a running VM can be rebooted.
        ("POST", [part, "reboot", "soft" | "hard"]) => act(world, part, ["active", "active"]),
        _ => rq.not_allowed(),
    }
}

fn shown(world: &World, id: u64) -> Outcome {
    super::shown(&world.vms, id, 200, |vm| Wire(world).vm(vm))
}

fn create(world: &mut World, rq: &Request<'_>) -> Outcome {
    let mut fields = Fields::form(rq.body);
    let kind = fields.required_text("type");
    let name = fields.text("name").unwrap_or_default();
    let from_disk = fields.has("storage");
    let mut new = Vm { name, kind, ..Vm::default() };
    if from_disk {
        // No operation lists disks, so any id is accepted.
        let storage = fields.required_int("storage");
        fields.check("storage", storage > 0, "must be a disk's id");
        // "When passed": any value except one that means no. A copy is a new disk.
        let is_copy = fields
            .text("storage_copy_origin")
            .is_some_and(|text| truth(&text) != Some(false) || text.is_empty());
        new.storages = u64::try_from(storage).ok().filter(|_| !is_copy).into_iter().collect();
    } else {
        // The lists of prices, architectures and images are not shown, so any value is accepted.
        fields.required_text("arch");
        fields.required_text("image");
        let disk = fields.required_one_of("storage_type", &["vg", "vgssd"]);
        let size = fields.required_int("storage_size");
        let most = if disk == "vgssd" { 80 } else { 250 };
        let fits = size % 5 == 0 && (5..=most).contains(&size);
        let there = fields.has("storage_size");
        fields.check("storage_size", !there || fits, format!("must be a multiple of 5 from 5 to {most}"));
        let key = fields.int("keypair");
        let known = key.is_none_or(|key| u64::try_from(key).is_ok_and(|key| world.keys.get(key).is_some()));
        fields.check("keypair", known, "no such SSH key");
        new.ssh_keys = key.and_then(|key| u64::try_from(key).ok()).into_iter().collect();
    }
    fields.finish()?;
    let id = world.build_vm(new);
    let vm = world.vms.get(id).ok_or_else(|| Refusal::not_found("vm"))?;
    let ip = vm.ips.first().and_then(|ip| world.ips.get(*ip)).map(|ip| ip.value.clone());
    let body = if from_disk {
        json!({ "ip": ip })
    } else {
        let password = names::token(&mut world.rng, 12);
        json!({ "ip": ip, "users": [{ "root": password }] })
    };
    Ok(Answer::json(201, &body).with("location", rq.location("vms", id)))
}

/// Changes a VM. The interface does not show all that can be changed; here it is the tariff, the name and the
/// monitoring.
fn change(world: &mut World, rq: &Request<'_>, part: &str) -> Outcome {
    let id = named(&world.vms, part)?;
    let mut fields = Fields::form(rq.body);
    let kind = fields.has("type").then(|| fields.required_text("type"));
    let name = fields.has("name").then(|| fields.required_text("name"));
    let monitoring = fields.flag("monitoring_enabled");
    fields.finish()?;
    if let Some(vm) = world.vms.get_mut(id) {
        vm.name = name.unwrap_or_else(|| vm.name.clone());
        vm.monitoring = monitoring.unwrap_or(vm.monitoring);
    }
    if let Some(kind) = kind {
        world.retariff_vm(id, kind);
    }
    shown(world, id)
}

fn act(world: &mut World, part: &str, [from, to]: [&'static str; 2]) -> Outcome {
    let id = named(&world.vms, part)?;
    world.act_on_vm(id, from, to)?;
    super::shown(&world.vms, id, 200, plain)
}

fn delete(world: &mut World, rq: &Request<'_>, part: &str) -> Outcome {
    let id = named(&world.vms, part)?;
    let mut fields = Fields::form(rq.body);
    // Disks are only ids, so the flag has no visible effect. It must still be a truth value.
    fields.flag("delete_storages");
    fields.finish()?;
    world.remove_vm(id);
    Ok(Answer::empty(204))
}
