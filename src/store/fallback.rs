//! Where the store goes on while its file cannot be used: in memory, with everything that could still be read. A full
//! disk must not silence anybody. What is decided meanwhile is written back as soon as the file takes it; a crash
//! before that may send mails of the meantime again, and loses none.

use std::path::{Path, PathBuf};
use std::time::Duration;

use chrono::{DateTime, Utc};
use percent_encoding::{AsciiSet, CONTROLS, percent_encode};
use rusqlite::{Connection, ErrorCode, params};

use super::place::{Place, set_aside};
use super::rows::{set_meta, stamp};
use super::{Store, StoreError, incidents, schema};
use crate::alert::{Incident, Muted, Silence};

/// Nobody waits for a file longer than this.
const BUSY: Duration = Duration::from_millis(100);

/// What is remembered of the file while the store runs in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Left {
    /// The file is to be set aside.
    damaged: bool,
    /// The last of the rate-limited notices that were taken over: what is missing of these was mailed meanwhile.
    rate_limited: i64,
}

/// How rows come from the file, and the version from which it has them: everything but raw mails that went out
/// already, and old reasons. The memory is of the file's own version while they do.
const TAKE: [(i64, &str); 14] = [
    (1, "INSERT OR REPLACE INTO main.meta SELECT * FROM file.meta"),
    (1, "INSERT OR REPLACE INTO main.incidents SELECT * FROM file.incidents"),
    (
        1,
        "INSERT OR REPLACE INTO main.messages (message_id, created_at, sender, subject, lane, told, raw)
       SELECT message_id, created_at, sender, subject, lane, told,
       CASE WHEN EXISTS (SELECT 1 FROM file.envelopes e WHERE e.message_id = m.message_id
         AND e.state IN ('queued', 'sending', 'dead')) THEN raw ELSE x'' END FROM file.messages m",
    ),
    (
        4,
        "UPDATE main.messages AS m SET notice =
         (SELECT f.notice FROM file.messages f WHERE f.message_id = m.message_id)",
    ),
    (4, "INSERT OR REPLACE INTO main.news SELECT * FROM file.news"),
    (4, "INSERT OR REPLACE INTO main.named SELECT * FROM file.named"),
    (1, "INSERT OR REPLACE INTO main.envelopes SELECT * FROM file.envelopes"),
    (1, "INSERT OR REPLACE INTO main.told SELECT * FROM file.told"),
    (2, "INSERT OR REPLACE INTO main.held SELECT * FROM file.held"),
    (2, "INSERT OR REPLACE INTO main.acks SELECT * FROM file.acks"),
    (2, "INSERT OR REPLACE INTO main.silences SELECT * FROM file.silences"),
    (5, "INSERT OR REPLACE INTO main.reports SELECT * FROM file.reports"),
    (6, "INSERT OR REPLACE INTO main.episodes SELECT * FROM file.episodes"),
    (6, "INSERT OR REPLACE INTO main.gaps SELECT * FROM file.gaps"),
];

