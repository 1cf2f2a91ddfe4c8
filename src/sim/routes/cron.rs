//! Cron jobs: the five operations of section 4.4.

use super::{Request, id, page};
use crate::sim::answer::{Answer, Outcome, Refusal};
use crate::sim::validate::Fields;
use crate::sim::world::World;

pub(super) fn route(world: &mut World, rq: &Request<'_>, rest: &[&str]) -> Option<Outcome> {
    match (rq.method, rest) {
        ("POST", []) => Some(create(world, rq)),
        ("GET", [part]) => Some(id(part, "cron job").and_then(|id| shown(world, rq, id))),
        ("PUT", [part]) => Some(id(part, "cron job").and_then(|id| update(world, rq, id))),
        ("DELETE", [part]) => Some(id(part, "cron job").and_then(|id| {
            let answer = shown(world, rq, id)?;
            world.remove_cron_job(id);
            Ok(answer)
        })),
        _ => None,
    }
}

/// Jobs of a site.
pub(super) fn of_site(world: &mut World, rq: &Request<'_>, part: &str) -> Option<Outcome> {
    (rq.method == "GET").then(|| {
        let id = id(part, "site")?;
        let site = world.sites.get(id).ok_or_else(|| Refusal::not_found("site"))?;
        let field = |id, name: &str| {
            let job = world.cron_jobs.get(id)?;
            match name {
                "command" => Some(job.command.clone()),
                "comment" => Some(job.comment.clone()),
                "created" => Some(job.created.to_string()),
                "updated" => Some(job.updated.to_string()),
                "id" => Some(format!("{:020}", job.id)),
                _ => None,
            }
        };
        let arranged = page::arranged(rq, &site.cron_jobs, field, "command");
        let wire = rq.wire(world);
        let rows = arranged.as_deref().unwrap_or(&site.cron_jobs);
        page::entities(rq, rows, |id| world.cron_jobs.get(*id).map(|j| wire.cron(j)))
    })
}

fn shown(world: &World, rq: &Request<'_>, id: u64) -> Outcome {
    let job = world.cron_jobs.get(id).ok_or_else(|| Refusal::not_found("cron job"))?;
    Ok(Answer::json(200, &rq.wire(world).cron(job)))
}

/// Schedule, command and comment. The full syntax of the schedule is not shown: any text without blanks.
fn job(fields: &mut Fields) -> ([String; 5], String, Option<String>) {
    let schedule = ["minutes", "hours", "days", "months", "weekdays"].map(|name| {
        let text = fields.required_text(name);
        fields.check(name, !text.trim().contains(char::is_whitespace), "must not contain blanks");
        text
    });
    (schedule, fields.required_text("command"), fields.text("comment"))
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
    shown(world, rq, id)
}

fn update(world: &mut World, rq: &Request<'_>, id: u64) -> Outcome {
    if world.cron_jobs.get(id).is_none() {
        return Err(Refusal::not_found("cron job"));
    }
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
    shown(world, rq, id)
}
