//! The store's file as one thing: locked itself, under whatever names it is reached, and looked for again, since somebody
//! may delete it or put another in its place while the daemon has it open.

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use chrono::{DateTime, Utc};

use super::{BUSY, Store, StoreError, leave_as_it_is};

/// What belongs to the file.
const BESIDE: [&str; 2] = ["-wal", "-shm"];
/// A command that asks whether a daemon holds the store locks it for a moment.
const TRIES: u32 = 5;
const BETWEEN_TRIES: Duration = Duration::from_millis(100);

/// Device and inode.
type FileId = (u64, u64);

/// The open file. SQLite's own locks are of another sort and are not disturbed; but they end when the process closes the
/// file, so this is dropped after the connection.
#[derive(Debug)]
pub(super) struct Place {
    /// Without symbolic links.
    path: PathBuf,
    lock: File,
    main: FileId,
    beside: [Option<FileId>; 2],
}

impl Place {
    /// Locks the file at the path, which is made where none is.
    pub(super) fn lock(path: &Path) -> Result<Self, StoreError> {
        let failed = |source| StoreError::Lock { path: path.to_owned(), source };
        not_held_by_older_release(path)?;
        let file = File::options().create(true).truncate(false).read(true).write(true).open(path);
        // What cannot be written can still be locked.
        let lock = file.or_else(|error| File::open(path).map_err(|_| error)).map_err(failed)?;
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
        Ok(Self { path, lock, main, beside: [None; 2] })
    }

    /// Is this the file that is locked?
    pub(super) fn is_at(&self, path: &Path) -> bool {
        id_of(path) == Some(self.main)
    }

    /// Has another file taken its place? What is no file at all, as where a volume is away, has not.
    pub(super) fn is_taken(&self, path: &Path) -> bool {
        fs::metadata(path).is_ok_and(|data| data.is_file() && (data.dev(), data.ino()) != self.main)
    }

    /// Is all of it where it was? What was not there yet is noted once it is.
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

    /// Where the path leads now, be it to nothing.
    fn target(&self, path: &Path) -> PathBuf {
        path.canonicalize()
            .unwrap_or_else(|_| if path.is_symlink() { self.path.clone() } else { path.to_owned() })
    }

    /// Takes away what is left of the file, and moves what is another's aside; its new name is returned.
    fn make_room(&self, target: &Path, now: DateTime<Utc>) -> Result<Option<PathBuf>, StoreError> {
        let mut foreign = id_of(target).is_some_and(|id| id != self.main);
        for (end, known) in BESIDE.iter().zip(self.beside) {
            let path = with_end(target, end);
            match id_of(&path) {
                Some(id) if Some(id) == known => {
                    fs::remove_file(&path).map_err(|source| StoreError::Aside { path, source })?;
                }
                Some(_) => foreign = true,
                None => {}
            }
        }
        if !foreign {
            return Ok(None);
        }
        if Store::is_held(target).unwrap_or(false) && !self.is_at(target) {
            return Err(StoreError::Locked(target.to_owned()));
        }
        let with_main = !self.is_at(target);
        set_aside(target, "replaced", with_main, now).map(Some)
    }
}

