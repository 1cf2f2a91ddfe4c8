//! The disconnect incident: its ladder, its end, and the balance beside it.

use chrono::Duration;
use hostwatch::alert::{Form, Kind, Phase};
use hostwatch::model::{Collector, FailureKind};

use super::alert_support::*;

#[test]
fn the_ladder_tells_the_tightest_rung_once_through_restarts_and_failures() {
    let mut world = World::healthy();
    world.report(cut_off_in(53));
    assert_eq!(world.take_events(), ["main/disconnect/account rung:3"]);
    world.report(cut_off_in(53));
    world.restart(Duration::seconds(10));
    world.report(cut_off_in(53));
    assert!(world.told.is_empty(), "{:?}", world.events());
    // Nothing can be read any more; time goes on all the same.
    world.fail(Collector::ExpectedBalance, FailureKind::Other);
    world.pass(Duration::hours(54));
    let events = world.take_events();
    let ladder: Vec<_> = events.iter().filter(|event| event.contains("disconnect")).collect();
    assert_eq!(ladder, ["main/disconnect/account rung:1", "main/disconnect/account rung:0"]);
    assert!(world.incident(Kind::Disconnect, "account").reason.contains("as of"));
}

#[test]
fn only_reports_that_prove_it_are_an_all_clear() {
    use hostwatch::model::Edd;
    let opened = || {
        let mut world = World::healthy();
        world.report(cut_off_in(53));
        world.told.clear();
        world
    };
    let doubtful = [
        ("a null date beside a negative balance", report("25.50", Edd::Null)),
        ("a date that cannot be read", report("5000", Edd::Unknown)),
        ("an unknown expected balance", {
            let mut report = rich();
            report.expected_balance = None;
            report
        }),
        ("one moment that is not positive", {
            let mut report = rich();
            report.moments.edit(|moments| moments[40].positive = Some(false));
            report
        }),
        ("a report that ends before the known date", {
            let mut report = rich();
            report.date = Some(start() + Duration::hours(50));
            report
        }),
        ("moments that could not be read", {
            let mut report = rich();
            report.moments_rejected = 2;
            report
        }),
    ];
    for (what, doubtful) in doubtful {
        let mut world = opened();
        for _ in 0..5 {
            world.report(doubtful.clone());
        }
        assert!(
            !world.events().iter().any(|event| event.ends_with("resolved")),
            "{what}: {:?}",
            world.events()
        );
        assert!(world.incident(Kind::Disconnect, "account").phase.is_open(), "{what}");
    }
    let mut world = opened();
    world.fail(Collector::ExpectedBalance, FailureKind::ReportError);
    world.report(rich());
    assert!(world.told.iter().all(|notice| notice.form != Form::Disconnect), "one report is not enough");
    world.report(rich());
    assert!(world.take_events().contains(&"main/disconnect/account resolved".to_owned()));
    // Armed again, from the top.
    world.report(cut_off_in(53));
    assert_eq!(world.take_events(), ["main/disconnect/account rung:3"]);
}

#[test]
fn a_null_date_beside_a_negative_balance_opens_with_the_computed_moment() {
    let mut world = World::healthy();
    world.report(report("25.50", hostwatch::model::Edd::Null));
    assert_eq!(world.take_events(), ["main/disconnect/account rung:3"]);
    let ladder = world.incident(Kind::Disconnect, "account").ladder.clone().unwrap();
    assert!(ladder.computed);
}

#[test]
fn a_date_that_moves_back_is_told_once_and_arms_the_ladder_again() {
    let mut world = World::healthy();
    world.report(cut_off_in(53));
    world.told.clear();
    world.report(cut_off_in(10 * 24));
    world.report(cut_off_in(10 * 24));
    assert_eq!(world.take_events(), ["main/disconnect/account extended:2026-03-12"]);
    world.report(cut_off_in(53));
    assert_eq!(world.take_events(), ["main/disconnect/account rung:3"]);
    assert_eq!(world.incident(Kind::Disconnect, "account").episode, 2);
}

#[test]
fn the_last_day_starts_a_thread_of_its_own() {
    let mut world = World::healthy();
    world.report(cut_off_in(6 * 24));
    assert_eq!(world.events(), ["main/disconnect/account rung:7"]);
    world.last_is_unsent();
    world.unsent.clear();
    world.told.clear();
    world.report(cut_off_in(90));
    assert_eq!(world.events(), ["main/disconnect/account rung:4"]);
    assert!(world.told[0].items[0].threads.is_empty());
}

#[test]
fn a_newer_rung_replaces_an_unsent_older_one() {
    let mut world = World::healthy();
    world.report(cut_off_in(6 * 24));
    let id = world.last_is_unsent();
    world.report(cut_off_in(53));
    assert_eq!(world.withdrawn, [id]);
}

#[test]
fn a_balance_that_drops_unforeseen_is_told() {
    let mut world = World::healthy();
    world.report(report("2000", hostwatch::model::Edd::Null));
    assert_eq!(world.take_events(), ["main/balance_drop/account opened"]);
    // Where the drop brings a disconnect with it, that mail carries it.
    world.report(report("25.50", hostwatch::model::Edd::Null));
    assert_eq!(world.take_events(), ["main/disconnect/account rung:3"]);
}

#[test]
fn one_good_report_does_not_stop_the_ladder() {
    let mut world = World::healthy();
    world.report(cut_off_in(53));
    world.report(rich());
    world.fail(Collector::ExpectedBalance, FailureKind::Other);
    world.told.clear();
    world.pass(Duration::hours(54));
    let events = world.take_events();
    let ladder: Vec<_> = events.iter().filter(|event| event.contains("disconnect")).collect();
    assert_eq!(ladder, ["main/disconnect/account rung:1", "main/disconnect/account rung:0"]);
}

#[test]
fn the_ladder_goes_on_by_the_clock_in_its_second_life_too() {
    let mut world = World::healthy();
    world.report(cut_off_in(6 * 24));
    world.report(rich());
    world.report(rich());
    assert_eq!(world.incident(Kind::Disconnect, "account").phase, Phase::Resolved);
    world.told.clear();
    world.report(cut_off_in(16 * 24));
    world.told.clear();
    world.fail(Collector::ExpectedBalance, FailureKind::Other);
    world.pass(Duration::hours(3 * 24));
    let told = world.take_events();
    assert!(told.contains(&"main/disconnect/account rung:14".to_owned()), "{told:?}");
}

#[test]
fn a_date_that_its_own_charges_contradict_says_so() {
    let mut world = World::healthy();
    // 25.50 at 10 a day cannot pay the third charge.
    world.report(cut_off_in(6 * 24));
    let detail = &world.incident(Kind::Disconnect, "account").detail;
    assert!(detail.ends_with("; by its own charges 2026-03-05 12:00 UTC"), "{detail}");
    world.report(cut_off_in(3 * 24));
    let detail = &world.incident(Kind::Disconnect, "account").detail;
    assert!(!detail.contains("by its own charges"), "{detail}");
}
