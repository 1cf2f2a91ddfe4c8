//! The store in memory while its file cannot be used, with everything that could still be read: a full disk
//! must not stop mails. Later decisions are written back as soon as the file can be written. After a crash
//! before that, mails of that time may come again, but none is lost.

use std::path::{Path, PathBuf};
use std::time::Duration;

use chrono::{DateTime, Utc};
use rusqlite::backup::Backup;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::ownership::uri;
use super::place::{Place, set_aside};
use super::{Store, StoreError, schema, silences, upgrade};
use crate::alert::{Ack, Muted, Silence};

/// The longest wait for the file.
const BUSY: Duration = Duration::from_millis(100);

/// The state of the file while the store runs in memory.
#[derive(Debug, Default)]
pub(super) struct Left {
    /// Whether the file is to be set aside.
    damaged: bool,
    /// The new name of a file that was set aside on the way back.
    aside: Option<PathBuf>,
    /// Whether nothing could be read from the file, and the daemon has not written its own knowledge yet.
    pub(super) is_empty: bool,
}

/// The daemon knows all rows of these tables, so the memory's rows replace the file's.
const KNOWN: [&str; 5] = ["incidents", "cut_offs", "notification_log", "in_flight", "standings"];
/// These tables only grow. The daemon was told of people's decisions.
const ADDED: [&str; 5] = ["sent", "reports", "episodes", "silences", "chat_messages"];

/// The rest of the way back. An acknowledgement that was taken back meanwhile is deleted, and the first start is kept. A
/// memory that began empty repeats the last reason of each incident.
const GIVE: [&str; 5] = [
    "INSERT OR IGNORE INTO file.meta SELECT * FROM main.meta",
    "INSERT OR REPLACE INTO file.meta SELECT * FROM main.meta WHERE key != 'started'",
    "DELETE FROM file.acks WHERE key IN (SELECT key FROM temp.acks_taken EXCEPT SELECT key FROM main.acks)",
    "INSERT OR REPLACE INTO file.acks SELECT * FROM main.acks EXCEPT SELECT * FROM file.acks",
    "INSERT INTO file.decisions (key, decided_at, reason)
       SELECT key, decided_at, reason FROM main.decisions m
       WHERE NOT EXISTS (SELECT 1 FROM file.decisions f
           WHERE f.key = m.key AND f.decided_at = m.decided_at AND f.reason = m.reason)
         AND (id > (SELECT min(id) FROM main.decisions f WHERE f.key = m.key) OR reason IS NOT
           (SELECT reason FROM file.decisions f WHERE f.key = m.key ORDER BY id DESC LIMIT 1))
       ORDER BY id",
];

/// The memory notes which acknowledgements the file has.
const BEGIN: &str = "CREATE TEMP TABLE acks_taken AS SELECT key FROM main.acks";

impl Store {
    /// Whether the store runs in memory because its file cannot be used.
    pub(crate) fn is_in_memory(&self) -> bool {
        self.fallback.is_some()
    }

    /// Leaves a file that cannot be used, and continues with its contents. Returns false if these cannot be
    /// read: the caller then writes everything that it knows, and the bytes of mails on their way are lost.
    ///
    /// # Errors
    /// If it runs in memory already, or ends with the process anyway.
    pub(crate) fn fall_back(&mut self, muted: &Muted, now: DateTime<Utc>) -> Result<bool, StoreError> {
        let path = self.path.clone().filter(|_| !self.is_in_memory());
        let Some(path) = path else {
            return Err(StoreError::Content("a store in memory has no file".to_owned()));
        };
        let (memory, left) = match copy_into_memory(&path, now) {
            Ok(Copied { memory, is_whole: true }) => (memory, Left::default()),
            // The copy is older than the daemon's knowledge.
            Ok(Copied { is_whole: false, .. }) => (empty(muted)?, Left { is_empty: true, ..Left::default() }),
            Err(error) => {
                (empty(muted)?, Left { damaged: error.is_damage(), is_empty: true, ..Left::default() })
            }
        };
        memory.execute_batch(BEGIN)?;
        let is_empty = left.is_empty;
        (self.connection, self.fallback) = (memory, Some(left));
        Ok(!is_empty)
    }

    /// Starts in memory, with the contents of a file that cannot be used yet.
    pub(super) fn begin_in_memory(path: &Path, now: DateTime<Utc>) -> Result<Self, StoreError> {
        let Copied { memory, .. } = copy_into_memory(path, now)?;
        memory.execute_batch(BEGIN)?;
        Ok(Self { path: Some(path.to_owned()), fallback: Some(Left::default()), ..Self::on(memory) })
    }

    /// Writes the changes back and continues in the file. If the file is damaged, or another took its place, it
    /// is set aside first, and its new name is returned.
    pub(crate) fn return_to_file(&mut self, now: DateTime<Utc>) -> Result<Option<PathBuf>, StoreError> {
        match &self.fallback {
            None => return Ok(None),
            Some(left) if left.is_empty => {
                return Err(StoreError::Content("nothing was written in memory yet".to_owned()));
            }
            Some(_) => {}
        }
        self.enter_file(now).or_else(|error| {
            if !error.is_damage() {
                return Err(error);
            }
            // The damage was noticed only now, when the file was opened or written.
            if let Some(left) = &mut self.fallback {
                left.damaged = true;
            }
            self.enter_file(now)
        })
    }

