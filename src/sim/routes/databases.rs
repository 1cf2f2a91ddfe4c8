//! Databases: the four operations of section 4.2.

use super::{Request, named, page};
use crate::answer::Outcome;
use crate::validate::Fields;
use crate::wire::plain;
use crate::world::World;

pub(super) fn route(world: &mut World, rq: &Request<'_>, rest: &[&str]) -> Outcome {
    match (rq.method, rest) {
        ("POST", ["databases"]) => create(world, rq),
        ("DELETE", ["databases", part]) => {
            let id = named(&world.databases, part)?;
            let answer = shown(world, id);
            world.remove_database(id);
            answer
        }
        // The code for a missing site is not shown for this list. It is 404, as for the other lists of a site.
        ("GET", [part, "databases"]) => {
            let id = named(&world.sites, part)?;
            let databases = world.sites.get(id).map_or(&[][..], |site| &site.databases);
            page::entities(rq, databases, |id| world.databases.get(*id).map(plain))
        }
        ("PUT", [part, "set-password"]) => set_password(world, rq, part),
        _ => rq.not_allowed(),
    }
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
    shown(world, id)
}

fn shown(world: &World, id: u64) -> Outcome {
    super::shown(&world.databases, id, 200, plain)
}

/// Sets the password of a site's databases, which share one user. The returned record is the first of them.
fn set_password(world: &mut World, rq: &Request<'_>, part: &str) -> Outcome {
    let site = named(&world.sites, part)?;
    let first = world.sites.get(site).and_then(|site| site.databases.first().copied());
    let mut fields = Fields::json(rq.body)?;
    fields.required_text("password");
    fields.check("virtualhost", first.is_some(), "the site has no database");
    fields.finish()?;
    let now = world.local_now();
    let id = first.unwrap_or_default();
    if let Some(database) = world.databases.get_mut(id) {
        database.updated = now;
    }
    shown(world, id)
}
