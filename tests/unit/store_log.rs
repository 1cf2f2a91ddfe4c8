//! The store of the notification log: after any sequence of incidents and mails, a start finds the last commit.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::Path;

use super::alert_support::{Daemon, Fate, World, cut_off_in, report, rich};
use crate::alert::AlertSettings;
use crate::model::mails::SentMail;
use crate::model::{Collector, Edd, FailureKind};
use crate::store::{Restored, Store};
use chrono::Duration;

/// One account with two recipients, some time after its start, with a store in memory or in this file.
pub(super) fn world(path: Option<&Path>) -> World {
    let mut world =
        World::new(AlertSettings { escalate_to: vec!["eve".to_owned()], ..AlertSettings::defaults() });
    if let Some(path) = path {
        world.system = Daemon::on(Store::open(path, world.now).unwrap().store, BTreeMap::new(), world.now);
    }
    world.to.push("bob".to_owned());
    world.set_settings();
    world.vms(&[(1, "active"), (2, "active")]);
    world.containers(&[(10, "ENABLED")]);
    world.sites(10, &[(100, "Active")]);
    world.end(Collector::Sites, None);
    world.report(rich());
    world
}

/// One of the things that may happen.
fn happen(world: &mut World, random: &mut fastrand::Rng) {
    let mut any = |all: &[&'static str]| all[random.usize(..all.len())];
    let state = any(&["active", "error", "blocked", "stopped", "building"]);
    let site = any(&["Active", "Error", "StoppedByService"]);
    let to = any(&["ops", "bob", "eve"]);
    match random.u32(..14) {
        0 | 1 => world.vms(&[(1, state), (2, "active")]),
        2 => world.vms(&[(1, "active"), (2, state)]),
        3 => world.containers(&[(10, if random.bool() { "ENABLED" } else { "DISABLED_BY_SERVICE" })]),
        4 => world.sites(10, &[(100, site)]),
        5 => world.report(if random.bool() { rich() } else { report("9.00", Edd::Null) }),
        6 => world.report(cut_off_in(random.i64(-50..400))),
        7 => world.fail(Collector::Vms, FailureKind::Other),
        8 => world.pass(Duration::minutes(random.i64(1..90))),
        9 => world.sleep(Duration::hours(random.i64(1..60))),
        10 => {
            let _ = world.silence("vm-*", Duration::minutes(random.i64(1..200)));
        }
        11 => world.server_all(Fate::Accept),
        _ => {
            let lost = Fate::LoseReply { arrived: random.bool() };
            let fates = [Fate::Defer, Fate::Away, Fate::RefuseRecipient, Fate::RefuseMail, lost];
            world.server(to, fates[random.usize(..fates.len())]);
        }
    }
}

pub(super) fn assert_same(left: &str, right: &str, what: &str) {
    let differs = left.lines().zip(right.lines()).enumerate().find(|(_, (left, right))| left != right);
    let lines = |text: &str, at: usize| {
        text.lines().skip(at.saturating_sub(30)).take(34).collect::<Vec<_>>().join("\n")
    };
    if let Some((at, _)) = differs {
        panic!("{what}, line {at}:\n{}\n--- but ---\n{}", lines(left, at), lines(right, at));
    }
    assert_eq!(left.lines().count(), right.lines().count(), "{what}");
}

/// Everything that a start would read, except the time of the last reading: that time alone is no change.
pub(super) fn found(restored: &Restored) -> String {
    let incidents = restored.incidents.values().map(|one| {
        let mut value = serde_json::to_value(one).unwrap();
        value.as_object_mut().unwrap().remove("read_at");
        value.to_string()
    });
    let incidents: Vec<String> = incidents.collect();
    format!("{:#?}\n{incidents:#?}\n{:#?}", restored.log.stored_part(), restored.cut_offs)
}

/// The same for the state of the daemon.
pub(super) fn known(world: &World) -> String {
    let Daemon { engine, log, .. } = &world.system;
    found(&Restored {
        incidents: (*engine.incidents).clone(),
        cut_offs: (*engine.cut_offs).clone(),
        log: log.clone(),
        watched_until: None,
        digests_from: None,
        digests: BTreeMap::new(),
    })
}

fn stored(world: &World) -> String {
    found(&world.system.store().restore().unwrap())
}

#[test]
fn after_any_events_the_store_holds_the_daemons_state() {
    for seed in 0..12 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut world = world(None);
        for step in 0..60 {
            happen(&mut world, &mut random);
            assert_same(&stored(&world), &known(&world), &format!("seed {seed}, step {step}"));
            if random.u32(..15) == 0 {
                world.restart(Duration::minutes(random.i64(1..300)));
                assert_same(&stored(&world), &known(&world), &format!("seed {seed}, step {step}, restarted"));
            }
        }
        assert!(world.received.len() > 3, "seed {seed}: {} mails", world.received.len());
    }
}

