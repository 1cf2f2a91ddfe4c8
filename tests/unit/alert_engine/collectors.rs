//! Polling that fails: which incident speaks of it, when, and what ends it.

use crate::alert::{AlertSettings, Kind, Phase, Rule, Severity, Target};
use crate::model::{Collector, FailureKind};
use chrono::Duration;

use super::alert_support::*;

#[test]
fn each_failure_has_one_incident_and_its_time() {
    use Collector::{Containers, ExpectedBalance, Vms};
    use FailureKind::{Credentials, NotFound, Other, ReportError};
    // (who fails, how, told at once, told once it has lasted)
    let table = [
        (Vms, Other, "", "collector_failing/vms"),
        (Vms, NotFound, "", "collector_failing/vms"),
        (Vms, Credentials, "credentials_rejected/vm", ""),
        (Containers, Other, "", "collector_failing/containers"),
        (ExpectedBalance, Other, "", "collector_failing/expected_balance"),
        (ExpectedBalance, Credentials, "credentials_rejected/billing", ""),
        (ExpectedBalance, NotFound, "billing_report/account", ""),
        (ExpectedBalance, ReportError, "billing_report/account", ""),
    ];
    let opened = |key: &str| if key.is_empty() { Vec::new() } else { vec![format!("main/{key} opened")] };
    for (collector, kind, at_once, later) in table {
        let mut world = World::healthy();
        world.fail(collector, kind);
        assert_eq!(world.take_events(), opened(at_once), "{collector:?} {kind:?}");
        world.pass(Duration::minutes(14));
        assert_eq!(world.take_events(), opened(""), "{collector:?} {kind:?}");
        world.pass(Duration::minutes(1));
        assert_eq!(world.take_events(), opened(later), "{collector:?} {kind:?}");
    }
}

/// "`credentials_rejected` means that every call of the group is refused": not that the first to answer is.
#[test]
fn credentials_are_judged_once_the_others_that_have_them_were_tried() {
    for (vms, told) in [(None, &["main/started"][..]), (Some(()), &["main/credentials_rejected/vm started"])]
    {
        let mut world = World::new(AlertSettings::defaults());
        world.fail(Collector::Ips, FailureKind::Credentials);
        match vms {
            None => world.vms(&[(1, "active")]),
            Some(()) => world.fail(Collector::Vms, FailureKind::Credentials),
        }
        world.containers(&[]);
        world.end(Collector::Sites, None);
        world.report(rich());
        assert_eq!(world.take_events(), told);
    }
}

#[test]
fn a_collector_that_answers_again_is_told_and_what_it_had_to_say() {
    let mut world = World::healthy();
    world.fail(Collector::Vms, FailureKind::Other);
    let incident = world.incident(Kind::CollectorFailing, "vms");
    assert_eq!(incident.words(), "Cannot read VMs");
    assert_eq!(incident.detail, "it did not work");
    assert_eq!(incident.reason.to_string(), "no mail yet: it has to last for 15 min");
    world.pass(Duration::minutes(15));
    world.told.clear();
    // Refused instead: that is no recovery, and another incident's to tell.
    world.fail(Collector::Vms, FailureKind::Credentials);
    assert_eq!(world.take_events(), ["main/credentials_rejected/vm opened"]);
    let rejected = world.incident(Kind::CredentialsRejected, "vm");
    assert_eq!(rejected.words(), "Credentials of the vm endpoints rejected");
    for _ in 0..2 {
        assert!(world.told.is_empty());
        world.end(Collector::Vms, None);
    }
    let ends = ["main/credentials_rejected/vm resolved", "main/collector_failing/vms resolved"];
    assert_eq!(world.take_events(), ends);
    assert_eq!(world.incident(Kind::CollectorFailing, "vms").detail, "answers again");

    world.fail(Collector::ExpectedBalance, FailureKind::ReportError);
    assert_eq!(world.incident(Kind::BillingReport, "account").words(), "Balance report not available");
    world.told.clear();
    world.fail(Collector::ExpectedBalance, FailureKind::Other);
    world.fail(Collector::ExpectedBalance, FailureKind::Other);
    assert!(world.incident(Kind::BillingReport, "account").phase.is_open(), "no report is no good one");
    for _ in 0..2 {
        world.end(Collector::ExpectedBalance, None);
    }
    assert_eq!(world.take_events(), ["main/billing_report/account resolved"]);
}

