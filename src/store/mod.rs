//! What must survive a crash: incidents, rendered mails and what became of them, in one SQLite file.
//!
//! One writer: the daemon, which holds a lock of the file. Commands beside it read and write rows without that
//! lock. Decides nothing; incidents and mails come in together and commit together.

mod fallback;
mod given_up;
mod history;
mod incidents;
mod mailbox;
mod outbox;
mod place;
mod polls;
mod rate_limited;
mod requests;
mod retention;
mod rows;
mod schema;
mod silences;
mod summary;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use chrono::{DateTime, Utc};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

pub(crate) use given_up::{GivenUp, Named, Unreached};
pub(crate) use mailbox::{Made, Overtaking, Refused};
pub(crate) use outbox::{Claim, Expired, Lane, Outgoing, Queue, SendResult, retry_delay};
pub(crate) use polls::Polls;
pub(crate) use rate_limited::RateLimited;
pub(crate) use requests::Envelopes;
pub(crate) use summary::{Trouble, Undelivered};

use rows::set_meta;

use crate::alert::{Incident, Key, Reason};
use crate::failpoint;
use crate::model::{AccountName, LastReport};

/// The store could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoreError {
    #[error("another hostwatch holds {0}; stop it, or give this one a store.path of its own")]
    Locked(PathBuf),
    #[error("cannot open the store {path} and lock it: {source}; its directory must exist and be writable")]
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
    #[error("cannot set {path} aside, which stands in the store's place: {source}; move it away by hand")]
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
    /// Message-ID and recipient of waiting mails that newer ones replace.
    pub withdraw: BTreeSet<(String, String)>,
    /// Given-up mails that `mails` name.
    pub named: Vec<Named>,
    /// The first-start mail is among `mails`, or was never due.
    pub started: bool,
    /// Notices that the hourly cap keeps back.
    pub rate_limited: Vec<RateLimited>,
    /// What was held is among `mails` now, up to this row.
    pub released: Option<i64>,
    /// Until when digests were decided on.
    pub digested_until: Option<DateTime<Utc>>,
    /// Reports that were read since the last commit.
    pub reports: Vec<(AccountName, LastReport)>,
}

/// The open store.
#[derive(Debug)]
pub(crate) struct Store {
    connection: Connection,
    path: Option<PathBuf>,
    /// The daemon's file, locked; dropped after the connection.
    place: Option<place::Place>,
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
        let existed = path.exists();
        let mut place = place::Place::lock(path)?;
        let (mut store, aside, fallback) = match Self::open_file(path, now) {
            Ok(store) => (store, None, None),
            Err(error) if error.is_damage() => {
                let aside = place::set_aside(path, "damaged", true, now)?;
                place = place::Place::lock(path)?;
                (Self::open_file(path, now)?, Some(aside), None)
            }
            Err(error @ (StoreError::Sql(_) | StoreError::Open { .. } | StoreError::Copy { .. }))
                if existed =>
            {
                let Ok((connection, left)) = fallback::copy_into_memory(path) else { return Err(error) };
                let path = Some(path.to_owned());
                let mut store = Self { path, fallback: Some(left), ..Self::on(connection) };
                store.void_claims()?;
                (store, None, Some(error))
            }
            Err(error) => return Err(error),
        };
        store.settle(place);
        Ok(Opened { store, aside, fallback })
    }

    fn open_file(path: &Path, now: DateTime<Utc>) -> Result<Self, StoreError> {
        let mut store = Self::connect(path, OpenFlags::default())?;
        store.check()?;
        schema::migrate(&mut store.connection, path)?;
        // What cannot be read back is damage too, however sound the file.
        store.load(now)?;
        store.void_claims()?;
        Ok(store)
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
        Self { connection, path: None, place: None, fallback: None, older: None }
    }

    /// Commits a decision: incidents, reasons, rendered mails, in one transaction.
    pub(crate) fn commit(&mut self, batch: &Batch, now: DateTime<Utc>) -> Result<(), StoreError> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        incidents::write(&transaction, &batch.incidents, &batch.decisions, now)?;
        outbox::withdraw(&transaction, &batch.withdraw)?;
        for mail in &batch.mails {
            outbox::insert(&transaction, mail, now)?;
        }
        given_up::name(&transaction, &batch.named)?;
        rate_limited::write(&transaction, &batch.rate_limited, batch.released)?;
        polls::write_reports(&transaction, &batch.reports)?;
        if batch.started {
            set_meta(&transaction, "started", &now.to_rfc3339())?;
        }
        if let Some(until) = batch.digested_until {
            set_meta(&transaction, "digested_until", &until.to_rfc3339())?;
        }
        history::watched(&transaction, now)?;
        failpoint::reach("committing");
        transaction.commit()?;
        Ok(())
    }

    /// Notes that the daemon watched until now, how its polls went and what reports said since the last call.
    pub(crate) fn still_watching(
        &mut self,
        polls: &[Polls],
        reports: &[(AccountName, LastReport)],
        now: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        // As in `claim`: one that first reads could not wait for a command that writes meanwhile.
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        polls::add(&transaction, polls, now)?;
        polls::write_reports(&transaction, reports)?;
        history::watched(&transaction, now)?;
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
        // Damage is what the file shows. One that a failing disk, or a full one, does not let us read may be whole.
        let failed = |source: rusqlite::Error| match source.sqlite_error_code() {
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => damaged(source.to_string()),
            _ => StoreError::Open { path: path(), source },
        };
        self.connection
            .execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;")
            .map_err(failed)?;
        let verdict = self.connection.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0));
        match verdict.map_err(failed)?.as_str() {
            "ok" => Ok(()),
            text => Err(damaged(text.to_owned())),
        }
    }
}

/// Whoever closes a file last writes its journal into it, unless configured not to.
fn leave_as_it_is(connection: &Connection) -> rusqlite::Result<bool> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)
}
