//! Messages in chats as rows: a press of a button is written in one step with its effect.
#![allow(clippy::unwrap_used)]

use super::alert_support::start as now;
use crate::alert::{Key, Kind};
use crate::store::{ChatMessage, Pressed, Store};
use chrono::Duration;
use rusqlite::Connection;

fn vm(id: u64) -> Key {
    Key::new(&"main".parse().unwrap(), Kind::VmError, id)
}

fn to() -> [String; 1] {
    ["telegram:ops".to_owned()]
}

#[test]
fn a_press_is_written_whole() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("hw.db");
    let mut store = Store::open(&path, now()).unwrap().store;
    let insert = "INSERT INTO chat_messages (recipient, message_id, told, raw, number, created_at)
                  VALUES ('telegram:ops', '0f@example.com', '[\"main/vm_error/1#1#opened\"]', x'7b7d', NULL, '2026-03-01')";
    Connection::open(&path).unwrap().execute(insert, []).unwrap();
    assert!(store.chat_messages().unwrap().is_empty(), "nobody knows its number");
    assert_eq!(store.chat_message(&to(), "0").unwrap(), None, "a part of an id is none");
    assert_eq!(store.chat_message(&["telegram:team".to_owned()], "0f").unwrap(), None, "of another chat");
    let found = store.chat_message(&to(), "0f").unwrap().unwrap();
    assert_eq!(
        (found.told.as_slice(), found.raw.as_slice()),
        (&["main/vm_error/1#1#opened".to_owned()][..], &b"{}"[..])
    );
    let edited = ChatMessage { raw: b"{1}".to_vec(), number: Some(100), ..found };
    let until = now() + Duration::hours(4);
    let pressed = Pressed {
        comment: "Ann",
        acks: vec![(vm(1), 1)],
        silences: vec![(vm(2), until)],
        message: Some(edited.clone()),
    };
    store.press(&pressed, now()).unwrap();
    let muted = store.silences(now()).unwrap();
    assert_eq!((muted.acks[&vm(1)].episode, muted.acks[&vm(1)].comment.as_str()), (1, "Ann"));
    assert_eq!((muted.silences.len(), muted.silences[0].until), (1, until));
    assert_eq!(store.chat_messages().unwrap(), [edited]);
    store.end_chat_message("telegram:ops", "0f@example.com").unwrap();
    assert!(store.chat_messages().unwrap().is_empty());
}