#[test]
fn a_failure_that_turns_into_another_waits_for_nothing_of_the_first() {
    let mut world = World::healthy();
    world.fail(Collector::Vms, FailureKind::Other);
    world.fail(Collector::Vms, FailureKind::Credentials);
    world.told.clear();
    world.pass(Duration::minutes(30));
    assert!(world.told.is_empty(), "{:?}", world.events());
    assert_eq!(world.incident(Kind::CollectorFailing, "vms").phase, Phase::Pending);
    // One that went away before it was told is not told.
    world.end(Collector::Vms, None);
    let incident = world.incident(Kind::CollectorFailing, "vms");
    assert_eq!(incident.phase, Phase::Resolved);
    assert_eq!(incident.reason.to_string(), "went away before it was confirmed: no mail");
    assert!(incident.resolved_at.is_some());
}

#[test]
fn a_collector_whose_rule_is_off_is_not_told_however_long_it_fails() {
    let mut world = World::healthy();
    world.fail(Collector::Vms, FailureKind::Other);
    let off = Rule { enabled: Some(false), ..Rule::default() };
    world.settings.rules.insert(Kind::CollectorFailing, off);
    world.set_settings();
    world.pass(Duration::hours(1));
    assert!(world.told.is_empty(), "{:?}", world.events());
}

#[test]
fn what_a_failing_collector_saw_waits_and_disconnects_never_do() {
    let mut world = World::healthy_with(AlertSettings { recover_polls: 1, ..AlertSettings::defaults() });
    world.vms(&[(1, "error"), (2, "active")]);
    world.report(cut_off_in(8 * 24));
    world.told.clear();
    world.fail(Collector::Vms, FailureKind::Other);
    world.fail(Collector::ExpectedBalance, FailureKind::Other);
    world.pass(Duration::hours(26));
    let events = world.take_events();
    assert!(events.contains(&"main/disconnect/account rung:7".to_owned()), "{events:?}");
    assert!(!events.iter().any(|event| event.contains("vm_error")), "{events:?}");
    let reason = world.incident(Kind::Disconnect, "account").reason.to_string();
    let want = "less than 7 days left (as of Mon 2 Mar 12:02 UTC; no newer report confirms it)";
    assert_eq!(reason, want);
}

#[test]
fn what_fails_together_is_told_with_the_first_and_ends_with_it() {
    use Collector::{Containers, ExpectedBalance, Sites, Vms};
    let mut world = World::healthy();
    let fail = |world: &mut World, collectors: &[Collector]| {
        for &collector in collectors {
            world.fail(collector, FailureKind::Other);
        }
    };
    fail(&mut world, &[Containers, Sites]);
    world.pass(Duration::minutes(5));
    fail(&mut world, &[Vms]);
    world.pass(Duration::minutes(5));
    fail(&mut world, &[ExpectedBalance]);
    world.pass(Duration::minutes(30));
    assert_eq!(world.take_events(), ["main/collector_failing/containers opened"]);
    let incident = world.incident(Kind::CollectorFailing, "containers");
    assert_eq!(incident.words(), "Provider API does not answer: nothing is watched");
    assert_eq!(incident.severity, Severity::Critical);
    assert!(incident.detail.ends_with("; not read either: VMs, sites, the balance"), "{}", incident.detail);
    // One is read again, then the first; what then still fails is told once it was tried.
    for _ in 0..2 {
        world.end(Vms, None);
        world.end(Containers, None);
    }
    world.pass(Duration::minutes(2));
    assert!(world.told.is_empty(), "{:?}", world.events());
    world.pass(Duration::minutes(1));
    assert_eq!(world.take_events(), ["main/collector_failing/containers resolved"]);
    fail(&mut world, &[Sites]);
    assert_eq!(world.take_events(), ["main/collector_failing/sites opened"]);
    fail(&mut world, &[ExpectedBalance]);
    assert!(world.told.is_empty(), "{:?}", world.events());
}

