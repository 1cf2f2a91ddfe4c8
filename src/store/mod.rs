//! What must survive a crash: incidents, rendered mails and what became of them, in one SQLite file.
//!
//! One writer: the daemon, which holds `PATH.lock`. Commands beside it read and write rows without that
//! lock. Decides nothing; incidents and mails come in together and commit together.

mod fallback;
mod incidents;
mod outbox;
mod polls;
mod rate_limited;
mod requests;
mod retention;
mod schema;
mod silences;

use std::fs::{File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use chrono::{DateTime, Utc};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, OptionalExtension, TransactionBehavior, params};

pub(crate) use outbox::{
    Claim, Expired, GIVE_UP_AFTER, GivenUp, Lane, Outgoing, SendResult, Trouble, retry_delay,
};
pub(crate) use polls::Polls;
pub(crate) use rate_limited::RateLimited;
pub(crate) use requests::Which;

use crate::alert::{Incident, Key, Reason};
use crate::failpoint;

/// The store could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoreError {
    #[error("another hostwatch holds {0}; stop it, or give this one a store.path of its own")]
    Locked(PathBuf),
    #[error("cannot open the lock file {path}: {source}; the directory must exist and be writable")]
    Lock { path: PathBuf, source: std::io::Error },
    #[error("cannot open the store {path}: {source}")]
    Open { path: PathBuf, source: rusqlite::Error },
    #[error("the store {path} is of schema {found}, this hostwatch knows {known}; run the newer release")]
    Newer { path: PathBuf, found: i64, known: i64 },
    #[error(
        "the store {path} is of schema {found}, this hostwatch writes schema {known}: nothing was changed; restart the daemon, which brings the store up, and repeat this"
    )]
    Older { path: PathBuf, found: i64, known: i64 },
    #[error("the store {path} is damaged: {detail}")]
    Damaged { path: PathBuf, detail: String },
    #[error("cannot set the damaged store {path} aside: {source}; move it away by hand")]
    Aside { path: PathBuf, source: std::io::Error },
    #[error("cannot keep a copy of the store as {path} before bringing it up: {source}")]
    Copy { path: PathBuf, source: std::io::Error },
    #[error("the store: {0}")]
    Sql(#[from] rusqlite::Error),
    #[error("the store holds something that cannot be read: {0}")]
    Content(String),
    /// A mail to be withdrawn was claimed meanwhile; decide again.
    #[error("a mail to be withdrawn is being sent")]
    Conflict,
}

impl From<Store> for Opened {
    fn from(store: Store) -> Self {
        Self { store, aside: None, fallback: None }
    }
}

/// How long a write waits for a command beside the daemon.
const BUSY: Duration = Duration::from_secs(5);

/// Everything one decision changes; committed whole or not at all.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub incidents: Vec<Incident>,
    pub decisions: Vec<(Key, Reason)>,
    pub mails: Vec<Outgoing>,
    /// Message-IDs of unsent mails that newer ones replace.
    pub withdraw: Vec<String>,
    /// Given-up envelopes that `mails` name.
    pub reported: Vec<i64>,
    /// The first-start mail is among `mails`, or was never due.
    pub started: bool,
    /// Notices that the hourly cap keeps back.
    pub rate_limited: Vec<RateLimited>,
    /// What was held is among `mails` now, up to this row.
    pub released: Option<i64>,
    /// Until when digests were decided on.
    pub digested_until: Option<DateTime<Utc>>,
}

/// The open store.
#[derive(Debug)]
pub(crate) struct Store {
    connection: Connection,
    path: Option<PathBuf>,
    /// RateLimited while the daemon runs.
    _lock: Option<File>,
    /// It runs in memory because its file cannot be used.
    fallback: Option<fallback::Left>,
    /// The version of an older release's file, of which this is a copy that is read only.
    older: Option<i64>,
}

/// How a store was opened.
#[derive(Debug)]
pub(crate) struct Opened {
    pub store: Store,
    /// Where the damaged store was put, in place of which this one is new.
    pub aside: Option<PathBuf>,
    /// Why it runs in memory for now.
    pub fallback: Option<StoreError>,
}

