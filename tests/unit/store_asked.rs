//! Commands on the store while no daemon runs: incidents by any of their names.
#![allow(clippy::unwrap_used, clippy::wildcard_enum_match_arm)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::alert_support::{Daemon, Fate, World};
use super::store_log::world;
use crate::alert::{AlertSettings, Watcher};
use crate::daemon::control::{Reply, Request, answer_from_store};
use crate::store::Store;
use chrono::{DateTime, Duration, Utc};

/// The store of a daemon that stopped, with VMs 1 and 2 in error, and the time. The mail server was away.
fn stopped() -> (tempfile::TempDir, PathBuf, World, DateTime<Utc>) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("hw.db");
    let mut world = world(Some(&path));
    world.forget();
    world.server_all(Fate::Away);
    world.vms(&[(1, "error"), (2, "error")]);
    world.later(Duration::minutes(1));
    let now = world.now;
    drop(std::mem::replace(&mut world.system, Daemon::start(BTreeMap::new(), now)));
    (directory, path, world, now)
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
