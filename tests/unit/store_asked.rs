//! Commands on the store while no daemon runs: incidents by any of their names; mails that are dropped or tried
//! again.
#![allow(clippy::unwrap_used, clippy::wildcard_enum_match_arm)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::alert_support::{Daemon, Fate, World};
use super::store_log::{found, world};
use crate::alert::{AlertSettings, Watcher};
use crate::daemon::control::{Reply, Request, answer_from_store};
use crate::store::Store;
use chrono::{DateTime, Duration, Utc};

/// A daemon on a new store with VMs 1 and 2 in error. The mail server is away for "ops" and refuses "bob".
fn running() -> (tempfile::TempDir, PathBuf, World) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("hw.db");
    let mut world = world(Some(&path));
    world.forget();
    world.server("ops", Fate::Away);
    world.server("bob", Fate::RefuseRecipient);
    world.vms(&[(1, "error"), (2, "error")]);
    (directory, path, world)
}

/// The same after the daemon stopped, with the time.
fn stopped() -> (tempfile::TempDir, PathBuf, World, DateTime<Utc>) {
    let (directory, path, mut world) = running();
    world.later(Duration::minutes(1));
    let now = world.now;
    drop(std::mem::replace(&mut world.system, Daemon::start(BTreeMap::new(), now)));
    (directory, path, world, now)
}

/// Starts the daemon again, with a mail server that accepts everything.
fn start(world: &mut World, path: &Path) {
    world.server_all(Fate::Accept);
    world.system = Daemon::on(Store::open(path, world.now).unwrap().store, BTreeMap::new(), world.now);
    // Message-IDs are unique.
    world.system.mails = 1000;
    world.set_settings();
    world.look();
}

/// Runs a command with a configuration that has recipients, or none.
fn ask_one_that(mails: bool, path: &Path, request: Request, now: DateTime<Utc>) -> Result<String, String> {
    let to = ["ops", "bob"].map(str::to_owned).to_vec();
    let watcher = Watcher { settings: AlertSettings::defaults().into(), to };
    let watchers = [("main".parse().unwrap(), watcher)].into();
    let mut store = Store::open_beside(path, now).unwrap();
    match answer_from_store(&mut store, watchers, mails, request, now)? {
        Reply::Done(said) => Ok(said),
        other => panic!("{other:?}"),
    }
}

fn ask(path: &Path, request: Request, now: DateTime<Utc>) -> Result<String, String> {
    ask_one_that(true, path, request, now)
}

/// The incidents about which a mail is due to a recipient when a daemon starts now.
fn keys_owed(path: &Path, to: &str, now: DateTime<Utc>) -> Vec<String> {
    let log = Store::open(path, now).unwrap().store.restore().unwrap().log;
    let debts = log.debts(now).into_iter().find(|debts| debts.recipient == to).unwrap_or_default();
    debts.owed.into_iter().map(|one| one.key.to_string()).collect()
}

fn drop_of(to: &str, key: Option<&str>) -> Request {
    Request::Drop { to: to.to_owned(), key: key.map(str::to_owned) }
}

#[test]
fn an_incident_is_meant_by_its_key_its_number_or_its_name() {
    for what in ["main/vm_error/1", "1", "vm-1"] {
        let (_directory, path, _, now) = stopped();
        let ack = Request::Ack { what: what.to_owned(), comment: "Ann".to_owned() };
        let said = ask(&path, ack, now).unwrap();
        assert!(said.starts_with("main/vm_error/1: acknowledged; "), "{what}: {said}");
        let muted = Store::open(&path, now).unwrap().store.silences(now).unwrap();
        let acks: Vec<_> = muted.acks.iter().map(|(key, ack)| (key.to_string(), ack.episode)).collect();
        assert_eq!(acks, [("main/vm_error/1".to_owned(), 1)], "{what}");
        let back = Request::TakeBackAck { what: what.to_owned() };
        assert_eq!(ask(&path, back.clone(), now).unwrap(), "main/vm_error/1: no longer acknowledged");
        assert_eq!(ask(&path, back, now).unwrap_err(), "main/vm_error/1 was not acknowledged");
    }
    let (_directory, path, _, now) = stopped();
    let unknown = Request::Ack { what: "vm".to_owned(), comment: String::new() };
    let said = ask(&path, unknown, now).unwrap_err();
    assert!(said.ends_with("`hostwatch incidents` lists the keys"), "{said}");
}