#[test]
fn a_commit_that_fails_loses_nothing_whether_the_daemon_is_killed_or_goes_on() {
    for seed in 0..8 {
        let mut random = fastrand::Rng::with_seed(100 + seed);
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("hw.db");
        let mut world = world(Some(&path));
        for round in 0..6 {
            (0..5).for_each(|_| happen(&mut world, &mut random));
            let committed = known(&world);
            world.system.is_disk_full = true;
            (0..3).for_each(|_| happen(&mut world, &mut random));
            let reopened = Store::open_beside(&path, world.now).unwrap();
            let reopened_with = found(&reopened.restore().unwrap());
            assert_same(&reopened_with, &committed, &format!("seed {seed}, round {round}"));
            drop(reopened);
            if round % 2 == 0 {
                world.restart(Duration::minutes(1));
            } else {
                // It was not killed, and the disk has room again.
                world.system.is_disk_full = false;
                world.tick();
            }
            assert_same(&stored(&world), &known(&world), &format!("seed {seed}, round {round}"));
        }
    }
}

#[test]
fn a_commit_that_the_file_breaks_off_writes_nothing_and_is_made_up_for() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("hw.db");
    let mut world = world(Some(&path));
    let before = stored(&world);
    let other = rusqlite::Connection::open(&path).unwrap();
    let stop = "CREATE TRIGGER full BEFORE INSERT ON notification_log BEGIN SELECT RAISE(ABORT, 'full'); END";
    other.execute_batch(stop).unwrap();
    // After the commits of the world itself.
    world.system.is_disk_full = true;
    world.vms(&[(1, "error"), (2, "active")]);
    world.system.is_disk_full = false;
    let now = world.now;
    let error = world.system.commit(now).unwrap_err();
    assert!(error.to_string().contains("full"), "{error}");
    assert_eq!(stored(&world), before, "not even the incident, which was written first");
    other.execute_batch("DROP TRIGGER full").unwrap();
    world.system.commit(now).unwrap();
    assert_eq!(stored(&world), known(&world));
    assert_ne!(stored(&world), before);
}

#[test]
fn no_mail_is_on_its_way_without_its_bytes() {
    let mut world = world(None);
    world.server_all(Fate::LoseReply { arrived: false });
    world.vms(&[(1, "error"), (2, "active")]);
    let first = world.system.handed.split_off(world.system.handed.len() - 2);
    world.system.handed.clear();
    // Nothing is read yet, so it is unknown whether the mail is still true.
    world.restart(Duration::minutes(1));
    assert!(world.system.handed.is_empty());
    world.server_all(Fate::Accept);
    world.look();
    assert_eq!(world.system.handed, first, "the same bytes after a restart");
    // A mail that was claimed, and whose bytes were not stored.
    world.server_all(Fate::Away);
    world.vms(&[(1, "error"), (2, "error")]);
    let error = world.system.claim_without_bytes("bob", world.now + Duration::hours(1)).unwrap_err();
    assert_eq!(error.to_string(), "the mail unwritten to bob is to be sent and has no bytes");
}

#[test]
fn a_sent_mail_is_kept_with_its_subject_and_its_times() {
    let mut world = world(None);
    world.vms(&[(1, "error"), (2, "active")]);
    let sent = world.system.store().sent(9).unwrap();
    let of = |one: &SentMail| (one.recipient.clone(), one.subject.clone(), one.created_at, one.sent_at);
    let (words, now) = ("VM vm-1 in error".to_owned(), world.now);
    assert_eq!(of(&sent[0]), ("ops".to_owned(), words.clone(), now, now), "the latest first");
    assert_eq!(of(&sent[1]), ("bob".to_owned(), words, now, now));
    assert_eq!(sent.len(), 4, "and the first mail");
    assert_eq!(world.system.store().last_sent().unwrap(), Some(now));
}
