//! What arrives, and in which order, where the mail server makes it hard: the last news is true, and says no more than
//! its reader can know.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use super::alert_support::postbox::{Postbox, State};
use super::alert_support::{World, cut_off_in, rich};
use crate::alert::{Kind, Stage};
use chrono::Duration;

use crate::model::Collector;

const WAITS: fn(&super::alert_support::postbox::Mail) -> State = |_| State::Waits(Stage::NotArrived);

/// What the world told since, as mails.
fn post(world: &mut World, postbox: &mut Postbox) {
    postbox.take(Vec::new(), &std::mem::take(&mut world.goes_on));
    for notice in std::mem::take(&mut world.told) {
        let made = postbox.take(vec![notice], &BTreeSet::new());
        let threads = made.iter().flat_map(super::alert_support::postbox::threads).collect();
        world.engine.add_threads(threads);
    }
}

fn read(postbox: &Postbox) -> Vec<String> {
    postbox.read_by("ops").into_iter().map(|(key, event)| format!("{key} {event}")).collect()
}

fn vm_fails(world: &mut World) {
    world.vms(&[(1, "error"), (2, "active")]);
}

fn vm_recovers(world: &mut World) {
    for _ in 0..2 {
        world.vms(&[(1, "active"), (2, "active")]);
    }
}

#[test]
fn a_beginning_that_surely_did_not_arrive_and_its_end_are_one_mail() {
    let mut world = World::healthy();
    let mut postbox = Postbox::default();
    vm_fails(&mut world);
    post(&mut world, &mut postbox);
    postbox.attempt(WAITS);
    vm_recovers(&mut world);
    post(&mut world, &mut postbox);
    postbox.deliver();
    assert_eq!(read(&postbox), ["main/vm_error/1 was-down"]);
}

#[test]
fn a_beginning_that_may_have_arrived_is_answered_by_its_end() {
    let mut world = World::healthy();
    let mut postbox = Postbox::default();
    vm_fails(&mut world);
    post(&mut world, &mut postbox);
    postbox.attempt(|_| State::Waits(Stage::PerhapsArrived));
    vm_recovers(&mut world);
    post(&mut world, &mut postbox);
    postbox.deliver();
    assert_eq!(read(&postbox), ["main/vm_error/1 resolved"]);
}

#[test]
fn what_is_being_sent_goes_first() {
    let mut world = World::healthy();
    let mut postbox = Postbox::default();
    vm_fails(&mut world);
    post(&mut world, &mut postbox);
    postbox.attempt(|_| State::Waits(Stage::BeingSent));
    vm_recovers(&mut world);
    post(&mut world, &mut postbox);
    // It was refused for now: the end waits behind it.
    postbox.attempt(WAITS);
    assert!(read(&postbox).is_empty());
    postbox.deliver();
    assert_eq!(read(&postbox), ["main/vm_error/1 opened", "main/vm_error/1 resolved"]);
}

#[test]
fn a_group_mail_is_made_anew_for_what_remains() {
    let mut world = World::healthy();
    let mut postbox = Postbox::default();
    world.vms(&[(1, "error"), (2, "error")]);
    post(&mut world, &mut postbox);
    postbox.attempt(WAITS);
    for _ in 0..2 {
        world.vms(&[(1, "active"), (2, "error")]);
    }
    post(&mut world, &mut postbox);
    let ids: Vec<&str> = postbox.mails.iter().map(|mail| mail.id.as_str()).collect();
    assert_eq!(ids.len(), 3, "the group, what remains, what ended");
    assert_ne!(ids[0], ids[1]);
    postbox.deliver();
    assert_eq!(read(&postbox), ["main/vm_error/2 opened", "main/vm_error/1 was-down"]);
    // What remains is in the thread of the mail that went out.
    for _ in 0..2 {
        world.vms(&[(1, "active"), (2, "active")]);
    }
    assert_eq!(world.told[0].items[0].threads["ops"], postbox.mails[1].id);
}

#[test]
fn a_group_mail_that_may_have_arrived_stays_as_it_is() {
    let mut world = World::healthy();
    let mut postbox = Postbox::default();
    world.vms(&[(1, "error"), (2, "error")]);
    post(&mut world, &mut postbox);
    postbox.attempt(|_| State::Waits(Stage::PerhapsArrived));
    for _ in 0..2 {
        world.vms(&[(1, "active"), (2, "error")]);
    }
    post(&mut world, &mut postbox);
    postbox.deliver();
    let want = ["main/vm_error/1 opened", "main/vm_error/2 opened", "main/vm_error/1 resolved"];
    assert_eq!(read(&postbox), want);
}

