//! SSH keys, deprecated: the four operations of section 4.6.

use super::{Request, id, page};
use crate::sim::answer::{Answer, Outcome, Refusal};
use crate::sim::validate::Fields;
use crate::sim::world::World;

pub(super) fn route(world: &mut World, rq: &Request<'_>, rest: &[&str]) -> Option<Outcome> {
    match (rq.method, rest) {
        ("GET", []) => {
            let wire = rq.wire(world);
            Some(page::numbered(rq, world.keys.rows(), |key| wire.key(key)))
        }
        ("POST", []) => Some(create(world, rq)),
        ("GET", [part]) => Some(id(part, "ssh key").and_then(|id| shown(world, rq, id, 200))),
        ("DELETE", [part]) => Some(id(part, "ssh key").and_then(|id| {
            world.remove_key(id).ok_or_else(|| Refusal::not_found("ssh key"))?;
            Ok(Answer::empty(204))
        })),
        _ => None,
    }
}

fn shown(world: &World, rq: &Request<'_>, id: u64, status: u16) -> Outcome {
    let key = world.keys.get(id).ok_or_else(|| Refusal::not_found("ssh key"))?;
    Ok(Answer::json(status, &rq.wire(world).key(key)))
}

fn create(world: &mut World, rq: &Request<'_>) -> Outcome {
    let mut fields = Fields::form(rq.body);
    let (title, pubkey) = (fields.required_text("title"), fields.required_text("pubkey"));
    let mut words = pubkey.split_ascii_whitespace();
    let looks = words.next().is_some_and(|kind| kind.contains("ssh") || kind.starts_with("ecdsa"))
        && words.next().is_some();
    fields.check(
        "pubkey",
        pubkey.trim().is_empty() || looks,
        "must be a public key: its kind, then its body",
    );
    fields.finish()?;
    let id = world.add_key(title, pubkey);
    Ok(shown(world, rq, id, 201)?.with("location", rq.location("ssh-keys", id)))
}