/// An exporter has no recipients, so no mail is promised.
#[test]
fn a_decision_beside_an_exporter_promises_no_mail() {
    let (_directory, path, _, now) = stopped();
    let ack = Request::Ack { what: "main/vm_error/1".into(), comment: String::new() };
    let silence = Request::Silence { pattern: "web-*".into(), seconds: 3600, comment: String::new() };
    for (request, promise) in [(ack, "a mail when it is over"), (silence, "are mailed then")] {
        let said = |mails| ask_one_that(mails, &path, request.clone(), now).unwrap();
        assert!(said(true).contains(promise), "{}", said(true));
        let alone = said(false);
        assert!(!alone.contains(promise) && alone.contains("nobody is mailed"), "{alone}");
    }
}

#[test]
fn a_recipient_hears_no_more_of_the_incidents_that_were_dropped_and_others_do() {
    let (one, two) = ("main/vm_error/1", "main/vm_error/2");
    let cases: [(Option<&str>, &[&str], &[&str]); 3] =
        [(Some(one), &[one], &[two]), (Some("vm-2"), &[two], &[one]), (None, &[one, two], &[])];
    for (key, dropped, left) in cases {
        let (_directory, path, mut world, now) = stopped();
        let said = ask(&path, drop_of("BOB", key), now).unwrap();
        let lines: Vec<&str> = said.lines().skip(1).map(str::trim).collect();
        assert!(said.starts_with("no more mails to bob"), "{said}");
        assert_eq!(lines, dropped, "{key:?}");
        assert_eq!(keys_owed(&path, "bob", now), left, "{key:?}");
        assert_eq!(keys_owed(&path, "ops", now), [one, two], "{key:?}");
        start(&mut world, &path);
        world.pass(Duration::hours(2));
        let told: Vec<String> = left.iter().map(|key| format!("{key} opened")).collect();
        assert_eq!(world.events_of("bob"), told, "{key:?}");
    }
}

#[test]
fn mails_are_tried_again_to_the_recipient_that_is_named_or_to_all() {
    let retry = |to: Option<&str>| Request::Retry { to: to.map(str::to_owned) };
    let cases = [
        (None, "", 0),
        (Some(retry(Some("ops"))), "nothing holds mails to ops back any more", 0),
        (Some(retry(Some("Bob"))), "nothing holds mails to bob back any more", 2),
        (Some(retry(None)), "nothing holds mails to all recipients back any more", 2),
    ];
    for (request, want, told) in cases {
        let (_directory, path, mut world, now) = stopped();
        let said = request.map(|request| ask(&path, request, now).unwrap()).unwrap_or_default();
        assert_eq!(said, want);
        start(&mut world, &path);
        world.pass(Duration::minutes(30));
        assert_eq!(world.events_of("bob").len(), told, "{want}: he was refused for an hour");
    }
}

#[test]
fn a_command_that_cannot_be_meant_changes_nothing_and_says_why() {
    let (_directory, path, _, now) = stopped();
    let unknown = "nothing is owed to 'zoe'; something is owed to: bob, ops";
    let table = [
        (drop_of("zoe", None), unknown),
        (Request::Retry { to: Some("zoe".to_owned()) }, unknown),
        (drop_of("bob", Some("main/vm_error/9")), "no incident has the key, name or ID 'main/vm_error/9'"),
    ];
    for (request, want) in table {
        let said = ask(&path, request.clone(), now).unwrap_err();
        assert!(said.starts_with(want), "{request:?}: {said}");
    }
    ask(&path, drop_of("bob", Some("1")), now).unwrap();
    let said = ask(&path, drop_of("bob", Some("1")), now).unwrap_err();
    assert!(said.starts_with("nothing of this is owed to bob"), "{said}");
    assert_eq!(keys_owed(&path, "bob", now), ["main/vm_error/2"]);
}

#[test]
fn a_command_changes_nothing_of_the_log_that_a_running_daemon_has() {
    let (_directory, path, world) = running();
    let (now, before) = (world.now, found(&world.system.store().restore().unwrap()));
    for request in [drop_of("bob", None), Request::Retry { to: None }] {
        let said = ask(&path, request, now).unwrap_err();
        assert!(said.starts_with("another hostwatch holds "), "{said}");
    }
    drop(world);
    assert_eq!(found(&Store::open(&path, now).unwrap().store.restore().unwrap()), before);
}