/// How rows go back. The file may hold what the memory never had: envelopes are known by mail and recipient, not by
/// number, and only what changed is written, for the disk may have little room.
const GIVE: [&str; 16] = [
    "INSERT OR REPLACE INTO file.meta SELECT * FROM main.meta WHERE key <> 'retry_asked'
       EXCEPT SELECT * FROM file.meta",
    "INSERT OR REPLACE INTO file.incidents SELECT * FROM main.incidents EXCEPT SELECT * FROM file.incidents",
    "INSERT OR IGNORE INTO file.messages SELECT * FROM main.messages",
    // What was taken back, or refused for good, was not told.
    "DELETE FROM file.told WHERE (message_id, recipient) IN
       (SELECT message_id, recipient FROM main.envelopes WHERE state IN ('withdrawn', 'dead'))",
    "INSERT OR IGNORE INTO file.told SELECT * FROM main.told",
    "INSERT OR IGNORE INTO file.news SELECT * FROM main.news",
    "INSERT OR IGNORE INTO file.named SELECT * FROM main.named",
    "INSERT INTO file.decisions (key, decided_at, reason)
       SELECT key, decided_at, reason FROM main.decisions ORDER BY id",
    // Nobody sends what is being sent by the file alone.
    "UPDATE file.envelopes SET state = 'queued' WHERE state = 'sending'",
    // What was sent stays sent; whoever dropped a mail meanwhile is right.
    "UPDATE file.envelopes AS f SET (state, attempts, due_at, error, ended_at, reported, revived_at,
           perhaps, tried_seconds, expired)
         = (m.state, m.attempts, m.due_at, m.error, m.ended_at, m.reported, m.revived_at,
           m.perhaps, m.tried_seconds, m.expired)
       FROM main.envelopes m WHERE m.message_id = f.message_id AND m.recipient = f.recipient
         AND f.state <> 'sent' AND NOT (f.state = 'withdrawn' AND m.state IN ('queued', 'dead'))
         AND (m.state, m.attempts, m.due_at, m.error, m.ended_at, m.reported, m.revived_at,
             m.perhaps, m.tried_seconds, m.expired)
           IS NOT (f.state, f.attempts, f.due_at, f.error, f.ended_at, f.reported, f.revived_at,
             f.perhaps, f.tried_seconds, f.expired)",
    "INSERT INTO file.envelopes (message_id, recipient, state, attempts, due_at, error, ended_at, reported, revived_at,
         perhaps, tried_seconds, expired)
       SELECT message_id, recipient, state, attempts, due_at, error, ended_at, reported, revived_at,
         perhaps, tried_seconds, expired
       FROM main.envelopes m WHERE NOT EXISTS (SELECT 1 FROM file.envelopes f
         WHERE f.message_id = m.message_id AND f.recipient = m.recipient)",
    "INSERT INTO file.held (held_at, recipients, items) SELECT held_at, recipients, items FROM main.held m
       WHERE NOT EXISTS (SELECT 1 FROM file.held f WHERE f.held_at = m.held_at AND f.items = m.items)",
    "INSERT OR REPLACE INTO file.reports SELECT * FROM main.reports EXCEPT SELECT * FROM file.reports",
    "INSERT OR REPLACE INTO file.episodes SELECT * FROM main.episodes EXCEPT SELECT * FROM file.episodes",
    "INSERT OR REPLACE INTO file.gaps SELECT * FROM main.gaps EXCEPT SELECT * FROM file.gaps",
    // Polls of the meantime are added.
    "INSERT INTO file.tallies SELECT day, account, polls, failed FROM main.tallies WHERE true
       ON CONFLICT (day, account) DO UPDATE SET polls = polls + excluded.polls, failed = failed + excluded.failed",
];

/// What people decided: they asked the daemon, and so the memory. An acknowledgement that it took from the file and has
/// no more was taken back.
const GIVE_DECIDED: [&str; 3] = [
    "DELETE FROM file.acks WHERE key IN (SELECT key FROM temp.acks_taken EXCEPT SELECT key FROM main.acks)",
    "INSERT OR REPLACE INTO file.acks SELECT * FROM main.acks EXCEPT SELECT * FROM file.acks",
    "INSERT OR REPLACE INTO file.silences SELECT * FROM main.silences EXCEPT SELECT * FROM file.silences",
];

/// Acknowledgements that the file has.
const NOTE_DECIDED: &str = "CREATE TEMP TABLE acks_taken AS SELECT key FROM main.acks";

impl Store {
    /// Does it run in memory because its file cannot be used?
    pub(crate) fn is_in_memory(&self) -> bool {
        self.fallback.is_some()
    }

