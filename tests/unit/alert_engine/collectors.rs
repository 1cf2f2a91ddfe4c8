//! Polling that fails: which incident speaks of it, when, and what ends it.

use crate::alert::{Kind, Phase, Rule, Settings};
use crate::model::{Collector, FailureKind};
use chrono::Duration;

use super::alert_support::*;

#[test]
fn each_failure_has_one_incident_and_its_time() {
    use Collector::{Containers, ExpectedBalance, Sites, Vms};
    use FailureKind::{Credentials, NotFound, Other, ReportError};
    // (who fails, how, told at once, told once it has lasted)
    let table = [
        (Vms, Other, "", "collector_failing/vms"),
        (Vms, NotFound, "", "collector_failing/vms"),
        (Vms, Credentials, "credentials_rejected/vm", ""),
        (Containers, Other, "", "collector_failing/containers"),
        (Sites, Credentials, "credentials_rejected/hosting", ""),
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

#[test]
fn a_collector_that_answers_again_is_told_and_what_it_had_to_say() {
    let mut world = World::healthy();
    world.fail(Collector::Vms, FailureKind::Other);
    let incident = world.incident(Kind::CollectorFailing, "vms");
    assert_eq!(incident.words(), "Polling of vms failing");
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
    assert_eq!(
        world.incident(Kind::BillingReport, "account").words(),
        "Expected-balance report not available"
    );
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
    let mut world = World::healthy_with(Settings { recover_polls: 1, ..Settings::defaults() });
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
    let want = "the 7-day rung is crossed (as of 2026-03-02 12:02 UTC; no newer report could be read)";
    assert_eq!(reason, want);
}
