//! The store in memory while its file cannot be used, with everything that could still be read: a full disk
//! must not stop mails. As soon as the file can be written, it gets the memory's contents. After a crash
//! before that, mails of that time may come again, but none is lost.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use chrono::{DateTime, Utc};
use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, ErrorCode, OpenFlags, ffi};

use super::ownership::uri;
use super::place::{BESIDE, Place, itself, set_aside, with_end};
use super::{Store, StoreError, schema, upgrade};

/// The longest wait for the file.
const BUSY: Duration = Duration::from_millis(100);

/// The state of the file while the store runs in memory.
#[derive(Debug, Default)]
pub(super) struct Left {
    /// Whether the file is to be set aside, since it could not be read.
    is_unread: bool,
    /// The new name of a file that was set aside on the way back.
    aside: Option<PathBuf>,
}

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
    pub(crate) fn fall_back(&mut self, now: DateTime<Utc>) -> Result<bool, StoreError> {
        let Some(path) = self.path.clone().filter(|_| !self.is_in_memory()) else {
            return Err(StoreError::Content("a store in memory has no file".to_owned()));
        };
        let copied = copy_into_memory(&path, now);
        let is_unread = copied.is_err();
        self.connection = copied.or_else(|_| Self::in_memory().map(|new| new.connection))?;
        self.fallback = Some(Left { is_unread, aside: None });
        Ok(!is_unread)
    }

    /// Starts in memory, with the contents of a file that cannot be used yet.
    pub(super) fn begin_in_memory(path: &Path, now: DateTime<Utc>) -> Result<Self, StoreError> {
        let memory = copy_into_memory(path, now)?;
        Ok(Self { path: Some(path.to_owned()), fallback: Some(Left::default()), ..Self::on(memory) })
    }

    /// Writes the memory into the file in one step and continues there. A file that could not be read, and another
    /// in its place, is set aside first, and its new name is returned.
    ///
    /// # Errors
    /// If the file still cannot be used. If it is damaged, the next attempt sets it aside.
    pub(crate) fn return_to_file(&mut self, now: DateTime<Utc>) -> Result<Option<PathBuf>, StoreError> {
        let (Some(path), Some(left)) = (self.path.clone(), &mut self.fallback) else { return Ok(None) };
        let is_ours = self.place.as_ref().is_some_and(|place| place.is_at(&path));
        if !is_ours || left.is_unread || Self::refuse_foreign(&path).is_err() {
            if path.is_file() {
                left.aside = Some(set_aside(&path, if is_ours { "damaged" } else { "replaced" }, now)?);
            }
            // A new file is locked before anything is in it.
            self.place = Some(Place::lock(&path)?);
            left.is_unread = false;
        }
        let mut file = Self::usable(&path, now).inspect_err(|error| left.is_unread = error.is_damage())?;
        copy_pages(&self.connection, &mut file.connection)?;
        file.connection.busy_timeout(super::BUSY)?;
        self.connection = file.connection;
        let left = self.fallback.take();
        if let Some(place) = self.place.take() {
            self.settle(place);
        }
        Ok(left.and_then(|left| left.aside))
    }

    /// Opens the file, or creates one if there is none.
    fn usable(path: &Path, now: DateTime<Utc>) -> Result<Self, StoreError> {
        let mut store = Self::connect(path, OpenFlags::default())?;
        store.connection.busy_timeout(BUSY)?;
        store.connection.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;")?;
        schema::bring_up(&mut store.connection, path, now)?;
        Ok(store)
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

    /// Whether the file itself is broken, and not just out of reach. Only contents can prove damage: a file that cannot
    /// be read because the disk fails or is full may be whole.
    pub(super) fn is_damage(&self) -> bool {
        use ErrorCode::{DatabaseCorrupt, NotADatabase};
        let (Self::Sql(error) | Self::Open { source: error, .. }) = self else {
            return matches!(self, Self::Damaged { .. } | Self::Content(_));
        };
        matches!(error.sqlite_error_code(), Some(DatabaseCorrupt | NotADatabase))
    }
}

/// The contents of a file in memory, in the format of this release. The file is opened for writing, only for
/// reading, or for this program alone, which needs no file for the journal's index. If even its lock is out of reach, it
/// can be read if it has no journal.
pub(super) fn copy_into_memory(path: &Path, now: DateTime<Utc>) -> Result<Connection, StoreError> {
    let place = uri(path);
    let copy_as = |mode: &str| copy(path, &format!("{place}?{mode}"), "NORMAL");
    let journal = fs::metadata(with_end(&itself(path), BESIDE[0]));
    let has_journal = journal.is_ok_and(|journal| !journal.is_file() || journal.len() > 0);
    // The first error names the cause.
    let mut memory = copy_as("mode=rw")
        .or_else(|error| copy_as("mode=ro").map_err(|_| error))
        .or_else(|error| copy(path, &format!("{place}?mode=rw"), "EXCLUSIVE").map_err(|_| error))
        .or_else(|error| if has_journal { Err(error) } else { copy_as("immutable=1").map_err(|_| error) })?;
    match schema::version(&memory, path)? {
        // If an upgrade found no room for its copy, the file is still in the format of release 0.2.
        found if found < schema::NEWEST && found > 0 => upgrade::upgrade(&mut memory, now)?,
        0 => schema::create(&mut memory)?,
        _ => {}
    }
    Ok(memory)
}

fn copy(path: &Path, source: &str, locking: &str) -> Result<Connection, StoreError> {
    let file =
        Connection::open_with_flags(source, OpenFlags::default().difference(OpenFlags::SQLITE_OPEN_CREATE))?;
    file.busy_timeout(BUSY)?;
    file.pragma_update(None, "locking_mode", locking)?;
    super::leave_as_it_is(&file)?;
    let mut memory = Connection::open_in_memory()?;
    copy_pages(&file, &mut memory)?;
    // The file's journal mode does not fit the memory.
    memory.pragma_update(None, "journal_mode", "memory")?;
    // Damaged pages are copied too.
    super::is_sound(&memory, path)?;
    Ok(memory)
}

/// Copies all pages at once; between two steps the daemon might write.
fn copy_pages(from: &Connection, to: &mut Connection) -> rusqlite::Result<()> {
    if Backup::new(from, to)?.step(-1)? == StepResult::Done {
        return Ok(());
    }
    // Another program holds the file.
    Err(rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_BUSY), None))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn a_store_whose_journal_can_have_no_index_is_read_with_its_journal_and_left_as_it_is() {
        let (directory, now) = (tempfile::tempdir().unwrap(), DateTime::UNIX_EPOCH);
        let path = directory.path().join("hw.db");
        let mut store = Store::open(&path, now).unwrap().store;
        super::super::leave_as_it_is(&store.connection).unwrap();
        let until = now + chrono::Duration::hours(1);
        store.silence("main/*", until, "", now).unwrap();
        drop(store);
        let [journal, index] = BESIDE.map(|end| with_end(&path, end));
        let before = fs::read(&journal).unwrap();
        assert!(!before.is_empty());
        // SQLite follows no link to an index.
        let _ = fs::remove_file(&index);
        std::os::unix::fs::symlink("nowhere", &index).unwrap();
        let memory = copy_into_memory(&path, now).unwrap();
        let silences = memory.query_row("SELECT count(*) FROM silences", [], |row| row.get::<_, i64>(0));
        assert_eq!(silences, Ok(1));
        assert_eq!(fs::read(&journal).unwrap(), before);
    }
}