    /// Leaves a file that cannot be used. Goes on from what it still gives, or, where it gives nothing,
    /// from what the daemon knows.
    pub(crate) fn fall_back(
        &mut self,
        known: &[Incident],
        muted: &Muted,
        started: bool,
        now: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        if self.is_in_memory() {
            return Ok(());
        }
        let Some(path) = self.path.clone() else {
            return Err(StoreError::Content("a store without a file has nowhere to go".to_owned()));
        };
        if self.place.as_ref().is_some_and(|place| place.is_taken(&path)) {
            return Err(StoreError::Content("its file was replaced by another".to_owned()));
        }
        match copy_into_memory(&path) {
            Ok((memory, left)) => {
                self.connection = memory;
                self.fallback = Some(left);
            }
            Err(error) => {
                let mut memory = empty()?;
                let transaction = memory.transaction()?;
                incidents::write(&transaction, known, &[], now)?;
                if started {
                    set_meta(&transaction, "started", &now.to_rfc3339())?;
                }
                transaction.commit()?;
                self.connection = memory;
                self.fallback = Some(Left { damaged: error.is_damage(), rate_limited: 0 });
                for (key, ack) in &muted.acks {
                    self.acknowledge(key, ack.episode, &ack.comment, ack.at)?;
                }
                // By the numbers that the file has them under.
                for Silence { id, pattern, at, until, comment } in &muted.silences {
                    self.connection.execute(
                        "INSERT INTO silences (id, pattern, created_at, until, comment) VALUES (?1, ?2, ?3, ?4, ?5)",
                        params![id, pattern, stamp(*at), stamp(*until), comment],
                    )?;
                }
                self.connection.execute_batch(NOTE_DECIDED)?;
            }
        }
        Ok(())
    }

    /// Writes back what changed and goes on in the file. A damaged one is set aside first; its new name is returned.
    pub(crate) fn return_to_file(&mut self, now: DateTime<Utc>) -> Result<Option<PathBuf>, StoreError> {
        let (Some(path), Some(left)) = (self.path.clone(), self.fallback) else { return Ok(None) };
        let existed = path.exists();
        let other = self.place.as_ref().is_some_and(|place| place.is_taken(&path));
        let aside = if other || (left.damaged && existed) {
            Some(set_aside(&path, if other { "replaced" } else { "damaged" }, true, now)?)
        } else {
            None
        };
        let (file, aside) = match Self::usable(&path) {
            Err(error) if error.is_damage() && aside.is_none() => {
                let aside = set_aside(&path, "damaged", true, now)?;
                (Self::usable(&path)?, Some(aside))
            }
            opened => (opened?, aside),
        };
        // A file that is new has no lock yet.
        let place = match &self.place {
            Some(place) if place.is_at(&path) => None,
            _ => Some(Place::lock(&path)?),
        };
        self.connection.execute("ATTACH ?1 AS file", [path.to_string_lossy()])?;
        let written = self.write_back(left);
        self.connection.execute_batch("DETACH file")?;
        if let Err(error) = &written
            && error.is_damage()
        {
            self.fallback = Some(Left { damaged: true, ..left });
        }
        written?;
        self.connection = file.connection;
        self.connection.busy_timeout(super::BUSY)?;
        self.fallback = None;
        if let Some(place) = place.or_else(|| self.place.take()) {
            self.settle(place);
        }
        Ok(aside)
    }

    /// Opens the file, or creates one where none is. That it is whole shows when it is written.
    pub(super) fn usable(path: &Path) -> Result<Self, StoreError> {
        let mut store = Self::connect(path, rusqlite::OpenFlags::default())?;
        store.connection.busy_timeout(BUSY)?;
        store.connection.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;")?;
        schema::migrate(&mut store.connection, path)?;
        Ok(store)
    }

    fn write_back(&mut self, left: Left) -> Result<(), StoreError> {
        let transaction = self.connection.transaction()?;
        transaction.execute(
            // By their content: numbers begin anew in a table that was emptied.
            "DELETE FROM file.held AS f WHERE id <= ?1 AND NOT EXISTS (SELECT 1 FROM main.held m
               WHERE m.held_at = f.held_at AND m.items = f.items)",
            [left.rate_limited],
        )?;
        for sql in GIVE.iter().chain(&GIVE_DECIDED) {
            transaction.execute_batch(sql)?;
        }
        Ok(transaction.commit()?)
    }
}