impl Store {
    /// Opens or creates the daemon's store and locks it against a second daemon. Claims left open by a
    /// crash are void: those mails are due at once. A damaged file is set aside and a new one begun; one
    /// that is there but cannot be written is copied into memory, and written back when it can be.
    ///
    /// # Errors
    /// When another daemon holds it, a newer release wrote it, or it can neither be opened nor read.
    pub(crate) fn open(path: &Path, now: DateTime<Utc>) -> Result<Opened, StoreError> {
        let lock = lock(path)?;
        let existed = path.exists();
        let (mut store, aside, fallback) = match Self::open_file(path, now) {
            Ok(store) => (store, None, None),
            Err(error) if error.is_damage() => {
                let aside = fallback::set_aside(path, now)?;
                (Self::open_file(path, now)?, Some(aside), None)
            }
            Err(error @ (StoreError::Sql(_) | StoreError::Open { .. } | StoreError::Copy { .. }))
                if existed =>
            {
                let Ok((connection, left)) = fallback::copy_into_memory(path) else { return Err(error) };
                let path = Some(path.to_owned());
                let mut store = Self { path, fallback: Some(left), ..Self::on(connection) };
                store.void_claims(now)?;
                (store, None, Some(error))
            }
            Err(error) => return Err(error),
        };
        store._lock = Some(lock);
        Ok(Opened { store, aside, fallback })
    }

    fn open_file(path: &Path, now: DateTime<Utc>) -> Result<Self, StoreError> {
        let mut store = Self::connect(path, OpenFlags::default())?;
        store.check()?;
        schema::migrate(&mut store.connection, path)?;
        // What cannot be read back is damage too, however sound the file.
        store.load()?;
        store.void_claims(now)?;
        Ok(store)
    }

