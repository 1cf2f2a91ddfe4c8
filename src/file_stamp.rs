//! Whether a file has changed since it was read. Looks at its metadata only.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// A file as it was just before it was read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct FileStamp {
    path: PathBuf,
    /// `None` where it is not there.
    metadata: Option<Metadata>,
}

/// Differs where a file's content does, however it was replaced.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Metadata {
    device_and_inode: (u64, u64),
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl FileStamp {
    /// As it is now, or that it is not there.
    pub(crate) fn now(path: &Path) -> Self {
        let metadata = std::fs::metadata(path).ok().map(|file| Metadata {
            device_and_inode: (file.dev(), file.ino()),
            size: file.size(),
            modified: (file.mtime(), file.mtime_nsec()),
            changed: (file.ctime(), file.ctime_nsec()),
        });
        Self { path: path.to_owned(), metadata }
    }

    /// Replaced, rewritten or removed since.
    pub(crate) fn has_changed(&self) -> bool {
        Self::now(&self.path) != *self
    }
}
