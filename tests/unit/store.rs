//! The store: one commit for incidents and mails, claims that a crash voids, one mail an event.
#![allow(clippy::unwrap_used)]

use crate::alert::{
    Back, Cause, Event, Form, Heard, Incident, Item, Key, Kind, Notice, Phase, Severity, Stage,
};
use crate::model::AccountName;
use crate::model::mails::{GivenUpMails, MailState};
use std::collections::{BTreeMap, BTreeSet};

use crate::store::{
    Batch, Envelopes, Lane, Named, Outgoing, Polls, Queue, RateLimited, SendResult, Store, StoreError,
    Trouble, Undelivered,
};
use chrono::{DateTime, Duration, Utc};

pub(super) fn now() -> DateTime<Utc> {
    DateTime::from_timestamp(1_800_000_000, 0).unwrap()
}

fn key() -> Key {
    Key::new(&"main".parse().unwrap(), Kind::VmError, 7)
}

/// A mail of an incident of its own.
pub(super) fn mail(id: &str, lane: Lane) -> Outgoing {
    let number = id.bytes().fold(0, |sum: u64, byte| sum * 31 % 1_000_003 + u64::from(byte));
    mail_about(&Key::new(&"main".parse().unwrap(), Kind::VmError, number), id, lane)
}

fn mail_about(key: &Key, id: &str, lane: Lane) -> Outgoing {
    let mut incident = Incident::new(key.clone(), Severity::Critical, now());
    incident.begin_episode(now());
    let items = vec![Item::new(&incident, Event::Opened, now())];
    let (to, accounts) =
        (vec!["a@example.com".to_owned(), "b@example.com".to_owned()], vec![key.account.clone()]);
    Outgoing {
        message_id: id.into(),
        sender: "hw@example.com".into(),
        recipients: vec!["a@example.com".into(), "b@example.com".into()],
        subject: "s".into(),
        lane,
        event_keys: vec![format!("{key}#1#{id}")],
        notice: Notice { form: Form::Opened, items, to, accounts },
        raw: b"raw\r\n".to_vec(),
        created_at: now(),
    }
}

fn retry(due_at: DateTime<Utc>, error: &str) -> SendResult {
    SendResult::Retry { due_at, error: error.into(), perhaps: false }
}

fn stages(store: &Store) -> Vec<Stage> {
    store.waiting().unwrap().into_iter().map(|mail| mail.stage).collect()
}

fn both(id: &str) -> BTreeSet<(String, String)> {
    ["a@example.com", "b@example.com"].map(|to| (id.to_owned(), to.to_owned())).into()
}

pub(super) fn batch(mails: Vec<Outgoing>) -> Batch {
    let incident = Incident::new(key(), Severity::Critical, now());
    let decisions = vec![(key(), Cause::SeenWrong.into())];
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
    let first = store.claim(&Queue::Mail, now()).unwrap().unwrap();
    assert_eq!((first.message_id.as_str(), first.recipient.as_str()), ("urgent", "a@example.com"));
    assert!(matches!(Store::open(&path, now()), Err(StoreError::Locked(_))));
    drop(store);
    let mut store = Store::open(&path, now()).unwrap().store;
    assert_eq!(store.incidents().unwrap().len(), 1);
    let claims: Vec<_> = std::iter::from_fn(|| store.claim(&Queue::Mail, now()).unwrap()).collect();
    assert_eq!(claims.len(), 4, "the one that was being sent is among them");
    assert!(claims.iter().any(|claim| claim.envelope == first.envelope && claim.raw == first.raw));
}

#[test]
fn results_are_kept_and_a_retry_waits_for_its_time() {
    let mut store = Store::in_memory().unwrap();
    store.commit(&batch(vec![mail("one", Lane::Normal)]), now()).unwrap();
    let (a, b) = (
        store.claim(&Queue::Mail, now()).unwrap().unwrap(),
        store.claim(&Queue::Mail, now()).unwrap().unwrap(),
    );
    store.finish(&a, &SendResult::Sent, now()).unwrap();
    let due_at = now() + Duration::seconds(30);
    store.finish(&b, &retry(due_at, "451"), now()).unwrap();
    assert_eq!(store.claim(&Queue::Mail, now()).unwrap(), None);
    assert_eq!(store.next_due(&Queue::Mail).unwrap(), Some(due_at));
    let again = store.claim(&Queue::Mail, due_at).unwrap().unwrap();
    assert_eq!((again.envelope, again.attempts), (b.envelope, 1));
    store.finish(&again, &SendResult::Dead { error: "550".into() }, due_at).unwrap();
    let summary = store.outbox_summary().unwrap();
    assert_eq!((summary.by_state["sent"], summary.by_state["dead"]), (1, 1));
    assert_eq!(store.given_up(&BTreeSet::new()).unwrap()[0].recipient, "b@example.com");
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
    assert_eq!(stages(&store), [Stage::NotArrived; 2]);
    let claim = store.claim(&Queue::Mail, now()).unwrap().unwrap();
    assert_eq!(stages(&store), [Stage::BeingSent, Stage::NotArrived]);
    let withdrawing = Batch { withdraw: both("one"), ..batch(vec![mail("two", Lane::Normal)]) };
    assert!(matches!(store.commit(&withdrawing, now()), Err(StoreError::Conflict)));
    assert_eq!(store.outbox_summary().unwrap().by_state["queued"], 1, "no new mail either");
    store.finish(&claim, &SendResult::Untried { error: "refused".into() }, now()).unwrap();
    store.commit(&withdrawing, now()).unwrap();
    assert_eq!(store.outbox_summary().unwrap().by_state["withdrawn"], 2);
}

#[test]
fn a_newer_store_is_refused_by_name() {
    let directory = tempfile::tempdir().unwrap();
    let newer = directory.path().join("newer.db");
    drop(Store::open(&newer, now()).unwrap());
    rusqlite::Connection::open(&newer).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let error = Store::open(&newer, now()).unwrap_err();
    assert!(matches!(error, StoreError::Newer { found: 99, .. }), "{error}");
    assert!(error.to_string().contains("newer.db"), "{error}");
}

#[test]
fn a_damaged_store_is_set_aside_and_a_new_one_begun() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("hw.db");
    let garbage = b"this is no database, and long enough to be sure of it".repeat(100);
    std::fs::write(&path, &garbage).unwrap();
    let opened = Store::open(&path, now()).unwrap();
    let aside = opened.aside.unwrap();
    assert_eq!(aside.file_name().unwrap().to_str().unwrap(), "hw.db.damaged-20270115T080000Z");
    assert_eq!(std::fs::read(&aside).unwrap(), garbage);
    let loaded = opened.store.load(now()).unwrap();
    assert!(opened.store.incidents().unwrap().is_empty() && !loaded.started);

    // An incident that cannot be read back is damage too.
    let mut store = opened.store;
    store.commit(&batch(Vec::new()), now()).unwrap();
    drop(store);
    let raw = rusqlite::Connection::open(&path).unwrap();
    raw.execute("UPDATE incidents SET body = '{'", []).unwrap();
    drop(raw);
    let later = now() + Duration::seconds(1);
    assert!(Store::open(&path, later).unwrap().aside.is_some());
}

#[test]
fn a_store_of_the_first_release_is_brought_up_and_a_copy_of_it_kept() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("hw.db");
    let raw = rusqlite::Connection::open(&path).unwrap();
    raw.execute_batch(include_str!("../fixtures/store/v1.sql")).unwrap();
    drop(raw);
    let opened = Store::open(&path, now()).unwrap();
    assert!(opened.aside.is_none() && opened.fallback.is_none());
    let mut store = opened.store;
    assert!(store.load(now()).unwrap().started);
    let known = store.incidents().unwrap();
    let keys: Vec<String> = known.iter().map(|incident| incident.key.to_string()).collect();
    assert_eq!(keys, ["main/balance_drop/account", "main/disconnect/account", "main/vm_error/10001"]);
    let claim = store.claim(&Queue::Mail, now()).unwrap().unwrap();
    assert!(String::from_utf8_lossy(&claim.raw).contains("X-Hostwatch-Event: rung:7"), "disconnect first");
    assert!(store.silences(now()).unwrap().silences.is_empty());
    let copy = rusqlite::Connection::open(directory.path().join("hw.db.v1")).unwrap();
    let version: i64 = copy.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
    let mails: i64 = copy.query_row("SELECT count(*) FROM messages", [], |row| row.get(0)).unwrap();
    assert_eq!((version, mails), (1, 3));
}

