//! The walk: every order of a list of steps, breadth first. States that differ only in the date count as one.

use std::collections::HashSet;
use std::fmt::{self, Debug, Write as _};
use std::hash::Hasher as _;

use super::life::{Broken, Life};
use super::observer::{holds, settled};
use super::ops::Op;
use chrono::{Duration, NaiveDate};

/// The numbers of a walk.
pub struct Seen {
    /// Different states.
    pub states: usize,
    /// Steps that were made from them.
    pub steps: usize,
}

/// The first state in which a law does not hold, and the shortest path to it.
#[derive(Debug)]
pub struct Violation {
    pub path: Vec<Op>,
    pub broken: Broken,
    /// The steps, with the mails between them.
    pub story: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\nafter {} steps:\n{}", self.broken, self.path.len(), self.story)
    }
}

/// Makes every step from every state, `depth` steps deep.
pub fn explore(from: &Life, ops: &[Op], depth: usize) -> Result<Seen, Box<Violation>> {
    let mut known = HashSet::from([fingerprint(from)]);
    let mut quiet = HashSet::new();
    let mut steps = 0;
    let mut level = vec![(from.clone(), Vec::new())];
    for left in (0..depth).rev() {
        let mut next = Vec::new();
        for (life, path) in &level {
            for &op in ops {
                let mut life = life.clone();
                let stepped = life.step(op);
                if let Ok(false) = stepped {
                    continue;
                }
                steps += 1;
                let path: Vec<Op> = path.iter().copied().chain([op]).collect();
                let is_new = stepped.is_err() || known.insert(fingerprint(&life));
                if !is_new {
                    continue;
                }
                let law = stepped.and_then(|_| holds(&life)).and_then(|()| settles(&life, &mut quiet));
                law.map_err(|broken| Box::new(told(from, path.clone(), broken)))?;
                if left > 0 {
                    next.push((life, path));
                }
            }
        }
        level = next;
    }
    Ok(Seen { states: known.len(), steps })
}

/// Nothing is read any more, the server takes every mail, and two days pass.
const QUIET: [Duration; 5] = [
    Duration::minutes(5),
    Duration::minutes(70),
    Duration::hours(25),
    Duration::hours(25),
    Duration::minutes(5),
];

/// `quiet` are states already known to end well.
fn settles(life: &Life, quiet: &mut HashSet<(u64, usize)>) -> Result<(), Broken> {
    let mut life = life.clone();
    (life.is_down, life.answers) = (false, Default::default());
    let mut passed = Vec::new();
    for (index, time) in QUIET.into_iter().enumerate() {
        life.pass(time)?;
        let place = (fingerprint(&life), index);
        if quiet.contains(&place) {
            quiet.extend(passed);
            return Ok(());
        }
        passed.push(place);
    }
    settled(&life)?;
    quiet.extend(passed);
    Ok(())
}

/// Walks the path once more, and keeps a journal.
fn told(from: &Life, path: Vec<Op>, broken: Broken) -> Violation {
    let mut life = Life { journal: Some(Vec::new()), ..from.clone() };
    let note = |life: &mut Life, text: String| life.journal.iter_mut().for_each(|all| all.push(text.clone()));
    for &op in &path {
        let text = format!("  {} {op:?}", life.now.format("%a %H:%M"));
        note(&mut life, text);
        let _ = life.step(op);
    }
    note(&mut life, "  (and then nothing changes)".to_owned());
    let story = life.journal.clone().unwrap_or_default();
    let mut quiet = Life { journal: Some(Vec::new()), ..life };
    (quiet.is_down, quiet.answers) = (false, Default::default());
    let _ = QUIET.into_iter().try_for_each(|time| quiet.pass(time));
    let story = [story, quiet.journal.unwrap_or_default()].concat().join("\n");
    Violation { path, broken, story }
}

/// A number for everything that decides the future, with times relative to now.
pub fn fingerprint(life: &Life) -> u64 {
    let Life { engine, log, observer, now, muted, bill, to, answers, is_down, looking, book, polled, .. } =
        life;
    let mut text = String::with_capacity(16 * 1024);
    let state = book.state();
    let listings = (&state.vms, &state.containers, &state.sites);
    let polls: Vec<_> = state
        .collectors
        .iter()
        .map(|(one, at)| (one, at.success, at.looked, at.began, at.failing_since))
        .collect();
    let bytes = life.bytes_on_their_way();
    let world = (now.time(), muted, bill, to, answers, is_down, looking, polled, bytes);
    let reports = (state.billing.last_known(), &state.billing.previous, &state.billing.doubted);
    let _ = write!(text, "{:?}", (engine.known(), log, observer, world, listings, polls, reports));
    let mut hash = std::hash::DefaultHasher::new();
    // A time ends in `Z`.
    for piece in text.split('Z') {
        let moment = piece.len().checked_sub(19).and_then(|at| piece.split_at_checked(at));
        match moment.and_then(|(before, text)| Some((before, seconds(text)?))) {
            Some((before, seconds)) => {
                hash.write(before.as_bytes());
                hash.write_i64(seconds - now.timestamp());
            }
            None => hash.write(piece.as_bytes()),
        }
    }
    hash.finish()
}

/// The seconds that `2026-03-02T12:00:00` names.
fn seconds(text: &str) -> Option<i64> {
    let number = |from: usize, to: usize| text.get(from..to)?.parse::<u32>().ok();
    let date = NaiveDate::from_ymd_opt(text.get(0..4)?.parse().ok()?, number(5, 7)?, number(8, 10)?)?;
    Some(date.and_hms_opt(number(11, 13)?, number(14, 16)?, number(17, 19)?)?.and_utc().timestamp())
}
