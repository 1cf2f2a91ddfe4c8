//! Everything that must survive a crash, in one SQLite file: incidents, the notification log, mails on their
//! way and sent mails.
//!
//! The daemon is the only writer of the log and holds a lock of the file. Commands beside it read and write
//! other rows without that lock. The store decides nothing. Incidents, log entries and the bytes of mails are
//! committed together.

mod chats;
mod fallback;
mod history;
mod incidents;
mod log;
mod ownership;
mod place;
mod reports;
mod retention;
mod rows;
mod schema;
mod sent;
mod silences;
mod truth;
mod upgrade;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use chrono::{DateTime, Utc};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

pub(crate) use chats::ChatMessage;
pub(crate) use log::{Flying, Rendered, Restored};
pub(crate) use retention::KEEP_INCIDENTS;

/// An error of the store.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoreError {
    #[error("another hostwatch holds {0}; stop it, or give this one a store.path of its own")]
    Locked(PathBuf),
    #[error(
        "cannot open and lock the store {path}: {source}; {remedy}", remedy = remedy_of_io(source)
    )]
    Lock { path: PathBuf, source: std::io::Error },
    #[error(
        "{path}, which store.path names, {what}: nothing in it was changed; correct store.path, or move the file away"
    )]
    Foreign { path: PathBuf, what: &'static str },
    #[error("there is no store {0} yet: start hostwatch with this configuration, or correct store.path")]
    Missing(PathBuf),
    #[error("cannot open the store {path}: {source}; {remedy}", remedy = remedy(source))]
    Open { path: PathBuf, source: rusqlite::Error },
    #[error("the store {path} is of schema {found}, this hostwatch knows {known}; run the newer release")]
    Newer { path: PathBuf, found: i64, known: i64 },
    #[error(
        "the store {path} is of schema {found}, this hostwatch writes schema {known}: nothing was changed; restart the daemon, which brings the store up, and repeat this"
    )]
    Older { path: PathBuf, found: i64, known: i64 },
    #[error("the store {path} is damaged: {detail}")]
    Damaged { path: PathBuf, detail: String },
    #[error("cannot set {path} aside, which stands in the store's place: {source}; move it away by hand")]
    Aside { path: PathBuf, source: std::io::Error },
    #[error("cannot keep a copy of the store as {path} before bringing it up: {source}")]
    Copy { path: PathBuf, source: std::io::Error },
    #[error("the store: {0}; {remedy}", remedy = remedy(_0))]
    Sql(#[from] rusqlite::Error),
    #[error("the store holds something that cannot be read: {0}")]
    Content(String),
    #[error(
        "the store {path} is of schema {found}, of a release before 0.2: start hostwatch 0.2 on it once to upgrade it, or move it away to begin a new one"
    )]
    TooOld { path: PathBuf, found: i64 },
    #[error("the mail {message_id} to {recipient} is to be sent and has no bytes")]
    NoBytes { message_id: String, recipient: String },
}

fn remedy_of_io(error: &std::io::Error) -> &'static str {
    const FULL: [ErrorKind; 3] = [ErrorKind::StorageFull, ErrorKind::QuotaExceeded, ErrorKind::FileTooLarge];
    let remedies: [(&[ErrorKind], &str); 4] = [
        (&FULL, "make room on its disk"),
        (&[ErrorKind::NotFound], "make its directory, or correct store.path"),
        (&[ErrorKind::ReadOnlyFilesystem], "mount its file system for writing, or correct store.path"),
        (
            &[ErrorKind::PermissionDenied],
            "the user that runs hostwatch has to write file and directory: correct store.path, or give both to that user",
        ),
    ];
    let remedy = remedies.iter().find(|(kinds, _)| kinds.contains(&error.kind()));
    remedy.map_or("correct store.path, which has to name a file in a directory", |(_, remedy)| remedy)
}

/// The remedy for an error of the database.
fn remedy(error: &rusqlite::Error) -> &'static str {
    match error.sqlite_error_code() {
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            "file and directory must be writable for the user that runs hostwatch: correct store.path, or give them to that user"
        }
        Some(ErrorCode::DiskFull) => "make room on its disk",
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => "end the other program that holds it",
        Some(ErrorCode::SystemIoFailure) => "look for faults of its disk in the kernel's log (dmesg)",
        _ => "put a backup in its place (docs/operations.md)",
    }
}

impl StoreError {
    /// Whether every user's daemon of this release refuses the file.
    pub(crate) fn is_refusal(&self) -> bool {
        matches!(self, Self::Foreign { .. } | Self::Newer { .. } | Self::TooOld { .. })
    }
}

/// How long a write waits for a command beside the daemon.
const BUSY: Duration = Duration::from_secs(5);

/// The open store.
#[derive(Debug)]
pub(crate) struct Store {
    connection: Connection,
    path: Option<PathBuf>,
    /// The daemon's locked file; dropped after the connection.
    place: Option<place::Place>,
    /// It runs in memory because its file cannot be used.
    fallback: Option<fallback::Left>,
    /// The version of an older release's file, of which this is a copy for reading.
    older: Option<i64>,
}

/// An opened store.
#[derive(Debug)]
pub(crate) struct Opened {
    pub store: Store,
    /// The new place of a damaged store, which this one replaces.
    pub aside: Option<PathBuf>,
    /// The new place of a journal that did not belong to the file, as after a backup was put in its place.
    pub journal: Option<PathBuf>,
    /// The reason why it runs in memory for now.
    pub fallback: Option<StoreError>,
}