#[test]
fn reasons_are_kept_by_type_and_those_of_the_first_release_stay_the_sentences_they_were() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("hw.db");
    let raw = rusqlite::Connection::open(&path).unwrap();
    raw.execute_batch(include_str!("../fixtures/store/v1.sql")).unwrap();
    let mut store = Store::open(&path, now()).unwrap().store;
    let carried = "no mail: the disconnect mail of the same report carries it";
    let reasons: Vec<String> = store.incidents().unwrap().iter().map(|one| one.reason.to_string()).collect();
    assert_eq!(reasons, [carried, "the 7-day rung is crossed", "seen wrong"]);

    let vm: Key = "main/vm_error/10001".parse().unwrap();
    let seen = |store: &mut Store, cause: Cause| {
        store
            .commit(&Batch { decisions: vec![(vm.clone(), cause.into())], ..Batch::default() }, now())
            .unwrap();
        let decisions = store.decisions(&vm.to_string(), 9).unwrap();
        decisions.into_iter().map(|(_, reason)| reason.to_string()).collect::<Vec<_>>()
    };
    // The same again is no news; the first release had other words for it.
    let told = ["seen wrong", "first seen in this poll"];
    assert_eq!(seen(&mut store, Cause::SeenWrong), told);
    assert_eq!(seen(&mut store, Cause::SeenWrong), told);
    let twice = Cause::Confirming { seen: 1, polls: 2 };
    assert_eq!(seen(&mut store, twice), [told[0], told[1], "1 of 2 bad polls"]);
    let last: String =
        raw.query_row("SELECT reason FROM decisions ORDER BY id DESC LIMIT 1", [], |row| row.get(0)).unwrap();
    assert_eq!(last, r#"{"cause":{"confirming":{"seen":1,"polls":2}}}"#);
}

#[test]
fn an_older_store_without_room_for_its_copy_goes_on_in_memory_and_is_brought_up_later() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("hw.db");
    let raw = rusqlite::Connection::open(&path).unwrap();
    raw.execute_batch(include_str!("../fixtures/store/v1.sql")).unwrap();
    let version = || raw.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0)).unwrap();
    // Where the copy is begun there is something that cannot be removed as a file.
    let in_the_way = directory.path().join("hw.db.v1.begun");
    std::fs::create_dir(&in_the_way).unwrap();
    let opened = Store::open(&path, now()).unwrap();
    assert!(matches!(opened.fallback, Some(StoreError::Copy { .. })), "{:?}", opened.fallback);
    let mut store = opened.store;
    assert_eq!(store.incidents().unwrap().len(), 3);
    let claim = store.claim(&Queue::Mail, now()).unwrap().unwrap();
    store.finish(&claim, &SendResult::Sent, now()).unwrap();
    store.silence("main/*/*", now() + Duration::hours(1), "", now()).unwrap();
    assert!(store.return_to_file(now()).is_err());
    assert_eq!(version(), 1, "nothing is brought up without a copy");
    std::fs::remove_dir(in_the_way).unwrap();
    store.return_to_file(now()).unwrap();
    assert_eq!(version(), 7);
    assert!(directory.path().join("hw.db.v1").exists());
    let summary = Store::open_beside(&path).unwrap().outbox_summary().unwrap();
    assert_eq!((summary.by_state["sent"], summary.by_state["queued"]), (1, 2));
}

#[test]
fn without_its_file_the_store_goes_on_in_memory_and_comes_home() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("hw.db");
    let mut store = Store::open(&path, now()).unwrap().store;
    store.commit(&batch(vec![mail("before", Lane::Normal)]), now()).unwrap();
    let claimed = store.claim(&Queue::Mail, now()).unwrap().unwrap();
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    store.fall_back(&[], &Default::default(), true, now()).unwrap();
    assert!(store.is_in_memory());
    store.finish(&claimed, &SendResult::Sent, now()).unwrap();
    store.commit(&batch(vec![mail("meanwhile", Lane::Normal)]), now()).unwrap();
    assert!(store.return_to_file(now()).is_err(), "it is still locked");
    assert!(store.is_in_memory());
    other.execute_batch("ROLLBACK").unwrap();
    assert_eq!(store.return_to_file(now()).unwrap(), None);
    assert!(!store.is_in_memory());
    drop(store);
    let reader = Store::open_beside(&path).unwrap();
    let summary = reader.outbox_summary().unwrap();
    assert_eq!((summary.by_state["sent"], summary.by_state["queued"]), (1, 3));
}

#[test]
fn a_store_that_cannot_be_read_for_the_moment_is_not_set_aside() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("hw.db");
    let mut store = Store::open(&path, now()).unwrap().store;
    store.commit(&batch(vec![mail("waits", Lane::Normal)]), now()).unwrap();
    drop(store);
    // As a disk that fails or is full: the journal cannot be opened.
    let journal = directory.path().join("hw.db-wal");
    std::fs::create_dir(&journal).unwrap();
    let opened = Store::open(&path, now()).unwrap();
    assert!(opened.aside.is_none() && opened.fallback.is_some());
    let mut store = opened.store;
    assert!(store.claim(&Queue::Mail, now()).unwrap().is_some(), "what the file holds is known");
    std::fs::remove_dir(&journal).unwrap();
    assert_eq!(store.return_to_file(now()).unwrap(), None);
}

#[test]
fn what_the_daemon_notes_each_minute_waits_for_a_command_that_writes() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("hw.db");
    let mut store = Store::open(&path, now()).unwrap().store;
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let command = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(200));
        other.execute_batch("ROLLBACK").unwrap();
    });
    store.still_watching(&[], &[], now()).unwrap();
    command.join().unwrap();
}

#[test]
fn what_was_sent_in_memory_is_sent_in_the_file_and_what_was_dropped_there_is_dropped() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("hw.db");
    let mut store = Store::open(&path, now()).unwrap().store;
    let held =
        |minutes| RateLimited { at: now() + Duration::minutes(minutes), to: Vec::new(), items: Vec::new() };
    let kept = Batch { rate_limited: vec![held(0), held(1)], ..batch(vec![mail("before", Lane::Normal)]) };
    store.commit(&kept, now()).unwrap();
    store.fall_back(&[], &Default::default(), true, now()).unwrap();
    let a = store.claim(&Queue::Mail, now()).unwrap().unwrap();
    let (_, last) = store.rate_limited().unwrap();
    let told = Batch {
        released: last,
        rate_limited: vec![held(2)],
        ..batch(vec![mail("meanwhile", Lane::Disconnect)])
    };
    store.commit(&told, now()).unwrap();
    let c = store.claim(&Queue::Mail, now()).unwrap().unwrap();
    assert_eq!((c.message_id.as_str(), c.recipient.as_str()), ("meanwhile", "a@example.com"));
    // The file goes on too: somebody drops a mail, and another has the numbers that the memory gave away.
    let mut beside = Store::open_beside(&path).unwrap();
    assert_eq!(beside.drop_mails(Envelopes::These(vec![a.envelope + 1]), now()).unwrap(), 1);
    beside.commit(&batch(vec![mail("beside", Lane::Normal)]), now()).unwrap();
    // One reply comes before the store is back in its file, one after.
    store.finish(&a, &SendResult::Sent, now()).unwrap();
    assert_eq!(store.return_to_file(now()).unwrap(), None);
    store.finish(&c, &SendResult::Sent, now()).unwrap();
    let raw = rusqlite::Connection::open(&path).unwrap();
    let mut states = raw
        .prepare("SELECT message_id || ' ' || state FROM envelopes ORDER BY message_id, recipient")
        .unwrap();
    let states: Vec<String> = states.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    let want = [
        "before sent",
        "before withdrawn",
        "beside queued",
        "beside queued",
        "meanwhile sent",
        "meanwhile queued",
    ];
    assert_eq!(states, want);
    let left: Vec<_> = store.rate_limited().unwrap().0.into_iter().map(|one| one.at).collect();
    assert_eq!(left, [now() + Duration::minutes(2)]);
}

