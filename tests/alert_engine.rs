//! The life of incidents, as the contract tells it (section 6): what is told, when, and what is not.
#![allow(clippy::unwrap_used)]

mod alert_support;

use alert_support::*;
use chrono::Duration;
use hostwatch::alert::{Form, Kind, Phase, Rule, Settings};
use hostwatch::model::{Collector, FailureKind};

#[test]
fn a_vm_in_error_is_told_once_and_its_recovery_once() {
    let mut world = World::healthy();
    world.vms(&[(1, "error"), (2, "active")]);
    assert_eq!(world.take_events(), ["main/vm_error/1 opened"]);
    world.vms(&[(1, "error"), (2, "active")]);
    world.vms(&[(1, "active"), (2, "active")]);
    assert!(world.told.is_empty(), "one good poll is no recovery: {:?}", world.events());
    world.vms(&[(1, "active"), (2, "active")]);
    assert_eq!(world.take_events(), ["main/vm_error/1 resolved"]);
    world.vms(&[(1, "error"), (2, "active")]);
    assert_eq!(world.incident(Kind::VmError, "1").episode, 2);
    assert_eq!(world.take_events(), ["main/vm_error/1 opened"]);
}

#[test]
fn what_one_poll_opens_is_one_mail_worst_first() {
    let mut settings = Settings::defaults();
    let info = Rule { severity: Some(hostwatch::alert::Severity::Info), ..Rule::default() };
    settings.rules.insert(Kind::VmError, info);
    let mut world = World::healthy_with(settings);
    world.vms(&[(1, "error"), (2, "blocked")]);
    assert_eq!(world.told.len(), 1);
    assert_eq!(world.take_events(), ["main/vm_blocked/2 opened", "main/vm_error/1 opened"]);
}

#[test]
fn failed_polls_and_rows_not_shown_resolve_nothing() {
    let mut world = World::healthy();
    world.vms(&[(1, "error"), (2, "active")]);
    world.told.clear();
    for _ in 0..5 {
        world.fail(Collector::Vms, FailureKind::Other);
    }
    world.vms_read(&[(2, "active")], false);
    world.vms_read(&[(2, "active")], false);
    assert_eq!(world.incident(Kind::VmError, "1").phase, Phase::Firing);
    assert!(world.told.is_empty());
}

#[test]
fn a_state_that_is_not_right_is_no_recovery() {
    for state in ["blocked", "building", "pending", "migrating"] {
        let mut world = World::healthy();
        world.vms(&[(1, "error"), (2, "active")]);
        for _ in 0..4 {
            world.vms(&[(1, state), (2, "active")]);
        }
        assert!(
            !world.events().iter().any(|event| event.contains("resolved")),
            "{state}: {:?}",
            world.events()
        );
        assert!(world.incident(Kind::VmError, "1").phase.is_open(), "{state}");
    }
}

#[test]
fn a_resource_that_is_gone_is_told_as_removed() {
    let mut world = World::healthy();
    world.vms(&[(1, "error"), (2, "active")]);
    world.told.clear();
    world.vms(&[(2, "active")]);
    assert!(world.told.is_empty());
    world.vms(&[(2, "active")]);
    assert_eq!(world.take_events(), ["main/vm_error/1 removed"]);
}

#[test]
fn the_first_start_is_one_mail_that_lists_what_is_wrong_and_recovery_is_told() {
    let mut world = World::new(Settings::defaults());
    world.vms(&[(1, "error"), (2, "active")]);
    world.report(cut_off_in(53));
    // A disconnect mail waits for nothing.
    assert_eq!(world.take_events(), ["main/disconnect/account rung:3"]);
    world.containers(&[(10, "DISABLED_BY_QUOTA")]);
    world.sites(10, &[(100, "StoppedByQuota")]);
    assert!(world.told.is_empty());
    world.end(Collector::Sites, None);
    assert_eq!(world.told.len(), 1);
    let Form::Started(facts) = &world.told[0].form else { panic!("{:?}", world.told) };
    // The site is part of its container's trouble.
    assert_eq!((facts.resources, facts.needs, facts.disconnect), (4, 3, true));
    assert_eq!(world.take_events(), ["main/vm_error/1 started", "main/container_disabled/10 started"]);
    world.pass(Duration::days(3));
    assert!(!world.events().iter().any(|event| event.contains("reminder")), "{:?}", world.events());
    world.told.clear();
    world.vms(&[(1, "active"), (2, "active")]);
    world.vms(&[(1, "active"), (2, "active")]);
    assert_eq!(world.take_events(), ["main/vm_error/1 resolved"]);
}

