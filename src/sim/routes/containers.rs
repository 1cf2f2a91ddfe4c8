//! Containers: the five operations of section 4.1.

use super::{Request, named, page};
use crate::answer::{Outcome, Refusal};
use crate::validate::Fields;
use crate::wire::Wire;
use crate::world::World;
use crate::world::records::Container;

pub(super) fn route(world: &mut World, rq: &Request<'_>, rest: &[&str]) -> Outcome {
    match (rq.method, rest) {
        ("GET", []) => page::entities(rq, world.containers.rows(), |c| Some(Wire(world).container(c))),
        ("POST", []) => create(world, rq),
        ("GET", [part]) => shown(world, named(&world.containers, part)?, 200),
        ("PUT", [part]) => update(world, rq, part),
        ("DELETE", [part]) => delete(world, part),
        _ => rq.not_allowed(),
    }
}

fn shown(world: &World, id: u64, status: u16) -> Outcome {
    super::shown(&world.containers, id, status, |container| Wire(world).container(container))
}

/// Sizes are in MB, and greater than 0.
const MOST_MB: i64 = u32::MAX as i64;

fn create(world: &mut World, rq: &Request<'_>) -> Outcome {
    let mut fields = Fields::json(rq.body)?;
    let name = fields.required_text("name");
    let memory_limit = fields.required_int("memory_limit");
    let quota = fields.required_int("quota");
    let environment = fields.required_int("environment");
    for (field, value, low, high) in [
        ("memory_limit", memory_limit, 1, MOST_MB),
        ("quota", quota, 1, MOST_MB),
        ("environment", environment, 0, 3),
    ] {
        let there = fields.has(field);
        fields.check(field, !there || (low..=high).contains(&value), format!("must be from {low} to {high}"));
    }
    fields.text("password");
    fields.flag("create_packet");
    let redis = fields.int_within("redis", 0, MOST_MB).filter(|mb| *mb > 0);
    let memcache = fields.int_within("memcache", 0, MOST_MB).filter(|mb| *mb > 0);
    fields.finish()?;
    let now = world.local_now();
    let new = Container { name, memory_limit, quota, environment, redis, memcache, ..Container::default() };
    let id = world.add_container(new, now, true);
    shown(world, id, 201)
}

fn update(world: &mut World, rq: &Request<'_>, part: &str) -> Outcome {
    let id = named(&world.containers, part)?;
    let mut fields = Fields::json(rq.body)?;
    let name = fields.has("name").then(|| fields.required_text("name"));
    let memory_limit = fields.int_within("memory_limit", 1, MOST_MB);
    let quota = fields.int_within("quota", 1, MOST_MB);
    let (redis, memcache) = (fields.int_or_null("redis"), fields.int_or_null("memcache"));
    fields.text("password");
    fields.flag("update_packet");
    fields.finish()?;
    world.touch_container(id);
    if let Some(container) = world.containers.get_mut(id) {
        container.name = name.unwrap_or_else(|| container.name.clone());
        container.memory_limit = memory_limit.unwrap_or(container.memory_limit);
        container.quota = quota.unwrap_or(container.quota);
        container.redis = redis.unwrap_or(container.redis).filter(|mb| *mb > 0);
        container.memcache = memcache.unwrap_or(container.memcache).filter(|mb| *mb > 0);
    }
    // Section 4.1 has 201 for an update as well.
    shown(world, id, 201)
}

/// Deletes a container. The interface does not show when that is forbidden. Here it is while the container has
/// sites or is being transferred.
fn delete(world: &mut World, part: &str) -> Outcome {
    let id = named(&world.containers, part)?;
    let container = world.containers.get(id).ok_or_else(|| Refusal::not_found("container"))?;
    if !container.sites.is_empty() || container.in_transfer {
        let why = if container.in_transfer { "it is being transferred" } else { "there are sites in it" };
        return Err(Refusal::new(400, "container", format!("deletion is forbidden: {why}")));
    }
    let answer = shown(world, id, 200);
    world.remove_container(id);
    answer
}