/// People were told that nothing is watched: they are told when that is no longer so.
#[test]
fn once_some_of_what_failed_together_is_read_again_the_rest_is_named() {
    use Collector::{Containers, ExpectedBalance, Sites, Vms};
    let mut world = World::healthy();
    for _ in 0..20 {
        for collector in [Vms, Containers, Sites, ExpectedBalance] {
            world.fail(collector, FailureKind::Other);
        }
        world.pass(Duration::minutes(1));
    }
    assert_eq!(world.told.len(), 1, "{:?}", world.events());
    let head = world.told[0].items[0].clone();
    assert_eq!(head.words(), "Provider API does not answer: nothing is watched");
    let head = head.key.resource.to_string();
    world.told.clear();
    assert_eq!(head, "vms");
    for collector in [Sites, ExpectedBalance] {
        (0..2).for_each(|_| world.end(collector, None));
    }
    world.pass(Duration::minutes(29));
    assert_eq!(world.take_events(), [""; 0], "they seldom recover all at once");
    world.pass(Duration::minutes(2));
    assert_eq!(world.events(), [format!("main/collector_failing/{head} opened")]);
    let item = &world.told[0].items[0];
    assert_eq!((item.words().as_str(), item.severity), ("Cannot read VMs", Severity::Warning));
    assert_eq!(item.detail, "it did not work; not read either: containers");
    assert_eq!(item.reason.to_string(), "some of what failed with it is read again");
    assert_eq!(item.arming, 1, "another mail than that of its beginning");
    world.told.clear();
    world.pass(Duration::hours(5));
    assert_eq!(world.take_events(), [""; 0], "once");
    world.pass(Duration::days(3));
    let again = &world.told[0].items[0];
    assert_eq!((again.event.to_string().as_str(), again.words().as_str()), ("reminder:1", "Cannot read VMs"));
}

/// The others are tried within minutes of the first: one beginning, one end.
#[test]
fn what_failed_together_and_is_read_again_soon_has_one_end() {
    use Collector::{Containers, Sites, Vms};
    let mut world = World::healthy();
    for _ in 0..20 {
        [Vms, Containers, Sites].iter().for_each(|&collector| world.fail(collector, FailureKind::Other));
        world.pass(Duration::minutes(1));
    }
    let head = world.told[0].items[0].key.clone();
    assert_eq!(world.take_events().len(), 1);
    let Target::Collector(first) = head.resource else { unreachable!("{head}") };
    (0..2).for_each(|_| world.end(first, None));
    world.tick();
    assert_eq!(world.take_events(), [""; 0]);
    let why = world.incident(Kind::CollectorFailing, first.as_str()).reason.to_string();
    assert!(why.ends_with("no mail yet: what failed with it is tried first"), "{why}");
    for other in [Vms, Containers, Sites].into_iter().filter(|other| *other != first) {
        (0..2).for_each(|_| world.end(other, None));
    }
    world.tick();
    let detail = world.told.first().map(|notice| notice.items[0].detail.clone());
    assert_eq!(detail.as_deref(), Some("answers again"));
    assert_eq!(world.take_events(), [format!("{head} resolved")]);
    world.pass(Duration::hours(3));
    assert_eq!(world.take_events(), [""; 0]);
}

/// The end of the first named them as not read yet: the last of them says that all are.
#[test]
fn what_was_not_read_yet_when_the_first_was_is_told_once_it_is() {
    use Collector::{Containers, ExpectedBalance, Vms};
    let mut world = World::healthy();
    for _ in 0..20 {
        for collector in [Containers, Vms, ExpectedBalance] {
            world.fail(collector, FailureKind::Other);
        }
        world.pass(Duration::minutes(1));
    }
    let head = world.told[0].items[0].key.resource.to_string();
    world.told.clear();
    let mut others = [Containers, Vms, ExpectedBalance].into_iter().filter(|one| one.as_str() != head);
    let first = [Containers, Vms, ExpectedBalance].into_iter().find(|one| one.as_str() == head).unwrap();
    (0..2).for_each(|_| world.end(first, None));
    let (one, two) = (others.next().unwrap(), others.next().unwrap());
    world.pass(Duration::minutes(3));
    assert_eq!(world.take_events(), [format!("main/collector_failing/{head} resolved")]);
    (0..2).for_each(|_| world.end(one, None));
    assert_eq!(world.take_events(), [""; 0]);
    (0..2).for_each(|_| world.end(two, None));
    assert_eq!(world.events(), [format!("main/collector_failing/{} resolved", two.as_str())]);
    let detail = &world.told[0].items[0].detail;
    assert_eq!(*detail, "answers again; all that failed with it is read again");
}