#[test]
fn a_file_damaged_while_running_is_set_aside_and_the_incidents_go_on() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("hw.db");
    let mut store = Store::open(&path, now()).unwrap().store;
    store.commit(&batch(Vec::new()), now()).unwrap();
    let known = store.incidents().unwrap();
    for end in ["", "-wal"] {
        let file = directory.path().join(format!("hw.db{end}"));
        let size = std::fs::metadata(&file).unwrap().len() as usize;
        std::fs::write(&file, vec![b'x'; size]).unwrap();
    }
    store.fall_back(&known, &Default::default(), true, now()).unwrap();
    assert_eq!(store.incidents().unwrap(), known);
    let aside = store.return_to_file(now()).unwrap().unwrap();
    assert!(aside.exists());
    drop(store);
    let opened = Store::open(&path, now()).unwrap();
    let loaded = opened.store.load(now()).unwrap();
    let incidents = opened.store.incidents().unwrap();
    assert_eq!((opened.aside, incidents, loaded.started), (None, known, true));
}

#[test]
fn mails_are_tried_again_or_dropped_by_hand() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("hw.db");
    let mut store = Store::open(&path, now()).unwrap().store;
    store.commit(&batch(vec![mail("one", Lane::Normal)]), now()).unwrap();
    let (a, b) = (
        store.claim(&Queue::Mail, now()).unwrap().unwrap(),
        store.claim(&Queue::Mail, now()).unwrap().unwrap(),
    );
    store.finish(&a, &SendResult::Dead { error: "550 no".into() }, now()).unwrap();
    let due_at = now() + Duration::minutes(30);
    store.finish(&b, &retry(due_at, "451 later"), now()).unwrap();
    let version = store.data_version().unwrap();

    store.tried_for(&Queue::Mail, std::time::Duration::from_secs(4 * 86400)).unwrap();
    let mut beside = Store::open_beside(&path).unwrap();
    let later = now() + Duration::days(6);
    assert_eq!(store.retry_asked().unwrap(), None);
    assert_eq!(beside.retry(Envelopes::These(vec![a.envelope]), later).unwrap(), 1);
    assert_eq!(beside.retry(Envelopes::These(vec![99]), later).unwrap(), 0);
    assert_ne!(store.data_version().unwrap(), version, "the daemon notices");
    let asked = store.retry_asked().unwrap().unwrap();
    assert_eq!(DateTime::parse_from_rfc3339(&asked).unwrap(), later);
    assert!(store.expire(&Queue::Mail, later).unwrap().is_empty(), "the days count by which it was tried");
    store.tried_for(&Queue::Mail, std::time::Duration::from_secs(86400)).unwrap();
    let expired = store.expire(&Queue::Mail, later).unwrap().remove(0);
    let told = [expired.recipient, expired.subject, expired.error, expired.message_id];
    assert_eq!(told, ["b@example.com", "s", "451 later", "one"], "but not the revived");
    assert_eq!(store.claim(&Queue::Mail, later).unwrap().unwrap().envelope, a.envelope);
    assert_eq!(beside.drop_mails(Envelopes::All, later).unwrap(), 1, "not the one that is being sent");
    assert_eq!(store.outbox_summary().unwrap().by_state["withdrawn"], 1);
}

#[test]
fn what_people_decide_is_read_back() {
    let mut store = Store::in_memory().unwrap();
    store.acknowledge(&key(), 3, "Ann", now()).unwrap();
    let id = store.silence("main/*", now() + Duration::hours(2), "moving", now()).unwrap();
    let muted = store.silences(now()).unwrap();
    assert_eq!((muted.acks[&key()].episode, muted.acks[&key()].comment.as_str()), (3, "Ann"));
    assert_eq!((muted.silences[0].id, muted.silences[0].pattern.as_str()), (id, "main/*"));
    assert!(store.silences(now() + Duration::hours(2)).unwrap().silences.is_empty());
    assert!(store.end_silence(id, now()).unwrap() && !store.end_silence(id, now()).unwrap());
    assert!(store.take_back_ack(&key()).unwrap() && !store.take_back_ack(&key()).unwrap());
    assert_eq!(store.silences(now()).unwrap(), Default::default());
}

#[test]
fn a_week_counts_polls_and_mails() {
    let mut store = Store::in_memory().unwrap();
    let polls = |polls, failed| Polls { account: "main".parse().unwrap(), polls, failed };
    store.still_watching(&[polls(100, 9)], &[], now() - Duration::days(9)).unwrap();
    store.still_watching(&[polls(10, 1)], &[], now() - Duration::days(2)).unwrap();
    store.still_watching(&[polls(5, 0)], &[], now()).unwrap();
    store.commit(&batch(vec![mail("one", Lane::Normal)]), now()).unwrap();
    let claim = store.claim(&Queue::Mail, now()).unwrap().unwrap();
    store.finish(&claim, &SendResult::Sent, now()).unwrap();
    let week = store.week(now() - Duration::days(7)).unwrap();
    assert_eq!(week.polls["main"], (15, 1));
    assert_eq!((week.mails_sent, week.mails_dead), (1, 0));
}

#[test]
fn what_memory_did_not_know_is_still_there_when_it_comes_home() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("hw.db");
    let mut store = Store::open(&path, now()).unwrap().store;
    let held = RateLimited { at: now(), to: vec!["a@example.com".into()], items: Vec::new() };
    let kept = Batch { rate_limited: vec![held], ..batch(vec![mail("before", Lane::Normal)]) };
    store.commit(&kept, now()).unwrap();
    let claimed = store.claim(&Queue::Mail, now()).unwrap().unwrap();
    // The file is away, as a network volume may be, and comes back as it was.
    let away = directory.path().join("away");
    std::fs::create_dir(&away).unwrap();
    let files = ["hw.db", "hw.db-wal", "hw.db-shm"];
    for file in files {
        std::fs::rename(directory.path().join(file), away.join(file)).unwrap();
    }
    std::fs::create_dir(&path).unwrap();
    store.fall_back(&[], &Default::default(), true, now()).unwrap();
    store.finish(&claimed, &SendResult::Dead { error: "550".into() }, now()).unwrap();
    store.commit(&batch(vec![mail("meanwhile", Lane::Normal)]), now()).unwrap();
    assert!(store.return_to_file(now()).is_err());
    std::fs::remove_dir(&path).unwrap();
    for file in files {
        std::fs::rename(away.join(file), directory.path().join(file)).unwrap();
    }
    assert_eq!(store.return_to_file(now()).unwrap(), None);
    assert!(store.rate_limited_since().unwrap().is_some());
    let waiting: Vec<String> = std::iter::from_fn(|| store.claim(&Queue::Mail, now()).unwrap())
        .map(|claim| claim.message_id)
        .collect();
    assert_eq!(waiting, ["before", "before", "meanwhile", "meanwhile"]);
}

