//! What changes again and again.

use crate::alert::{Engine, Kind, Phase, Rule};
use crate::model::{Collector, KnownAccount};
use crate::view::incidents::IncidentRow;
use chrono::Duration;

use super::alert_support::*;

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

/// VM 1 breaks and recovers twice, which is told as flapping.
fn flapping() -> World {
    flapping_between("error", Kind::VmError)
}

fn flapping_between(state: &str, kind: Kind) -> World {
    let mut world = World::healthy();
    for _ in 0..2 {
        world.vms(&[(1, state), (2, "active")]);
        world.vms(&[(1, "active"), (2, "active")]);
        world.vms(&[(1, "active"), (2, "active")]);
    }
    assert_eq!(world.take_events().last().unwrap(), &format!("main/{kind}/1 flapping"));
    world
}

#[test]
fn what_was_told_as_flapping_has_its_own_mails_whatever_explains_it_later() {
    let mut world = flapping_between("blocked", Kind::VmBlocked);
    world.containers(&[(10, "DISABLED_BY_SERVICE"), (11, "ENABLED")]);
    world.vms(&[(1, "blocked"), (2, "active")]);
    world.told.clear();
    world.pass(Duration::minutes(40));
    assert_eq!(world.take_events(), ["main/vm_blocked/1 opened"]);
    for _ in 0..2 {
        world.vms(&[(1, "active"), (2, "active")]);
    }
    assert_eq!(world.take_events(), ["main/vm_blocked/1 resolved"]);
}

