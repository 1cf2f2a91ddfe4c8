//! The 46 operations of section 4, by method and path. Each submodule answers one of its tables.
//! Credentials, limits and faults are dealt with before it comes here.

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
use super::options::{Args, SshKeys};
use super::wire::Wire;
use super::world::World;

/// One request, read.
pub(super) struct Request<'a> {
    pub method: &'a str,
    /// the path as sent
    pub path: &'a str,
    /// its parts, without the slashes at both ends
    pub parts: &'a [&'a str],
    pub query: &'a [(String, String)],
    pub body: &'a [u8],
    /// from the Host header: what absolute URLs are built with
    pub host: &'a str,
    pub args: &'a Args,
    /// rows by which pages after the first are shifted (a fault)
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

    /// Renders records.
    pub(super) fn wire<'w>(&'w self, world: &'w World) -> Wire<'w> {
        Wire { world, args: self.args }
    }
}

/// The id in a path; anything else names nothing.
fn id(part: &str, what: &str) -> Result<u64, Refusal> {
    part.parse().map_err(|_| Refusal::not_found(what))
}

/// Answers a request.
pub(super) fn route(world: &mut World, rq: &Request<'_>) -> Outcome {
    // Every documented path ends in a slash; without it there is nothing there.
    if !rq.path.ends_with('/') {
        return Err(Refusal::not_found("path"));
    }
    let answer = match rq.parts {
        ["api", "v1", "hosting", "containers", rest @ ..] => containers::route(world, rq, rest),
        ["api", "v1", "hosting", "dbms", rest @ ..] => databases::route(world, rq, rest),
        ["api", "v2", "hosting", "containers", id, "virtualhosts"] => sites::of_container(world, rq, id),
        ["api", "v2", "hosting", "virtualhosts", id, "cron"] => cron::of_site(world, rq, id),
        ["api", "v2", "hosting", "virtualhosts", rest @ ..] => sites::route(world, rq, rest),
        ["api", "v2", "hosting", "cron", rest @ ..] => cron::route(world, rq, rest),
        ["api", "cvds", "v1", "vms", rest @ ..] => vms::route(world, rq, rest),
        ["api", "cvds", "v1", "ssh-keys", ..] if rq.args.ssh_keys == SshKeys::Gone => {
            Some(Err(Refusal::new(410, "", "the SSH keys API stopped working on 1 January 2021")))
        }
        ["api", "cvds", "v1", "ssh-keys", rest @ ..] => keys::route(world, rq, rest),
        ["api", "cvds", "v1", "ips", rest @ ..] => ips::route(world, rq, rest),
        ["api", "v1", "expected_balance", date] => billing::expected_balance(world, rq, date),
        ["api", "v1", "charge", rest @ ..] => billing::charges(world, rq, rest),
        _ => return Err(Refusal::not_found("path")),
    };
    // The path is one of ours, the method on it is not.
    answer.unwrap_or_else(|| Err(Refusal::new(405, "method", format!("{} is not allowed here", rq.method))))
}

/// 200 with a record.
fn ok(record: &impl serde::Serialize) -> Option<Outcome> {
    Some(Ok(Answer::json(200, record)))
}
