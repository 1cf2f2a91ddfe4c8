//! The alert engine explored: every order of readings, mail results, restarts, silences, acknowledgements,
//! recipients and time, to a depth, in a small world of two recipients. In each state the laws of section 6
//! must hold (`observer`).
//!
//! `cargo test --lib alert_explored -- --nocapture` prints the number of states and the time. It goes one step
//! less deep than with `HOSTWATCH_TESTS=all` in front of it.
#![allow(clippy::unwrap_used, reason = "tests")]

mod life;
mod observer;
mod ops;
mod planted;
mod readings;
mod truth;
mod walk;

use std::time::Instant;

use life::Life;
use ops::{ANN, ANSWERS, Answer, BOB, Op, TIMES};
use planted::Plant;
use readings::Turn;
use truth::{Observation, Resource};

use super::tools::runs_all;

/// A part of the world that is explored on its own.
struct Theme {
    name: &'static str,
    from: fn(Option<Plant>) -> Life,
    ops: Vec<Op>,
    /// The number of steps.
    depth: usize,
}

fn answers(to: &'static str) -> impl Iterator<Item = Op> {
    ANSWERS.into_iter().map(move |answer| Op::Answer(to, answer))
}

fn reads(resource: Resource, sights: &[Observation]) -> impl Iterator<Item = Op> + '_ {
    sights.iter().map(move |&observation| Op::Read(resource, observation))
}

const TURNS: [Op; 5] = [
    Op::Bill(Turn::Near),
    Op::Bill(Turn::Nearer),
    Op::Bill(Turn::Paid),
    Op::Bill(Turn::Off),
    Op::Bill(Turn::Clear),
];

/// An ordinary incident, with every fate of its mails.
fn delivery() -> Theme {
    let vm = [Op::Read(Resource::Vm, Observation::Bad), Op::Heals(Resource::Vm)];
    let others = [Op::Answer(BOB, Answer::Lost { arrived: true }), Op::Down, Op::Up, Op::Restart];
    let ops = vm.into_iter().chain(answers(ANN)).chain(others).chain(TIMES).collect();
    Theme { name: "delivery", from: Life::healthy, ops, depth: 4 }
}

/// All readings that concern one incident.
fn sights() -> Theme {
    use Observation::{Bad, Fails, Good, Hidden, Missing};
    let vm = reads(Resource::Vm, &[Bad, Good, Hidden, Missing, Fails]);
    let answers = [Answer::Later, Answer::Lost { arrived: true }].map(|one| Op::Answer(ANN, one));
    let ops = vm.chain(answers).chain([Op::Restart, Op::Silence, Op::Unsilence]).chain(TIMES).collect();
    Theme { name: "sights", from: Life::healthy, ops, depth: 4 }
}

/// A cause and its consequence.
fn cause() -> Theme {
    use Observation::{Bad, Fails, Hidden};
    let container = reads(Resource::Container, &[Bad, Hidden, Fails]);
    let site = reads(Resource::Site, &[Bad, Hidden, Fails]);
    let heal = [Op::Heals(Resource::Container), Op::Heals(Resource::Site)];
    let answers = [Answer::Later, Answer::Lost { arrived: false }].map(|one| Op::Answer(ANN, one));
    let others = [Op::Restart, Op::Silence, Op::Unsilence];
    let ops = container.chain(site).chain(heal).chain(answers).chain(others).chain(TIMES).collect();
    Theme { name: "cause", from: Life::healthy, ops, depth: 4 }
}

/// The cut-off.
fn cut_off() -> Theme {
    let others = [Op::BillAgain, Op::BillFails, Op::Restart, Op::Ack, Op::Hour, Op::Day];
    let ops = TURNS.into_iter().chain(answers(ANN)).chain(others).collect();
    Theme { name: "cut-off", from: Life::healthy, ops, depth: 4 }
}