/// The reply to it was lost, and newer news took its place: it may have arrived all the same.
#[test]
fn what_may_have_arrived_was_heard_whatever_took_its_place() {
    let mut store = Store::in_memory().unwrap();
    let mut incident = Incident::new(key(), Severity::Critical, now());
    incident.begin_episode(now());
    incident.phase = crate::alert::Phase::Firing;
    let opening =
        Batch { incidents: vec![incident], ..batch(vec![mail_about(&key(), "opened", Lane::Normal)]) };
    store.commit(&opening, now()).unwrap();
    for lost in [true, false] {
        let claim = store.claim(&Queue::Mail, now()).unwrap().unwrap();
        let error = "451".to_owned();
        let due_at = now() + Duration::hours(1);
        store.finish(&claim, &SendResult::Retry { due_at, error, perhaps: lost }, now()).unwrap();
    }
    let reminder = mail_about(&key(), "reminder", Lane::Normal);
    store.commit(&Batch { withdraw: both("opened"), ..batch(vec![reminder]) }, now()).unwrap();
    let heard = store.heard(&key(), 1).unwrap();
    assert_eq!(heard.into_values().collect::<Vec<_>>(), [Heard::Reached, Heard::NotYet]);
}

/// Blocked, then in error: two incidents, and whoever reads their mails has to end with how the VM is.
#[test]
fn mails_about_one_resource_keep_their_order_whatever_they_are_of() {
    let mut store = Store::in_memory().unwrap();
    let about = |kind, id: u64, name: &str| {
        mail_about(&Key::new(&"main".parse().unwrap(), kind, id), name, Lane::Normal)
    };
    store.commit(&batch(vec![about(Kind::VmBlocked, 7, "blocked")]), now()).unwrap();
    for _ in 0..2 {
        let claim = store.claim(&Queue::Mail, now()).unwrap().unwrap();
        store.finish(&claim, &retry(now() + Duration::minutes(30), "451"), now()).unwrap();
    }
    let other = about(Kind::SiteError, 7, "site of that number");
    store.commit(&batch(vec![about(Kind::VmError, 7, "error"), other]), now()).unwrap();
    let mut claimed = |at| -> Vec<String> {
        let claims = std::iter::from_fn(|| store.claim(&Queue::Mail, at).unwrap()).collect::<Vec<_>>();
        claims.iter().for_each(|claim| store.finish(claim, &SendResult::Sent, at).unwrap());
        claims.into_iter().map(|claim| claim.message_id).collect()
    };
    assert_eq!(claimed(now()), ["site of that number"; 2]);
    assert_eq!(claimed(now() + Duration::minutes(30)), ["blocked"; 2]);
    assert_eq!(claimed(now() + Duration::minutes(30)), ["error"; 2]);
}

#[test]
fn attempts_come_after_the_delays_of_the_contract_for_five_days() {
    let minutes = [(0, 0), (1, 2), (2, 5), (3, 15), (4, 30), (5, 30), (100, 30)];
    for (attempts, minutes) in minutes {
        let wanted = if attempts == 0 { Duration::seconds(30) } else { Duration::minutes(minutes) };
        assert_eq!(crate::store::retry_delay(attempts), wanted, "after {attempts} attempts before it");
    }
}

#[test]
fn a_mail_with_anything_new_goes_to_whom_it_is_new() {
    let mut store = Store::in_memory().unwrap();
    store.commit(&batch(vec![mail("old", Lane::Normal)]), now()).unwrap();
    let old = mail("old", Lane::Normal).event_keys.remove(0);
    for (id, keys) in [("after", [old.as_str(), "new one"]), ("before", ["new two", old.as_str()])] {
        let event_keys = keys.map(str::to_owned).to_vec();
        store.commit(&batch(vec![Outgoing { event_keys, ..mail(id, Lane::Normal) }]), now()).unwrap();
    }
    let recipients = vec!["b@example.com".to_owned(), "c@example.com".to_owned()];
    let more = Outgoing { event_keys: vec![old], recipients, ..mail("more", Lane::Normal) };
    let nothing_told = Outgoing { event_keys: Vec::new(), ..mail("test", Lane::Normal) };
    store.commit(&batch(vec![more, nothing_told.clone()]), now()).unwrap();
    let waiting: Vec<(String, String)> = std::iter::from_fn(|| store.claim(&Queue::Mail, now()).unwrap())
        .map(|claim| (claim.message_id, claim.recipient[..1].to_owned()))
        .collect();
    let want = [
        ("old", "a"),
        ("old", "b"),
        ("after", "a"),
        ("after", "b"),
        ("before", "a"),
        ("before", "b"),
        ("more", "c"),
        ("test", "a"),
        ("test", "b"),
    ];
    assert_eq!(waiting, want.map(|(id, to)| (id.to_owned(), to.to_owned())));
}

#[test]
fn how_far_a_mail_came_is_known_and_who_heard_of_what() {
    let mut store = Store::in_memory().unwrap();
    store.commit(&batch(vec![mail_about(&key(), "one", Lane::Normal)]), now()).unwrap();
    let heard = |store: &Store| store.heard(&key(), 1).unwrap().into_values().collect::<Vec<_>>();
    assert_eq!((stages(&store), heard(&store)), (vec![Stage::NotArrived; 2], vec![Heard::NotYet; 2]));
    let (a, b) = (
        store.claim(&Queue::Mail, now()).unwrap().unwrap(),
        store.claim(&Queue::Mail, now()).unwrap().unwrap(),
    );
    assert_eq!((stages(&store), heard(&store)), (vec![Stage::BeingSent; 2], vec![Heard::Reached; 2]));
    let lost = SendResult::Retry { due_at: now(), error: "lost".into(), perhaps: true };
    store.finish(&a, &lost, now()).unwrap();
    store.finish(&b, &SendResult::Untried { error: "refused".into() }, now()).unwrap();
    assert_eq!(stages(&store), [Stage::PerhapsArrived, Stage::NotArrived]);
    assert_eq!(heard(&store), [Heard::Reached, Heard::NotYet]);
    // A refusal later on takes nothing back.
    let a = store.claim(&Queue::Mail, now()).unwrap().unwrap();
    store.finish(&a, &retry(now() + Duration::minutes(1), "451"), now()).unwrap();
    let b = store.claim(&Queue::Mail, now()).unwrap().unwrap();
    store.finish(&b, &SendResult::Dead { error: "550".into() }, now()).unwrap();
    assert_eq!(
        (stages(&store), heard(&store)),
        (vec![Stage::PerhapsArrived], vec![Heard::Reached, Heard::Refused])
    );
    assert_eq!(store.heard(&key(), 2).unwrap().len(), 1, "who was reached was told of no end");
}

/// Its recipients heard nothing: its end is no RESOLVED, and a reminder is the first that they hear of it.
#[test]
fn of_what_was_dropped_by_hand_nobody_heard() {
    let mut store = Store::in_memory().unwrap();
    let about = |id: &str| Outgoing {
        event_keys: vec![format!("{}#1#opened", key())],
        ..mail_about(&key(), id, Lane::Normal)
    };
    store.commit(&batch(vec![about("one")]), now()).unwrap();
    let lost = SendResult::Retry { due_at: now(), error: "lost".into(), perhaps: true };
    let a = store.claim(&Queue::Mail, now()).unwrap().unwrap();
    store.finish(&a, &lost, now()).unwrap();
    assert_eq!(store.drop_mails(Envelopes::All, now()).unwrap(), 2);
    let heard = store.heard(&key(), 1).unwrap();
    let want = [("a@example.com", Heard::Reached), ("b@example.com", Heard::Refused)];
    assert_eq!(heard, want.map(|(to, heard)| (to.to_owned(), heard)).into());
    assert!(store.unheard().unwrap().is_empty(), "somebody decided that it is not sent");
    store.commit(&batch(vec![about("two")]), now()).unwrap();
    let to: Vec<String> = store.waiting().unwrap().into_iter().map(|mail| mail.to).collect();
    assert_eq!(to, ["b@example.com"], "whom it may have reached is not told twice");
}

