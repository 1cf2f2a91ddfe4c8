//! Incidents as they are shown, from the engine's knowledge: which of them, since when, with which words.
#![allow(clippy::unwrap_used, reason = "tests")]

use super::alert_support::{Fate, World, cut_off_in};
use crate::alert::{AlertSettings, Kind, Phase};
use crate::model::Language;
use crate::model::forecast::Disconnect;
use chrono::Duration;

fn with_two_polls() -> World {
    World::healthy_with(AlertSettings { confirm_polls: 2, ..AlertSettings::defaults() })
}

#[test]
fn an_incident_is_shown_from_the_first_bad_reading_until_a_week_after_its_end() {
    let mut world = with_two_polls();
    for episode in 1..=2 {
        world.vms(&[(1, "error"), (2, "active")]);
        let first = world.now;
        let row = world.row(Kind::VmError, "1").unwrap();
        let known = (row.phase, row.since, row.last_change, row.resolved_at);
        assert_eq!(
            known,
            (Phase::Pending, first, first, None),
            "of episode {episode}, not of the one before"
        );
        world.vms(&[(1, "error"), (2, "active")]);
        let row = world.row(Kind::VmError, "1").unwrap();
        assert_eq!((row.phase, row.since, row.last_change), (Phase::Firing, first, world.now));
        assert_eq!(row.title, "VM vm-1 in error");
        assert_eq!(row.title_in(Language::Ru), "Сервер vm-1: ошибка");
        assert!(row.reason.ends_with("; confirmed by 2 polls"), "{}", row.reason);
        world.vms(&[(1, "active"), (2, "active")]);
        world.vms(&[(1, "active"), (2, "active")]);
        let row = world.row(Kind::VmError, "1").unwrap();
        let known = (row.phase, row.since, row.last_change, row.resolved_at);
        assert_eq!(known, (Phase::Resolved, first, world.now, Some(world.now)));
        // More changes within an hour would be flapping.
        world.later(Duration::hours(1));
    }
    world.later(Duration::days(7) - Duration::hours(1) - Duration::seconds(1));
    assert!(world.row(Kind::VmError, "1").is_some());
    world.later(Duration::seconds(1));
    assert!(world.row(Kind::VmError, "1").is_none());
}

#[test]
fn incidents_that_ended_untold_or_are_unwatched_are_not_shown() {
    let mut world = World::healthy();
    let silence = world.silence("*", Duration::hours(1));
    world.vms(&[(1, "error"), (2, "active")]);
    let row = world.row(Kind::VmError, "1").unwrap();
    assert_eq!(row.decided.silenced_until, Some(world.now - Duration::seconds(20) + Duration::hours(1)));
    world.vms(&[(1, "active"), (2, "active")]);
    world.vms(&[(1, "active"), (2, "active")]);
    assert!(world.row(Kind::VmError, "1").is_none(), "it was open only while it was silenced");
    world.unsilence(silence);
    // A resource that is gone is shown as over, like one that is well again.
    world.vms(&[(1, "active"), (2, "error")]);
    world.vms(&[(1, "active")]);
    world.vms(&[(1, "active")]);
    let gone = world.row(Kind::VmError, "2").unwrap();
    assert_eq!(gone.reason, "no longer listed by the provider");
    assert_eq!(gone.reason_in(Language::Ru), "провайдер больше не показывает это в списке");
    let state = serde_json::to_value(&gone).unwrap()["state"].clone();
    assert_eq!((gone.phase, state), (Phase::Resolved, "resolved".into()));
    world.vms(&[(1, "error")]);
    assert!(world.is_open(Kind::VmError, "1"));
    world.leave();
    assert!(world.row(Kind::VmError, "1").is_none());
}

#[test]
fn a_row_names_its_cause_and_who_took_it_on() {
    let mut world = World::healthy();
    world.containers(&[(10, "DISABLED_BY_ADMIN"), (11, "ENABLED")]);
    world.sites(10, &[(100, "Error"), (101, "Active")]);
    let cause = world.key(Kind::ContainerDisabled, "10");
    let site = world.row(Kind::SiteError, "100").unwrap();
    assert_eq!(site.caused_by.as_ref(), Some(&cause));
    assert!(site.reason.ends_with(&format!(" (covered by {cause})")), "{}", site.reason);
    world.ack(&cause.to_string());
    let row = world.row(Kind::ContainerDisabled, "10").unwrap();
    assert_eq!((&row.caused_by, row.decided.acknowledged_at), (&None, Some(world.now)));
}

#[test]
fn a_cut_off_is_shown_with_its_date_and_the_deletion() {
    let mut world = World::healthy_with(AlertSettings { deletion_days: 7, ..AlertSettings::defaults() });
    world.server_all(Fate::Accept);
    world.report(cut_off_in(48));
    let row = world.row(Kind::Disconnect, "account").unwrap();
    let Some(Disconnect::At { at, computed: false }) = row.cut_off else { panic!("{row:?}") };
    assert_eq!((row.title.as_str(), row.deleted_at), ("Account main will be cut off for non-payment", None));
    world.pass(at - world.now + Duration::minutes(1));
    let row = world.row(Kind::Disconnect, "account").unwrap();
    assert_eq!(row.title, "Account main is cut off for non-payment");
    assert_eq!(row.deleted_at, Some(at + Duration::days(7)));
    assert_eq!(row.reason, "cut-off Wed 4 Mar; the cut-off date has passed");
    // A date that is far is near to no rung, also where the balance is used up.
    let mut world = World::healthy();
    world.live("cut-off 20d 20000, balance -300");
    let row = world.row(Kind::Disconnect, "account").unwrap();
    assert_eq!(row.reason, "cut-off Sun 22 Mar; the balance is used up");
}
