//! The store: one commit for incidents and mails, claims that a crash voids, one mail an event.
#![allow(clippy::unwrap_used)]

use chrono::{DateTime, Duration, Utc};
use hostwatch::alert::{Event, Incident, Key, Kind, Severity};
use hostwatch::store::{Batch, Lane, Outgoing, SendResult, Store, StoreError};

fn now() -> DateTime<Utc> {
    DateTime::from_timestamp(1_800_000_000, 0).unwrap()
}

fn key() -> Key {
    Key::new(&"main".parse().unwrap(), Kind::VmError, 7)
}

fn mail(id: &str, lane: Lane) -> Outgoing {
    Outgoing {
        message_id: id.into(),
        sender: "hw@example.com".into(),
        recipients: vec!["a@example.com".into(), "b@example.com".into()],
        subject: "s".into(),
        lane,
        event_keys: vec![format!("{}#1#{id}", key())],
        told: vec![(key(), Event::Opened)],
        raw: b"raw\r\n".to_vec(),
    }
}

fn batch(mails: Vec<Outgoing>) -> Batch {
    let incident = Incident::new(key(), Severity::Critical, now());
    let decisions = vec![(key(), "seen wrong".to_owned())];
    Batch { incidents: vec![incident], decisions, mails, ..Batch::default() }
}

#[test]
fn an_open_claim_is_void_after_a_crash_and_the_bytes_are_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("hw.db");
    let mut store = Store::open(&path, now()).unwrap().store;
    store
        .commit(&batch(vec![mail("normal", Lane::Normal), mail("urgent", Lane::Disconnect)]), now())
        .unwrap();
    let first = store.claim(now()).unwrap().unwrap();
    assert_eq!((first.message_id.as_str(), first.recipient.as_str()), ("urgent", "a@example.com"));
    assert!(matches!(Store::open(&path, now()), Err(StoreError::Locked(_))));
    drop(store);
    let mut store = Store::open(&path, now()).unwrap().store;
    assert_eq!(store.load().unwrap().incidents.len(), 1);
    let claims: Vec<_> = std::iter::from_fn(|| store.claim(now()).unwrap()).collect();
    assert_eq!(claims.len(), 4, "the one that was being sent is among them");
    assert!(claims.iter().any(|claim| claim.envelope == first.envelope && claim.raw == first.raw));
}

#[test]
fn results_are_kept_and_a_retry_waits_for_its_time() {
    let mut store = Store::in_memory().unwrap();
    store.commit(&batch(vec![mail("one", Lane::Normal)]), now()).unwrap();
    let (a, b) = (store.claim(now()).unwrap().unwrap(), store.claim(now()).unwrap().unwrap());
    store.finish(&a, &SendResult::Sent, now()).unwrap();
    let due_at = now() + Duration::seconds(30);
    store.finish(&b, &SendResult::Retry { due_at, error: "451".into() }, now()).unwrap();
    assert_eq!(store.claim(now()).unwrap(), None);
    assert_eq!(store.next_due().unwrap(), Some(due_at));
    let again = store.claim(due_at).unwrap().unwrap();
    assert_eq!((again.envelope, again.attempts), (b.envelope, 1));
    store.finish(&again, &SendResult::Dead { error: "550".into() }, due_at).unwrap();
    let summary = store.outbox_summary().unwrap();
    assert_eq!((summary.by_state["sent"], summary.by_state["dead"]), (1, 1));
    assert_eq!(store.unreported_dead().unwrap()[0].1, "b@example.com");
}

#[test]
fn one_event_is_one_mail_a_recipient_for_ever() {
    let mut store = Store::in_memory().unwrap();
    store.commit(&batch(vec![mail("one", Lane::Normal)]), now()).unwrap();
    let mut twice = mail("two", Lane::Normal);
    twice.event_keys = mail("one", Lane::Normal).event_keys;
    store.commit(&batch(vec![twice]), now()).unwrap();
    assert_eq!(store.outbox_summary().unwrap().by_state["queued"], 2);
}

#[test]
fn a_mail_being_sent_cannot_be_withdrawn_and_nothing_of_that_batch_is_kept() {
    let mut store = Store::in_memory().unwrap();
    store.commit(&batch(vec![mail("one", Lane::Normal)]), now()).unwrap();
    assert!(store.unsent().unwrap().contains_key("one"));
    let claim = store.claim(now()).unwrap().unwrap();
    assert!(store.unsent().unwrap().is_empty());
    let withdrawing = Batch { withdraw: vec!["one".into()], ..batch(vec![mail("two", Lane::Normal)]) };
    assert!(matches!(store.commit(&withdrawing, now()), Err(StoreError::Conflict)));
    assert_eq!(store.outbox_summary().unwrap().by_state["queued"], 1, "no new mail either");
    store.finish(&claim, &SendResult::Untried { error: "refused".into() }, now()).unwrap();
    store.commit(&withdrawing, now()).unwrap();
    assert_eq!(store.outbox_summary().unwrap().by_state["withdrawn"], 2);
}

#[test]
fn a_store_that_is_newer_or_damaged_is_refused_by_name() {
    let directory = tempfile::tempdir().unwrap();
    let damaged = directory.path().join("damaged.db");
    std::fs::write(&damaged, b"this is no database, and long enough to be sure of it".repeat(100)).unwrap();
    let error = Store::open(&damaged, now()).unwrap_err();
    assert!(error.to_string().contains("damaged.db"), "{error}");
    let newer = directory.path().join("newer.db");
    drop(Store::open(&newer, now()).unwrap());
    rusqlite::Connection::open(&newer).unwrap().pragma_update(None, "user_version", 99).unwrap();
    assert!(matches!(Store::open(&newer, now()), Err(StoreError::Newer { found: 99, .. })));
}