/// Changes of the recipients.
fn people() -> Theme {
    let wrong = [Op::Read(Resource::Vm, Observation::Bad), Op::Heals(Resource::Vm)];
    let bill = [Op::Bill(Turn::Nearer), Op::Bill(Turn::Clear)];
    let mute = [Op::Silence, Op::Unsilence, Op::Ack, Op::Unack];
    let to = [Op::Add(BOB), Op::Remove(BOB), Op::Down, Op::Up, Op::Restart];
    let ops = wrong.into_iter().chain(bill).chain(mute).chain(to).chain(TIMES).collect();
    Theme { name: "people", from: Life::healthy, ops, depth: 4 }
}

/// The first start, with an empty store.
fn first_start() -> Theme {
    use Observation::{Bad, Fails, Good};
    let vm = reads(Resource::Vm, &[Bad, Good, Fails]);
    let container = reads(Resource::Container, &[Bad, Good]);
    let site = reads(Resource::Site, &[Bad, Good]);
    let bill = [Op::BillAgain, Op::Bill(Turn::Nearer)];
    let answers = [Answer::Later, Answer::Lost { arrived: false }, Answer::Killed { arrived: true }];
    let answers = answers.map(|one| Op::Answer(ANN, one));
    let ops = vm.chain(container).chain(site).chain(bill).chain(answers).chain(TIMES).chain([Op::Restart]);
    Theme { name: "first start", from: Life::empty, ops: ops.collect(), depth: 4 }
}

/// All themes together.
fn everything() -> Theme {
    use Observation::{Bad, Fails, Good, Hidden};
    let readings = Resource::ALL.into_iter().flat_map(|one| reads(one, &[Bad, Good, Hidden, Fails]));
    let others = [
        Op::BillAgain,
        Op::BillFails,
        Op::Down,
        Op::Up,
        Op::Restart,
        Op::Silence,
        Op::Unsilence,
        Op::Ack,
        Op::Unack,
        Op::Add(BOB),
        Op::Remove(BOB),
    ];
    let ops = readings.chain(TURNS).chain(answers(ANN)).chain(answers(BOB)).chain(others).chain(TIMES);
    Theme { name: "everything", from: Life::healthy, ops: ops.collect(), depth: 3 }
}

fn holds(theme: &Theme) {
    let began = Instant::now();
    let depth = if runs_all() { theme.depth } else { theme.depth - 1 };
    match walk::explore(&(theme.from)(None), &theme.ops, depth) {
        Ok(seen) => println!(
            "{}: {} states by {} steps of {} kinds, {depth} deep, {:.1} s",
            theme.name,
            seen.states,
            seen.steps,
            theme.ops.len(),
            began.elapsed().as_secs_f32()
        ),
        Err(violation) => panic!("{}: {violation}", theme.name),
    }
}

#[test]
fn delivery_holds() {
    holds(&delivery());
}

#[test]
fn sights_hold() {
    holds(&sights());
}

#[test]
fn a_cause_holds() {
    holds(&cause());
}

#[test]
fn the_cut_off_holds() {
    holds(&cut_off());
}

#[test]
fn people_hold() {
    holds(&people());
}

#[test]
fn the_first_start_holds() {
    holds(&first_start());
}

#[test]
fn everything_holds() {
    holds(&everything());
}

/// Each planted bug is found by one of the themes, at its full depth. Two of them stand for all in a sample.
#[test]
fn every_planted_bug_is_found() {
    let plants = if runs_all() { &Plant::ALL[..] } else { &Plant::ALL[..2] };
    for &plant in plants {
        let themes = [delivery(), people()];
        let found = themes.iter().find_map(|theme| {
            let violation = walk::explore(&(theme.from)(Some(plant)), &theme.ops, theme.depth).err()?;
            Some((theme.name, violation))
        });
        let (name, violation) = found.unwrap_or_else(|| panic!("{plant:?} is not found"));
        println!("{plant:?}: {name}, {} steps: {}", violation.path.len(), violation.broken);
    }
}