#[test]
fn the_first_start_never_says_all_is_well_of_what_it_could_not_read() {
    let mut world = World::new(Settings::defaults());
    world.fail(Collector::Vms, FailureKind::Other);
    world.containers(&[(10, "ENABLED")]);
    world.end(Collector::Sites, None);
    world.report(rich());
    let Form::Started(facts) = &world.told[0].form else { panic!("{:?}", world.told) };
    assert_eq!(facts.unread.len(), 1);
    assert!(facts.unread[0].contains("vms"), "{:?}", facts.unread);
}

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

/// The expected balance is that of the report's end: below 0 wherever a date is ahead.
#[test]
fn a_report_whose_charges_cannot_be_read_is_no_overdue_account() {
    let mut world = World::healthy();
    world.report(cut_off_in(13 * 24));
    assert_eq!(world.take_events(), ["main/disconnect/account rung:14"]);
    let mut unreadable = cut_off_in(13 * 24);
    unreadable.expected_balance = Some(money("-400"));
    unreadable.moments.edit(Vec::clear);
    unreadable.moments_rejected = 90;
    world.report(unreadable);
    world.report(cut_off_in(13 * 24));
    assert_eq!(world.take_events(), [""; 0]);
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
fn causes_speak_for_what_follows_from_them() {
    let mut world = World::healthy();
    world.containers(&[(10, "DISABLED_BY_QUOTA"), (11, "ENABLED")]);
    world.sites(10, &[(100, "StoppedByQuota"), (101, "Error")]);
    assert_eq!(world.take_events(), ["main/container_disabled/10 opened"]);
    assert!(world.incident(Kind::SiteError, "101").reason.contains("folded into main/container_disabled/10"));
    // A site elsewhere is its own story.
    world.sites(11, &[(110, "Error")]);
    assert_eq!(world.take_events(), ["main/site_error/110 opened"]);
    // The cause ends; one site is still wrong, and now it is told.
    world.containers(&[(10, "ENABLED"), (11, "ENABLED")]);
    world.containers(&[(10, "ENABLED"), (11, "ENABLED")]);
    assert_eq!(world.take_events(), ["main/container_disabled/10 resolved"]);
    world.sites(10, &[(100, "Active"), (101, "Error")]);
    world.sites(10, &[(100, "Active"), (101, "Error")]);
    assert_eq!(world.take_events(), ["main/site_error/101 opened"]);
}

#[test]
fn an_overdue_account_speaks_for_everything_in_it() {
    let mut world = World::healthy();
    world.report(report("-3", hostwatch::model::Edd::Null));
    assert_eq!(world.take_events(), ["main/disconnect/account rung:0"]);
    world.vms(&[(1, "blocked"), (2, "blocked")]);
    world.sites(10, &[(100, "StoppedByService"), (101, "StoppedByService")]);
    assert!(world.told.is_empty(), "{:?}", world.events());
    assert_eq!(world.incident(Kind::VmBlocked, "1").phase, Phase::Firing);
}

#[test]
fn a_site_stopped_by_service_in_a_paid_account_is_told() {
    let mut world = World::healthy();
    world.sites(10, &[(100, "StoppedByService"), (101, "Active")]);
    assert_eq!(world.take_events(), ["main/site_blocked/100 opened"]);
}

#[test]
fn reminders_come_three_times() {
    let mut world = World::healthy();
    world.vms(&[(1, "error"), (2, "active")]);
    world.told.clear();
    world.pass(Duration::days(6));
    let events = world.take_events();
    let wanted: Vec<String> = (1..=3).map(|n| format!("main/vm_error/1 reminder:{n}")).collect();
    assert_eq!(events, wanted);
}

#[test]
fn flapping_is_told_once_and_once_more_when_it_is_over() {
    let mut world = World::healthy();
    for _ in 0..6 {
        world.vms(&[(1, "error"), (2, "active")]);
        world.vms(&[(1, "active"), (2, "active")]);
        world.vms(&[(1, "active"), (2, "active")]);
    }
    let events = world.take_events();
    let wanted = ["opened", "resolved", "opened", "flapping"].map(|event| format!("main/vm_error/1 {event}"));
    assert_eq!(events, wanted);
    world.pass(Duration::minutes(40));
    assert_eq!(world.take_events(), ["main/vm_error/1 resolved"]);
}

#[test]
fn an_incident_that_ended_before_its_mail_went_out_is_told_once() {
    let mut world = World::healthy();
    world.vms(&[(1, "error"), (2, "active")]);
    let id = world.last_is_unsent();
    world.told.clear();
    world.vms(&[(1, "active"), (2, "active")]);
    world.vms(&[(1, "active"), (2, "active")]);
    assert_eq!(world.take_events(), ["main/vm_error/1 was-down"]);
    assert_eq!(world.withdrawn, [id]);
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
fn what_changed_while_nobody_watched_says_so() {
    let mut world = World::healthy();
    world.restart(Duration::hours(5));
    world.vms(&[(1, "error"), (2, "active")]);
    assert_eq!(world.events(), ["main/vm_error/1 opened"]);
    let (from, to) = world.told[0].items[0].unwatched.unwrap();
    assert_eq!(to - from, Duration::hours(5));
    world.told.clear();
    world.vms(&[(1, "error"), (2, "active")]);
    world.vms(&[(1, "error"), (2, "error")]);
    assert_eq!(world.told[0].items[0].unwatched, None, "by now everything is watched");
}

#[test]
fn passing_states_are_told_when_they_last() {
    let mut world = World::healthy();
    for _ in 0..20 {
        world.vms(&[(1, "building"), (2, "active")]);
        world.later(Duration::minutes(1));
    }
    assert!(world.told.is_empty(), "{:?}", world.events());
    for _ in 0..5 {
        world.vms(&[(1, "building"), (2, "active")]);
        world.later(Duration::minutes(2));
    }
    assert_eq!(world.take_events(), ["main/vm_stuck/1 opened"]);
}

#[test]
fn collectors_and_credentials_have_incidents_of_their_own() {
    let mut world = World::healthy();
    world.fail(Collector::Vms, FailureKind::Other);
    world.pass(Duration::minutes(14));
    assert!(world.told.is_empty());
    world.pass(Duration::minutes(3));
    assert_eq!(world.take_events(), ["main/collector_failing/vms opened"]);
    world.fail(Collector::Containers, FailureKind::Credentials);
    assert_eq!(world.take_events(), ["main/credentials_rejected/hosting opened"]);
    world.fail(Collector::ExpectedBalance, FailureKind::ReportError);
    assert_eq!(world.take_events(), ["main/billing_report/account opened"]);
    world.pass(Duration::minutes(30));
    assert!(world.told.is_empty(), "one cause, one mail: {:?}", world.events());
}

#[test]
fn states_nobody_knows_are_told_once_for_each_value() {
    let mut world = World::healthy();
    world.vms(&[(1, "mi\r\ngrating"), (2, "mi\r\ngrating")]);
    assert_eq!(world.take_events(), ["main/unknown_state/vm:mi%0D%0Agrating opened"]);
    world.vms(&[(1, "active"), (2, "active")]);
    world.vms(&[(1, "active"), (2, "active")]);
    assert_eq!(world.take_events(), ["main/unknown_state/vm:mi%0D%0Agrating resolved"]);
}

#[test]
fn rules_leave_out_resources_and_name_recipients() {
    let mut settings = Settings::defaults();
    let rule = Rule { except: vec!["vm-1".into()], to: vec!["dba".into()], ..Rule::default() };
    settings.rules.insert(Kind::VmError, rule);
    let mut world = World::healthy_with(settings);
    world.vms(&[(1, "error"), (2, "active")]);
    assert!(world.told.is_empty());
    world.vms(&[(1, "error"), (2, "error")]);
    assert_eq!(world.told[0].to, ["dba"]);
    assert_eq!(world.take_events(), ["main/vm_error/2 opened"]);
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
fn an_unsent_first_mail_without_items_is_kept() {
    let mut world = World::healthy();
    world.unsent.insert("first".into(), Vec::new());
    world.vms(&[(1, "error"), (2, "active")]);
    world.vms(&[(1, "active"), (2, "active")]);
    world.vms(&[(1, "active"), (2, "active")]);
    world.report(cut_off_in(53));
    assert!(world.withdrawn.is_empty());
}

#[test]
fn after_a_start_nothing_is_told_from_memory_before_a_look() {
    let mut world = World::healthy();
    world.report(cut_off_in(53));
    world.vms(&[(1, "error"), (2, "active")]);
    world.told.clear();
    // Three days later the date has passed, and a reminder is due; both may be history.
    world.restart(Duration::days(3));
    world.tick();
    assert!(world.told.is_empty(), "{:?}", world.events());
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
fn credentials_are_good_when_every_collector_of_the_group_says_so() {
    let mut world = World::healthy();
    world.fail(Collector::Containers, FailureKind::Credentials);
    world.told.clear();
    for _ in 0..3 {
        world.end(Collector::Sites, None);
    }
    assert!(world.told.is_empty(), "{:?}", world.events());
    world.containers(&[(10, "ENABLED"), (11, "ENABLED")]);
    world.end(Collector::Sites, None);
    assert_eq!(world.take_events(), ["main/credentials_rejected/hosting resolved"]);
}

#[test]
fn what_is_folded_waits_until_its_cause_has_recovered() {
    let mut world = World::healthy();
    world.report(report("-3", hostwatch::model::Edd::Null));
    world.vms(&[(1, "blocked"), (2, "active")]);
    world.told.clear();
    // Paid: one report says so, and the VM takes its time.
    world.report(rich());
    for _ in 0..4 {
        world.vms(&[(1, "blocked"), (2, "active")]);
    }
    assert!(world.told.is_empty(), "{:?}", world.events());
}

#[test]
fn sites_of_the_last_container_are_gone_with_it() {
    let mut world = World::healthy();
    world.sites(10, &[(100, "Error"), (101, "Active")]);
    world.told.clear();
    for _ in 0..3 {
        world.containers(&[]);
    }
    assert_eq!(world.take_events(), ["main/site_error/100 removed"]);
}

#[test]
fn an_episode_that_opened_while_flapping_is_resolved_in_the_end() {
    let mut world = World::healthy();
    for _ in 0..3 {
        world.vms(&[(1, "error"), (2, "active")]);
        world.vms(&[(1, "active"), (2, "active")]);
        world.vms(&[(1, "active"), (2, "active")]);
    }
    world.vms(&[(1, "error"), (2, "active")]);
    world.told.clear();
    world.pass(Duration::minutes(40));
    assert_eq!(world.take_events(), ["main/vm_error/1 opened"]);
    world.later(Duration::hours(2));
    world.vms(&[(1, "active"), (2, "active")]);
    world.vms(&[(1, "active"), (2, "active")]);
    assert_eq!(world.take_events(), ["main/vm_error/1 resolved"]);
}

#[test]
fn what_waits_says_why() {
    let mut settings = Settings::defaults();
    settings.confirm_polls = 3;
    let mut world = World::healthy_with(settings);
    world.vms(&[(1, "error"), (2, "building")]);
    assert_eq!(world.incident(Kind::VmError, "1").reason, "seen wrong 1 of 3 times");
    for _ in 0..3 {
        world.vms(&[(1, "active"), (2, "building")]);
    }
    assert_eq!(world.incident(Kind::VmStuck, "2").reason, "no mail yet: it has to last for 30 min");
    world.report(cut_off_in(53));
    world.report(rich());
    world.report(cut_off_in(53));
    let disconnect = world.incident(Kind::Disconnect, "account");
    assert_eq!(disconnect.reason, "kept open: the report names a disconnect date");
}

#[test]
fn sites_of_a_container_that_was_not_read_whole_are_not_gone() {
    let mut world = World::healthy();
    world.sites(11, &[(110, "Error")]);
    world.sites(11, &[(110, "Error"), (111, "thawing")]);
    world.restart(Duration::minutes(1));
    world.told.clear();
    world.containers(&[(10, "ENABLED"), (11, "ENABLED")]);
    for _ in 0..3 {
        // The other container: once not read yet, then read in part.
        world.sites(10, &[(100, "Active"), (101, "Active")]);
        world.sites_read(11, &[], false);
    }
    assert!(world.told.is_empty(), "{:?}", world.events());
    for _ in 0..2 {
        world.sites(11, &[(112, "Active")]);
    }
    let ends = ["main/site_error/110 removed", "main/unknown_state/site:thawing resolved"];
    assert_eq!(world.take_events(), ends);
}

#[test]
fn one_reading_is_one_observation() {
    let mut world = World::healthy();
    world.sites(10, &[(100, "thawing")]);
    world.sites(11, &[(110, "Active")]);
    world.told.clear();
    // The listing of containers and both of sites say that nobody thaws.
    world.containers(&[]);
    assert!(world.told.is_empty(), "{:?}", world.events());
    world.containers(&[]);
    assert_eq!(world.take_events(), ["main/unknown_state/site:thawing resolved"]);
}

#[test]
fn a_clock_that_is_set_back_holds_nothing_back() {
    let mut world = World::healthy();
    world.vms(&[(1, "building"), (2, "active")]);
    world.later(-Duration::hours(10));
    world.vms(&[(1, "building"), (2, "active")]);
    world.pass(Duration::minutes(31));
    world.vms(&[(1, "building"), (2, "active")]);
    assert_eq!(world.take_events(), ["main/vm_stuck/1 opened"]);
}

/// VM 1 breaks and recovers twice, which is told as flapping.
fn flapping() -> World {
    let mut world = World::healthy();
    for _ in 0..2 {
        world.vms(&[(1, "error"), (2, "active")]);
        world.vms(&[(1, "active"), (2, "active")]);
        world.vms(&[(1, "active"), (2, "active")]);
    }
    assert_eq!(world.take_events().last().unwrap(), "main/vm_error/1 flapping");
    world
}

#[test]
fn what_flaps_and_is_folded_is_the_causes_to_tell() {
    let mut world = flapping();
    world.containers(&[(10, "DISABLED_BY_SERVICE"), (11, "ENABLED")]);
    world.vms(&[(1, "error"), (2, "active")]);
    world.told.clear();
    world.pass(Duration::minutes(40));
    assert!(world.told.is_empty(), "{:?}", world.events());
    assert!(!world.incident(Kind::VmError, "1").flapping);
    for _ in 0..2 {
        world.vms(&[(1, "active"), (2, "active")]);
    }
    assert!(world.told.is_empty(), "nobody was told that it opened: {:?}", world.events());
}

#[test]
fn what_flaps_and_outlives_its_cause_is_told_once() {
    let mut world = flapping();
    world.containers(&[(10, "DISABLED_BY_SERVICE"), (11, "ENABLED")]);
    world.vms(&[(1, "error"), (2, "active")]);
    for _ in 0..2 {
        world.containers(&[(10, "ENABLED"), (11, "ENABLED")]);
    }
    world.told.clear();
    for _ in 0..3 {
        world.vms(&[(1, "error"), (2, "active")]);
    }
    assert!(world.told.is_empty(), "it flaps: {:?}", world.events());
    world.pass(Duration::minutes(40));
    assert_eq!(world.take_events(), ["main/vm_error/1 opened"]);
}

#[test]
fn what_has_settled_starts_to_count_anew() {
    let mut world = flapping();
    world.vms(&[(1, "error"), (2, "active")]);
    world.pass(Duration::minutes(31));
    assert_eq!(world.take_events(), ["main/vm_error/1 opened"]);
    for _ in 0..2 {
        world.vms(&[(1, "active"), (2, "active")]);
    }
    assert_eq!(world.take_events(), ["main/vm_error/1 resolved"], "one change since then");
}

#[test]
fn what_outlives_its_cause_before_the_first_mail_is_in_that_mail() {
    let mut world = World::new(Settings::defaults());
    world.report(report("-3", hostwatch::model::Edd::Null));
    world.vms(&[(1, "error"), (2, "active")]);
    world.report(rich());
    world.report(rich());
    world.vms(&[(1, "error"), (2, "active")]);
    world.vms(&[(1, "error"), (2, "active")]);
    world.told.clear();
    world.containers(&[]);
    world.end(Collector::Sites, None);
    assert_eq!(world.take_events(), ["main/vm_error/1 started"]);
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
fn a_rule_that_is_switched_off_while_open_speaks_for_nobody_any_more() {
    let mut world = World::healthy();
    world.containers(&[(10, "DISABLED_BY_ADMIN"), (11, "ENABLED")]);
    world.told.clear();
    let off = Rule { enabled: Some(false), ..Rule::default() };
    world.settings.rules.insert(Kind::ContainerDisabled, off);
    world.set_settings();
    world.sites(10, &[(100, "Error"), (101, "Active")]);
    assert_eq!(world.take_events(), ["main/site_error/100 opened"]);
    world.tick();
    assert_eq!(world.incident(Kind::ContainerDisabled, "10").phase, Phase::Resolved);
    assert_eq!(world.take_events(), Vec::<String>::new(), "without a mail");
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
