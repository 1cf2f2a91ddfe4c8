//! Whether a file has changed since it was read, by its metadata only.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// The state of a file just before it was read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct FileStamp {
    pub path: PathBuf,
    /// `None` if the file does not exist.
    metadata: Option<Metadata>,
}

/// Values that differ if the contents do, in whatever way the file was replaced.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Metadata {
    device_and_inode: (u64, u64),
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl FileStamp {
    /// The present state of a file, which may be that it does not exist.
    pub(crate) fn now(path: &Path) -> Self {
        let metadata = std::fs::metadata(path).ok().map(|file| Metadata {
            device_and_inode: (file.dev(), file.ino()),
            size: file.size(),
            modified: (file.mtime(), file.mtime_nsec()),
            changed: (file.ctime(), file.ctime_nsec()),
        });
        Self { path: path.to_owned(), metadata }
    }

    /// Whether the file was replaced, rewritten or removed since.
    pub(crate) fn has_changed(&self) -> bool {
        Self::now(&self.path) != *self
    }
}
