//! Whether the file in the store's place is a store. Anything else is refused before the first write and stays as it is.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

use percent_encoding::{AsciiSet, CONTROLS, percent_encode};
use rusqlite::{Connection, OpenFlags};

use super::place::{BESIDE, itself, with_end};
use super::schema::{APPLICATION_ID, NEWEST};
use super::{Store, StoreError};

/// The header of a database (SQLite's file format, 1.3), and the places of the schema's version and the mark in it.
const HEADER_BYTES: usize = 100;
const MAGIC: &[u8] = b"SQLite format 3\0";
const VERSION_AT: usize = 60;
const ID_AT: usize = 68;
/// The bytes of a journal before its first page (SQLite's file format, 4.1).
const BEFORE_PAGE: usize = 56;

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
        let header = match start(path, HEADER_BYTES) {
            Ok(header) if !header.is_empty() => header,
            Ok(_) | Err(_) => return Ok(()),
        };
        if header.len() < HEADER_BYTES || !header.starts_with(MAGIC) {
            return foreign("is no database");
        }
        let is_ours = match number(&header, ID_AT) {
            APPLICATION_ID => true,
            0 => tables(path).is_ok_and(|tables| {
                let has = |name: &str| tables.iter().any(|table| table == name);
                let is_empty = tables.is_empty() && number(&header, VERSION_AT) == 0;
                (is_empty && journal_begins_a_store(path)) || (has("meta") && has("incidents"))
            }),
            _ => false,
        };
        if is_ours { Ok(()) } else { foreign("is another program's database") }
    }
}

/// Whether the journal of an empty file is empty too or begins a store, since all of a new store may still be in it.
/// Its first page is then the header. Release 0.2 gave the header a version and no mark. If a power cut left zeros in
/// the page's place, SQLite reads nothing of the journal.
fn journal_begins_a_store(path: &Path) -> bool {
    let begun = start(&with_end(&itself(path), BESIDE[0]), BEFORE_PAGE + HEADER_BYTES).unwrap_or_default();
    let is_written = |page: &&[u8]| page.len() == HEADER_BYTES && page.iter().any(|&byte| byte != 0);
    let Some(header) = begun.get(BEFORE_PAGE..).filter(is_written) else {
        return true;
    };
    match number(header, ID_AT) {
        APPLICATION_ID => true,
        0 => (1..NEWEST).contains(&number(header, VERSION_AT).into()),
        _ => false,
    }
}

/// The first bytes of a file.
fn start(path: &Path, most: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(most as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The number at this place of a header.
fn number(header: &[u8], at: usize) -> u32 {
    header[at..].first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes))
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