#[test]
fn a_newer_rung_replaces_an_older_one_and_nothing_else() {
    let mut world = World::healthy();
    let mut postbox = Postbox::default();
    vm_fails(&mut world);
    world.report(cut_off_in(6 * 24));
    post(&mut world, &mut postbox);
    postbox.attempt(WAITS);
    world.report(cut_off_in(20));
    post(&mut world, &mut postbox);
    postbox.deliver();
    assert_eq!(read(&postbox), ["main/vm_error/1 opened", "main/disconnect/account rung:1"]);
}

#[test]
fn a_reminder_of_what_never_arrived_is_its_beginning() {
    let mut world = World::healthy();
    let mut postbox = Postbox::default();
    vm_fails(&mut world);
    post(&mut world, &mut postbox);
    postbox.attempt(WAITS);
    world.pass(chrono::Duration::hours(25));
    post(&mut world, &mut postbox);
    postbox.deliver();
    assert_eq!(read(&postbox), ["main/vm_error/1 opened"]);
}

#[test]
fn the_first_mail_does_not_come_after_the_end_of_what_it_lists() {
    let mut world = World::new(crate::alert::AlertSettings::defaults());
    let mut postbox = Postbox::default();
    world.vms(&[(1, "error"), (2, "error")]);
    world.containers(&[(10, "ENABLED")]);
    world.sites(10, &[(100, "Active")]);
    world.end(Collector::Sites, None);
    world.report(rich());
    post(&mut world, &mut postbox);
    postbox.attempt(WAITS);
    for _ in 0..2 {
        world.vms(&[(1, "active"), (2, "error")]);
    }
    post(&mut world, &mut postbox);
    postbox.deliver();
    assert_eq!(read(&postbox), ["main/vm_error/2 started", "main/vm_error/1 was-down"]);
    // Nothing is left to list: it still says that hostwatch watches.
    let mut alone = Postbox::default();
    let first = postbox.mails[0].notice.clone();
    alone.take(vec![first], &BTreeSet::new());
    for _ in 0..2 {
        world.vms(&[(1, "active"), (2, "active")]);
    }
    let mut ends = std::mem::take(&mut world.told);
    ends[0].items.push(crate::alert::Item {
        event: crate::alert::Event::Resolved,
        ..alone.mails[0].notice.items[0].clone()
    });
    alone.take(ends, &BTreeSet::new());
    let waiting: Vec<usize> = alone
        .mails
        .iter()
        .filter(|mail| mail.state != State::Withdrawn)
        .map(|mail| mail.notice.items.len())
        .collect();
    assert_eq!(waiting, [0, 2], "{:#?}", alone.mails);
}

#[test]
fn the_end_goes_to_whoever_was_told_of_the_beginning() {
    let mut world = World::healthy();
    let mut postbox = Postbox::default();
    vm_fails(&mut world);
    world.told[0].to = vec!["ann".into(), "bob".into(), "typo".into()];
    post(&mut world, &mut postbox);
    postbox.attempt(|mail| match mail.to.as_str() {
        "ann" => State::Arrived,
        "typo" => State::Refused,
        _ => State::Waits(Stage::NotArrived),
    });
    vm_recovers(&mut world);
    assert_eq!(world.told[0].to, ["ops"], "who is configured now heard of no beginning");
    post(&mut world, &mut postbox);
    postbox.deliver();
    let read_by = |to: &str| -> Vec<String> {
        postbox.read_by(to).into_iter().map(|(_, event)| event.to_string()).collect()
    };
    assert_eq!(read_by("ann"), ["opened", "resolved"]);
    assert_eq!(read_by("bob"), ["was-down"]);
    assert!(read_by("typo").is_empty() && read_by("ops").is_empty());
}

#[test]
fn what_nobody_heard_of_is_told_again_as_it_is() {
    let mut world = World::healthy();
    vm_fails(&mut world);
    world.report(cut_off_in(6 * 24));
    world.told.clear();
    let keys = vec![world.key(Kind::VmError, "1"), world.key(Kind::Disconnect, "account")];
    world.not_delivered(keys.clone());
    assert_eq!(world.take_events(), ["main/disconnect/account rung:7", "main/vm_error/1 opened"]);
    vm_recovers(&mut world);
    world.told.clear();
    world.not_delivered(keys[..1].to_vec());
    assert!(world.told.is_empty(), "what is over is not told: {:?}", world.events());
}

/// Taken out of the configuration for an hour.
fn is_away(world: &mut World, postbox: &mut Postbox) {
    world.leave();
    post(world, postbox);
    world.later(Duration::hours(1));
    world.come_back(postbox);
    post(world, postbox);
}