impl StoreError {
    /// The file itself is broken, rather than out of reach.
    pub(super) fn is_damage(&self) -> bool {
        match self {
            Self::Damaged { .. } | Self::Content(_) => true,
            Self::Sql(error) | Self::Open { source: error, .. } => {
                matches!(
                    error.sqlite_error_code(),
                    Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
                )
            }
            Self::Locked(_)
            | Self::Lock { .. }
            | Self::Newer { .. }
            | Self::Older { .. }
            | Self::Conflict
            | Self::Aside { .. }
            | Self::Copy { .. } => false,
        }
    }
}

fn empty() -> Result<Connection, StoreError> {
    let mut memory = Connection::open_in_memory()?;
    memory.busy_timeout(BUSY)?;
    schema::bring_to(&mut memory, schema::NEWEST)?;
    Ok(memory)
}

/// What the file gives, in memory, as this release has it. It is opened as it allows: for writing, for reading,
/// or, where even its lock cannot be had, as it lies there, without what its journal holds.
pub(super) fn copy_into_memory(path: &Path) -> Result<(Connection, Left), StoreError> {
    /// What ends the path of an address, and what begins an escape in it.
    const ENDS: &AsciiSet = &CONTROLS.add(b'%').add(b'?').add(b'#');
    let encoded = percent_encode(path.as_os_str().as_encoded_bytes(), ENDS);
    let copy_as = |mode: &str| copy(&format!("file:{encoded}?{mode}"));
    // The first error names the cause.
    let memory = copy_as("mode=rw")
        .or_else(|error| copy_as("mode=ro").map_err(|_| error))
        .or_else(|error| copy_as("immutable=1").map_err(|_| error))?;
    let rate_limited = memory.query_row("SELECT coalesce(max(id), 0) FROM held", [], |row| row.get(0))?;
    memory.execute_batch(NOTE_DECIDED)?;
    Ok((memory, Left { damaged: false, rate_limited }))
}

/// What a file of an older version holds, reasons too, in memory and as this release has it.
pub(super) fn copy_of_older(path: &Path, version: i64) -> Result<Connection, StoreError> {
    let mut memory = Connection::open_in_memory()?;
    super::leave_as_it_is(&memory)?;
    memory.execute("ATTACH ?1 AS file", [path.to_string_lossy()])?;
    let reasons = (1, "INSERT INTO main.decisions SELECT * FROM file.decisions");
    take(&mut memory, TAKE.iter().chain([&reasons]), version)?;
    Ok(memory)
}

fn copy(source: &str) -> Result<Connection, StoreError> {
    let mut memory = Connection::open_in_memory()?;
    memory.busy_timeout(BUSY)?;
    memory.execute("ATTACH ?1 AS file", [source])?;
    // An update that found no room for its copy leaves the file as the older release wrote it. One without a
    // version has no tables either: it gives nothing, and that shows below.
    let found: i64 = memory.query_row("PRAGMA file.user_version", [], |row| row.get(0))?;
    take(&mut memory, TAKE.iter(), if found == 0 { schema::NEWEST } else { found })?;
    Ok(memory)
}

/// Takes the rows of a store of this version over, and brings them up.
fn take<'a>(
    memory: &mut Connection,
    rows: impl Iterator<Item = &'a (i64, &'static str)>,
    version: i64,
) -> Result<(), StoreError> {
    schema::bring_to(memory, version)?;
    let transaction = memory.transaction()?;
    for (_, sql) in rows.filter(|(since, _)| *since <= version) {
        transaction.execute_batch(sql)?;
    }
    transaction.commit()?;
    memory.execute_batch("DETACH file")?;
    schema::bring_to(memory, schema::NEWEST)
}
