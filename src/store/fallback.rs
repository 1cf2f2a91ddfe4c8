//! Where the store goes on while its file cannot be used: in memory, with everything that could still
//! be read. A full disk must not silence anybody. What is decided meanwhile is written home as soon as
//! the file takes it; a crash before that may send mails of the meantime again, and loses none.

use std::path::{Path, PathBuf};
use std::time::Duration;

use chrono::{DateTime, Utc};
use rusqlite::{Connection, ErrorCode};

use super::{Store, StoreError, incidents, schema, set_meta};
use crate::alert::{Incident, Overlays};

/// Nobody waits for a file longer than this.
const BUSY: Duration = Duration::from_millis(100);

/// What the memory took over from the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Taken {
    /// All that goes on from it; its numbers of rows are the file's.
    Whole,
    /// Less, or not the newest: what is written home gets new numbers and replaces nothing it does not
    /// know.
    Part,
    /// The file is damaged, and is to be set aside.
    Damaged,
}

/// How rows come from the file, and the version from which it has them: everything but raw mails that went out
/// already, and old reasons. The memory is of the file's own version while they do.
const TAKE: [(i64, &str); 8] = [
    (1, "INSERT OR REPLACE INTO main.meta SELECT * FROM home.meta"),
    (1, "INSERT OR REPLACE INTO main.incidents SELECT * FROM home.incidents"),
    (
        1,
        "INSERT OR REPLACE INTO main.messages SELECT message_id, created_at, sender, subject, lane, told,
       CASE WHEN EXISTS (SELECT 1 FROM home.envelopes e WHERE e.message_id = m.message_id
         AND e.state IN ('queued', 'sending', 'dead')) THEN raw ELSE x'' END FROM home.messages m",
    ),
    (1, "INSERT OR REPLACE INTO main.envelopes SELECT * FROM home.envelopes"),
    (1, "INSERT OR REPLACE INTO main.told SELECT * FROM home.told"),
    (2, "INSERT OR REPLACE INTO main.held SELECT * FROM home.held"),
    (2, "INSERT OR REPLACE INTO main.acks SELECT * FROM home.acks"),
    (2, "INSERT OR REPLACE INTO main.silences SELECT * FROM home.silences"),
];

/// What goes home in any case. Only what changed is written: the disk may have little room.
const GIVE: [&str; 5] = [
    "INSERT OR REPLACE INTO home.meta SELECT * FROM main.meta WHERE key <> 'retry_asked'
       EXCEPT SELECT * FROM home.meta",
    "INSERT OR REPLACE INTO home.incidents SELECT * FROM main.incidents EXCEPT SELECT * FROM home.incidents",
    "INSERT OR IGNORE INTO home.messages SELECT * FROM main.messages",
    "INSERT OR IGNORE INTO home.told SELECT * FROM main.told",
    "INSERT INTO home.decisions (key, decided_at, reason)
       SELECT key, decided_at, reason FROM main.decisions ORDER BY id",
];

/// What else goes home where the memory had everything. Whoever dropped a mail meanwhile is right.
const GIVE_WHOLE: [&str; 4] = [
    "UPDATE main.envelopes SET state = 'withdrawn' WHERE state IN ('queued', 'dead')
       AND id IN (SELECT id FROM home.envelopes WHERE state = 'withdrawn')",
    "INSERT OR REPLACE INTO home.envelopes SELECT * FROM main.envelopes EXCEPT SELECT * FROM home.envelopes",
    "DELETE FROM home.held WHERE id NOT IN (SELECT id FROM main.held)",
    "INSERT OR IGNORE INTO home.held SELECT * FROM main.held",
];

