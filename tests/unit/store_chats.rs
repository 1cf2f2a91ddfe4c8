//! Messages in chats as rows.
#![allow(clippy::unwrap_used)]

use super::alert_support::start as now;
use crate::store::{ChatMessage, Store, StoreError};
use rusqlite::Connection;

fn to() -> [String; 1] {
    ["telegram:ops".to_owned()]
}

#[test]
fn a_message_is_known_by_its_number_until_its_last_edit() {
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
    store.change_chat_message(&edited).unwrap();
    assert_eq!(store.chat_messages().unwrap(), std::slice::from_ref(&edited));
    let refused = store.together(|store| {
        store.change_chat_message(&ChatMessage { raw: b"{2}".to_vec(), ..edited.clone() })?;
        Err(StoreError::Missing(path.clone()))
    });
    assert!(refused.is_err());
    assert_eq!(store.chat_messages().unwrap(), [edited], "nothing of it is written");
    store.end_chat_message("telegram:ops", "0f@example.com").unwrap();
    assert!(store.chat_messages().unwrap().is_empty());
}
