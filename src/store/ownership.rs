//! Whether the file in the store's place is a store. Anything else is refused before the first write and stays as it is.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;

use percent_encoding::{AsciiSet, CONTROLS, percent_encode};
use rusqlite::{Connection, OpenFlags};

use super::{Store, StoreError};

/// SQLite's mark of the program that a file belongs to: `hwst`. Stores of release 0.2 have none.
pub(super) const APPLICATION_ID: u32 = 0x6877_7374;
/// The header of a database (SQLite's file format, 1.3), and the places of the schema's version and the mark in it.
const HEADER_BYTES: usize = 100;
const MAGIC: &[u8] = b"SQLite format 3\0";
const VERSION_AT: usize = 60;
const ID_AT: usize = 68;

impl Store {
    /// Refuses a file that is neither empty nor a store. Nothing is changed by asking, and a file that is not there or
    /// cannot be read is for others to judge.
    ///
    /// # Errors
    /// [`StoreError::Foreign`].
    pub(crate) fn refuse_foreign(path: &Path) -> Result<(), StoreError> {
        let foreign = |what| Err(StoreError::Foreign { path: path.to_owned(), what });
        // Opening a pipe could take for ever.
        match fs::metadata(path) {
            Ok(data) if data.is_dir() => return foreign("is a directory"),
            Ok(data) if !data.is_file() => return foreign("is a pipe or a device"),
            Ok(_) | Err(_) => {}
        }
        let mut header = Vec::new();
        let read = File::open(path).and_then(|file| file.take(HEADER_BYTES as u64).read_to_end(&mut header));
        if read.is_err() || header.is_empty() {
            return Ok(());
        }
        if header.len() < HEADER_BYTES || !header.starts_with(MAGIC) {
            return foreign("is no database");
        }
        let number = |at: usize| header[at..].first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes));
        let is_ours = match number(ID_AT) {
            APPLICATION_ID => true,
            0 => tables(path).is_ok_and(|tables| {
                let has = |name: &str| tables.iter().any(|table| table == name);
                // All of a new store may still be in its journal.
                (tables.is_empty() && number(VERSION_AT) == 0) || (has("meta") && has("incidents"))
            }),
            _ => false,
        };
        if is_ours { Ok(()) } else { foreign("is another program's database") }
    }
}

/// The file without its journal, for reading alone. SQLite makes no file beside it.
pub(super) fn alone(path: &Path) -> rusqlite::Result<Connection> {
    Connection::open_with_flags(
        format!("{}?immutable=1", uri(path)),
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI,
    )
}

/// The file as an address of SQLite's, for parameters behind it.
pub(super) fn uri(path: &Path) -> String {
    /// The characters that end the path in a URI, or begin an escape in it.
    const ENDS: &AsciiSet = &CONTROLS.add(b'%').add(b'?').add(b'#');
    format!("file:{}", percent_encode(path.as_os_str().as_encoded_bytes(), ENDS))
}

fn tables(path: &Path) -> rusqlite::Result<Vec<String>> {
    let connection = alone(path)?;
    let mut names = connection.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")?;
    names.query_map([], |row| row.get(0))?.collect()
}
