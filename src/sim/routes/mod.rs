//! The 46 operations of section 4, by method and path. Each submodule answers one of its tables. Credentials,
//! limits and faults are handled before.

mod billing;
mod containers;
mod cron;
mod databases;
mod ips;
mod keys;
mod page;
mod sites;
mod vms;

use super::answer::{Answer, Outcome, Refusal};
use super::options::Args;
use super::world::World;
use super::world::table::{Keyed, Table};
use serde_json::Value;

/// A parsed request.
pub(super) struct Request<'a> {
    pub method: &'a str,
    /// the path as sent
    pub path: &'a str,
    /// its parts, without the slashes at both ends
    pub parts: &'a [&'a str],
    pub query: &'a [(String, String)],
    pub body: &'a [u8],
    /// from the Host header, for absolute URLs
    pub host: &'a str,
    pub args: &'a Args,
    /// the number of rows by which pages after the first are shifted (a fault)
    pub shift: i64,
}

impl Request<'_> {
    /// The last value of a query parameter.
    pub(super) fn param(&self, name: &str) -> Option<&str> {
        self.query.iter().rev().find(|(k, _)| k == name).map(|(_, v)| v.as_str())
    }

    /// Absolute URL of a record, for a Location header.
    pub(super) fn location(&self, of: &str, id: u64) -> String {
        format!("http://{}/api/cvds/v1/{of}/{id}/", self.host)
    }

    /// The error for a known path with a wrong method.
    fn not_allowed(&self) -> Outcome {
        Err(Refusal::new(405, "method", format!("{} is not allowed here", self.method)))
    }
}

/// The id in a path, if there is such a row.
fn named<T: Keyed>(table: &Table<T>, part: &str) -> Result<u64, Refusal> {
    let row = part.parse().ok().and_then(|id| table.get(id));
    row.map(Keyed::id).ok_or_else(|| Refusal::not_found(table.what))
}

/// A row in its present state.
fn shown<'w, T: Keyed>(table: &'w Table<T>, id: u64, status: u16, show: impl Fn(&'w T) -> Value) -> Outcome {
    let row = table.get(id).ok_or_else(|| Refusal::not_found(table.what))?;
    Ok(Answer::json(status, &show(row)))
}

/// Answers a request.
pub(super) fn route(world: &mut World, rq: &Request<'_>) -> Outcome {
    // Every documented path ends in a slash.
    if !rq.path.ends_with('/') {
        return Err(Refusal::not_found("path"));
    }
    match rq.parts {
        ["api", "v1", "hosting", "containers", rest @ ..] => containers::route(world, rq, rest),
        ["api", "v1", "hosting", "dbms", rest @ ..] => databases::route(world, rq, rest),
        ["api", "v2", "hosting", "containers", id, "virtualhosts"] => sites::of_container(world, rq, id),
        ["api", "v2", "hosting", "virtualhosts", id, "cron"] => cron::of_site(world, rq, id),
        ["api", "v2", "hosting", "virtualhosts", rest @ ..] => sites::route(world, rq, rest),
        ["api", "v2", "hosting", "cron", rest @ ..] => cron::route(world, rq, rest),
        ["api", "cvds", "v1", "vms", rest @ ..] => vms::route(world, rq, rest),
        ["api", "cvds", "v1", "ssh-keys", rest @ ..] => keys::route(world, rq, rest),
        ["api", "cvds", "v1", "ips", rest @ ..] => ips::route(world, rq, rest),
        ["api", "v1", "expected_balance", date] => billing::expected_balance(world, rq, date),
        ["api", "v1", "charge", rest @ ..] => billing::charges(world, rq, rest),
        _ => Err(Refusal::not_found("path")),
    }
}