#[test]
fn what_flaps_and_outlives_its_cause_is_told_once() {
    let mut world = flapping_between("blocked", Kind::VmBlocked);
    world.containers(&[(10, "DISABLED_BY_SERVICE"), (11, "ENABLED")]);
    world.vms(&[(1, "blocked"), (2, "active")]);
    for _ in 0..2 {
        world.containers(&[(10, "ENABLED"), (11, "ENABLED")]);
    }
    world.told.clear();
    for _ in 0..3 {
        world.vms(&[(1, "blocked"), (2, "active")]);
    }
    assert!(world.told.is_empty(), "it flaps: {:?}", world.events());
    world.pass(Duration::minutes(40));
    assert_eq!(world.take_events(), ["main/vm_blocked/1 opened"]);
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

/// VM 1 goes wrong, and then right for good.
fn once(world: &mut World) {
    for state in ["error", "active", "active"] {
        world.vms(&[(1, state), (2, "active")]);
    }
}

#[test]
fn four_changes_within_an_hour_are_flapping_and_no_fewer() {
    // From the first to the fourth it takes 100 seconds more.
    for (seconds, last) in [(0, "flapping"), (3499, "flapping"), (3500, "resolved")] {
        let mut world = World::healthy();
        once(&mut world);
        world.later(Duration::seconds(seconds));
        once(&mut world);
        let want = ["opened", "resolved", "opened", last].map(|event| format!("main/vm_error/1 {event}"));
        assert_eq!(world.take_events(), want, "{seconds} s between");
    }
    // The fourth is an opening here: the first of all is more than an hour ago by then.
    let mut world = World::healthy();
    world.vms(&[(1, "error"), (2, "active")]);
    world.later(Duration::minutes(58));
    for state in ["active", "active"] {
        world.vms(&[(1, state), (2, "active")]);
    }
    world.vms(&[(1, "error"), (2, "active")]);
    world.later(Duration::minutes(2));
    for state in ["active", "active", "error"] {
        world.vms(&[(1, state), (2, "active")]);
    }
    assert_eq!(world.take_events().last().unwrap(), "main/vm_error/1 flapping");
    let incident = world.incident(Kind::VmError, "1");
    assert_eq!(incident.reason.to_string(), "4 changes within an hour");
    assert!(incident.flapping && incident.announced);
}

#[test]
fn what_flaps_is_told_once_it_was_quiet_for_half_an_hour() {
    let mut world = flapping();
    world.pass(Duration::minutes(29));
    assert!(world.told.is_empty(), "{:?}", world.events());
    world.pass(Duration::minutes(1));
    assert_eq!(world.take_events(), ["main/vm_error/1 resolved"]);
    assert_eq!(
        world.incident(Kind::VmError, "1").reason.to_string(),
        "stable for half an hour after many changes"
    );
    // Neither right nor wrong for good is not quiet.
    let mut world = flapping();
    world.vms(&[(1, "error"), (2, "active")]);
    world.vms(&[(1, "active"), (2, "active")]);
    assert_eq!(world.incident(Kind::VmError, "1").phase, Phase::Recovering);
    world.pass(Duration::minutes(45));
    assert!(world.told.is_empty(), "{:?}", world.events());
}

/// What waits for a look, or for the end of a silence, is told as what it is by then.
#[test]
fn the_fourth_change_of_an_hour_is_flapping_however_late_it_is_told() {
    let active = |world: &mut World| (0..2).for_each(|_| world.vms(&[(1, "active"), (2, "active")]));
    let blocked = |world: &mut World| world.vms(&[(1, "blocked"), (2, "active")]);
    let mut world = World::healthy();
    blocked(&mut world);
    world.pass(Duration::minutes(61));
    active(&mut world);
    blocked(&mut world);
    active(&mut world);
    world.told.clear();
    world.book.look_again();
    blocked(&mut world);
    world.tick();
    assert_eq!(world.take_events(), [""; 0], "a report may explain it");
    world.book.stop_looking();
    world.tick();
    assert_eq!(world.events(), ["main/vm_blocked/1 flapping"]);
    let reason = world.told[0].items[0].reason.to_string();
    assert_eq!(reason, "4 changes within an hour");
    world.told.clear();
    world.pass(Duration::minutes(40));
    assert_eq!(world.take_events(), ["main/vm_blocked/1 opened"], "and once more when it is quiet");

    // The same where the fourth ends it, unheard of.
    let mut world = World::healthy();
    blocked(&mut world);
    active(&mut world);
    world.told.clear();
    world.book.look_again();
    blocked(&mut world);
    active(&mut world);
    assert_eq!(world.take_events(), ["main/vm_blocked/1 flapping"]);

    // Changes of long ago are none of this hour.
    let mut world = World::healthy();
    blocked(&mut world);
    active(&mut world);
    world.told.clear();
    world.silence("main/vm_blocked/*", Duration::hours(3));
    blocked(&mut world);
    active(&mut world);
    blocked(&mut world);
    world.pass(Duration::hours(4));
    assert_eq!(world.take_events(), ["main/vm_blocked/1 opened"]);
}

#[test]
fn what_flaps_is_open_until_its_end_is_told() {
    let mut world = flapping();
    let episode = world.incident(Kind::VmError, "1").episode;
    for state in ["active", "active", "active", "error", "active", "active", "active"] {
        world.vms(&[(1, state), (2, "active")]);
        world.tick();
        let incident = world.incident(Kind::VmError, "1");
        assert!(incident.phase.is_open() && incident.announced, "{state}: {incident:#?}");
        assert_eq!(incident.episode, episode);
        let row = IncidentRow::of(incident, world.engine.muted(), world.now).unwrap();
        assert!(row.is_open() && row.needs_you(world.now));
        assert_eq!((row.title.as_str(), row.resolved_at), ("VM vm-1 keeps failing", None));
    }
    assert!(world.told.is_empty(), "{:?}", world.events());
    world.pass(Duration::minutes(31));
    assert_eq!(world.take_events(), ["main/vm_error/1 resolved"]);
    assert_eq!(world.incident(Kind::VmError, "1").phase, Phase::Resolved);
}

#[test]
fn what_flapped_ended_when_it_became_well_and_not_when_that_is_told() {
    let mut world = flapping();
    let began = world.incident(Kind::VmError, "1").since;
    for state in ["error", "active", "active"] {
        world.vms(&[(1, state), (2, "active")]);
    }
    let ended = world.now;
    for _ in 0..3 {
        world.pass(Duration::minutes(10));
        world.vms(&[(1, "active"), (2, "active")]);
    }
    world.tick();
    let item = &world.told.last().unwrap().items[0];
    assert_eq!((item.event.to_string().as_str(), item.since, item.at), ("resolved", began, ended));
    assert_eq!(world.incident(Kind::VmError, "1").resolved_at, Some(ended));
    // Where it stays wrong, from when on.
    let mut world = flapping();
    world.vms(&[(1, "error"), (2, "active")]);
    let wrong = world.now;
    world.pass(Duration::minutes(31));
    let item = &world.told.last().unwrap().items[0];
    assert_eq!((item.event.to_string().as_str(), item.since), ("opened", wrong));
}

/// Watched no longer while it flaps, last seen in this state.
fn ends_unwatched(last: &str, change: impl Fn(&mut World)) {
    let mut world = flapping();
    world.vms(&[(1, last), (2, "active")]);
    world.told.clear();
    change(&mut world);
    world.pass(Duration::hours(2));
    assert_eq!(world.take_events(), ["main/vm_error/1 unwatched"], "last seen {last}");
    let incident = world.incident(Kind::VmError, "1");
    assert_eq!((incident.phase, incident.flapping), (Phase::Unwatched, false));
}

fn with_rule(world: &mut World, rule: Rule) {
    world.settings.rules.insert(Kind::VmError, rule);
    world.set_settings();
}

fn without_key(world: &mut World) {
    let mut profile = (*world.book.state().profile).clone();
    profile.collectors.remove(&Collector::Vms);
    let book = std::mem::replace(&mut world.book, KnownAccount::new(profile.clone().into()));
    world.book = book.with_profile(profile.into());
}

#[test]
fn what_flaps_and_is_no_longer_watched_ends_with_that() {
    for last in ["error", "active"] {
        ends_unwatched(last, |world| with_rule(world, Rule { enabled: Some(false), ..Rule::default() }));
        ends_unwatched(last, |world| {
            with_rule(world, Rule { except: vec!["vm-1".to_owned()], ..Rule::default() });
        });
        ends_unwatched(last, without_key);
        ends_unwatched(last, World::leave);
    }
}

#[test]
fn what_flapped_before_its_account_was_away_is_told_as_it_is_once_that_is_back() {
    for (last, now, told) in [
        ("error", "error", "opened"),
        ("active", "error", "opened"),
        ("error", "active", "resolved"),
        ("active", "active", "resolved"),
    ] {
        let mut world = flapping();
        world.vms(&[(1, last), (2, "active")]);
        world.leave();
        world.later(Duration::minutes(20));
        world.told.clear();
        world.set_settings();
        world.tick();
        for _ in 0..3 {
            world.vms(&[(1, now), (2, "active")]);
        }
        assert_eq!(world.take_events(), [format!("main/vm_error/1 {told}")], "{last}, then {now}");
    }
}

#[test]
fn what_flaps_and_is_removed_is_told_so_at_once() {
    for last in ["error", "active"] {
        let mut world = flapping();
        world.vms(&[(1, last), (2, "active")]);
        world.told.clear();
        for _ in 0..2 {
            world.vms(&[(2, "active")]);
        }
        assert_eq!(world.take_events(), ["main/vm_error/1 removed"], "last seen {last}");
        world.pass(Duration::hours(1));
        assert!(world.told.is_empty(), "{:?}", world.events());
    }
}

/// A look that found it wrong once more is none that found it gone.
#[test]
fn what_flaps_is_gone_only_after_as_many_listings_as_anything_else() {
    let mut world = flapping();
    world.settings.confirm_polls = 3;
    world.settings.recover_polls = 3;
    world.set_settings();
    for state in ["active", "active", "active", "error"] {
        world.vms(&[(1, state), (2, "active")]);
    }
    assert!(world.incident(Kind::VmError, "1").is_settling());
    world.told.clear();
    for _ in 0..2 {
        world.vms(&[(2, "active")]);
        assert_eq!(world.take_events(), [""; 0]);
    }
    world.vms(&[(2, "active")]);
    assert_eq!(world.take_events(), ["main/vm_error/1 removed"]);
}

#[test]
fn what_flaps_is_wrong_again_only_where_that_is_confirmed() {
    let mut settings = crate::alert::AlertSettings::defaults();
    settings.confirm_polls = 2;
    let mut world = World::healthy_with(settings);
    for _ in 0..2 {
        for state in ["error", "error", "active", "active"] {
            world.vms(&[(1, state), (2, "active")]);
        }
    }
    assert_eq!(world.take_events().last().unwrap(), "main/vm_error/1 flapping");
    let ended = world.now;
    world.pass(Duration::minutes(10));
    for state in ["error", "active", "error"] {
        world.vms(&[(1, state), (2, "active")]);
    }
    world.pass(Duration::minutes(25));
    assert!(world.told.is_empty(), "it may be wrong: {:?}", world.events());
    world.vms(&[(1, "active"), (2, "active")]);
    world.tick();
    assert_eq!(world.events(), ["main/vm_error/1 resolved"]);
    assert_eq!(world.told[0].items[0].at, ended);
    // In no state that says anything it is not well either.
    let mut world = flapping();
    world.vms(&[(1, "building"), (2, "active")]);
    world.pass(Duration::hours(1));
    assert!(world.told.is_empty(), "{:?}", world.events());
}

#[test]
fn what_flaps_all_day_is_escalated_and_whoever_heard_that_hears_the_end() {
    let mut settings = crate::alert::AlertSettings::defaults();
    settings.escalate_to = vec!["boss".into()];
    let mut world = World::healthy_with(settings);
    for _ in 0..14 * 6 {
        world.pass(Duration::minutes(8));
        for state in ["error", "active", "active", "error"] {
            world.vms(&[(1, state), (2, "active")]);
        }
    }
    let events = world.events();
    let wanted = ["opened", "resolved", "opened", "flapping", "escalated"];
    assert_eq!(events, wanted.map(|event| format!("main/vm_error/1 {event}")));
    for state in ["active", "active"] {
        world.vms(&[(1, state), (2, "active")]);
    }
    world.pass(Duration::minutes(31));
    let end = world.told.last().unwrap();
    assert_eq!((end.items[0].event.to_string().as_str(), end.to.len()), ("resolved", 2));
}

#[test]
fn flapping_that_nobody_heard_of_is_told_as_it_is() {
    let mut world = flapping();
    world.vms(&[(1, "error"), (2, "active")]);
    world.told.clear();
    world.not_delivered(vec![world.key(Kind::VmError, "1")]);
    world.vms(&[(1, "error"), (2, "active")]);
    assert_eq!(world.take_events(), ["main/vm_error/1 opened"]);
    let mut world = flapping();
    world.not_delivered(vec![world.key(Kind::VmError, "1")]);
    for _ in 0..2 {
        world.vms(&[(1, "active"), (2, "active")]);
    }
    assert_eq!(world.take_events(), ["main/vm_error/1 was-down"]);
}

#[test]
fn a_silence_never_swallows_the_end_of_flapping() {
    use crate::alert::{Muted, Silence};
    let mut world = flapping();
    world.vms(&[(1, "error"), (2, "active")]);
    let until = world.now + Duration::hours(3);
    let silence = Silence { id: 1, pattern: "vm-1".into(), at: world.now, until, comment: String::new() };
    world.engine.set_muted(Muted { silences: vec![silence], ..Muted::default() });
    world.pass(Duration::hours(1));
    assert!(world.told.is_empty(), "{:?}", world.events());
    for _ in 0..2 {
        world.vms(&[(1, "active"), (2, "active")]);
    }
    world.pass(Duration::minutes(31));
    assert_eq!(world.take_events(), ["main/vm_error/1 resolved"]);
}

#[test]
fn a_container_that_flaps_explains_its_sites_only_while_it_is_off() {
    let mut world = World::healthy();
    for state in ["DISABLED_BY_ADMIN", "ENABLED", "ENABLED"].repeat(2) {
        world.containers(&[(10, state), (11, "ENABLED")]);
    }
    assert_eq!(world.take_events().last().unwrap(), "main/container_disabled/10 flapping");
    world.sites(10, &[(100, "Error"), (101, "Active")]);
    assert_eq!(world.take_events(), ["main/site_error/100 opened"]);
    world.containers(&[(10, "DISABLED_BY_ADMIN"), (11, "ENABLED")]);
    world.sites(10, &[(100, "Error"), (101, "Error")]);
    assert!(world.told.is_empty(), "{:?}", world.events());
    for _ in 0..2 {
        world.containers(&[(10, "ENABLED"), (11, "ENABLED")]);
    }
    world.sites(10, &[(100, "Error"), (101, "Error")]);
    assert_eq!(world.take_events(), ["main/site_error/101 opened"]);
}

/// Older releases kept what flaps as over whenever it was right, each time as an episode of its own.
#[test]
fn what_flaps_in_a_store_of_an_older_release_goes_on() {
    let older: [fn(&mut crate::alert::Incident); 3] = [
        |incident| incident.phase = Phase::Resolved,
        |incident| (incident.phase, incident.resolved_at, incident.announced) = (Phase::Pending, None, false),
        |incident| {
            (incident.phase, incident.resolved_at, incident.announced) = (Phase::Firing, None, false);
        },
    ];
    for (index, change) in older.into_iter().enumerate() {
        let world = flapping();
        let mut incident = world.incident(Kind::VmError, "1").clone();
        change(&mut incident);
        let kept = as_read_back([incident].iter(), world.now);
        let engine = Engine::new(Default::default(), kept, true, None, world.now);
        let known = &engine.incidents()[&world.key(Kind::VmError, "1")];
        assert!(known.phase.is_open() && known.announced, "{index}: {known:#?}");
        assert_eq!(known.is_settling(), index < 2, "{index}");
    }
}