/// And where it had not. What the file says is being sent is not: it is due again.
const GIVE_PART: [&str; 3] = [
    "UPDATE home.envelopes SET state = 'queued' WHERE state = 'sending'",
    "INSERT INTO home.envelopes (message_id, recipient, state, attempts, due_at, error, ended_at, reported, revived_at)
       SELECT message_id, recipient, state, attempts, due_at, error, ended_at, reported, revived_at
       FROM main.envelopes e WHERE NOT EXISTS (SELECT 1 FROM home.envelopes h
         WHERE h.message_id = e.message_id AND h.recipient = e.recipient)",
    "INSERT INTO home.held (held_at, recipients, items) SELECT held_at, recipients, items FROM main.held m
       WHERE NOT EXISTS (SELECT 1 FROM home.held h WHERE h.held_at = m.held_at AND h.items = m.items)",
];

/// The tally of the meantime is added to.
const GIVE_TALLIES: &str = "INSERT INTO home.tallies SELECT day, account, polls, failed FROM main.tallies WHERE true
   ON CONFLICT (day, account) DO UPDATE SET polls = polls + excluded.polls, failed = failed + excluded.failed";

/// What people decided; only a new file lacks it.
const GIVE_OVERLAYS: [&str; 2] = [
    "INSERT OR REPLACE INTO home.acks SELECT * FROM main.acks",
    "INSERT OR REPLACE INTO home.silences SELECT * FROM main.silences",
];

impl Store {
    /// Does it run in memory because its file cannot be used?
    pub fn is_in_memory(&self) -> bool {
        self.fallback.is_some()
    }

    /// Leaves a file that cannot be used. Goes on from what it still gives, or, where it gives nothing,
    /// from what the daemon knows.
    pub fn fall_back(
        &mut self,
        known: &[Incident],
        overlays: &Overlays,
        started: bool,
        now: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        if self.is_in_memory() {
            return Ok(());
        }
        let Some(path) = self.path.clone() else {
            return Err(StoreError::Content("a store without a file has nowhere to go".to_owned()));
        };
        match copy_into_memory(&path) {
            Ok((memory, taken)) => {
                self.connection = memory;
                self.fallback = Some(taken);
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
                self.fallback = Some(if error.is_damage() { Taken::Damaged } else { Taken::Part });
                for (key, ack) in &overlays.acks {
                    self.acknowledge(key, ack.episode, &ack.comment, ack.at)?;
                }
                for silence in &overlays.silences {
                    self.silence(&silence.pattern, silence.until, &silence.comment, silence.at)?;
                }
            }
        }
        Ok(())
    }

    /// Writes home what changed and goes on there. A damaged file is set aside first; its new name is
    /// returned.
    pub fn return_to_file(&mut self, now: DateTime<Utc>) -> Result<Option<PathBuf>, StoreError> {
        let (Some(path), Some(taken)) = (self.path.clone(), self.fallback) else { return Ok(None) };
        let found = if taken == Taken::Damaged { None } else { Some(Self::usable(&path)) };
        let (home, aside) = match found {
            Some(Ok(home)) => (home, None),
            Some(Err(error)) if !error.is_damage() => return Err(error),
            Some(Err(_)) | None => {
                let aside = set_aside(&path, now)?;
                (Self::usable(&path)?, Some(aside))
            }
        };
        self.connection.execute("ATTACH ?1 AS home", [path.to_string_lossy()])?;
        let written = self.write_home(taken, aside.is_some());
        self.connection.execute_batch("DETACH home")?;
        if let Err(error) = &written
            && error.is_damage()
        {
            self.fallback = Some(Taken::Damaged);
        }
        written?;
        self.connection = home.connection;
        self.connection.busy_timeout(super::BUSY)?;
        self.fallback = None;
        Ok(aside)
    }

    /// Opens the file, or creates one where none is. That it is whole shows when it is written.
    fn usable(path: &Path) -> Result<Self, StoreError> {
        let mut store = Self::connect(path, rusqlite::OpenFlags::default())?;
        store.connection.busy_timeout(BUSY)?;
        store.connection.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;")?;
        schema::migrate(&mut store.connection, path)?;
        Ok(store)
    }

