//! Chaos: two accounts whose resources break and whose money runs out, while the provider, the mail server and
//! the daemon itself fail at random. At the end all events are compared with all mails. None may be lost, none
//! wrong, and only a mail whose reply was lost may come twice, with the same bytes.
//!
//! `HOSTWATCH_CHAOS_SECONDS=1800 HOSTWATCH_CHAOS_SEED=7 cargo test --test daemon chaos:: -- --nocapture` is the
//! long run; docs/dev/judges.md explains it. The seed decides the acts, their order and the pauses.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr, clippy::wildcard_enum_match_arm)]

mod audit;
mod book;
mod history;
mod ladder;
mod lanes;
mod lives;
mod money;
mod operator;
mod script;
mod weather;
mod world;

use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};

use audit::audit;
use lanes::Runner;
use script::{ACCOUNTS, Act, Money, Script};
use world::{Page, World};

/// The time between two samples.
const LOOK_EVERY: Duration = Duration::from_millis(60);
/// The time in which everything must become well once the faults are over.
const SETTLES_WITHIN: Duration = Duration::from_secs(180);

fn setting(name: &str) -> Option<u64> {
    std::env::var(name)
        .ok()
        .map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is no number: {text}")))
}

#[test]
fn nothing_is_lost_twice_or_wrong() {
    let seconds = setting("HOSTWATCH_CHAOS_SECONDS").unwrap_or(20);
    let seed = setting("HOSTWATCH_CHAOS_SEED").unwrap_or(1);
    let script = Script::new(seed, seconds);
    let command = script.to_string();
    let mut world = World::new(seed, seconds);
    let lived = std::panic::catch_unwind(AssertUnwindSafe(|| live(&mut world, script)));
    if lived.is_err() {
        tell(&world);
        println!("{}", world.daemon.log.lines().join("\n"));
        // An act that did not end is missing as well, and may show the reason.
        if let Ok(verdict) = std::panic::catch_unwind(AssertUnwindSafe(|| audit(&world))) {
            println!("{verdict}");
        }
        panic!("the run broke off; repeat it with {command} cargo test --test daemon chaos::");
    }
    let verdict = audit(&world);
    if !verdict.is_clean() {
        tell(&world);
    }
    println!("{command} cargo test --test daemon chaos::");
    for (what, count) in &world.counts {
        println!("  {count:6}  {what}");
    }
    for (act, count) in world.mails().1 {
        println!("  {count:6}  mail fault: {act}");
    }
    println!("{verdict}");
    assert!(verdict.is_clean(), "repeat it with {command} cargo test --test daemon chaos::");
}

/// Prints the timetable as it was carried out.
fn tell(world: &World) {
    println!("{}", world.journal.join("\n"));
    println!("what the daemon decided, as its store has it:\n{}", book::decisions(world).join("\n"));
}

fn live(world: &mut World, script: Script) {
    started(world);
    let seconds = Duration::from_secs(script.seconds);
    let began = Instant::now();
    let mut runners: Vec<Runner> = script.lanes.into_iter().map(Runner::new).collect();
    while !runners.is_empty() {
        let page = world.look();
        let more = began.elapsed() < seconds;
        runners.retain_mut(|runner| runner.go(world, page.as_ref(), more));
        std::thread::sleep(LOOK_EVERY);
    }
    settle(world);
}

/// Waits until the first mail is out and everything is known.
fn started(world: &mut World) {
    until(world, "the first start is told", |page| page.nothing_waits() && is_well(page, 1));
}

/// Ends all faults and debts. Then no incident stays open and no mail waits.
fn settle(world: &mut World) {
    world.note("nothing fails any more");
    // A restart also forgets that credentials were refused, which otherwise takes five minutes.
    world.kill();
    world.start();
    for (account, name) in ACCOUNTS.iter().enumerate() {
        let mut last = Runner::once(&format!("{name}/last"), account, Act::Money(Money::Plenty));
        let mut page = world.look();
        while last.go(world, page.as_ref(), true) {
            std::thread::sleep(LOOK_EVERY);
            page = world.look();
        }
    }
    until(world, "all is well", |page| page.open.is_empty() && page.nothing_waits() && is_well(page, 4));
    world.stop();
}

fn is_well(page: &Page, polls: u64) -> bool {
    let collectors = ["vms", "containers", "sites", "expected_balance"];
    ACCOUNTS.iter().all(|account| {
        collectors.iter().all(|collector| {
            let labels = format!("{{account=\"{account}\",collector=\"{collector}\"");
            let series = format!("hostwatch_collector_polls_total{labels},result=\"success\"}}");
            page.has(&format!("hostwatch_collector_complete{labels}}} 1"))
                && page.value(&series).is_some_and(|count| count >= polls as f64)
        })
    })
}

fn until(world: &mut World, what: &str, so: impl Fn(&Page) -> bool) {
    let end = Instant::now() + SETTLES_WITHIN;
    loop {
        let page = world.look();
        if page.as_ref().is_some_and(&so) {
            return;
        }
        if Instant::now() > end {
            let open = page.map(|page| page.open);
            panic!(
                "not within {SETTLES_WITHIN:?}: {what}; open: {open:#?}; {}",
                world.daemon.command(&["outbox"]).1
            );
        }
        std::thread::sleep(LOOK_EVERY);
    }
}