#[test]
fn credentials_are_rejected_where_every_call_is_refused() {
    let mut world = World::healthy();
    // One listing is refused, and what else these credentials are for is read.
    for _ in 0..3 {
        assert!(world.told.is_empty(), "{:?}", world.events());
        world.end(Collector::Containers, None);
        world.fail(Collector::Sites, FailureKind::Credentials);
        world.later(Duration::minutes(8));
    }
    assert_eq!(world.take_events(), ["main/collector_failing/sites opened"]);
    // The containers were read long ago.
    world.later(Duration::minutes(11));
    world.fail(Collector::Sites, FailureKind::Credentials);
    assert_eq!(world.take_events(), ["main/credentials_rejected/hosting opened"]);
    for _ in 0..2 {
        world.end(Collector::Containers, None);
    }
    assert_eq!(world.take_events(), ["main/credentials_rejected/hosting resolved"]);
}

/// One mail told of both: what ends it must not say that all are read.
#[test]
fn the_end_of_what_was_told_of_several_collectors_names_those_that_still_fail() {
    let mut world = World::healthy();
    for _ in 0..20 {
        world.fail(Collector::Vms, FailureKind::Other);
        world.fail(Collector::Containers, FailureKind::Other);
        world.pass(Duration::minutes(1));
    }
    assert_eq!(world.take_events().len(), 1);
    let told = world.engine.incidents().values().find(|one| one.phase.is_open() && one.folded_into.is_none());
    let told = told.unwrap().key.resource.to_string();
    let (ends, other): (fn(&mut World), _) = if told == "vms" {
        (|world| world.vms(&[(1, "active"), (2, "active")]), "containers")
    } else {
        (|world| world.containers(&[(10, "ENABLED"), (11, "ENABLED")]), "vms")
    };
    (0..2).for_each(|_| ends(&mut world));
    world.pass(Duration::minutes(3));
    let item = &world.told[0].items[0];
    assert_eq!((item.event.to_string().as_str(), item.key.resource.to_string()), ("resolved", told));
    assert_eq!(item.detail, format!("answers again; not read yet: {other}"));
}

/// As soon as all that still fails was tried since: nobody has to believe for half an hour that nothing is watched.
#[test]
fn the_rest_is_named_as_soon_as_it_failed_once_more() {
    use Collector::{Containers, ExpectedBalance, Sites, Vms};
    let table = [
        (Vms, FailureKind::Credentials, [Containers, Sites, ExpectedBalance], "sites, the balance"),
        (ExpectedBalance, FailureKind::Other, [Vms, Containers, Sites], "containers, sites"),
    ];
    for (read, how, rest, others) in table {
        let mut world = World::healthy();
        for _ in 0..20 {
            rest.iter().for_each(|&collector| world.fail(collector, FailureKind::Other));
            world.fail(read, how);
            world.pass(Duration::minutes(1));
        }
        let told = world.told.iter().find(|notice| notice.items[0].key.kind == Kind::CollectorFailing);
        assert_eq!(told.unwrap().items[0].words(), "Provider API does not answer: nothing is watched");
        (0..2).for_each(|_| world.end(read, None));
        world.told.clear();
        rest[..2].iter().for_each(|&collector| world.fail(collector, FailureKind::Other));
        world.tick();
        assert_eq!(world.take_events(), [""; 0], "the last may be read again, too");
        world.fail(rest[2], FailureKind::Other);
        world.tick();
        assert_eq!(world.events().len(), 1, "{:?}", world.events());
        let item = &world.told[0].items[0];
        let words = format!("Cannot read {}", rest[0].words());
        assert_eq!((item.words(), item.severity), (words, Severity::Warning));
        assert_eq!(item.detail, format!("it did not work; not read either: {others}"));
        world.told.clear();
        world.pass(Duration::hours(2));
        assert_eq!(world.take_events(), [""; 0], "once");
    }
}
