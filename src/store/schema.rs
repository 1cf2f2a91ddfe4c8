//! The tables, version by version. A store of an older version is brought up; a newer one is refused.

use std::path::Path;

use rusqlite::Connection;

use super::StoreError;
use super::place::sync_directory;

/// Each entry brings a store from its index to the next version.
const MIGRATIONS: &[&str] = &["
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
-- `body` is the incident as JSON; the columns beside it are for people with a sqlite3 shell.
CREATE TABLE incidents (
  key TEXT PRIMARY KEY, phase TEXT NOT NULL, severity TEXT NOT NULL, updated_at TEXT NOT NULL, body TEXT NOT NULL
) STRICT;
CREATE TABLE decisions (
  id INTEGER PRIMARY KEY, key TEXT NOT NULL, decided_at TEXT NOT NULL, reason TEXT NOT NULL
) STRICT;
CREATE INDEX decisions_by_key ON decisions (key, id);
CREATE TABLE messages (
  message_id TEXT PRIMARY KEY, created_at TEXT NOT NULL, sender TEXT NOT NULL, subject TEXT NOT NULL,
  lane INTEGER NOT NULL, told TEXT NOT NULL, raw BLOB NOT NULL
) STRICT;
CREATE TABLE envelopes (
  id INTEGER PRIMARY KEY, message_id TEXT NOT NULL REFERENCES messages (message_id), recipient TEXT NOT NULL,
  state TEXT NOT NULL, attempts INTEGER NOT NULL DEFAULT 0, due_at TEXT NOT NULL, error TEXT, ended_at TEXT,
  reported INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX envelopes_by_state ON envelopes (state, due_at);
CREATE INDEX envelopes_by_message ON envelopes (message_id);
CREATE TABLE told (
  event_key TEXT NOT NULL, recipient TEXT NOT NULL, message_id TEXT NOT NULL, PRIMARY KEY (event_key, recipient)
) STRICT;
", "
-- Written by commands beside the daemon; the daemon only reads them.
CREATE TABLE acks (
  key TEXT PRIMARY KEY, episode INTEGER NOT NULL, created_at TEXT NOT NULL, comment TEXT NOT NULL
) STRICT;
CREATE TABLE silences (
  id INTEGER PRIMARY KEY, pattern TEXT NOT NULL, created_at TEXT NOT NULL, until TEXT NOT NULL,
  comment TEXT NOT NULL
) STRICT;
-- What the hourly cap keeps back; `items` as JSON.
CREATE TABLE held (
  id INTEGER PRIMARY KEY, held_at TEXT NOT NULL, recipients TEXT NOT NULL, items TEXT NOT NULL
) STRICT;
CREATE TABLE tallies (
  day TEXT NOT NULL, account TEXT NOT NULL, polls INTEGER NOT NULL, failed INTEGER NOT NULL,
  PRIMARY KEY (day, account)
) STRICT;
-- Set where somebody asked for another attempt: five days count from there.
ALTER TABLE envelopes ADD COLUMN revived_at TEXT;
", "
-- Reasons of decisions and of incidents are JSON, type and values; those of older releases stay sentences.
", "
-- What a mail is made of, as JSON: while it waits it may have to be made anew for a part of its incidents.
ALTER TABLE messages ADD COLUMN notice TEXT;
-- The reply to the whole of it was once lost: it may have arrived.
ALTER TABLE envelopes ADD COLUMN perhaps INTEGER NOT NULL DEFAULT 0;
-- For how long it was tried while the daemon ran; given up for that.
ALTER TABLE envelopes ADD COLUMN tried_seconds INTEGER NOT NULL DEFAULT 0;
ALTER TABLE envelopes ADD COLUMN expired INTEGER NOT NULL DEFAULT 0;
-- Which mails say that another was given up: it counts once one of them arrived.
CREATE TABLE named (
  message_id TEXT NOT NULL, recipient TEXT NOT NULL, named_in TEXT NOT NULL,
  PRIMARY KEY (message_id, recipient, named_in)
) STRICT;
-- Which episodes a mail speaks of.
CREATE TABLE news (
  message_id TEXT NOT NULL, incident TEXT NOT NULL, episode INTEGER NOT NULL, PRIMARY KEY (message_id, incident)
) STRICT;
CREATE INDEX news_by_incident ON news (incident, episode);
-- Mails of older releases speak of the episode that goes on, where they are of its time.
INSERT OR IGNORE INTO news
  SELECT m.message_id, i.key, json_extract(i.body, '$.episode')
  FROM messages m, json_each(m.told) told JOIN incidents i ON i.key = json_extract(told.value, '$[0]')
  WHERE substr(m.created_at, 1, 19) >= substr(json_extract(i.body, '$.since'), 1, 19);
", "
-- The last good report of each account, `body` as JSON: after a restart mails name amounts while none can be read.
CREATE TABLE reports (account TEXT PRIMARY KEY, read_at TEXT NOT NULL, body TEXT NOT NULL) STRICT;
", "
-- The history that the page shows: each episode of an incident, and when the daemon did not run.
CREATE TABLE episodes (
  key TEXT NOT NULL, episode INTEGER NOT NULL, since TEXT NOT NULL, ended_at TEXT, severity TEXT NOT NULL,
  title TEXT NOT NULL, PRIMARY KEY (key, episode)
) STRICT;
CREATE INDEX episodes_by_end ON episodes (ended_at);
CREATE TABLE gaps (since TEXT PRIMARY KEY, until TEXT NOT NULL) STRICT;
-- Of older releases the last episode of each incident is known, and of polls the day.
INSERT INTO episodes
  SELECT key, json_extract(body, '$.episode'), json_extract(body, '$.since'),
    CASE WHEN phase IN ('firing', 'recovering') THEN NULL
      ELSE coalesce(json_extract(body, '$.resolved_at'), json_extract(body, '$.last_change')) END,
    severity, trim(json_extract(body, '$.subject') || ' ' || json_extract(body, '$.problem'))
  FROM incidents WHERE phase IN ('firing', 'recovering')
    OR (phase IN ('resolved', 'unwatched') AND json_extract(body, '$.announced'));
INSERT OR IGNORE INTO meta (key, value)
  SELECT 'watched_since', min(day) || 'T00:00:00Z' FROM tallies HAVING min(day) IS NOT NULL;
", "
-- What an incident is about: mails about one VM, container or site keep their order, whichever of its incidents they are of.
ALTER TABLE news ADD COLUMN about TEXT NOT NULL DEFAULT '';
UPDATE news SET about = incident;
CREATE INDEX news_by_about ON news (about);
"];

/// Without these it is all the same and slow: a release that does not have them goes on with the store.
const INDEXES: &str = "
CREATE INDEX IF NOT EXISTS envelopes_by_end ON envelopes (state, ended_at);
CREATE INDEX IF NOT EXISTS envelopes_by_recipient ON envelopes (recipient, state, ended_at);
CREATE INDEX IF NOT EXISTS messages_by_time ON messages (lane, created_at);
";

/// The version that this release writes.
pub(super) const NEWEST: i64 = MIGRATIONS.len() as i64;

/// Brings the store to the newest version, in one transaction a version.
pub(super) fn migrate(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let found = version(connection, path)?;
    if found > 0 && found < NEWEST {
        keep_copy(connection, path, found)?;
    }
    bring_to(connection, NEWEST)
}

/// The store's version; of a newer release's nothing else is known.
pub(super) fn version(connection: &Connection, path: &Path) -> Result<i64, StoreError> {
    let (found, known) = (connection.query_row("PRAGMA user_version", [], |row| row.get(0))?, NEWEST);
    if found > known {
        return Err(StoreError::Newer { path: path.to_owned(), found, known });
    }
    Ok(found)
}

/// Brings an older or empty store to this version.
pub(super) fn bring_to(connection: &mut Connection, wanted: i64) -> Result<(), StoreError> {
    let found: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    let steps = (0i64..wanted).zip(MIGRATIONS).skip_while(|(version, _)| *version < found);
    for (version, sql) in steps {
        let transaction = connection.transaction()?;
        transaction.execute_batch(sql)?;
        transaction.pragma_update(None, "user_version", version + 1)?;
        transaction.commit()?;
    }
    if wanted == NEWEST {
        connection.execute_batch(INDEXES)?;
    }
    Ok(())
}

/// Whoever has to go back to the older release finds the store as it was, beside the new one.
fn keep_copy(connection: &Connection, path: &Path, version: i64) -> Result<(), StoreError> {
    let mut copy = path.as_os_str().to_owned();
    copy.push(format!(".v{version}"));
    let copy = Path::new(&copy);
    if copy.exists() {
        return Ok(());
    }
    // Under its name only once it is whole.
    let mut begun = copy.as_os_str().to_owned();
    begun.push(".begun");
    let begun = Path::new(&begun);
    let failed = |source| StoreError::Copy { path: copy.to_owned(), source };
    if begun.exists() {
        std::fs::remove_file(begun).map_err(failed)?;
    }
    if let Err(error) = connection.execute("VACUUM INTO ?1", [begun.to_string_lossy()]) {
        // What there was room for is of no use, and takes the room.
        let _ = std::fs::remove_file(begun);
        return Err(error.into());
    }
    std::fs::rename(begun, copy).map_err(failed)?;
    // The copy's name is on the disk before the store is of the newer version.
    sync_directory(copy).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::super::given_up::UNHEARD;
    use super::super::rate_limited::MAILS_SINCE;
    use super::super::summary::LAST_SENT;
    use super::*;

    /// What is asked at each mail, or each minute, looks at what it wants and not at all that was sent in three months.
    #[test]
    fn what_is_asked_often_is_found_by_an_index() {
        let mut store = Connection::open_in_memory().unwrap();
        bring_to(&mut store, NEWEST).unwrap();
        let table = [
            (LAST_SENT, "envelopes USING COVERING INDEX envelopes_by_end (state=?)"),
            (
                UNHEARD,
                "s USING COVERING INDEX envelopes_by_recipient (recipient=? AND state=? AND ended_at>?)",
            ),
            (UNHEARD, "n USING INDEX news_by_incident (incident=? AND episode=?)"),
            (MAILS_SINCE, "m USING INDEX messages_by_time (lane=? AND created_at>?)"),
        ];
        for (sql, want) in table {
            let mut plan = store.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
            let nothing = vec![rusqlite::types::Null; plan.parameter_count()];
            let lines = plan.query_map(rusqlite::params_from_iter(nothing), |row| row.get::<_, String>(3));
            let lines: Vec<String> = lines.unwrap().map(Result::unwrap).collect();
            assert!(lines.iter().any(|line| line.ends_with(want)), "{lines:#?}");
        }
    }
}