#[test]
fn news_of_one_incident_to_one_recipient_keep_their_order() {
    let mut store = Store::in_memory().unwrap();
    let mails = [("first", key()), ("second", key())].map(|(id, key)| mail_about(&key, id, Lane::Normal));
    store.commit(&batch(mails.into()), now()).unwrap();
    store.commit(&batch(vec![mail("other", Lane::Normal)]), now()).unwrap();
    let a = store.claim(&Queue::Mail, now()).unwrap().unwrap();
    let due_at = now() + Duration::minutes(5);
    store.finish(&a, &retry(due_at, "451"), now()).unwrap();
    let mut claimed = Vec::new();
    while let Some(claim) = store.claim(&Queue::Mail, now()).unwrap() {
        store.finish(&claim, &SendResult::Sent, now()).unwrap();
        claimed.push((claim.message_id, claim.recipient));
    }
    let want = [("first", "b"), ("second", "b"), ("other", "a"), ("other", "b")];
    assert_eq!(claimed, want.map(|(id, to)| (id.to_owned(), format!("{to}@example.com"))));
    assert_eq!(store.next_due(&Queue::Mail).unwrap(), Some(due_at), "not when the one behind it is due");
}

#[test]
fn a_mail_is_given_up_for_having_been_tried_not_for_its_age() {
    let mut store = Store::in_memory().unwrap();
    store.commit(&batch(vec![mail("one", Lane::Normal)]), now()).unwrap();
    let day = std::time::Duration::from_secs(86400);
    store.tried_for(&Queue::Mail, 9 * day).unwrap();
    let claim = store.claim(&Queue::Mail, now()).unwrap().unwrap();
    store.finish(&claim, &retry(now(), "451"), now()).unwrap();
    store.tried_for(&Queue::Mail, 4 * day).unwrap();
    assert!(store.expire(&Queue::Mail, now() + Duration::days(600)).unwrap().is_empty());
    store.tried_for(&Queue::Mail, day).unwrap();
    assert_eq!(store.expire(&Queue::Mail, now()).unwrap().len(), 1);
    assert_eq!(store.outbox_summary().unwrap().by_state["queued"], 1, "the one that was never tried");
}

#[test]
fn that_a_mail_was_given_up_counts_as_told_once_a_mail_says_so_and_arrives() {
    let mut store = Store::in_memory().unwrap();
    store.commit(&batch(vec![mail("one", Lane::Normal)]), now()).unwrap();
    let a = store.claim(&Queue::Mail, now()).unwrap().unwrap();
    store.finish(&a, &SendResult::Dead { error: "550".into() }, now()).unwrap();
    let b = store.claim(&Queue::Mail, now()).unwrap().unwrap();
    store.finish(&b, &SendResult::Sent, now()).unwrap();
    let named = |named_in: &str| Named {
        message_id: "one".into(),
        recipient: "a@example.com".into(),
        named_in: named_in.into(),
    };
    let told = |store: &Store| store.given_up(&BTreeSet::new()).unwrap().first().map(|one| one.told.len());
    store
        .commit(&Batch { named: vec![named("two")], ..batch(vec![mail("two", Lane::Normal)]) }, now())
        .unwrap();
    assert_eq!(told(&store), None, "both will be told");
    let anew = store.given_up(&both("two")).unwrap();
    assert!(anew[0].told.is_empty(), "the mail that says so is about to be made anew: {anew:?}");
    for _ in 0..2 {
        let claim = store.claim(&Queue::Mail, now()).unwrap().unwrap();
        store.finish(&claim, &SendResult::Dead { error: "550".into() }, now()).unwrap();
    }
    assert_eq!(told(&store), Some(0), "what was given up itself told nobody");
    store
        .commit(&Batch { named: vec![named("three")], ..batch(vec![mail("three", Lane::Normal)]) }, now())
        .unwrap();
    let claim = store.claim(&Queue::Mail, now()).unwrap().unwrap();
    store.finish(&claim, &SendResult::Sent, now()).unwrap();
    let claim = store.claim(&Queue::Mail, now()).unwrap().unwrap();
    store.finish(&claim, &SendResult::Dead { error: "550".into() }, now()).unwrap();
    assert!(
        store
            .given_up(&BTreeSet::new())
            .unwrap()
            .iter()
            .any(|one| one.message_id == "one" && one.told.len() == 1)
    );
}

/// A first-start notice with nothing wrong tells of no incident, and each webhook's is a message of its own.
#[test]
fn what_was_given_up_belongs_to_the_accounts_that_it_was_about() {
    let mut store = Store::in_memory().unwrap();
    let notice = Notice {
        form: Form::Started(crate::alert::Started::default()),
        items: Vec::new(),
        to: vec!["webhook:chat".to_owned()],
        accounts: vec!["main".parse().unwrap(), "shop".parse().unwrap()],
    };
    let started = Outgoing {
        recipients: notice.to.clone(),
        event_keys: vec!["started".to_owned()],
        notice,
        ..mail("started", Lane::Normal)
    };
    store.commit(&batch(vec![started]), now()).unwrap();
    let queue = Queue::Webhook("chat".to_owned());
    let claim = store.claim(&queue, now()).unwrap().unwrap();
    store.finish(&claim, &SendResult::Dead { error: "answered 422".into() }, now()).unwrap();
    let given_up = store.given_up(&BTreeSet::new()).unwrap();
    let accounts: Vec<String> = given_up[0].accounts.iter().map(ToString::to_string).collect();
    assert_eq!(accounts, ["main", "shop"]);
}

#[test]
fn mails_that_were_given_up_or_wait_are_counted_by_the_account_they_are_about() {
    let mut store = Store::in_memory().unwrap();
    let about = |key: &str| -> Key { key.parse().unwrap() };
    let [main, shop] = ["main", "shop"].map(|name| -> AccountName { name.parse().unwrap() });
    let mails = [("one", "main/vm_error/17"), ("two", "shop/vm_error/17"), ("three", "shop/vm_error/18")];
    let mails = mails.map(|(id, key)| mail_about(&about(key), id, Lane::Normal));
    store.commit(&batch(mails.into()), now()).unwrap();
    let waits = |store: &Store| store.undelivered_of().unwrap();
    let waiting = |waiting| Undelivered { waiting, oldest: Some(now()), dead: 0 };
    assert_eq!(waits(&store), [(main.clone(), waiting(2)), (shop.clone(), waiting(4))].into());
    assert!(store.outbox_summary().unwrap().given_up_of.is_empty());
    let mut at = now();
    while let Some(claim) = store.claim(&Queue::Mail, at).unwrap() {
        at += Duration::seconds(1);
        let bad = [("one", "b@example.com"), ("two", "b@example.com"), ("three", "a@example.com")];
        let dead = SendResult::Dead { error: claim.message_id.clone() };
        let is_bad = bad.contains(&(claim.message_id.as_str(), claim.recipient.as_str()));
        store.finish(&claim, if is_bad { &dead } else { &SendResult::Sent }, at).unwrap();
    }
    let dead = |dead| Undelivered { dead, ..Undelivered::default() };
    assert_eq!(waits(&store), [(main.clone(), dead(1)), (shop.clone(), dead(2))].into());
    let summary = store.outbox_summary().unwrap();
    let of = |last: &GivenUpMails| (last.count, last.recipient.clone(), last.error.clone());
    let last = (3, "a@example.com".to_owned(), "three".to_owned());
    assert_eq!(summary.given_up.as_ref().map(of), Some(last.clone()));
    let by_account: BTreeMap<_, _> =
        summary.given_up_of.iter().map(|(name, last)| (name.clone(), of(last))).collect();
    let of_main = (1, "b@example.com".to_owned(), "one".to_owned());
    assert_eq!(by_account, [(main, of_main), (shop, (2, last.1, last.2))].into());
}