    fn enter_file(&mut self, now: DateTime<Utc>) -> Result<Option<PathBuf>, StoreError> {
        let (Some(path), Some(left)) = (self.path.clone(), &mut self.fallback) else { return Ok(None) };
        let is_taken = self.place.as_ref().is_some_and(|place| place.is_taken(&path));
        if is_taken || (left.damaged && path.exists()) {
            left.aside = Some(set_aside(&path, if is_taken { "replaced" } else { "damaged" }, now)?);
        }
        let is_locked = self.place.as_ref().is_some_and(|place| place.is_at(&path));
        // A new file is locked before anything is in it. A directory, as for a missing volume, is no file.
        if !is_locked && !path.is_dir() {
            self.place = Some(Place::lock(&path)?);
            left.damaged = false;
        }
        let file = Self::usable(&path, now)?;
        self.connection.execute("ATTACH ?1 AS file", [path.to_string_lossy()])?;
        let written = self.write_back();
        self.connection.execute_batch("DETACH file")?;
        written?;
        self.connection = file.connection;
        self.connection.busy_timeout(super::BUSY)?;
        let left = self.fallback.take();
        if let Some(place) = self.place.take() {
            self.settle(place);
        }
        Ok(left.and_then(|left| left.aside))
    }

    /// Opens the file, or creates one if there is none. Damage shows only when it is written.
    fn usable(path: &Path, now: DateTime<Utc>) -> Result<Self, StoreError> {
        let mut store = Self::connect(path, rusqlite::OpenFlags::default())?;
        store.connection.busy_timeout(BUSY)?;
        store.connection.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;")?;
        schema::bring_up(&mut store.connection, path, now)?;
        Ok(store)
    }

    fn write_back(&mut self) -> Result<(), StoreError> {
        let transaction = self.connection.transaction()?;
        for table in KNOWN {
            transaction.execute_batch(&format!(
                "DELETE FROM file.{table}; INSERT INTO file.{table} SELECT * FROM main.{table}"
            ))?;
        }
        for table in ADDED {
            transaction.execute_batch(&format!(
                "INSERT OR REPLACE INTO file.{table} SELECT * FROM main.{table} EXCEPT SELECT * FROM file.{table}"
            ))?;
        }
        for sql in GIVE {
            transaction.execute_batch(sql)?;
        }
        Ok(transaction.commit()?)
    }
}

impl StoreError {
    /// Whether the file may be usable later although nobody changes its place: its disk is full or fails, or another
    /// program holds it.
    pub(super) fn may_pass(&self) -> bool {
        use ErrorCode::{DatabaseBusy, DatabaseLocked, DiskFull, SystemIoFailure};
        let (Self::Sql(error) | Self::Open { source: error, .. }) = self else {
            return matches!(self, Self::Copy { .. });
        };
        let code = error.sqlite_error_code();
        matches!(code, Some(DiskFull | SystemIoFailure | DatabaseBusy | DatabaseLocked))
    }

    /// Whether the file itself is broken, and not just out of reach.
    pub(super) fn is_damage(&self) -> bool {
        use ErrorCode::{DatabaseCorrupt, NotADatabase};
        let (Self::Sql(error) | Self::Open { source: error, .. }) = self else {
            return matches!(self, Self::Damaged { .. } | Self::Content(_));
        };
        matches!(error.sqlite_error_code(), Some(DatabaseCorrupt | NotADatabase))
    }
}

/// An empty store with people's decisions, under the numbers that the file has.
fn empty(muted: &Muted) -> Result<Connection, StoreError> {
    let mut memory = Connection::open_in_memory()?;
    memory.busy_timeout(BUSY)?;
    schema::create(&mut memory)?;
    for (key, Ack { episode, at, comment }) in &muted.acks {
        silences::acknowledge(&memory, key, *episode, comment, *at)?;
    }
    for Silence { id, pattern, at, until, comment } in &muted.silences {
        silences::silence(&memory, Some(*id), pattern, *until, comment, *at)?;
    }
    Ok(memory)
}

/// The contents of a file in memory, in the format of this release.
pub(super) struct Copied {
    pub(super) memory: Connection,
    /// Whether the contents include the journal.
    is_whole: bool,
}

/// Copies a file. It is opened for writing, or only for reading. If even its lock is out of reach, the journal
/// is left out.
pub(super) fn copy_into_memory(path: &Path, now: DateTime<Utc>) -> Result<Copied, StoreError> {
    let place = uri(path);
    let copy_as =
        |mode: &str, is_whole| Ok(Copied { memory: copy(path, &format!("{place}?{mode}"))?, is_whole });
    // The first error names the cause.
    let mut copied = copy_as("mode=rw", true)
        .or_else(|error| copy_as("mode=ro", true).map_err(|_| error))
        .or_else(|error: StoreError| copy_as("immutable=1", false).map_err(|_| error))?;
    let memory = &mut copied.memory;
    memory.busy_timeout(BUSY)?;
    match schema::version(memory, path)? {
        // If an upgrade found no room for its copy, the file is still in the format of release 0.2.
        found if found < schema::NEWEST && found > 0 => upgrade::upgrade(memory, now)?,
        0 => schema::create(memory)?,
        _ => {}
    }
    Ok(copied)
}

/// Copies all pages at once; between two steps the daemon might write.
fn copy(path: &Path, source: &str) -> Result<Connection, StoreError> {
    let file =
        Connection::open_with_flags(source, OpenFlags::default().difference(OpenFlags::SQLITE_OPEN_CREATE))?;
    file.busy_timeout(BUSY)?;
    super::leave_as_it_is(&file)?;
    let mut memory = Connection::open_in_memory()?;
    Backup::new(&file, &mut memory)?.step(-1)?;
    // The file's journal mode does not fit the memory.
    memory.pragma_update(None, "journal_mode", "memory")?;
    // Damaged pages are copied too.
    super::is_sound(&memory, path)?;
    Ok(memory)
}
