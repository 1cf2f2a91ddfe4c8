//! Where the store goes on while its file cannot be used: in memory, with everything that could still
//! be read. A full disk must not silence anybody. What is decided meanwhile is written home as soon as
//! the file takes it; a crash before that may send mails of the meantime again, and loses none.

use std::path::{Path, PathBuf};
use std::time::Duration;

use chrono::{DateTime, Utc};
use rusqlite::{Connection, ErrorCode};

use super::{Store, StoreError, incidents, schema, set_meta};
use crate::alert::Incident;

/// What only the daemon writes.
const OWN: [&str; 7] = ["meta", "incidents", "decisions", "messages", "envelopes", "told", "tallies"];
/// What commands write too.
const OTHERS: [&str; 2] = ["acks", "silences"];
/// Nobody waits for a file longer than this.
const BUSY: Duration = Duration::from_millis(100);

impl Store {
    /// Does it run in memory because its file cannot be used?
    pub fn is_in_refuge(&self) -> bool {
        self.refuge
    }

    /// Leaves a file that cannot be used. Goes on from what it still gives, or, where it gives nothing,
    /// from the incidents that the daemon knows.
    pub fn take_refuge(
        &mut self,
        known: &[Incident],
        started: bool,
        now: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        if self.refuge {
            return Ok(());
        }
        let Some(path) = self.path.clone() else {
            return Err(StoreError::Content("a store without a file has nowhere to go".to_owned()));
        };
        let memory = match copy_into_memory(&path) {
            Ok(memory) => memory,
            Err(error) => {
                self.damaged = error.is_damage();
                let mut memory = empty()?;
                let transaction = memory.transaction()?;
                incidents::write(&transaction, known, &[], now)?;
                if started {
                    set_meta(&transaction, "started", &now.to_rfc3339())?;
                }
                transaction.commit()?;
                memory
            }
        };
        self.connection = memory;
        self.refuge = true;
        Ok(())
    }

    /// Writes everything home and goes on there. A damaged file is set aside first; its new name is
    /// returned.
    pub fn return_home(&mut self, now: DateTime<Utc>) -> Result<Option<PathBuf>, StoreError> {
        let Some(path) = self.path.clone().filter(|_| self.refuge) else { return Ok(None) };
        let found = if self.damaged { None } else { Some(Self::usable(&path)) };
        let (home, aside) = match found {
            Some(Ok(home)) => (home, None),
            Some(Err(error)) if !error.is_damage() => return Err(error),
            Some(Err(_)) | None => {
                let aside = set_aside(&path, now)?;
                (Self::usable(&path)?, Some(aside))
            }
        };
        self.connection.busy_timeout(BUSY)?;
        self.connection.execute("ATTACH ?1 AS home", [path.to_string_lossy()])?;
        let written = self.write_home(aside.is_some());
        self.connection.execute_batch("DETACH home")?;
        written?;
        self.connection = home.connection;
        self.connection.busy_timeout(super::BUSY)?;
        self.refuge = false;
        self.damaged = false;
        Ok(aside)
    }

    /// Can the file be read and is it whole? Creates one where none is.
    fn usable(path: &Path) -> Result<Self, StoreError> {
        let mut store = Self::connect(path, rusqlite::OpenFlags::default())?;
        store.connection.busy_timeout(BUSY)?;
        store.check()?;
        schema::migrate(&mut store.connection, path)?;
        Ok(store)
    }

    fn write_home(&mut self, everything: bool) -> Result<(), StoreError> {
        let transaction = self.connection.transaction()?;
        transaction.execute_batch("DELETE FROM home.held; INSERT INTO home.held SELECT * FROM main.held")?;
        let others = if everything { OTHERS.as_slice() } else { &[] };
        for table in OWN.iter().chain(others) {
            transaction
                .execute_batch(&format!("INSERT OR REPLACE INTO home.{table} SELECT * FROM main.{table}"))?;
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
            | Self::Conflict
            | Self::Aside { .. } => false,
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
    schema::migrate(&mut memory, Path::new(":memory:"))?;
    Ok(memory)
}

/// Everything in the file, in memory. The file is opened as it allows: for writing, for reading, or,
/// where even its lock cannot be had, as it lies there.
pub(super) fn copy_into_memory(path: &Path) -> Result<Connection, StoreError> {
    let uri = |mode: &str| {
        let encoded = path.to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23");
        format!("file:{encoded}?{mode}")
    };
    let mut failed = None;
    for source in [uri("mode=rw"), uri("mode=ro"), uri("immutable=1")] {
        let mut memory = empty()?;
        match copy(&mut memory, &source) {
            Ok(()) => return Ok(memory),
            Err(error) => failed = Some(failed.unwrap_or(error)),
        }
    }
    Err(failed.unwrap_or_else(|| StoreError::Content("the file gives nothing".to_owned())))
}

fn copy(memory: &mut Connection, source: &str) -> Result<(), StoreError> {
    memory.execute("ATTACH ?1 AS home", [source])?;
    let transaction = memory.transaction()?;
    for table in OWN.iter().chain(&OTHERS).chain(&["held"]) {
        transaction
            .execute_batch(&format!("INSERT OR REPLACE INTO main.{table} SELECT * FROM home.{table}"))?;
    }
    transaction.commit()?;
    memory.execute_batch("DETACH home")?;
    Ok(())
}