    fn write_home(&mut self, taken: Taken, everything: bool) -> Result<(), StoreError> {
        let transaction = self.connection.transaction()?;
        let rest = if taken == Taken::Whole { GIVE_WHOLE.as_slice() } else { GIVE_PART.as_slice() };
        let overlays = if everything { GIVE_OVERLAYS.as_slice() } else { &[] };
        for sql in GIVE.iter().chain(rest).chain([&GIVE_TALLIES]).chain(overlays) {
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

/// Renames a damaged store, with its journal, so that somebody can look at it; returns the new name.
pub(super) fn set_aside(path: &Path, now: DateTime<Utc>) -> Result<PathBuf, StoreError> {
    let stamp = now.format("%Y%m%dT%H%M%SZ");
    let name = |base: &Path, end: &str| {
        let mut name = base.as_os_str().to_owned();
        name.push(end);
        PathBuf::from(name)
    };
    let aside = name(path, &format!(".damaged-{stamp}"));
    for end in ["", "-wal", "-shm"] {
        let (from, to) = (name(path, end), name(&aside, end));
        match std::fs::rename(&from, &to) {
            Err(source) if end.is_empty() => return Err(StoreError::Aside { path: from, source }),
            // A journal need not be there.
            Ok(()) | Err(_) => {}
        }
    }
    Ok(aside)
}

fn empty() -> Result<Connection, StoreError> {
    let mut memory = Connection::open_in_memory()?;
    memory.busy_timeout(BUSY)?;
    schema::bring_to(&mut memory, schema::NEWEST)?;
    Ok(memory)
}

/// What the file gives, in memory, as this release has it. It is opened as it allows: for writing, for reading,
/// or, where even its lock cannot be had, as it lies there, without what its journal holds.
pub(super) fn copy_into_memory(path: &Path) -> Result<(Connection, Taken), StoreError> {
    let uri = |mode: &str| {
        let encoded = path.to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23");
        format!("file:{encoded}?{mode}")
    };
    let mut journal = path.as_os_str().to_owned();
    journal.push("-wal");
    let journaled = std::fs::metadata(&journal).is_ok_and(|journal| journal.len() > 0);
    let as_it_lies = if journaled { Taken::Part } else { Taken::Whole };
    let mut failed = None;
    let sources = [("mode=rw", Taken::Whole), ("mode=ro", Taken::Whole), ("immutable=1", as_it_lies)];
    for (mode, taken) in sources {
        match copy(&uri(mode)) {
            Ok(memory) => return Ok((memory, taken)),
            Err(error) => failed = Some(failed.unwrap_or(error)),
        }
    }
    Err(failed.unwrap_or_else(|| StoreError::Content("the file gives nothing".to_owned())))
}

/// What a file of an older version holds, reasons too, in memory and as this release has it.
pub(super) fn copy_of_older(path: &Path, version: i64) -> Result<Connection, StoreError> {
    let mut memory = Connection::open_in_memory()?;
    memory.execute("ATTACH ?1 AS home", [path.to_string_lossy()])?;
    let reasons = (1, "INSERT INTO main.decisions SELECT * FROM home.decisions");
    take(&mut memory, TAKE.iter().chain([&reasons]), version)?;
    Ok(memory)
}

fn copy(source: &str) -> Result<Connection, StoreError> {
    let mut memory = Connection::open_in_memory()?;
    memory.busy_timeout(BUSY)?;
    memory.execute("ATTACH ?1 AS home", [source])?;
    // An update that found no room for its copy leaves the file as the older release wrote it. One without a
    // version has no tables either: it gives nothing, and that shows below.
    let found: i64 = memory.query_row("PRAGMA home.user_version", [], |row| row.get(0))?;
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
    memory.execute_batch("DETACH home")?;
    schema::bring_to(memory, schema::NEWEST)
}