impl Store {
    /// Does a daemon hold the store at `path`? Neither creates nor changes anything.
    ///
    /// # Errors
    /// Where the file is there and cannot be opened.
    pub(crate) fn is_held(path: &Path) -> io::Result<bool> {
        match File::open(path) {
            Ok(file) => Ok(matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Is there a store, or what SQLite takes for one?
    pub(crate) fn lies_at(path: &Path) -> bool {
        let mut start = [0; 15];
        let read = File::open(path).and_then(|mut file| file.read_exact(&mut start));
        read.is_ok() && start == *b"SQLite format 3"
    }

    /// Is the file at its path still the one that is open? A store in memory has none to look for.
    pub(crate) fn is_in_place(&mut self) -> bool {
        match (&self.path, &mut self.place) {
            (Some(path), Some(place)) if self.fallback.is_none() => place.is_whole(path),
            _ => true,
        }
    }

    /// Writes all that the store holds into a new file at its path, whose own was deleted or replaced. Whatever is there now
    /// is moved aside; its new name is returned.
    pub(crate) fn write_anew(&mut self, now: DateTime<Utc>) -> Result<Option<PathBuf>, StoreError> {
        let (Some(path), Some(place)) = (self.path.clone(), &self.place) else { return Ok(None) };
        let failed = |source| StoreError::Copy { path: path.clone(), source };
        let target = place.target(&path);
        let draft = with_end(&target, ".anew");
        match fs::remove_file(&draft) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(failed(error)),
            Ok(()) | Err(_) => {}
        }
        // The open file has it all, named or not.
        self.connection.execute("VACUUM INTO ?1", [draft.to_string_lossy()])?;
        if let Ok(data) = place.lock.metadata() {
            fs::set_permissions(&draft, data.permissions()).map_err(failed)?;
        }
        File::open(&draft).and_then(|file| file.sync_all()).map_err(failed)?;
        let aside = place.make_room(&target, now)?;
        // Or closing the old file would take the journal of the new one away.
        leave_as_it_is(&self.connection)?;
        fs::rename(&draft, &target).map_err(failed)?;
        sync_directory(&target).map_err(failed)?;
        let place = Place::lock(&target)?;
        let file = Self::usable(&target)?;
        file.connection.busy_timeout(BUSY)?;
        self.connection = file.connection;
        self.settle(place);
        Ok(aside)
    }

    /// Goes on in this place from now on; what lies beside the file is noted: while the store was in memory another may
    /// have closed the file last, and the journals are new ones.
    pub(super) fn settle(&mut self, mut place: Place) {
        place.beside = [None; 2];
        if let Some(path) = &self.path {
            place.is_whole(path);
        }
        self.place = Some(place);
    }
}

/// Renames what stands in the store's place, with what belongs to it, so that it can be examined; returns the new name.
pub(super) fn set_aside(
    path: &Path,
    why: &str,
    with_main: bool,
    now: DateTime<Utc>,
) -> Result<PathBuf, StoreError> {
    let stamp = now.format("%Y%m%dT%H%M%SZ");
    let name = |number: u32| match number {
        1 => with_end(path, &format!(".{why}-{stamp}")),
        number => with_end(path, &format!(".{why}-{stamp}-{number}")),
    };
    // Never over what was set aside before.
    let free = (1..1000).map(name).find(|name| !name.exists() && !with_end(name, BESIDE[0]).exists());
    let aside = free.unwrap_or_else(|| name(1000));
    if with_main && let Err(source) = fs::rename(path, &aside) {
        return Err(StoreError::Aside { path: path.to_owned(), source });
    }
    for end in BESIDE {
        // A journal need not be there.
        let _ = fs::rename(with_end(path, end), with_end(&aside, end));
    }
    // Before the new store takes the name. Where that fails, the sync of its first journal covers it.
    let _ = sync_directory(path);
    Ok(aside)
}

/// A name is on the disk once its directory was synced.
pub(super) fn sync_directory(path: &Path) -> io::Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
}

/// A daemon up to 0.1 locked a file beside the store; without one that file is of no use any more.
fn not_held_by_older_release(path: &Path) -> Result<(), StoreError> {
    let old = with_end(path, ".lock");
    let Ok(file) = File::open(&old) else { return Ok(()) };
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(StoreError::Locked(path.to_owned())),
        Ok(()) | Err(TryLockError::Error(_)) => {
            let _ = fs::remove_file(&old);
            Ok(())
        }
    }
}

fn id_of(path: &Path) -> Option<FileId> {
    fs::metadata(path).ok().map(|data| (data.dev(), data.ino()))
}

fn with_end(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}
