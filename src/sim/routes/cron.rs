//! Cron jobs: the five operations of section 4.4.

use super::{Request, named, page};
use crate::answer::{Outcome, Refusal};
use crate::validate::Fields;
use crate::wire::plain;
use crate::world::World;
use crate::world::records::CRON_FIELDS;
use std::collections::BTreeMap;

pub(super) fn route(world: &mut World, rq: &Request<'_>, rest: &[&str]) -> Outcome {
    match (rq.method, rest) {
        ("POST", []) => create(world, rq),
        ("GET", [part]) => shown(world, named(&world.cron_jobs, part)?),
        ("PUT", [part]) => update(world, rq, part),
        ("DELETE", [part]) => {
            let id = named(&world.cron_jobs, part)?;
            let answer = shown(world, id);
            world.remove_cron_job(id);
            answer
        }
        _ => rq.not_allowed(),
    }
}

/// Jobs of a site.
pub(super) fn of_site(world: &World, rq: &Request<'_>, part: &str) -> Outcome {
    if rq.method != "GET" {
        return rq.not_allowed();
    }
    let id = named(&world.sites, part)?;
    let jobs = world.sites.get(id).map_or(&[][..], |site| &site.cron_jobs);
    page::entities(rq, jobs, |id| world.cron_jobs.get(*id).map(plain))
}

fn shown(world: &World, id: u64) -> Outcome {
    super::shown(&world.cron_jobs, id, 200, plain)
}

/// Schedule, command and comment. The interface does not show the full syntax of the schedule, so any text
/// without blanks is accepted.
fn job(fields: &mut Fields) -> (BTreeMap<&'static str, String>, String, Option<String>) {
    let schedule = CRON_FIELDS.map(|name| {
        let text = fields.required_text(name);
        fields.check(name, !text.trim().contains(char::is_whitespace), "must not contain blanks");
        (name, text)
    });
    (schedule.into(), fields.required_text("command"), fields.text("comment"))
}

fn create(world: &mut World, rq: &Request<'_>) -> Outcome {
    let mut fields = Fields::json(rq.body)?;
    let site = u64::try_from(fields.required_int("virtualhost_id")).unwrap_or(0);
    let (schedule, command, comment) = job(&mut fields);
    fields.finish()?;
    if world.sites.get(site).is_none() {
        return Err(Refusal::not_found("site"));
    }
    let now = world.local_now();
    let id = world.add_cron_job(site, schedule, command, comment.unwrap_or_default(), now);
    shown(world, id)
}

fn update(world: &mut World, rq: &Request<'_>, part: &str) -> Outcome {
    let id = named(&world.cron_jobs, part)?;
    let mut fields = Fields::json(rq.body)?;
    let (schedule, command, comment) = job(&mut fields);
    fields.finish()?;
    let now = world.local_now();
    if let Some(job) = world.cron_jobs.get_mut(id) {
        job.schedule = schedule;
        job.command = command;
        job.comment = comment.unwrap_or_else(|| job.comment.clone());
        job.updated = now;
    }
    shown(world, id)
}
