//! SSH keys, deprecated: the four operations of section 4.6.

use super::{Request, named, page};
use crate::answer::{Answer, Outcome};
use crate::validate::Fields;
use crate::wire::plain;
use crate::world::World;

pub(super) fn route(world: &mut World, rq: &Request<'_>, rest: &[&str]) -> Outcome {
    match (rq.method, rest) {
        ("GET", []) => page::numbered(rq, world.keys.rows(), plain),
        ("POST", []) => create(world, rq),
        ("GET", [part]) => shown(world, named(&world.keys, part)?, 200),
        ("DELETE", [part]) => {
            world.remove_key(named(&world.keys, part)?);
            Ok(Answer::empty(204))
        }
        _ => rq.not_allowed(),
    }
}

fn shown(world: &World, id: u64, status: u16) -> Outcome {
    super::shown(&world.keys, id, status, plain)
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
    Ok(shown(world, id, 201)?.with("location", rq.location("ssh-keys", id)))
}
