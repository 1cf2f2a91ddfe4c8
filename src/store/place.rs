//! The store's file as one thing. It is locked itself, so the lock holds for all of its names. It is looked for
//! again, since somebody may delete or replace it while the daemon has it open.

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use chrono::{DateTime, Utc};

use super::{Store, StoreError};

/// The endings of the files that belong to a store.
pub(super) const BESIDE: [&str; 2] = ["-wal", "-shm"];
/// A command that checks for a daemon locks the store for a moment.
const TRIES: u32 = 5;
const BETWEEN_TRIES: Duration = Duration::from_millis(100);
/// The bytes that must fit on the disk: a new store with its journal.
const ROOM: usize = 512 << 10;

/// Device and inode.
type FileId = (u64, u64);

/// The open file. SQLite's own locks are of another sort and are not affected. They end when the process closes
/// the file, so this is dropped after the connection.
#[derive(Debug)]
pub(super) struct Place {
    /// Without symbolic links.
    path: PathBuf,
    /// Held open for its lock.
    _lock: File,
    main: FileId,
    beside: [Option<FileId>; 2],
}

impl Place {
    /// Locks the file at the path, and creates it if there is none.
    pub(super) fn lock(path: &Path) -> Result<Self, StoreError> {
        let failed = |source| StoreError::Lock { path: path.to_owned(), source };
        let file = File::options().create(true).truncate(false).read(true).write(true).open(path);
        let lock = file.map_err(failed)?;
        let mut tries = 1;
        loop {
            match lock.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if tries < TRIES => {
                    tries += 1;
                    std::thread::sleep(BETWEEN_TRIES);
                }
                Err(TryLockError::WouldBlock) => return Err(StoreError::Locked(path.to_owned())),
                Err(TryLockError::Error(source)) => return Err(failed(source)),
            }
        }
        let main = lock.metadata().map(|data| (data.dev(), data.ino())).map_err(failed)?;
        let path = path.canonicalize().map_err(failed)?;
        Ok(Self { path, _lock: lock, main, beside: [None; 2] })
    }

    /// Whether this is the locked file.
    pub(super) fn is_at(&self, path: &Path) -> bool {
        id_of(path) == Some(self.main)
    }

    /// Whether all its files are still in place. A file that did not exist yet is noted once it does.
    fn is_whole(&mut self, path: &Path) -> bool {
        let whole = self.is_at(path);
        let mut beside = true;
        for (end, known) in BESIDE.iter().zip(&mut self.beside) {
            let now = id_of(&with_end(&self.path, end));
            beside &= known.is_none() || *known == now;
            *known = known.or(now);
        }
        whole && beside
    }
}

impl Store {
    /// Whether a daemon holds the store at `path`. It creates and changes nothing.
    ///
    /// # Errors
    /// If the file is there and cannot be opened.
    pub(crate) fn is_held(path: &Path) -> io::Result<bool> {
        // Opening a pipe would wait for its writer.
        if fs::metadata(path).is_ok_and(|file| !file.is_file()) {
            return Ok(false);
        }
        match File::open(path) {
            Ok(file) => Ok(matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Makes a file in the store's directory, removes it, and opens the store, as a check for commands.
    ///
    /// # Errors
    /// If a daemon of this user could not open the store.
    pub(crate) fn try_place(path: &Path, now: DateTime<Utc>) -> Result<(), StoreError> {
        if let Err(error) = Self::open_beside(path, now)
            && error.is_refusal()
        {
            return Err(error);
        }
        let path = behind_links(path);
        let probe = path.with_file_name(format!(".hostwatch-{}", std::process::id()));
        let made = File::create_new(&probe).and_then(|mut file| {
            let written = file.write_all(&[0; ROOM]).and_then(|()| file.sync_all());
            fs::remove_file(&probe).and(written)
        });
        let opened = made.and_then(|()| match File::options().read(true).append(true).open(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            opened => opened.map(drop),
        });
        opened.map_err(|source| StoreError::Lock { path, source })
    }

    /// Whether the file at its path is still the open one. A store in memory has no file.
    pub(crate) fn is_in_place(&mut self) -> bool {
        match (&self.path, &mut self.place) {
            (Some(path), Some(place)) if self.fallback.is_none() => place.is_whole(path),
            _ => true,
        }
    }

    /// Continues in this place. The files beside it are noted anew: while the store was in memory, another
    /// process may have closed the file last and replaced the journals.
    pub(super) fn settle(&mut self, mut place: Place) {
        place.beside = [None; 2];
        if let Some(path) = &self.path {
            place.is_whole(path);
        }
        self.place = Some(place);
    }
}

/// Renames the file in the store's place, with its journals, so that it can be examined. Returns the new name.
pub(super) fn set_aside(path: &Path, why: &str, now: DateTime<Utc>) -> Result<PathBuf, StoreError> {
    let path = &itself(path);
    let stamp = now.format("%Y%m%dT%H%M%SZ");
    let name = |number: u32| match number {
        1 => with_end(path, &format!(".{why}-{stamp}")),
        number => with_end(path, &format!(".{why}-{stamp}-{number}")),
    };
    // An earlier file that was set aside is never overwritten.
    let free = (1..1000).map(name).find(|name| !name.exists() && !with_end(name, BESIDE[0]).exists());
    let aside = free.unwrap_or_else(|| name(1000));
    if let Err(source) = fs::rename(path, &aside) {
        return Err(StoreError::Aside { path: path.to_owned(), source });
    }
    for end in BESIDE {
        // There may be no journal.
        let _ = fs::rename(with_end(path, end), with_end(&aside, end));
    }
    // The directory is synced before the new store takes the name. If that fails, the sync of its first journal
    // covers it.
    let _ = sync_directory(path);
    Ok(aside)
}

/// Renames the journal beside the file, and removes its index. `None` without a journal.
pub(super) fn set_journal_aside(path: &Path, now: DateTime<Utc>) -> Result<Option<PathBuf>, StoreError> {
    let path = &itself(path);
    let journal = with_end(path, BESIDE[0]);
    if !journal.exists() {
        return Ok(None);
    }
    let aside = set_aside(&journal, "old", now)?;
    let _ = fs::remove_file(with_end(path, BESIDE[1]));
    let _ = sync_directory(path);
    Ok(Some(aside))
}

/// Syncs a directory, so that new names in it are on the disk.
pub(super) fn sync_directory(path: &Path) -> io::Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
}

/// The file that symbolic links lead to, there or not.
fn behind_links(path: &Path) -> PathBuf {
    let is_missing = fs::metadata(path).is_err_and(|error| error.kind() == ErrorKind::NotFound);
    match fs::read_link(path) {
        Ok(target) if is_missing => behind_links(&path.parent().unwrap_or(Path::new("")).join(target)),
        Ok(_) | Err(_) => path.canonicalize().unwrap_or_else(|_| path.to_owned()),
    }
}

/// The file at a path, and not a link to it: SQLite keeps the journal beside the file.
pub(super) fn itself(path: &Path) -> PathBuf {
    if path.is_symlink() { behind_links(path) } else { path.to_owned() }
}

fn id_of(path: &Path) -> Option<FileId> {
    fs::metadata(path).ok().map(|data| (data.dev(), data.ino()))
}

pub(super) fn with_end(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}
