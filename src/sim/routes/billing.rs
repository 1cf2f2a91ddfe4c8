//! Billing data, read only: the three operations of section 4.8.

use super::{Request, named, page, shown};
use crate::answer::{Answer, Outcome, Payload, Refusal};
use crate::wire;
use crate::world::World;
use crate::world::report::Report;
use chrono::{Months, NaiveDate, NaiveTime};

/// Expected charges and balance as of the start of a day. A past day, or a text that is no date, is "no such
/// data" (404, section 4.8). A day more than two years ahead is past the limit of section 8, and 400.
pub(super) fn expected_balance(world: &World, rq: &Request<'_>, date: &str) -> Outcome {
    if rq.method != "GET" {
        return rq.not_allowed();
    }
    let refused = |why: &str| Refusal::new(404, "date", why);
    let written = date.len() == 10;
    let date = NaiveDate::parse_from_str(date, "%Y-%m-%d").ok().filter(|_| written);
    let date = date.ok_or_else(|| refused("must be a date, YYYY-MM-DD"))?;
    let today = world.local_now().date();
    if date < today {
        return Err(refused("is past"));
    }
    if date > today + Months::new(24) {
        return Err(Refusal::new(400, "date", "is more than two years away"));
    }
    let report = Report::of(world, date.and_time(NaiveTime::MIN));
    Ok(Answer { payload: Payload::Report(Box::new(report)), ..Answer::empty(200) })
}

/// The list of charges and one of them.
pub(super) fn charges(world: &World, rq: &Request<'_>, rest: &[&str]) -> Outcome {
    let charges = &world.ledger.charges;
    match (rq.method, rest) {
        ("GET", []) => page::newest_first(rq, charges.rows(), wire::charge),
        ("GET", [part]) => shown(charges, named(charges, part)?, 200, wire::charge),
        _ => rq.not_allowed(),
    }
}