#[test]
fn what_one_step_decided_takes_no_place_of_its_own() {
    let mut store = Store::in_memory().unwrap();
    let later = |id: &str| Outgoing {
        created_at: now() + Duration::minutes(1),
        ..mail_about(&key(), id, Lane::Normal)
    };
    store.commit(&batch(vec![mail_about(&key(), "first", Lane::Normal)]), now()).unwrap();
    let claim = store.claim(&Queue::Mail, now()).unwrap().unwrap();
    store.commit(&batch(vec![later("used-up"), later("rung")]), now()).unwrap();
    assert!(store.overtaking().unwrap().values().all(|one| one.to == ["b@example.com".to_owned()].into()));
    store.finish(&claim, &retry(now(), "451"), now()).unwrap();
    let overtaking = store.overtaking().unwrap();
    assert_eq!(overtaking.keys().collect::<Vec<_>>(), ["rung", "used-up"]);
    for one in overtaking.values() {
        assert_eq!(one.to.len(), 2);
        assert_eq!(one.older, ["first".to_owned()].into(), "and not the one beside it");
    }
}

#[test]
fn an_open_incident_of_which_nothing_arrived_is_unheard_until_somebody_can_be_reached() {
    let mut store = Store::in_memory().unwrap();
    let mut incident = Incident::new(key(), Severity::Critical, now());
    incident.begin_episode(now());
    incident.enter(Phase::Firing, now());
    let opened = Batch { incidents: vec![incident], ..batch(vec![mail_about(&key(), "one", Lane::Normal)]) };
    store.commit(&opened, now()).unwrap();
    let lost =
        |store: &Store| store.unheard().unwrap().into_iter().map(|(_, lost)| lost.len()).collect::<Vec<_>>();
    for _ in 0..2 {
        assert_eq!(lost(&store), [2], "one waits for each, or was given up");
        let claim = store.claim(&Queue::Mail, now()).unwrap().unwrap();
        assert!(store.unheard().unwrap().is_empty(), "it may arrive");
        store.finish(&claim, &SendResult::Dead { error: "550".into() }, now()).unwrap();
    }
    assert_eq!(lost(&store), [2]);
    store.commit(&Batch { mails: vec![mail("later", Lane::Normal)], ..Batch::default() }, now()).unwrap();
    let claim = store.claim(&Queue::Mail, now()).unwrap().unwrap();
    store.finish(&claim, &SendResult::Sent, now() + Duration::seconds(1)).unwrap();
    assert_eq!(lost(&store), [1], "mail gets through to one of them again");
}

#[test]
fn the_last_news_of_an_incident_that_was_given_up_is_named_with_its_recipient() {
    let mut store = Store::in_memory().unwrap();
    let mut incident = Incident::new(key(), Severity::Critical, now());
    incident.begin_episode(now());
    incident.enter(Phase::Firing, now());
    let about = |id: &str| mail_about(&key(), id, Lane::Normal);
    let alone = |mail: Outgoing| Batch { mails: vec![mail], ..Batch::default() };
    let opened = Batch { incidents: vec![incident], ..batch(vec![about("one")]) };
    store.commit(&opened, now()).unwrap();
    let all = ["a@example.com", "b@example.com"];
    let addressed = store.addressed().unwrap();
    assert_eq!(addressed[&key()], all.map(str::to_owned).into());
    let end = |store: &mut Store, how: &[SendResult], minutes: i64| {
        let at = now() + Duration::minutes(minutes);
        for how in how {
            let claim = store.claim(&Queue::Mail, at).unwrap().unwrap();
            store.finish(&claim, how, at).unwrap();
        }
    };
    let dead = || SendResult::Dead { error: "554".into() };
    let refused = |store: &Store| -> Vec<(String, String, usize, bool)> {
        let found = store.refused(now() - Duration::days(1)).unwrap();
        found.into_iter().map(|one| (one.to, one.message_id, one.given_up.len(), one.reached)).collect()
    };
    end(&mut store, &[SendResult::Sent, dead()], 1);
    let b = |id: &str, times, reached| ("b@example.com".to_owned(), id.to_owned(), times, reached);
    assert_eq!(refused(&store), [b("one", 1, false)]);
    store.commit(&alone(about("two")), now()).unwrap();
    assert!(refused(&store).is_empty(), "newer news waits");
    end(&mut store, &[SendResult::Sent, dead()], 2);
    assert_eq!(refused(&store), [b("two", 2, false)]);
    store.commit(&alone(mail("other", Lane::Normal)), now()).unwrap();
    end(&mut store, &[SendResult::Sent, SendResult::Sent], 3);
    assert_eq!(refused(&store), [b("two", 2, true)]);
    // A mail that arrived named it: who reads that the VM is in error is to read that it is no more.
    let heard = |store: &Store| store.heard(&key(), 1).unwrap()["b@example.com"];
    assert_eq!(heard(&store), Heard::Refused);
    let named =
        Named { message_id: "two".into(), recipient: "b@example.com".into(), named_in: "other".into() };
    store.commit(&Batch { named: vec![named], ..Batch::default() }, now()).unwrap();
    assert_eq!(heard(&store), Heard::Reached);
    store.commit(&alone(about("three")), now()).unwrap();
    end(&mut store, &[SendResult::Sent, SendResult::Sent], 4);
    assert!(refused(&store).is_empty());
}

#[test]
fn what_surely_did_not_leave_of_an_incident_that_is_watched_again_was_not_heard() {
    let mut store = Store::in_memory().unwrap();
    let heard = |store: &Store| {
        let Back { heard, heard_unwatched } = store.heard_back(&key(), 1).unwrap();
        (heard, heard_unwatched)
    };
    assert_eq!(heard(&store), (false, false));
    store.commit(&batch(vec![mail_about(&key(), "one", Lane::Normal)]), now()).unwrap();
    assert_eq!(heard(&store), (true, false), "it waits");
    store.commit(&Batch { withdraw: both("one"), ..Batch::default() }, now()).unwrap();
    assert_eq!(heard(&store), (false, false), "it was withdrawn");
    let mut gone = mail_about(&key(), "two", Lane::Normal);
    gone.notice.form = Form::Unwatched;
    gone.notice.items[0].event = Event::Unwatched;
    store.commit(&batch(vec![gone]), now()).unwrap();
    assert_eq!(heard(&store), (false, false), "no mail of it has left");
    assert!(store.waiting().unwrap().iter().all(|mail| mail.is_unwatched));
    let claim = store.claim(&Queue::Mail, now()).unwrap().unwrap();
    assert_eq!(heard(&store), (false, true), "it is being sent");
    store.finish(&claim, &retry(now(), "451"), now()).unwrap();
    assert_eq!(heard(&store), (false, false), "it was refused for now");
    let claim = store.claim(&Queue::Mail, now()).unwrap().unwrap();
    let lost = SendResult::Retry { due_at: now(), error: "cut".into(), perhaps: true };
    store.finish(&claim, &lost, now()).unwrap();
    assert_eq!(heard(&store), (false, true), "its reply was lost");
    while let Some(claim) = store.claim(&Queue::Mail, now()).unwrap() {
        store.finish(&claim, &SendResult::Sent, now()).unwrap();
    }
    assert_eq!(heard(&store), (false, true), "it arrived");
}

#[test]
fn what_was_taken_back_in_memory_can_be_told_in_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("hw.db");
    let mut store = Store::open(&path, now()).unwrap().store;
    let again = |id: &str| Outgoing { message_id: id.into(), ..mail("first", Lane::Normal) };
    store.commit(&batch(vec![again("first")]), now()).unwrap();
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    store.fall_back(&[], &Default::default(), true, now()).unwrap();
    // A part of what it told has ended: it is made anew, and that happens once more in the file.
    store.commit(&Batch { withdraw: both("first"), ..batch(vec![again("second")]) }, now()).unwrap();
    other.execute_batch("ROLLBACK").unwrap();
    store.return_to_file(now()).unwrap();
    store.commit(&Batch { withdraw: both("second"), ..batch(vec![again("third")]) }, now()).unwrap();
    let waiting: Vec<String> = std::iter::from_fn(|| store.claim(&Queue::Mail, now()).unwrap())
        .map(|claim| claim.message_id)
        .collect();
    assert_eq!(waiting, ["third", "third"]);
}