    /// Does a daemon hold the store at `path`? Neither creates nor changes anything.
    ///
    /// # Errors
    /// Where the lock file is there and cannot be opened.
    pub(crate) fn is_held(path: &Path) -> std::io::Result<bool> {
        match File::open(lock_path(path)) {
            Ok(file) => Ok(matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Opens an existing store beside a running daemon. That one may be of an older release: its store is read as a
    /// copy in memory, and refused to whoever would write it.
    pub(crate) fn open_beside(path: &Path) -> Result<Self, StoreError> {
        let flags = OpenFlags::default().difference(OpenFlags::SQLITE_OPEN_CREATE);
        let store = Self::connect(path, flags)?;
        let found = schema::version(&store.connection, path)?;
        if found == schema::NEWEST {
            return Ok(store);
        }
        leave_as_it_is(&store.connection)?;
        let connection = fallback::copy_of_older(path, found)?;
        Ok(Self { connection, older: Some(found), ..store })
    }

    /// The connection, for a command that writes.
    fn writable(&mut self) -> Result<&mut Connection, StoreError> {
        match self.older {
            None => Ok(&mut self.connection),
            Some(found) => {
                let path = self.path.clone().unwrap_or_default();
                Err(StoreError::Older { path, found, known: schema::NEWEST })
            }
        }
    }

    /// A store that ends with the process: for a daemon that mails nobody.
    pub(crate) fn in_memory() -> Result<Self, StoreError> {
        let mut connection = Connection::open_in_memory()?;
        schema::migrate(&mut connection, Path::new(":memory:"))?;
        Ok(Self::on(connection))
    }

    fn on(connection: Connection) -> Self {
        Self { connection, path: None, _lock: None, fallback: None, older: None }
    }

    /// Commits a decision: incidents, reasons, rendered mails, in one transaction.
    pub(crate) fn commit(&mut self, batch: &Batch, now: DateTime<Utc>) -> Result<(), StoreError> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        incidents::write(&transaction, &batch.incidents, &batch.decisions, now)?;
        outbox::withdraw(&transaction, &batch.withdraw)?;
        for mail in &batch.mails {
            outbox::insert(&transaction, mail, now)?;
        }
        for id in &batch.reported {
            transaction.execute("UPDATE envelopes SET reported = 1 WHERE id = ?1", [id])?;
        }
        rate_limited::write(&transaction, &batch.rate_limited, batch.released)?;
        if batch.started {
            set_meta(&transaction, "started", &now.to_rfc3339())?;
        }
        if let Some(until) = batch.digested_until {
            set_meta(&transaction, "digested_until", &until.to_rfc3339())?;
        }
        set_meta(&transaction, "watched_until", &now.to_rfc3339())?;
        failpoint::reach("committing");
        transaction.commit()?;
        Ok(())
    }

    /// Notes that the daemon watched until now, and how its polls went since the last call.
    pub(crate) fn still_watching(&mut self, polls: &[Polls], now: DateTime<Utc>) -> Result<(), StoreError> {
        let transaction = self.connection.transaction()?;
        polls::add(&transaction, polls, now)?;
        set_meta(&transaction, "watched_until", &now.to_rfc3339())?;
        // Digests count from the first start on.
        transaction.execute(
            "INSERT OR IGNORE INTO meta (key, value) VALUES ('digested_until', ?1)",
            [now.to_rfc3339()],
        )?;
        transaction.commit()?;
        Ok(())
    }

    fn connect(path: &Path, flags: OpenFlags) -> Result<Self, StoreError> {
        let open = |source| StoreError::Open { path: path.to_owned(), source };
        let connection = Connection::open_with_flags(path, flags).map_err(open)?;
        connection.busy_timeout(BUSY).map_err(open)?;
        Ok(Self { path: Some(path.to_owned()), ..Self::on(connection) })
    }

    fn check(&self) -> Result<(), StoreError> {
        let path = || self.path.clone().unwrap_or_default();
        let damaged = |detail: String| StoreError::Damaged { path: path(), detail };
        let setup = self.connection.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;");
        match setup {
            Err(rusqlite::Error::SqliteFailure(error, text))
                if matches!(
                    error.code,
                    rusqlite::ErrorCode::NotADatabase | rusqlite::ErrorCode::DatabaseCorrupt
                ) =>
            {
                return Err(damaged(text.unwrap_or_else(|| error.to_string())));
            }
            other => other.map_err(|source| StoreError::Open { path: path(), source })?,
        }
        let verdict = self.connection.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0));
        match verdict {
            Ok(text) if text == "ok" => Ok(()),
            Ok(text) => Err(damaged(text)),
            Err(error) => Err(damaged(error.to_string())),
        }
    }
}

fn lock_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    name.into()
}

fn lock(path: &Path) -> Result<File, StoreError> {
    let lock_path = lock_path(path);
    let failed = |source| StoreError::Lock { path: lock_path.clone(), source };
    let file = File::options().create(true).truncate(false).write(true).open(&lock_path);
    // A disk that came up read-only still holds the last daemon's file: that will do for a lock.
    let file = file.or_else(|error| {
        let held =
            if error.kind() == ErrorKind::ReadOnlyFilesystem { File::open(&lock_path).ok() } else { None };
        held.ok_or(error)
    });
    let file = file.map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(StoreError::Locked(path.to_owned())),
        Err(TryLockError::Error(source)) => Err(failed(source)),
    }
}

fn set_meta(connection: &Connection, key: &str, value: &str) -> rusqlite::Result<()> {
    connection.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?1, ?2)", params![key, value])?;
    Ok(())
}

/// Whoever closes a file last writes its journal into it, unless told not to.
fn leave_as_it_is(connection: &Connection) -> rusqlite::Result<bool> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)
}

fn meta(connection: &Connection, key: &str) -> rusqlite::Result<Option<String>> {
    connection.query_row("SELECT value FROM meta WHERE key = ?1", [key], |row| row.get(0)).optional()
}

fn json<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|error| StoreError::Content(error.to_string()))
}

fn moment(text: &str) -> Result<DateTime<Utc>, StoreError> {
    let parsed = DateTime::parse_from_rfc3339(text);
    parsed.map(|at| at.with_timezone(&Utc)).map_err(|_| StoreError::Content(format!("'{text}' is no moment")))
}
