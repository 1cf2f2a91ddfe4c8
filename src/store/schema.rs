//! The tables. A store of release 0.2 is upgraded; older and newer ones are refused.

use std::path::Path;

use chrono::{DateTime, Utc};
use rusqlite::Connection;

use super::place::{sync_directory, with_end};
use super::{StoreError, chats, log, upgrade};

/// SQLite's mark of the program that a file belongs to: `hwst`. Stores of release 0.2 have none.
pub(super) const APPLICATION_ID: u32 = 0x6877_7374;
/// The version that this release writes.
pub(super) const NEWEST: i64 = 8;
/// The version that release 0.2 wrote.
const UPGRADED: i64 = 7;

/// All tables but those of the notification log.
const TABLES: &str = "
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
-- `body` is the incident as JSON.
CREATE TABLE incidents (key TEXT PRIMARY KEY, body TEXT NOT NULL) STRICT;
-- The reasons of their changes, as JSON.
CREATE TABLE decisions (
  id INTEGER PRIMARY KEY, key TEXT NOT NULL, decided_at TEXT NOT NULL, reason TEXT NOT NULL
) STRICT;
CREATE INDEX decisions_by_key ON decisions (key, id);
-- Written by commands beside the daemon too.
CREATE TABLE acks (
  key TEXT PRIMARY KEY, episode INTEGER NOT NULL, created_at TEXT NOT NULL, comment TEXT NOT NULL
) STRICT;
CREATE TABLE silences (
  id INTEGER PRIMARY KEY, pattern TEXT NOT NULL, created_at TEXT NOT NULL, until TEXT NOT NULL,
  comment TEXT NOT NULL
) STRICT;
-- The last good report of each account, `body` as JSON: after a restart mails name amounts while none can be read.
CREATE TABLE reports (account TEXT PRIMARY KEY, read_at TEXT NOT NULL, body TEXT NOT NULL) STRICT;
-- The history that the page shows: each episode of an incident.
CREATE TABLE episodes (
  key TEXT NOT NULL, episode INTEGER NOT NULL, since TEXT NOT NULL, ended_at TEXT, severity TEXT NOT NULL,
  title TEXT NOT NULL, PRIMARY KEY (key, episode)
) STRICT;
CREATE INDEX episodes_by_end ON episodes (ended_at);
";

/// Upgrades the store to the newest version in one transaction, and keeps a copy of an older one beside it.
pub(super) fn bring_up(
    connection: &mut Connection,
    path: &Path,
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    match version(connection, path)? {
        NEWEST => Ok(()),
        0 => Ok(create(connection)?),
        found => {
            keep_copy(connection, path, found)?;
            upgrade::upgrade(connection, now)
        }
    }
}

/// Makes the tables of an empty store.
pub(super) fn create(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction()?;
    transaction.execute_batch(TABLES)?;
    transaction.execute_batch(log::TABLES)?;
    transaction.execute_batch(chats::TABLE)?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", NEWEST)?;
    transaction.commit()
}

/// The store's version, 0 for an empty one. Stores of newer releases and of those before 0.2 are refused.
pub(super) fn version(connection: &Connection, path: &Path) -> Result<i64, StoreError> {
    let (found, known) = (connection.query_row("PRAGMA user_version", [], |row| row.get(0))?, NEWEST);
    match found {
        _ if found > known => Err(StoreError::Newer { path: path.to_owned(), found, known }),
        0 | UPGRADED.. => Ok(found),
        _ => Err(StoreError::TooOld { path: path.to_owned(), found }),
    }
}

/// Keeps a copy of the old store, for a user who goes back to the older release.
fn keep_copy(connection: &Connection, path: &Path, version: i64) -> Result<(), StoreError> {
    let copy = &with_end(path, &format!(".v{version}"));
    if copy.exists() {
        return Ok(());
    }
    // The copy gets its name only once it is whole.
    let begun = &with_end(copy, ".begun");
    let failed = |source| StoreError::Copy { path: copy.clone(), source };
    if begun.exists() {
        std::fs::remove_file(begun).map_err(failed)?;
    }
    if let Err(error) = connection.execute("VACUUM INTO ?1", [begun.to_string_lossy()]) {
        // An incomplete copy is useless and takes room.
        let _ = std::fs::remove_file(begun);
        return Err(error.into());
    }
    std::fs::rename(begun, copy).map_err(failed)?;
    // The copy's name is on the disk before the store has the newer version.
    sync_directory(copy).map_err(failed)
}
