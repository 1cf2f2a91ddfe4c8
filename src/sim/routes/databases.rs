//! Databases: the four operations of section 4.2.

use super::{Request, id, page};
use crate::sim::answer::{Answer, Outcome, Refusal};
use crate::sim::validate::Fields;
use crate::sim::world::World;

pub(super) fn route(world: &mut World, rq: &Request<'_>, rest: &[&str]) -> Option<Outcome> {
    match (rq.method, rest) {
        ("POST", ["databases"]) => Some(create(world, rq)),
        ("DELETE", ["databases", part]) => Some(id(part, "database").and_then(|id| delete(world, rq, id))),
        ("GET", [part, "databases"]) => Some(id(part, "site").and_then(|id| list(world, rq, id))),
        ("PUT", [part, "set-password"]) => Some(id(part, "site").and_then(|id| set_password(world, rq, id))),
        _ => None,
    }
}

fn list(world: &World, rq: &Request<'_>, site: u64) -> Outcome {
    // A missing site's code is not shown for this list; 404 as for its other lists.
    let site = world.sites.get(site).ok_or_else(|| Refusal::not_found("site"))?;
    let wire = rq.wire(world);
    page::entities(rq, &site.databases, |id| world.databases.get(*id).map(|d| wire.database(d)))
}

fn create(world: &mut World, rq: &Request<'_>) -> Outcome {
    let mut fields = Fields::json(rq.body)?;
    let site = fields.required_int("virtualhost_id");
    let (name, charset) = (fields.required_text("name"), fields.required_text("charset"));
    let site = u64::try_from(site).unwrap_or(0);
    let there = !fields.has("virtualhost_id") || world.sites.get(site).is_some();
    // Only 200 and 400 are listed for this operation.
    fields.check("virtualhost_id", there, "no such site");
    fields.finish()?;
    let now = world.local_now();
    let id = world.add_database(site, name, charset, now);
    shown(world, rq, id)
}

fn shown(world: &World, rq: &Request<'_>, id: u64) -> Outcome {
    let database = world.databases.get(id).ok_or_else(|| Refusal::not_found("database"))?;
    Ok(Answer::json(200, &rq.wire(world).database(database)))
}

fn delete(world: &mut World, rq: &Request<'_>, id: u64) -> Outcome {
    let answer = shown(world, rq, id)?;
    world.remove_database(id);
    Ok(answer)
}

/// The account of a site's databases is one; the record that comes back is the first of them.
fn set_password(world: &mut World, rq: &Request<'_>, site: u64) -> Outcome {
    let first = world.sites.get(site).ok_or_else(|| Refusal::not_found("site"))?.databases.first().copied();
    let mut fields = Fields::json(rq.body)?;
    fields.required_text("password");
    fields.check("virtualhost", first.is_some(), "the site has no database");
    fields.finish()?;
    let now = world.local_now();
    let id = first.unwrap_or_default();
    if let Some(database) = world.databases.get_mut(id) {
        database.updated = now;
    }
    shown(world, rq, id)
}
