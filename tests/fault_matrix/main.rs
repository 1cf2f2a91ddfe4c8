//! The fault matrix: every fault of the simulated provider, at every collector, at its first poll and at a
//! later one, against the real binary. The expected effects follow from the contract's rules (rules.rs); the
//! table in docs/dev/faults.md has the results. The mail server's faults are in tests/daemon/smtp_faults.rs.
//!
//! `UPDATE_DOCS=1 cargo test --test fault_matrix` writes the table. A sample runs, each collector in one of six
//! variants; `HOSTWATCH_TESTS=all` in front of it runs every case, `FAULT_MATRIX='vms Later'` those of that name.
#![allow(clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;
mod document;
mod fleet;
mod page;
mod round;
mod rules;
mod table;

use std::time::Duration;

use common::hook::Hook;
use common::tools::runs_all;
use common::vitals::{Vitals, assert_sound, assert_stops};
use common::{each_at_once, received, sections, until_within};
use fleet::{Fleet, Subject};
use hostwatch_sim::FaultKind;
use page::Page;
use round::{PATIENCE, Round, well};
use rules::When;
use table::{CONTROL, PLACES, Pace, Place};

/// The part of the matrix that one daemon tries.
struct Case {
    place: &'static Place,
    when: When,
    pace: Pace,
}

impl Case {
    fn name(&self) -> String {
        format!("{} {:?} {:?}", self.place.collector, self.when, self.pace)
    }
}

/// Each place is tried in all of them, or in one if a sample is enough.
const VARIANTS: [(Pace, When); 6] = [
    (Pace::Slow, When::Later),
    (Pace::Slow, When::First),
    (Pace::Prompt, When::Later),
    (Pace::Prompt, When::First),
    (Pace::Heavy, When::Later),
    (Pace::Heavy, When::First),
];

#[test]
fn every_fault_at_every_collector_at_its_first_poll_and_later() {
    let stranger = Hook::start();
    let elsewhere = stranger.url();
    let only = std::env::var("FAULT_MATRIX").ok();
    let mut cases: Vec<Case> = Vec::new();
    // The longest first.
    for (variant, (pace, when)) in VARIANTS.into_iter().enumerate() {
        let is_tried =
            |&(place, _): &(usize, _)| only.is_some() || runs_all() || place % VARIANTS.len() == variant;
        let places = PLACES.iter().enumerate().filter(is_tried);
        cases.extend(places.map(|(_, place)| Case { place, when, pace }));
    }
    cases.retain(|case| only.as_ref().is_none_or(|only| case.name().contains(only)));
    each_at_once(8, &cases, Case::name, |case| match case.when {
        When::First => first_poll(&Fleet::new(case.place, case.pace, &elsewhere)),
        When::Later => later_poll(Fleet::new(case.place, case.pace, &elsewhere)),
    });
    assert!(stranger.posts().is_empty(), "nothing went to another host");
}

#[test]
fn the_page_shows_the_matrix() {
    let command = "cargo test --test fault_matrix the_page";
    sections::hold("docs/dev/faults.md", "provider", &document::provider(), command);
}

/// The daemon starts into the faults, recovers, and is stopped in their midst when they come again.
fn first_poll(fleet: &Fleet) {
    let place = fleet.place;
    fleet.subjects.iter().for_each(Subject::break_it);
    let mut daemon = fleet.daemon("15m");
    daemon.run();
    let mut round = Round::new(fleet, &daemon, When::First, Page::default());
    round.run();
    round.judge();
    assert_sound(&daemon);
    fleet.subjects.iter().for_each(Subject::break_it);
    let asked: Vec<usize> = fleet.subjects.iter().map(|subject| subject.asked(place.path)).collect();
    // A request whose answer is delayed is recorded when the answer is due.
    let is_noted =
        |subject: &Subject| subject.fault.as_ref().is_none_or(|fault| fault.kind != FaultKind::Delay);
    for (subject, asked) in fleet.subjects.iter().zip(asked).filter(|(subject, _)| is_noted(subject)) {
        until_within(PATIENCE, &format!("{} is asked again", subject.key), || {
            subject.asked(place.path) > asked
        });
    }
    assert_stops(&mut daemon);
}

/// All is well, then the faults come and go, and they leave neither a descriptor nor a thread behind.
fn later_poll(mut fleet: Fleet) {
    let place = fleet.place;
    let mut daemon = fleet.daemon("1s");
    daemon.run();
    until_within(PATIENCE, "all accounts are read", || {
        let page = Page::parse(&daemon.page());
        let twice = |key: &str| page.polls(key, place.collector, "success") >= 2;
        fleet.subjects.iter().all(|subject| well(&fleet, subject, &page).is_ok() && twice(subject.key))
    });
    let first = format!("{CONTROL}/started/account started");
    until_within(PATIENCE, &first, || received(&fleet.smtp).iter().any(|mail| mail.pairs.contains(&first)));
    let base = Vitals::at_rest(&daemon);
    let before = Page::parse(&daemon.page());
    fleet.subjects.iter().for_each(Subject::break_it);
    let mut round = Round::new(&fleet, &daemon, When::Later, before);
    round.run();
    round.judge();
    assert_sound(&daemon);
    // The providers are gone, so no connection has a reason to stay. Mails would keep threads awake.
    daemon.configure("collector_failing_after = \"1s\"", "collector_failing_after = \"15m\"");
    daemon.signal("HUP");
    daemon.log.wait("configuration reloaded");
    // The threads of the largest fleets take too long to come to rest. A hanging one would show at the stop.
    let counts_threads = fleet.pace != Pace::Prompt || place.is("expected_balance");
    fleet.subjects.clear();
    until_within(PATIENCE, "nothing is left of the faults", || {
        // Looking costs more than waiting.
        std::thread::sleep(Duration::from_millis(300));
        let now = Vitals::of(&daemon);
        let threads = !counts_threads || now.threads <= threads_when_idle();
        now.connections.is_empty() && now.descriptors <= base.descriptors && threads
    });
    daemon.log.wait("no connection: ");
    assert_stops(&mut daemon);
}

/// The main thread, the runtime's workers, the pipeline's and the log's own. Spare threads end after ten idle seconds.
fn threads_when_idle() -> usize {
    3 + std::thread::available_parallelism().unwrap().get()
}