impl Store {
    /// Opens or creates the daemon's store and locks it against a second daemon. A damaged file is set aside
    /// and a new one begun. A file on a full or failing disk is copied into memory, and written back when that
    /// works.
    ///
    /// # Errors
    /// If another daemon holds it, a newer release wrote it, it cannot be read, or its place is not writable.
    pub(crate) fn open(path: &Path, now: DateTime<Utc>) -> Result<Opened, StoreError> {
        Self::refuse_foreign(path)?;
        let existed = path.exists();
        let mut place = place::Place::lock(path)?;
        let mut journal = None;
        let mut opened = Self::open_file(path, now);
        // The file may be sound without its journal.
        let alone = || ownership::alone(path).is_ok_and(|file| is_sound(&file, path).is_ok());
        if opened.as_ref().is_err_and(StoreError::is_damage) && alone() {
            journal = place::set_journal_aside(path, now)?;
            opened = Self::open_file(path, now);
        }
        let (mut store, aside, fallback) = match opened {
            Ok(store) => (store, None, None),
            Err(error) if error.is_damage() => {
                let aside = place::set_aside(path, "damaged", now)?;
                place = place::Place::lock(path)?;
                (Self::open_file(path, now)?, Some(aside), None)
            }
            Err(error) if existed && error.may_pass() => {
                let Ok(store) = Self::begin_in_memory(path, now) else { return Err(error) };
                (store, None, Some(error))
            }
            Err(error) => return Err(error),
        };
        store.settle(place);
        Ok(Opened { store, aside, journal, fallback })
    }

    fn open_file(path: &Path, now: DateTime<Utc>) -> Result<Self, StoreError> {
        let mut store = Self::connect(path, OpenFlags::default())?;
        let looked_over = store.look_over(path, now);
        if looked_over.is_err() {
            // Otherwise closing it would write its journal into it.
            leave_as_it_is(&store.connection)?;
        }
        looked_over.map(|()| store)
    }

    fn look_over(&mut self, path: &Path, now: DateTime<Utc>) -> Result<(), StoreError> {
        self.connection
            .execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;")
            .map_err(opening(path))?;
        is_sound(&self.connection, path)?;
        schema::bring_up(&mut self.connection, path, now)?;
        // A row that cannot be read is damage too, even in a sound file.
        self.restore().map(drop)
    }

    /// Opens an existing store beside a running daemon. If that daemon is of an older release, its store is
    /// read as a copy in memory and cannot be written.
    pub(crate) fn open_beside(path: &Path, now: DateTime<Utc>) -> Result<Self, StoreError> {
        Self::refuse_foreign(path)?;
        if matches!(path.try_exists(), Ok(false)) {
            return Err(StoreError::Missing(path.to_owned()));
        }
        let flags = OpenFlags::default().difference(OpenFlags::SQLITE_OPEN_CREATE);
        let store = Self::connect(path, flags)?;
        let found = schema::version(&store.connection, path);
        if matches!(found, Ok(schema::NEWEST)) {
            return Ok(store);
        }
        leave_as_it_is(&store.connection)?;
        let found = found?;
        let connection = fallback::copy_into_memory(path, now)?;
        Ok(Self { connection, older: Some(found), ..store })
    }

    /// The connection, for a command that writes.
    pub(crate) fn writable(&mut self) -> Result<&mut Connection, StoreError> {
        match self.older {
            None => Ok(&mut self.connection),
            Some(found) => {
                let path = self.path.clone().unwrap_or_default();
                Err(StoreError::Older { path, found, known: schema::NEWEST })
            }
        }
    }

    /// Writes in one transaction: all of it, or nothing.
    pub(crate) fn together(
        &mut self,
        write: impl FnOnce(&mut Self) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.connection.execute_batch("BEGIN IMMEDIATE")?;
        let written = write(self).and_then(|()| Ok(self.connection.execute_batch("COMMIT")?));
        if written.is_err() {
            // SQLite may have rolled it back itself.
            let _ = self.connection.execute_batch("ROLLBACK");
        }
        written
    }

    /// A store that ends with the process.
    pub(crate) fn in_memory() -> Result<Self, StoreError> {
        let mut connection = Connection::open_in_memory()?;
        schema::create(&mut connection)?;
        Ok(Self::on(connection))
    }

    fn on(connection: Connection) -> Self {
        Self { connection, path: None, place: None, fallback: None, older: None }
    }

    /// Writes the journal into the file, so that a copy of the file alone has everything. A command that reads meanwhile
    /// keeps a part of it for the next time.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn write_journal_into_file(&self) -> Result<(), StoreError> {
        Ok(self.connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))?)
    }

    fn connect(path: &Path, flags: OpenFlags) -> Result<Self, StoreError> {
        let connection = Connection::open_with_flags(path, flags).map_err(opening(path))?;
        connection.busy_timeout(BUSY).map_err(opening(path))?;
        Ok(Self { path: Some(path.to_owned()), ..Self::on(connection) })
    }
}

/// Looks for damage in every page.
fn is_sound(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let verdict = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0));
    match verdict.map_err(opening(path))? {
        text if text == "ok" => Ok(()),
        detail => Err(StoreError::Damaged { path: path.to_owned(), detail }),
    }
}

fn opening(path: &Path) -> impl Fn(rusqlite::Error) -> StoreError {
    |source| StoreError::Open { path: path.to_owned(), source }
}

/// Otherwise the process that closes a file last writes its journal into it.
fn leave_as_it_is(connection: &Connection) -> rusqlite::Result<bool> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)
}