#[test]
fn what_people_decide_while_the_store_is_in_memory_is_kept() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("hw.db");
    let mut store = Store::open(&path, now()).unwrap().store;
    let of = |id: u64| Key::new(&"main".parse().unwrap(), Kind::VmError, id);
    let until = now() + Duration::hours(2);
    store.acknowledge(&of(1), 1, "before", now()).unwrap();
    store.acknowledge(&of(2), 1, "before", now()).unwrap();
    let ended = store.silence("main/vm_error/*", until, "before", now()).unwrap();
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    store.fall_back(&[], &Default::default(), true, now()).unwrap();
    assert!(store.take_back_ack(&of(1)).unwrap() && store.end_silence(ended, now()).unwrap());
    store.acknowledge(&of(3), 1, "meanwhile", now()).unwrap();
    store.silence("main/site_error/*", until, "meanwhile", now()).unwrap();
    other.execute_batch("ROLLBACK").unwrap();
    store.return_to_file(now()).unwrap();
    let muted = store.silences(now()).unwrap();
    assert_eq!(muted.acks.keys().cloned().collect::<Vec<_>>(), [of(2), of(3)]);
    let silences: Vec<&str> = muted.silences.iter().map(|one| one.pattern.as_str()).collect();
    assert_eq!(silences, ["main/site_error/*"]);
}

#[test]
fn journals_that_are_new_after_a_time_in_memory_are_the_stores_own() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("hw.db");
    let mut store = Store::open(&path, now()).unwrap().store;
    store.commit(&batch(vec![mail("before", Lane::Normal)]), now()).unwrap();
    assert!(store.is_in_place());
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    store.fall_back(&[], &Default::default(), true, now()).unwrap();
    // The last who closes the file takes its journals away.
    other.execute_batch("ROLLBACK").unwrap();
    drop(other);
    assert!(!directory.path().join("hw.db-wal").exists());
    // So that the next journal is surely another file.
    std::fs::write(directory.path().join("in-the-way"), "").unwrap();
    store.return_to_file(now()).unwrap();
    assert!(store.is_in_place());
}

#[test]
fn after_a_clock_that_was_set_back_nothing_waits_for_the_old_time() {
    let mut store = Store::in_memory().unwrap();
    store.commit(&batch(vec![mail("one", Lane::Normal)]), now()).unwrap();
    let earlier = now() - Duration::hours(10);
    assert_eq!(store.claim(&Queue::Mail, earlier).unwrap(), None);
    store.pull_in(earlier).unwrap();
    assert_eq!(store.next_due(&Queue::Mail).unwrap(), Some(earlier));
    assert!(store.claim(&Queue::Mail, earlier).unwrap().is_some());
}

#[test]
fn the_outbox_shows_what_was_given_up_first_and_counts_its_envelopes() {
    let mut store = Store::in_memory().unwrap();
    let empty = store.outbox_summary().unwrap();
    assert_eq!((empty.oldest, empty.last_sent, empty.trouble), (None, None, Trouble::default()));
    assert_eq!(empty.by_state.into_iter().collect::<Vec<_>>().len(), 5, "every state, at 0");
    assert_eq!(store.next_due(&Queue::Mail).unwrap(), None);
    store.commit(&batch(vec![mail("one", Lane::Normal)]), now()).unwrap();
    let two = Outgoing { created_at: now() + Duration::hours(1), ..mail("two", Lane::Normal) };
    store.commit(&batch(vec![two]), now() + Duration::hours(1)).unwrap();
    let (a, b) = (
        store.claim(&Queue::Mail, now()).unwrap().unwrap(),
        store.claim(&Queue::Mail, now()).unwrap().unwrap(),
    );
    assert_eq!((a.subject.as_str(), a.sender.as_str(), a.attempts), ("s", "hw@example.com", 0));
    store.finish(&a, &SendResult::Sent, now() + Duration::minutes(1)).unwrap();
    store.finish(&b, &SendResult::Dead { error: "550 no".into() }, now() + Duration::minutes(2)).unwrap();
    let summary = store.outbox_summary().unwrap();
    assert_eq!(summary.oldest, Some(now() + Duration::hours(1)));
    assert_eq!(summary.last_sent, Some(now() + Duration::minutes(1)));
    let untold = Trouble { waits_since: Some(now() + Duration::hours(1)), given_up_at: None };
    assert_eq!(summary.trouble, untold, "the other recipient was reached");
    let shown = store.envelopes(3).unwrap();
    let of = |state: MailState, to: &str, attempts, error: Option<&str>| {
        (state, to.to_owned(), attempts, error.map(str::to_owned))
    };
    let list: Vec<_> =
        shown.iter().map(|one| (one.state, one.recipient.clone(), one.attempts, one.error.clone())).collect();
    let want = [
        of(MailState::Dead, "b@example.com", 1, Some("550 no")),
        of(MailState::Queued, "b@example.com", 0, None),
        of(MailState::Queued, "a@example.com", 0, None),
    ];
    assert_eq!(list, want);
    assert_eq!((shown[0].id, shown[0].subject.as_str(), shown[0].created_at), (b.envelope, "s", now()));
    let dead = store.given_up(&BTreeSet::new()).unwrap().remove(0);
    assert_eq!(
        (dead.recipient.as_str(), dead.subject.as_str(), dead.error.as_str()),
        ("b@example.com", "s", "550 no")
    );
    let everybody = ["a@example.com", "b@example.com"].map(str::to_owned);
    assert_eq!((dead.recipients, dead.accounts), (everybody.into(), [key().account].into()));
}

#[test]
fn what_was_given_up_is_tried_again_by_hand() {
    let mut store = Store::in_memory().unwrap();
    store.commit(&batch(vec![mail("one", Lane::Normal)]), now()).unwrap();
    let claim = store.claim(&Queue::Mail, now()).unwrap().unwrap();
    store.finish(&claim, &retry(now() + Duration::seconds(30), "451"), now()).unwrap();
    let late = now() + Duration::days(5);
    store.tried_for(&Queue::Mail, std::time::Duration::from_secs(5 * 86400)).unwrap();
    assert_eq!(store.expire(&Queue::Mail, late).unwrap().len(), 1, "the other was never tried");
    assert_eq!(store.given_up(&BTreeSet::new()).unwrap()[0].error, "451");
    assert_eq!(store.outbox_summary().unwrap().trouble.given_up_at, Some(late));
    // By hand everything is tried again, and at once.
    assert_eq!(store.retry(Envelopes::All, late).unwrap(), 2);
    assert_eq!(store.next_due(&Queue::Mail).unwrap(), Some(late));
    assert_eq!(store.drop_mails(Envelopes::These(vec![claim.envelope]), late).unwrap(), 1);
    assert_eq!(store.drop_mails(Envelopes::These(vec![claim.envelope]), late).unwrap(), 0);
    assert_eq!(store.outbox_summary().unwrap().by_state["queued"], 1);
}