#[test]
fn what_goes_on_before_anybody_heard_that_nothing_looks_at_it_is_not_told_again() {
    let mut world = World::healthy();
    let mut postbox = Postbox::default();
    vm_fails(&mut world);
    world.report(cut_off_in(6 * 24));
    post(&mut world, &mut postbox);
    postbox.deliver();
    let first = ["main/vm_error/1 opened", "main/disconnect/account rung:7"];
    assert_eq!(read(&postbox), first);
    is_away(&mut world, &mut postbox);
    vm_fails(&mut world);
    world.report(cut_off_in(6 * 24));
    world.pass(Duration::minutes(10));
    post(&mut world, &mut postbox);
    postbox.deliver();
    assert_eq!(read(&postbox), first);
    vm_recovers(&mut world);
    world.report(cut_off_in(60));
    post(&mut world, &mut postbox);
    postbox.deliver();
    let then = ["main/vm_error/1 resolved", "main/disconnect/account rung:3"];
    assert_eq!(read(&postbox), [&first[..], &then].concat());
}

#[test]
fn what_was_told_as_no_longer_watched_is_told_again() {
    for stage in [None, Some(Stage::PerhapsArrived), Some(Stage::BeingSent)] {
        let mut world = World::healthy();
        let mut postbox = Postbox::default();
        vm_fails(&mut world);
        post(&mut world, &mut postbox);
        postbox.deliver();
        world.leave();
        post(&mut world, &mut postbox);
        postbox.attempt(|_| stage.map_or(State::Arrived, State::Waits));
        world.come_back(&postbox);
        vm_fails(&mut world);
        post(&mut world, &mut postbox);
        postbox.deliver();
        // One that may have arrived and is outdated goes; what is being sent goes first.
        let gone = (stage != Some(Stage::PerhapsArrived)).then_some("main/vm_error/1 unwatched");
        let want: Vec<&str> =
            ["main/vm_error/1 opened"].into_iter().chain(gone).chain(["main/vm_error/1 opened"]).collect();
        assert_eq!(read(&postbox), want, "{stage:?}");
    }
}

/// Told as no longer watched, and back in another state that is no recovery.
#[test]
fn what_is_watched_again_in_another_bad_state_is_told_as_it_is() {
    let others = [
        ("building", "main/vm_error/1 opened", "VM vm-1 not OK (now building, was in error)"),
        ("blocked", "main/vm_blocked/1 opened", "VM vm-1 blocked"),
    ];
    for (state, told, words) in others {
        let mut world = World::healthy();
        let mut postbox = Postbox::default();
        vm_fails(&mut world);
        post(&mut world, &mut postbox);
        world.leave();
        post(&mut world, &mut postbox);
        postbox.deliver();
        world.come_back(&postbox);
        world.told.clear();
        for _ in 0..3 {
            world.vms(&[(1, state), (2, "active")]);
        }
        world.pass(Duration::hours(1));
        assert_eq!(world.events(), [told]);
        assert_eq!(world.told[0].items[0].words(), words);
    }
}

#[test]
fn what_nobody_heard_of_before_its_account_left_is_told_as_any_other_once_it_is_back() {
    for recovers in [true, false] {
        let mut world = World::healthy();
        let mut postbox = Postbox::default();
        vm_fails(&mut world);
        post(&mut world, &mut postbox);
        postbox.attempt(WAITS);
        is_away(&mut world, &mut postbox);
        let want: &[&str] = if recovers {
            vm_recovers(&mut world);
            &["main/vm_error/1 was-down"]
        } else {
            vm_fails(&mut world);
            &["main/vm_error/1 opened"]
        };
        post(&mut world, &mut postbox);
        postbox.deliver();
        assert_eq!(read(&postbox), want);
    }
}

#[test]
fn who_heard_a_beginning_whose_end_gave_way_to_the_next_hears_that_nothing_looks_at_it() {
    let mut world = World::healthy();
    let mut postbox = Postbox::default();
    vm_fails(&mut world);
    post(&mut world, &mut postbox);
    postbox.deliver();
    vm_recovers(&mut world);
    post(&mut world, &mut postbox);
    postbox.attempt(WAITS);
    vm_fails(&mut world);
    post(&mut world, &mut postbox);
    postbox.attempt(WAITS);
    world.leave();
    post(&mut world, &mut postbox);
    postbox.deliver();
    assert_eq!(read(&postbox), ["main/vm_error/1 opened", "main/vm_error/1 unwatched"]);
}
