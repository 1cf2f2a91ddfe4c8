//! IP addresses of VMs: the five operations of section 4.7.

use super::{Request, named, page};
use crate::answer::{Answer, Outcome, Refusal};
use crate::validate::Fields;
use crate::wire::plain;
use crate::world::World;

pub(super) fn route(world: &mut World, rq: &Request<'_>, rest: &[&str]) -> Outcome {
    match (rq.method, rest) {
        ("GET", []) => list(world, rq),
        ("POST", []) => create(world, rq),
        ("GET", [part]) => shown(world, named(&world.ips, part)?, 200),
        ("DELETE", [part]) => {
            world.remove_ip(named(&world.ips, part)?);
            Ok(Answer::empty(204))
        }
        _ => rq.not_allowed(),
    }
}

/// All addresses, or those of the VM that `vm` names by its id or its `vm_id`. An unknown VM has none.
fn list(world: &World, rq: &Request<'_>) -> Outcome {
    let Some(wanted) = rq.param("vm") else {
        return page::numbered(rq, world.ips.rows(), plain);
    };
    let number = wanted.parse().ok();
    let vm = world.vms.rows().iter().find(|vm| Some(vm.id) == number || vm.vm_id == wanted);
    let rows: Vec<_> =
        vm.map(|vm| vm.ips.iter().filter_map(|id| world.ips.get(*id)).collect()).unwrap_or_default();
    page::numbered(rq, &rows, plain)
}

fn shown(world: &World, id: u64, status: u16) -> Outcome {
    super::shown(&world.ips, id, status, plain)
}

fn create(world: &mut World, rq: &Request<'_>) -> Outcome {
    let mut fields = Fields::form(rq.body);
    let (vm_id, version) = (fields.required_text("vm_id"), fields.required_int("version"));
    let there = fields.has("version");
    fields.check("version", !there || version == 4 || version == 6, "must be 4 or 6");
    fields.finish()?;
    let vm = world.vms.rows().iter().find(|vm| vm.vm_id == vm_id).map(|vm| vm.id);
    let vm = vm.ok_or_else(|| Refusal::new(403, "vm_id", "no such VM, or not yours"))?;
    let id = world.add_ip(vm, version);
    Ok(shown(world, id, 201)?.with("location", rq.location("ips", id)))
}