#[test]
fn one_recipient_of_whom_nothing_arrives_is_no_trouble_once_another_was_reached() {
    let mut store = Store::in_memory().unwrap();
    let trouble = |store: &Store| store.outbox_summary().unwrap().trouble;
    let minutes = |minutes| now() + Duration::minutes(minutes);
    let (later, dead) =
        (|error: &str| error.to_owned(), |error: &str| SendResult::Dead { error: error.to_owned() });
    let retry = |at| SendResult::Retry { due_at: at, error: later("451"), perhaps: false };
    let waits = |at| Trouble { waits_since: Some(at), given_up_at: None };

    // To two: nothing left yet.
    store.commit(&batch(vec![mail("one", Lane::Normal)]), now()).unwrap();
    assert_eq!(trouble(&store), waits(now()));
    let (a, b) = (
        store.claim(&Queue::Mail, now()).unwrap().unwrap(),
        store.claim(&Queue::Mail, now()).unwrap().unwrap(),
    );
    // One of them has to wait: so far nobody was reached.
    store.finish(&a, &retry(minutes(30)), minutes(1)).unwrap();
    assert_eq!(trouble(&store), waits(now()));
    store.finish(&b, &SendResult::Sent, minutes(2)).unwrap();
    assert_eq!(trouble(&store), Trouble::default());
    let a = store.claim(&Queue::Mail, minutes(30)).unwrap().unwrap();
    store.finish(&a, &dead("550"), minutes(30)).unwrap();
    assert_eq!(trouble(&store), Trouble::default());

    // A mail made since then waits, whoever was reached before it.
    let two = Outgoing { created_at: minutes(40), ..mail("two", Lane::Normal) };
    store.commit(&batch(vec![two]), minutes(40)).unwrap();
    assert_eq!(trouble(&store), waits(minutes(40)));
    let (a, b) = (
        store.claim(&Queue::Mail, minutes(40)).unwrap().unwrap(),
        store.claim(&Queue::Mail, minutes(40)).unwrap().unwrap(),
    );
    store.finish(&a, &dead("550"), minutes(41)).unwrap();
    store.finish(&b, &dead("550"), minutes(42)).unwrap();
    assert_eq!(trouble(&store), Trouble { waits_since: None, given_up_at: Some(minutes(42)) });
    // The next one that arrives ends it.
    let three = Outgoing { created_at: minutes(50), ..mail("three", Lane::Normal) };
    store.commit(&batch(vec![three]), minutes(50)).unwrap();
    let (a, b) = (
        store.claim(&Queue::Mail, minutes(50)).unwrap().unwrap(),
        store.claim(&Queue::Mail, minutes(50)).unwrap().unwrap(),
    );
    store.finish(&a, &SendResult::Sent, minutes(51)).unwrap();
    // A server that goes away meanwhile is trouble.
    assert_eq!(trouble(&store), waits(minutes(50)));
    store.finish(&b, &SendResult::Untried { error: later("refused") }, minutes(52)).unwrap();
    assert_eq!(trouble(&store), waits(minutes(50)));
}

#[test]
fn each_queue_is_claimed_tried_and_given_up_by_itself() {
    let mut store = Store::in_memory().unwrap();
    let to = |id: &str, to: &str| Outgoing { recipients: vec![to.into()], ..mail(id, Lane::Normal) };
    let mails = vec![
        to("mail", "a@example.com"),
        to("team", "webhook:team"),
        to("former", "webhook:former"),
        to("tea", "webhook:tea"),
    ];
    store.commit(&batch(mails), now()).unwrap();
    let team = Queue::Webhook("team".into());
    assert_eq!(store.next_due(&Queue::Webhook("te".into())).unwrap(), None);
    for (queue, want) in [(&Queue::Mail, "mail"), (&team, "team")] {
        assert_eq!(store.next_due(queue).unwrap(), Some(now()));
        let claim = store.claim(queue, now()).unwrap().unwrap();
        assert_eq!(claim.message_id, want);
        assert_eq!(store.claim(queue, now()).unwrap(), None, "{want} is all of it");
        store.finish(&claim, &retry(now(), "later"), now()).unwrap();
    }
    store.tried_for(&team, std::time::Duration::from_secs(5 * 86400)).unwrap();
    assert!(store.expire(&Queue::Mail, now()).unwrap().is_empty());
    assert_eq!(store.expire(&team, now()).unwrap()[0].message_id, "team");
    let served = [Queue::Mail, team, Queue::Webhook("tea".into())].into();
    let given_up = store.give_up_others(&served, now()).unwrap();
    let given_up: Vec<&str> = given_up.iter().map(|one| one.recipient.as_str()).collect();
    assert_eq!(given_up, ["webhook:former"]);
    assert!(store.give_up_others(&served, now()).unwrap().is_empty());
    // Without [email], mails; and again what somebody had tried again.
    assert_eq!(store.retry(Envelopes::All, now()).unwrap(), 4);
    let webhooks = served.into_iter().filter(|queue| *queue != Queue::Mail).collect();
    let given_up = store.give_up_others(&webhooks, now()).unwrap();
    let told: Vec<_> = given_up.iter().map(|one| (one.recipient.as_str(), one.error.as_str())).collect();
    let gone = "no webhook of this name is in the configuration any more";
    let no_mail = "no [email] is in the configuration any more";
    assert_eq!(told, [("a@example.com", no_mail), ("webhook:former", gone)]);
}

#[test]
fn what_was_given_up_for_its_age_and_revived_is_as_any_other() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("hw.db");
    let mut store = Store::open(&path, now()).unwrap().store;
    let expired = || -> i64 {
        let raw = rusqlite::Connection::open(&path).unwrap();
        raw.query_row("SELECT sum(expired) FROM envelopes", [], |row| row.get(0)).unwrap()
    };
    store.commit(&batch(vec![mail("one", Lane::Normal)]), now()).unwrap();
    for _ in 0..2 {
        let claim = store.claim(&Queue::Mail, now()).unwrap().unwrap();
        store.finish(&claim, &retry(now(), "451 later"), now()).unwrap();
    }
    store.tried_for(&Queue::Mail, std::time::Duration::from_secs(5 * 86400)).unwrap();
    let count = store.expire(&Queue::Mail, now()).unwrap().len();
    assert!(count > 0);
    assert_eq!(expired(), i64::try_from(count).unwrap());
    store.retry(Envelopes::All, now()).unwrap();
    assert_eq!(expired(), 0);
}

#[test]
fn an_incident_is_found_without_reading_the_others() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("hw.db");
    let mut store = Store::open(&path, now()).unwrap().store;
    let named = |id: u64, name: &str| {
        let key = Key::new(&"main".parse().unwrap(), Kind::VmError, id);
        let mut incident = Incident::new(key, Severity::Critical, now());
        incident.subject = format!("VM {name}");
        incident
    };
    let incidents = vec![named(7, "web-1"), named(8, "db \"1\"")];
    store.commit(&Batch { incidents, ..Batch::default() }, now()).unwrap();
    // One that cannot be read fails whoever reads it.
    let other = "INSERT INTO incidents (key, phase, severity, updated_at, body)
                 VALUES ('main/vm_error/9', 'firing', 'critical', '', '{\"subject\":\"VM other\"}')";
    rusqlite::Connection::open(&path).unwrap().execute(other, []).unwrap();
    assert!(store.incidents().is_err());
    assert_eq!(store.incident("main/vm_error/7").unwrap().unwrap().subject, "VM web-1");
    assert_eq!(store.incident("main/vm_error/70").unwrap(), None);
    let near = |text: &str| -> Vec<String> {
        store.incidents_near(text).unwrap().into_iter().map(|one| one.key.to_string()).collect()
    };
    for text in ["web-1", "main/vm_error/7", "main/vm_error/7 and more", "vm_error/7"] {
        assert_eq!(near(text), ["main/vm_error/7"], "{text}");
    }
    assert_eq!(near("db \"1\""), ["main/vm_error/8"]);
    assert!(near("nothing").is_empty());
}

#[test]
fn who_heard_a_beginning_whose_end_was_taken_back_has_heard_of_the_next() {
    let mut store = Store::in_memory().unwrap();
    let of = |id: &str, episode: u32, event: Event| {
        let mut mail = mail_about(&key(), id, Lane::Normal);
        mail.notice.items[0].episode = episode;
        mail.notice.items[0].event = event;
        mail
    };
    store.commit(&batch(vec![of("one", 1, Event::Opened)]), now()).unwrap();
    while let Some(claim) = store.claim(&Queue::Mail, now()).unwrap() {
        store.finish(&claim, &SendResult::Sent, now()).unwrap();
    }
    store.commit(&batch(vec![of("two", 1, Event::Resolved)]), now()).unwrap();
    assert!(store.heard(&key(), 2).unwrap().is_empty(), "it is over");
    store.commit(&Batch { withdraw: both("two"), ..Batch::default() }, now()).unwrap();
    let heard = store.heard(&key(), 2).unwrap();
    assert_eq!(heard.values().copied().collect::<Vec<_>>(), [Heard::Reached, Heard::Reached]);
}
