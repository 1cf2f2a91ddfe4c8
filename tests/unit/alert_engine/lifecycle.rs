//! What opens, recovers, is frozen, waits and ends.

use crate::alert::engine::Outcome;
use crate::alert::{Ack, AlertSettings, Event, Input, Item, Kind, Missed, Muted, Phase, Rule, Severity};
use crate::model::{Collector, Failure, FailureKind, Read, Rows, Snapshot};
use chrono::Duration;

use super::alert_support::*;

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
    let mut settings = AlertSettings::defaults();
    let info = Rule { severity: Some(Severity::Info), ..Rule::default() };
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

/// Good polls count in a row, and whoever was told is reminded.
#[test]
fn a_good_look_before_another_wrong_state_counts_for_nothing() {
    let mut world = World::healthy();
    for state in ["error", "active", "building", "active", "building"] {
        world.vms(&[(1, state), (2, "active")]);
    }
    assert_eq!(world.take_events(), ["main/vm_error/1 opened"]);
    world.pass(Duration::days(1));
    assert_eq!(world.take_events(), ["main/vm_error/1 reminder:1"]);
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
fn reminders_come_three_times() {
    let mut world = World::healthy();
    world.vms(&[(1, "error"), (2, "active")]);
    world.told.clear();
    world.pass(Duration::days(6));
    let events = world.take_events();
    let wanted: Vec<String> = (1..=3).map(|n| format!("main/vm_error/1 reminder:{n}")).collect();
    assert_eq!(events, wanted);
}

/// From one wrong state into another: mails and page name the state as last read, and its end what there was.
#[test]
fn what_went_from_one_wrong_state_into_another_is_named_as_it_is() {
    let mut world = World::healthy();
    world.vms(&[(1, "error"), (2, "active")]);
    world.vms(&[(1, "blocked"), (2, "active")]);
    let words = |world: &World| -> Vec<String> {
        world.told.iter().flat_map(|notice| &notice.items).map(crate::alert::Item::words).collect()
    };
    assert_eq!(words(&world), ["VM vm-1 in error", "VM vm-1 blocked"]);
    world.told.clear();
    world.pass(Duration::days(1));
    assert_eq!(words(&world), ["VM vm-1 not OK (now blocked, was in error)", "VM vm-1 blocked"]);
    let row = |world: &World| {
        let muted = crate::alert::Muted::default();
        crate::view::IncidentRow::of(world.incident(Kind::VmError, "1"), &muted, world.now).unwrap()
    };
    assert_eq!(row(&world).title, "VM vm-1 not OK (now blocked, was in error)");
    assert_eq!(row(&world).problem, "not OK (now blocked, was in error)");
    // In error again: nothing else is said of it.
    world.vms(&[(1, "error"), (2, "active")]);
    assert_eq!(row(&world).title, "VM vm-1 in error");
    world.vms(&[(1, "blocked"), (2, "active")]);
    world.vms(&[(1, "active"), (2, "active")]);
    assert_eq!(row(&world).title, "VM vm-1 in error", "it recovers");
    world.told.clear();
    world.vms(&[(1, "active"), (2, "active")]);
    assert_eq!(words(&world), ["VM vm-1 in error", "VM vm-1 blocked"], "{:?}", world.events());
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
    let mut settings = AlertSettings::defaults();
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
fn credentials_that_let_another_collector_in_are_not_rejected() {
    let mut world = World::healthy();
    world.fail(Collector::Containers, FailureKind::Credentials);
    assert!(world.told.is_empty(), "{:?}", world.events());
    assert_eq!(world.incident(Kind::CollectorFailing, "containers").phase, Phase::Pending);
}

/// Alone, and as it stands; where it is silenced, in doubt, covered or told to all by the same step, not now.
#[test]
fn whoever_becomes_a_recipient_is_told_what_is_open() {
    let told = |world: &mut World, kind: Kind, resource: &str| {
        world.told.clear();
        world.newcomers(world.key(kind, resource), &["new@example.com"]);
        assert!(world.told.iter().all(|notice| notice.to == ["new@example.com"]), "{:?}", world.told);
        world.take_events()
    };
    let mut world = World::healthy();
    world.vms(&[(1, "error"), (2, "blocked")]);
    assert_eq!(told(&mut world, Kind::VmError, "1"), ["main/vm_error/1 opened"]);
    world.report(cut_off_in(24 * 5));
    assert_eq!(told(&mut world, Kind::Disconnect, "account"), ["main/disconnect/account rung:7"]);
    world.fail(Collector::ExpectedBalance, FailureKind::Other);
    world.fail(Collector::Vms, FailureKind::Other);
    assert_eq!(told(&mut world, Kind::Disconnect, "account"), ["main/disconnect/account rung:7"]);
    assert_eq!(told(&mut world, Kind::VmError, "1"), [""; 0], "is it so still?");
    world.vms(&[(1, "active"), (2, "blocked")]);
    assert_eq!(told(&mut world, Kind::VmError, "1"), [""; 0], "it may be over");
    assert_eq!(told(&mut world, Kind::VmBlocked, "2"), ["main/vm_blocked/2 opened"]);
    world.silence("main/*", Duration::hours(1));
    assert_eq!(told(&mut world, Kind::VmBlocked, "2"), [""; 0]);
}

/// As it stands by now; what is over is told as it was to be, and no beginning of what is over.
#[test]
fn news_that_was_refused_is_told_anew_while_it_is_true() {
    let mut world = World::healthy();
    let again = |world: &mut World, item: &Item| {
        world.told.clear();
        let (key, to) = (item.key.clone(), vec!["ops@example.com".to_owned()]);
        world.missed(Missed { key, to, refused: Some(item.clone()) });
        world.take_events()
    };
    world.vms(&[(1, "error"), (2, "active")]);
    let opened = world.told[0].items[0].clone();
    world.report(cut_off_in(24 * 5));
    let rung = world.told[1].items[0].clone();
    world.later(Duration::hours(1));
    assert_eq!(again(&mut world, &opened), ["main/vm_error/1 opened"]);
    assert_eq!(again(&mut world, &rung), ["main/disconnect/account rung:7"]);
    let escalated = Item { event: Event::Escalated, ..opened.clone() };
    assert_eq!(again(&mut world, &escalated), ["main/vm_error/1 escalated"]);
    let ack = Ack { episode: opened.episode, at: world.now, comment: String::new() };
    world.engine.set_muted(Muted { acks: [(opened.key.clone(), ack)].into(), ..Muted::default() });
    assert_eq!(again(&mut world, &escalated), [""; 0], "somebody works on it");
    for _ in 0..2 {
        assert_eq!(world.take_events(), [""; 0]);
        world.vms(&[(1, "active"), (2, "active")]);
    }
    let resolved = world.told[0].items[0].clone();
    assert_eq!(again(&mut world, &opened), [""; 0]);
    assert_eq!(again(&mut world, &resolved), ["main/vm_error/1 resolved"]);
    world.vms(&[(1, "error"), (2, "active")]);
    assert_eq!(again(&mut world, &resolved), [""; 0], "it is in error once more");
    assert_eq!(again(&mut world, &Item { episode: 1, ..opened }), ["main/vm_error/1 opened"]);
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
fn what_waits_says_why() {
    let mut settings = AlertSettings::defaults();
    settings.confirm_polls = 3;
    let mut world = World::healthy_with(settings);
    world.vms(&[(1, "error"), (2, "building")]);
    assert_eq!(world.incident(Kind::VmError, "1").reason.to_string(), "1 of 3 bad polls");
    for _ in 0..3 {
        world.vms(&[(1, "active"), (2, "building")]);
    }
    assert_eq!(
        world.incident(Kind::VmStuck, "2").reason.to_string(),
        "no mail yet: it has to last for 30 min"
    );
    world.report(cut_off_in(53));
    world.report(rich());
    world.report(cut_off_in(53));
    let disconnect = world.incident(Kind::Disconnect, "account");
    assert_eq!(disconnect.reason.to_string(), "still open: the report names a cut-off date");
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
    world.containers(&[]);
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
    // Begins to recover, nobody was told of it, and nothing more is seen.
    let mut world = World::healthy();
    world.vms(&[(1, "error"), (2, "active")]);
    world.vms(&[(1, "active"), (2, "active")]);
    world.not_delivered(vec![world.key(Kind::VmError, "1")]);
    world.told.clear();
    world.later(-Duration::hours(10));
    world.pass(Duration::minutes(6));
    assert_eq!(world.take_events(), ["main/vm_error/1 opened"]);
}

/// Started by a clock that is behind: until somebody tells the time nothing is dated by it.
#[test]
fn what_began_keeps_its_date_while_the_clock_is_before_what_was_lived_through() {
    let mut world = World::healthy();
    world.vms(&[(1, "error"), (2, "active")]);
    let began = world.incident(Kind::VmError, "1").since;
    world.restart(-Duration::days(30));
    world.tick();
    world.vms(&[(1, "error"), (2, "active")]);
    assert_eq!(world.incident(Kind::VmError, "1").since, began);
    world.later(Duration::days(30));
    world.engine.watches_since(world.now);
    world.told.clear();
    world.tick();
    assert_eq!(world.incident(Kind::VmError, "1").since, began);
    assert!(world.told.is_empty(), "{:?}", world.events());
    // Confirmed, it is the time, and what lies ahead was noted by a wrong one.
    world.restart(-Duration::days(30));
    world.engine.watches_since(world.now);
    world.tick();
    assert_eq!(world.incident(Kind::VmError, "1").since, world.now);
}

/// The machine slept while polls failed: nobody asked for that long.
#[test]
fn a_failure_has_to_last_from_the_waking_on() {
    let mut world = World::healthy();
    let failure = || Some(Failure::new(FailureKind::Other, "it did not work"));
    world.end(Collector::Vms, failure());
    world.later(Duration::hours(30));
    world.engine.wakes(world.now);
    world.end(Collector::Vms, failure());
    world.pass(Duration::minutes(14));
    assert!(world.told.is_empty(), "{:?}", world.events());
    world.pass(Duration::minutes(2));
    assert_eq!(world.take_events(), ["main/collector_failing/vms opened"]);
}

/// One recipient's mail was given up, the other's waits, and may leave before anybody has looked again.
#[test]
fn what_nobody_heard_of_is_forgotten_only_once_it_can_be_told_anew() {
    let mut world = World::healthy();
    let states = |world: &mut World| {
        world.vms(&[(1, "error"), (2, "active")]);
        world.containers(&[(10, "ENABLED"), (11, "ENABLED")]);
        world.sites(10, &[(100, "Active"), (101, "Active")]);
        world.sites(11, &[(110, "Active")]);
        world.end(Collector::Sites, None);
    };
    states(&mut world);
    world.report(cut_off_in(6 * 24));
    assert_eq!(world.take_events(), ["main/vm_error/1 opened", "main/disconnect/account rung:7"]);
    let keys = vec![world.key(Kind::VmError, "1"), world.key(Kind::Disconnect, "account")];
    world.book.look_again();
    world.not_delivered(keys.clone());
    states(&mut world);
    world.report(cut_off_in(6 * 24));
    world.tick();
    assert_eq!(world.take_events(), [""; 0], "by now it may have arrived");
    world.not_delivered(keys);
    assert_eq!(world.take_events(), ["main/disconnect/account rung:7", "main/vm_error/1 opened"]);
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
    assert_eq!(world.incident(Kind::ContainerDisabled, "10").phase, Phase::Unwatched);
    assert_eq!(world.take_events(), ["main/container_disabled/10 unwatched"]);
}

#[test]
fn an_outcome_is_empty_where_there_is_nothing_to_keep_and_nothing_to_tell() {
    let mut world = World::healthy();
    world.vms(&[(1, "error"), (2, "active")]);
    let incident = || world.incident(Kind::VmError, "1").clone();
    let is_empty = |change: &dyn Fn(&mut Outcome)| {
        let mut outcome = Outcome::default();
        change(&mut outcome);
        outcome.is_empty()
    };
    assert!(is_empty(&|_| {}));
    assert!(!is_empty(&|outcome| outcome.incidents.push(incident())));
    assert!(!is_empty(&|outcome| outcome.notices.push(world.told[0].clone())));
    assert!(!is_empty(&|outcome| outcome.started = true));
}

#[test]
fn reminders_keep_the_time_of_their_severity() {
    let day = Duration::days(1);
    for (severity, every) in
        [(Severity::Critical, Some(day)), (Severity::Warning, Some(day * 3)), (Severity::Info, None)]
    {
        let mut settings = AlertSettings::defaults();
        let rule = Rule { severity: Some(severity), ..Rule::default() };
        settings.rules.insert(Kind::VmError, rule);
        let mut world = World::healthy_with(settings);
        world.vms(&[(1, "error"), (2, "active")]);
        assert_eq!(world.told[0].items[0].severity, severity);
        world.told.clear();
        let Some(every) = every else {
            world.pass(day * 4);
            assert!(world.told.is_empty(), "{:?}", world.events());
            continue;
        };
        for count in 1..=2 {
            world.pass(every - Duration::minutes(1));
            assert!(world.told.is_empty(), "{severity}: {:?}", world.events());
            world.pass(Duration::minutes(1));
            assert_eq!(world.take_events(), [format!("main/vm_error/1 reminder:{count}")]);
            let reason = format!("reminder {count} of 3: still open");
            assert_eq!(world.incident(Kind::VmError, "1").reason.to_string(), reason);
        }
    }
}

#[test]
fn as_many_looks_as_are_asked_for_open_and_close() {
    for polls in [1, 2, 3] {
        let settings =
            AlertSettings { confirm_polls: polls, recover_polls: polls, ..AlertSettings::defaults() };
        let mut world = World::healthy_with(settings);
        for look in 1..=polls {
            assert!(world.told.is_empty(), "{look} of {polls}");
            world.vms(&[(1, "error"), (2, "active")]);
        }
        assert_eq!(world.take_events(), ["main/vm_error/1 opened"]);
        let want = if polls == 1 {
            "first seen in this poll".to_owned()
        } else {
            format!("confirmed by {polls} polls")
        };
        assert_eq!(world.incident(Kind::VmError, "1").reason.to_string(), want);
        // Not in a row: they count from the start again.
        for _ in 1..polls {
            world.vms(&[(1, "active"), (2, "active")]);
        }
        if polls > 1 {
            let reason = format!("{} of {polls} good polls", polls - 1);
            assert_eq!(world.incident(Kind::VmError, "1").reason.to_string(), reason);
            world.vms(&[(1, "error"), (2, "active")]);
            assert_eq!(
                world.incident(Kind::VmError, "1").reason.to_string(),
                "failed again before it had recovered"
            );
        }
        for look in 1..=polls {
            assert!(world.told.is_empty(), "{look} of {polls}");
            world.vms(&[(1, "active"), (2, "active")]);
        }
        assert_eq!(world.take_events(), ["main/vm_error/1 resolved"]);
        let ok =
            if polls == 1 { "OK in this poll".to_owned() } else { format!("OK in {polls} polls in a row") };
        assert_eq!(world.incident(Kind::VmError, "1").reason.to_string(), ok);
    }
}

#[test]
fn a_state_that_says_nothing_keeps_an_incident_open_and_says_so() {
    let mut world = World::healthy();
    world.vms(&[(1, "error"), (2, "active")]);
    world.vms(&[(1, "building"), (2, "active")]);
    let incident = world.incident(Kind::VmError, "1");
    assert_eq!(incident.reason.to_string(), "still open: its state is now building, which is no recovery");
    assert_eq!(incident.detail, "its state is now building");
}

#[test]
fn what_says_nothing_of_an_incident_that_is_over_changes_nothing() {
    let mut world = World::healthy();
    for state in ["error", "active", "active"] {
        world.vms(&[(1, state), (2, "active")]);
    }
    let over = world.incident(Kind::VmError, "1").clone();
    world.vms(&[(1, "building"), (2, "active")]);
    assert_eq!(*world.incident(Kind::VmError, "1"), over);
}

#[test]
fn listings_of_containers_say_nothing_of_sites_while_there_are_containers() {
    let mut world = World::healthy();
    world.sites(10, &[(100, "Error"), (101, "Active")]);
    world.told.clear();
    world.sites(10, &[(101, "Active")]);
    world.containers(&[(10, "ENABLED"), (11, "ENABLED")]);
    assert!(world.told.is_empty(), "gone from one listing so far: {:?}", world.events());
    world.sites(10, &[(101, "Active")]);
    assert_eq!(world.take_events(), ["main/site_error/100 removed"]);
}

#[test]
fn what_is_seen_once_more_as_it_is_known_is_nothing_to_keep() {
    let mut world = World::healthy();
    world.vms(&[(1, "error"), (2, "active")]);
    world.later(Duration::minutes(1));
    let rows = vec![vm(1, "error"), vm(2, "active")];
    let observed = world.book.apply(Read::Vms(Rows { rows, complete: true }), world.now);
    let account = world.key(Kind::VmError, "1").account;
    let snapshot = Snapshot { accounts: [(account.clone(), world.book.publish())].into() };
    let input = Input::Poll { account, observed, ended: None };
    let outcome = world.engine.step(&input, &snapshot, world.now);
    assert!(outcome.is_empty(), "{outcome:?}");
}

#[test]
fn each_listing_is_watched_again_once_it_was_looked_at_itself() {
    let mut world = World::healthy();
    world.restart(Duration::hours(5));
    for _ in 0..3 {
        world.vms(&[(1, "active"), (2, "active")]);
    }
    world.containers(&[(10, "DISABLED_BY_ADMIN"), (11, "ENABLED")]);
    assert_eq!(world.events(), ["main/container_disabled/10 opened"]);
    assert!(world.told[0].items[0].unwatched.is_some(), "its first look since the start");
    world.vms(&[(1, "error"), (2, "active")]);
    assert_eq!(world.told[1].items[0].unwatched, None);
}
