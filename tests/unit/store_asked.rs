//! What people ask of the store from the command line: incidents by any of their names, mails all or none.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use super::store::{batch, mail, now};
use crate::alert::{Incident, Key, Kind, Phase, Severity};
use crate::daemon::control::{Reply, Request, Watching, answer_from};
use crate::store::{Batch, Lane, Store};

/// No accounts.
fn nobody() -> Watching {
    Watching { watchers: BTreeMap::new(), profiles: BTreeMap::new(), mails: true }
}

#[test]
fn an_incident_is_meant_by_its_key_its_number_or_its_name() {
    let mut store = Store::in_memory().unwrap();
    let key = Key::new(&"main".parse().unwrap(), Kind::VmError, 7);
    let mut incident = Incident::new(key, Severity::Critical, now());
    incident.subject = "VM web-1".to_owned();
    store.commit(&Batch { incidents: vec![incident], ..Batch::default() }, now()).unwrap();
    let mut ask = |what: &str| {
        let request = Request::Ack { what: what.into(), comment: String::new() };
        answer_from(&mut store, &nobody(), request, now()).unwrap_err()
    };
    for what in ["web-1", "main/vm_error/7", "7"] {
        assert_eq!(ask(what), "main/vm_error/7 is not open; there is nothing to acknowledge", "{what}");
    }
    assert!(!ask("other").contains("main/vm_error/7 is not open"), "{}", ask("other"));
}

/// An exporter has nobody to mail and nothing that outlives it: neither is promised.
#[test]
fn what_is_decided_beside_an_exporter_promises_no_mail() {
    let key = Key::new(&"main".parse().unwrap(), Kind::VmError, 7);
    let incident = Incident { phase: Phase::Firing, ..Incident::new(key, Severity::Critical, now()) };
    let batch = Batch { incidents: vec![incident], ..Batch::default() };
    let ack = Request::Ack { what: "main/vm_error/7".into(), comment: String::new() };
    let silence = Request::Silence { pattern: "web-*".into(), seconds: 3600, comment: String::new() };
    for (request, promise) in [(ack, "a mail when it is over"), (silence, "are mailed then")] {
        let said = |mails| {
            let mut store = Store::in_memory().unwrap();
            store.commit(&batch, now()).unwrap();
            match answer_from(&mut store, &Watching { mails, ..nobody() }, request.clone(), now()) {
                Ok(Reply::Done(said)) => said,
                other => panic!("{other:?}"),
            }
        };
        assert!(said(true).contains(promise), "{}", said(true));
        let alone = said(false);
        assert!(!alone.contains(promise) && alone.contains("forgotten when the daemon restarts"), "{alone}");
    }
}

#[test]
fn of_several_mails_all_are_dropped_or_none() {
    let mut store = Store::in_memory().unwrap();
    store.commit(&batch(vec![mail("one", Lane::Normal)]), now()).unwrap();
    let ids: Vec<i64> = store.envelopes(9).unwrap().iter().map(|one| one.id).collect();
    let queued = |store: &Store| store.outbox_summary().unwrap().by_state["queued"];
    let ask = |store: &mut Store, request| answer_from(store, &nobody(), request, now());
    let with = |more: &[i64]| Some([&ids[..], more].concat());
    for request in [Request::Drop { mails: with(&[999, 998]) }, Request::Retry { mails: with(&[999, 998]) }] {
        let refused = ask(&mut store, request).unwrap_err();
        assert!(
            refused.contains("mail 999 neither waits nor was given up, so nothing was done"),
            "{refused}"
        );
        assert_eq!(queued(&store), 2);
        assert_eq!(store.retry_asked().unwrap(), None);
    }
    // Named twice it is one.
    let Ok(Reply::Done(said)) = ask(&mut store, Request::Drop { mails: with(&ids) }) else {
        panic!("not done")
    };
    assert!(said.contains("2 mails"), "{said}");
    assert_eq!(queued(&store), 0);
}
