//! The store's file. One daemon locks it. A damaged file is set aside. A file that cannot be used is replaced
//! by memory, and written again later. Files of 0.2 are converted. Also the rows beside incidents and the
//! notification log.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};

use super::alert_support::{Daemon, Fate, World, start as now};
use super::store_log::{assert_same, found, known, world};
use crate::alert::{Ack, History, Key, Kind, Lane, Muted, Past, Silence};
use crate::store::{Flying, Opened, Store, StoreError};
use chrono::{DateTime, Duration, Utc};
use rusqlite::Connection;

/// A path without a store; the directory is removed with the first value.
fn place() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("hw.db");
    (directory, path)
}

/// The file with this ending beside the store.
fn beside(path: &Path, end: &str) -> PathBuf {
    path.with_file_name(format!("hw.db{end}"))
}

fn open(path: &Path) -> Store {
    let Opened { store, aside, fallback, .. } = Store::open(path, now()).unwrap();
    assert!(aside.is_none() && fallback.is_none(), "{aside:?}, {fallback:?}");
    store
}

fn raw(path: &Path) -> Connection {
    Connection::open(path).unwrap()
}

fn version(path: &Path) -> i64 {
    raw(path).query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap()
}

fn tables(path: &Path) -> Vec<String> {
    let file = raw(path);
    let mut rows = file.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").unwrap();
    rows.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

/// Writes a store as 0.2 did, with one VM in error and two mails sent.
fn left_by_0_2(path: &Path) {
    let (schema, rows) = (
        include_str!("../fixtures/store_v7/schema.sql"),
        include_str!("../fixtures/store_v7/vm_in_error.sql"),
    );
    // It made the tables of a version in one transaction.
    let all = format!("PRAGMA journal_mode = WAL; BEGIN; {schema}; COMMIT; {rows}");
    raw(path).execute_batch(&all).unwrap();
}

fn vm(id: u64) -> Key {
    Key::new(&"main".parse().unwrap(), Kind::VmError, id)
}

fn reasons(store: &Store, key: &Key) -> Vec<String> {
    let reasons = store.decisions(&key.to_string(), 99).unwrap();
    reasons.into_iter().map(|(_, reason)| crate::view::reasons::stored(reason)).collect()
}

fn history(store: &Store) -> History {
    store.history(&Past { from: DateTime::<Utc>::UNIX_EPOCH, keys: None, account: None, most: 99 }).unwrap()
}

/// Adds the row of a mail that told these events to "ops" and arrived.
fn send(path: &Path, id: &str, told: &[&str], at: DateTime<Utc>) {
    let (told, at) = (serde_json::to_string(told).unwrap(), at.format("%Y-%m-%dT%H:%M:%S%.6fZ").to_string());
    let sql = "INSERT INTO sent VALUES (?1, 'ops', '', ?2, ?3, ?3)";
    raw(path).execute(sql, [id, &told, &at]).unwrap();
}

#[test]
fn one_daemon_locks_the_file_and_a_second_is_refused() {
    let (_directory, path) = place();
    let [link, hard, within] = ["link.db", "hard.db", "within"].map(|name| path.with_file_name(name));
    std::os::unix::fs::symlink(&path, &link).unwrap();
    std::os::unix::fs::symlink(path.parent().unwrap(), &within).unwrap();
    let store = open(&path);
    std::fs::hard_link(&path, &hard).unwrap();
    for name in [&path, &link, &hard, &within.join(path.file_name().unwrap())] {
        let error = Store::open(name, now()).unwrap_err();
        assert!(matches!(error, StoreError::Locked(_)), "{error}");
        assert!(Store::is_held(name).unwrap());
    }
    drop(store);
    assert!(!Store::is_held(&path).unwrap());
    open(&path);
}

#[test]
fn a_store_of_a_newer_release_or_of_one_before_0_2_is_refused_by_name_with_the_remedy() {
    let newer = (99, "run the newer release");
    let older = (1..=6).map(|version| (version, "start hostwatch 0.2 on it once"));
    for (number, remedy) in older.chain([newer]) {
        let (directory, path) = place();
        drop(open(&path));
        raw(&path).pragma_update(None, "user_version", number).unwrap();
        let refused = [Store::open(&path, now()).unwrap_err(), Store::open_beside(&path, now()).unwrap_err()];
        for error in refused.map(|error| error.to_string()) {
            let schema = format!("hw.db is of schema {number}");
            assert!(error.contains(&schema) && error.contains(remedy), "{error}");
        }
        assert_eq!(version(&path), number);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "nothing is set aside or copied");
    }
}

#[test]
fn a_file_that_is_no_store_is_refused_and_stays_as_it_is() {
    let other =
        "CREATE TABLE dashboard (id INTEGER PRIMARY KEY, title TEXT); INSERT INTO dashboard VALUES (1, 'x')";
    let marked = format!("{other}; PRAGMA application_id = 7");
    let both = "CREATE TABLE meta (key TEXT); CREATE TABLE dashboard (id INTEGER)";
    for sql in [Some(other), Some(&*marked), Some(both), Some("PRAGMA user_version = 3"), None] {
        let (directory, path) = place();
        match sql {
            Some(sql) => raw(&path).execute_batch(sql).unwrap(),
            None => fs::write(&path, "notes of somebody\n".repeat(300)).unwrap(),
        }
        let before = fs::read(&path).unwrap();
        for refused in [Store::open(&path, now()).map(drop), Store::open_beside(&path, now()).map(drop)] {
            let error = refused.unwrap_err();
            assert!(matches!(error, StoreError::Foreign { .. }), "{error}");
            assert!(error.to_string().contains("correct store.path"), "{error}");
        }
        assert_eq!(fs::read(&path).unwrap(), before);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }
    // A directory, a pipe and a device, which nothing is read from.
    let (directory, path) = place();
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    for path in [&path, directory.path(), Path::new("/dev/null")] {
        let error = Store::open(path, now()).unwrap_err();
        assert!(matches!(error, StoreError::Foreign { .. }), "{}: {error}", path.display());
    }
    let (directory, path) = place();
    fs::write(&path, "").unwrap();
    for (path, want) in [
        (directory.path().join("none/hostwatch.db"), "make its directory"),
        (path.join("hostwatch.db"), "which has to name a file in a directory"),
        (directory.path().join("n".repeat(300)), "which has to name a file in a directory"),
    ] {
        let error = Store::open(&path, now()).unwrap_err().to_string();
        assert!(error.contains(want), "{error}");
    }
    // An empty file becomes a store.
    let (_directory, path) = place();
    fs::write(&path, "").unwrap();
    drop(open(&path));
    let marked: u32 = raw(&path).pragma_query_value(None, "application_id", |row| row.get(0)).unwrap();
    assert_ne!(marked, 0);
}

/// The copy of a database that is wholly in its journal, as a kill leaves it.
fn left_in_its_journal(make: impl FnOnce(&Path)) -> (tempfile::TempDir, PathBuf) {
    let ((_made_in, made), (directory, path)) = (place(), place());
    let open = raw(&made);
    open.execute_batch("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0").unwrap();
    // The file stays open, so that closing the other connection does not write the journal into it.
    open.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(())).unwrap();
    make(&made);
    for end in ["", "-wal"] {
        fs::copy(beside(&made, end), beside(&path, end)).unwrap();
    }
    (directory, path)
}

#[test]
fn a_database_that_is_wholly_in_its_journal_is_taken_for_what_it_is() {
    for sql in ["", "; PRAGMA application_id = 7", "; PRAGMA user_version = 99"] {
        let (directory, path) = left_in_its_journal(|path| {
            raw(path)
                .execute_batch(&format!("BEGIN; CREATE TABLE dashboard (id INTEGER){sql}; COMMIT"))
                .unwrap();
        });
        let files = || [fs::read(&path).unwrap(), fs::read(beside(&path, "-wal")).unwrap()];
        let before = files();
        let error = Store::open(&path, now()).unwrap_err();
        assert!(matches!(error, StoreError::Foreign { .. }), "{error}");
        assert_eq!((files(), fs::read_dir(directory.path()).unwrap().count()), (before, 2));
    }
    let with_incidents: [fn(&Path); 2] =
        [|path| world(Some(path)).vms(&[(1, "error"), (2, "active")]), left_by_0_2];
    for make in with_incidents {
        let (_directory, path) = left_in_its_journal(make);
        assert_eq!(fs::metadata(&path).unwrap().len(), 4096, "only the header is in the file");
        assert!(!open(&path).restore().unwrap().incidents.is_empty());
    }
}

/// A power cut during the first start keeps the file's header and the journal's, and the journal's first page is lost:
/// with the frame before it, or alone.
#[test]
fn a_new_store_whose_journal_lost_its_first_page_is_made_anew() {
    for lost in [32..56 + 4096, 56..56 + 4096] {
        let (_directory, path) = left_in_its_journal(|path| drop(open(path)));
        let mut journal = fs::read(beside(&path, "-wal")).unwrap();
        assert!(journal.len() > 2 * 4096, "more pages follow");
        journal[lost].fill(0);
        fs::write(beside(&path, "-wal"), &journal).unwrap();
        assert!(open(&path).restore().unwrap().incidents.is_empty());
        assert!(open(&path).restore().unwrap().incidents.is_empty(), "it is a store from now on");
    }
}

/// A daemon was killed, and a backup was put in the place of its file, beside the journal.
#[test]
fn a_journal_of_another_file_is_set_aside_and_not_played_into_it() {
    let (_directory, path) = place();
    let mut world = world(Some(&path));
    world.vms(&[(1, "error"), (2, "active")]);
    raw(&path).execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    let backup = fs::read(&path).unwrap();
    let stuff =
        "CREATE TABLE stuff (x); INSERT INTO stuff SELECT randomblob(3000) FROM generate_series(1, 200)";
    let stuff = stuff.replace(
        "generate_series(1, 200)",
        "(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200) SELECT i FROM n)",
    );
    raw(&path)
        .execute_batch(&format!("{stuff}; PRAGMA wal_checkpoint(TRUNCATE); CREATE INDEX late ON stuff (x)"))
        .unwrap();
    let journal = fs::read(beside(&path, "-wal")).unwrap();
    assert!(!journal.is_empty());
    drop(world);
    fs::write(&path, &backup).unwrap();
    fs::write(beside(&path, "-wal"), &journal).unwrap();
    let Opened { store, aside, journal: old, .. } = Store::open(&path, now()).unwrap();
    assert!(aside.is_none());
    assert_eq!(fs::read(old.unwrap()).unwrap(), journal);
    assert_eq!(store.restore().unwrap().incidents.len(), 1);
}

#[test]
fn a_damaged_file_is_set_aside_with_its_journal_and_a_new_one_begun() {
    // The first overwritten byte of the file; `None`: an incident cannot be read back.
    for damage in [Some(4096), Some(8192), None] {
        let (_directory, path) = place();
        let mut world = world(Some(&path));
        world.vms(&[(1, "error"), (2, "active")]);
        drop(world);
        match damage {
            Some(from) => {
                overwrite(&path, from);
                fs::write(beside(&path, "-wal"), b"torn").unwrap();
            }
            None => raw(&path).execute_batch("UPDATE incidents SET body = '{'").unwrap(),
        }
        let before = fs::read(&path).unwrap();
        let Opened { store, aside, fallback, .. } = Store::open(&path, now()).unwrap();
        assert_eq!(aside, Some(beside(&path, ".damaged-20260302T120000Z")), "{damage:?}");
        let is_as_it_was = fs::read(beside(&path, ".damaged-20260302T120000Z")).unwrap() == before;
        let journal = fs::read(beside(&path, ".damaged-20260302T120000Z-wal")).unwrap();
        assert!(is_as_it_was && (journal == b"torn") == damage.is_some(), "{damage:?}");
        let new = store.restore().unwrap();
        assert!(fallback.is_none() && new.incidents.is_empty() && !new.log.is_started(), "{damage:?}");
        drop(store);
        open(&path);
    }
}

/// Fills a file with x from this byte on.
fn overwrite(path: &Path, from: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[from..].fill(b'x');
    fs::write(path, bytes).unwrap();
}

/// Something that happens to the file of a running daemon: its name, its beginning and its end.
struct Trouble(&'static str, fn(&Path) -> Option<Connection>, fn(&Path), Gives);

/// The rows that can be read from the file.
#[derive(Clone, Copy, PartialEq)]
enum Gives {
    All,
    /// All rows when the daemon leaves it, and in the end the file is set aside under this name.
    AllOnce(&'static str),
    /// Nothing: it is set aside.
    Nothing,
}

const TROUBLES: [Trouble; 7] = [
    Trouble("locked", lock, |_| (), Gives::All),
    Trouble("away", |path| move_away(path, &FILES), move_back, Gives::Nothing),
    Trouble("its journal away", |path| move_away(path, &FILES[1..2]), |_| (), Gives::Nothing),
    Trouble("replaced", lock, replace, Gives::AllOnce("replaced")),
    Trouble("overwritten later", lock, |path| overwrite(path, 0), Gives::AllOnce("damaged")),
    Trouble("overwritten", |path| damage(path, 0), |_| (), Gives::Nothing),
    Trouble("its pages damaged", |path| damage(path, 4096), |_| (), Gives::Nothing),
];

const FILES: [&str; 3] = ["", "-wal", "-shm"];

fn lock(path: &Path) -> Option<Connection> {
    let other = raw(path);
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    Some(other)
}

fn damage(path: &Path, from: usize) -> Option<Connection> {
    raw(path).execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    overwrite(path, from);
    None
}

fn replace(path: &Path) {
    let (_directory, other) = place();
    drop(open(&other));
    FILES[1..].iter().for_each(|end| drop(fs::remove_file(beside(path, end))));
    fs::copy(&other, beside(path, ".other")).unwrap();
    fs::rename(beside(path, ".other"), path).unwrap();
}

/// Puts directories in place of the files.
fn move_away(path: &Path, ends: &[&str]) -> Option<Connection> {
    for end in ends {
        fs::rename(beside(path, end), beside(path, &format!("{end}.away"))).unwrap();
        fs::create_dir(beside(path, end)).unwrap();
    }
    None
}

fn move_back(path: &Path) {
    for end in FILES {
        fs::remove_dir(beside(path, end)).unwrap();
        fs::rename(beside(path, &format!("{end}.away")), beside(path, end)).unwrap();
    }
}

#[test]
fn a_failing_file_is_replaced_by_memory_and_later_gets_the_new_rows() {
    for Trouble(what, begin, end, gives) in TROUBLES {
        let (_directory, path) = place();
        let mut world = world(Some(&path));
        world.vms(&[(1, "error"), (2, "active")]);
        world.server("bob", Fate::LoseReply { arrived: false });
        world.vms(&[(1, "error"), (2, "error")]);
        let before = decide_before(&mut world, &path);

        let (lock, now) = (begin(&path), world.now);
        let is_read = gives != Gives::Nothing;
        assert_eq!(world.system.leave_file(now), is_read, "{what}");
        world.system.commit(now).unwrap();
        (0..2).for_each(|_| world.vms(&[(1, "active"), (2, "error")]));
        let now = world.now;
        let store = world.system.store_mut();
        decide_meanwhile(store, now);
        assert!(!is_read || store.return_to_file(now).is_err(), "{what}");
        assert!(store.is_in_memory(), "{what}");

        drop(lock);
        end(&path);
        let aside = store.return_to_file(now).unwrap().map(|aside| aside.display().to_string());
        let word = match gives {
            Gives::All => None,
            Gives::AllOnce(word) => Some(word),
            Gives::Nothing => Some("damaged"),
        };
        assert_eq!(aside.is_some(), word.is_some(), "{what}");
        assert!(word.is_none_or(|word| aside.unwrap().contains(&format!("hw.db.{word}-"))), "{what}");
        assert!(!store.is_in_memory() && store.is_in_place(), "{what}");
        is_home(what, is_read, &world, &path, &before);
        world.vms(&[(1, "error"), (2, "active")]);
        let end = known(&world);
        drop(world);
        let stored = found(&open(&path).restore().unwrap());
        assert_same(&stored, &end, &format!("{what}: it goes on in the file"));
    }
}

/// Adds rows that only the file has, and decisions of people before it fails. Returns the reasons of VM 1.
fn decide_before(world: &mut World, path: &Path) -> Vec<String> {
    let only =
        "INSERT INTO decisions VALUES (NULL, 'main/vm_error/99', '2026-01-01T00:00:00Z', 'told by 0.1')";
    raw(path).execute_batch(only).unwrap();
    let now = world.now;
    let store = world.system.store_mut();
    for id in [1, 2] {
        store.acknowledge(&vm(id), 1, "before", now).unwrap();
        let silenced = store.silence("main/vm_stuck/*", now + Duration::hours(2), "before", now);
        assert_eq!(silenced.unwrap(), i64::try_from(id).unwrap());
    }
    let before = reasons(store, &vm(1));
    let muted = store.silences(now).unwrap();
    world.system.set_muted(muted);
    before
}

/// Decisions of people in memory, which has the earlier ones even if the file could not be read.
fn decide_meanwhile(store: &mut Store, now: DateTime<Utc>) {
    assert!(store.take_back_ack(&vm(1)).unwrap());
    assert!(store.end_silence(1, now).unwrap());
    store.acknowledge(&vm(3), 1, "meanwhile", now).unwrap();
    let silenced = store.silence("main/site_error/*", now + Duration::hours(2), "meanwhile", now);
    assert_eq!(silenced.unwrap(), 3);
}

fn is_home(what: &str, has_all: bool, world: &World, path: &Path, before: &[String]) {
    let file = Store::open_beside(path, world.now).unwrap();
    assert_same(&found(&file.restore().unwrap()), &known(world), what);
    let mail = file.rendered("bob", Lane::Other).unwrap().unwrap();
    assert!(world.system.handed.contains(&(mail.message_id, mail.raw)), "{what}: the bytes of a mail");
    let muted = file.silences(world.now).unwrap();
    assert_eq!(muted.acks.into_keys().collect::<Vec<_>>(), [vm(2), vm(3)], "{what}");
    assert_eq!(muted.silences.iter().map(|one| one.id).collect::<Vec<_>>(), [2, 3], "{what}");
    let history = history(&file);
    let episodes = history.episodes.iter().map(|one| (one.key.clone(), one.ended.is_some()));
    assert_eq!(episodes.collect::<Vec<_>>(), [(vm(2), false), (vm(1), true)], "{what}");

    // Without its file, the daemon knows only the last reason of each incident.
    let known_before = if has_all { before } else { &before[before.len() - 1..] };
    let learned = ["1 of 2 good polls", "OK in 2 polls in a row"].map(str::to_owned);
    assert_eq!(reasons(&file, &vm(1)), [known_before, &learned].concat(), "{what}");
    let rows = (file.sent(99).unwrap().len(), reasons(&file, &vm(99)).len());
    assert_eq!(rows, if has_all { (world.received.len(), 1) } else { (1, 0) }, "{what}");
}

/// If it has a journal, not even its contents can be read.
#[test]
fn a_file_that_another_program_keeps_to_itself_is_not_taken_for_an_empty_one() {
    for (write, has_journal) in
        [("DELETE FROM meta WHERE key = 'none'", false), ("INSERT INTO meta VALUES ('x', '')", true)]
    {
        let (_directory, path) = place();
        let mut world = world(Some(&path));
        world.vms(&[(1, "error")]);
        let (known, now) = (known(&world), world.now);
        drop(world);
        let other = raw(&path);
        other.execute_batch(&format!("PRAGMA locking_mode = EXCLUSIVE; BEGIN; {write}; COMMIT")).unwrap();
        match Store::open(&path, now) {
            Ok(Opened { store, fallback, .. }) => {
                assert!(!has_journal && fallback.is_some(), "{fallback:?}");
                assert_eq!(found(&store.restore().unwrap()), known);
            }
            Err(error) => {
                let error = error.to_string();
                assert!(has_journal && error.contains("end the other program that holds it"), "{error}");
            }
        }
    }
}

/// SQLite keeps the journal beside the file, and not beside a link to it.
#[test]
fn a_store_behind_a_link_is_read_with_its_journal_and_set_aside_in_its_own_directory() {
    let ((_directory, path), (_links, link)) = (place(), place());
    std::os::unix::fs::symlink(&path, &link).unwrap();
    let mut world = world(Some(&path));
    world.vms(&[(1, "error")]);
    drop(world);
    let other = raw(&path);
    let write = "PRAGMA locking_mode = EXCLUSIVE; BEGIN; INSERT INTO meta VALUES ('x', ''); COMMIT";
    other.execute_batch(write).unwrap();
    let error = Store::open(&link, now()).unwrap_err().to_string();
    assert!(error.contains("end the other program that holds it"), "{error}");
    drop(other);
    overwrite(&path, 4096);
    let aside = Store::open(&link, now()).unwrap().aside.unwrap();
    assert_eq!(aside, beside(&path.canonicalize().unwrap(), ".damaged-20260302T120000Z"));
    assert!(link.is_symlink() && path.is_file());
}

#[test]
fn a_place_that_cannot_be_written_at_the_start_is_an_error_with_the_remedy() {
    let (_directory, path) = place();
    let mut world = world(Some(&path));
    world.vms(&[(1, "error")]);
    let (known, now) = (known(&world), world.now);
    drop(world);
    // No journal can be opened, as in a directory that is not writable.
    fs::create_dir(beside(&path, "-wal")).unwrap();
    let said = Store::open(&path, now).unwrap_err().to_string();
    assert!(said.contains("must be writable for the user that runs hostwatch"), "{said}");
    fs::remove_dir(beside(&path, "-wal")).unwrap();
    assert_eq!(found(&Store::open(&path, now).unwrap().store.restore().unwrap()), known);
}

#[test]
fn a_place_is_tried_as_the_daemon_would_use_it() {
    let (directory, path) = place();
    let link = directory.path().join("link.db");
    let leads_to = |target: &Path| {
        let _ = fs::remove_file(&link);
        std::os::unix::fs::symlink(target, &link).unwrap();
        Store::try_place(&link, now()).map_err(|error| error.to_string())
    };
    assert_eq!(leads_to(Path::new("hw.db")), Ok(()), "the daemon makes the file behind the link");
    let error = leads_to(Path::new("gone/hw.db")).unwrap_err();
    assert!(error.contains("gone/hw.db: No such file") && error.contains("correct store.path"), "{error}");
    assert!(leads_to(Path::new("link.db")).is_err());
    for (version, want) in [(8, None), (99, Some("run the newer release")), (3, Some("start hostwatch 0.2"))]
    {
        drop(Store::open(&path, now()));
        raw(&path).pragma_update(None, "user_version", version).unwrap();
        let tried = leads_to(&path);
        assert!(tried.as_ref().err().is_none_or(|error| error.contains(want.unwrap())), "{tried:?}");
        assert_eq!(tried.is_err(), want.is_some());
        let left = fs::read_dir(directory.path()).unwrap().map(|file| file.unwrap().file_name());
        assert!(!left.into_iter().any(|name| name.to_string_lossy().starts_with(".hostwatch")));
    }
}

#[test]
fn a_store_of_0_2_is_brought_up_once_there_is_room_for_a_copy_of_it() {
    for has_room in [true, false] {
        let (_directory, path) = place();
        left_by_0_2(&path);
        if !has_room {
            // The unfinished copy has this name.
            fs::create_dir(beside(&path, ".v7.begun")).unwrap();
        }
        let Opened { mut store, aside, fallback, .. } = Store::open(&path, now()).unwrap();
        assert!(aside.is_none() && fallback.is_none() == has_room);
        let holds = |store: &Store| (store.restore().unwrap().incidents.len(), store.sent(9).unwrap().len());
        assert_eq!(holds(&store), (1, 2));
        store.acknowledge(&vm(1), 1, "", now()).unwrap();
        if !has_room {
            assert!(matches!(fallback, Some(StoreError::Copy { .. })), "{fallback:?}");
            assert!(store.return_to_file(now()).is_err());
            assert_eq!(version(&path), 7, "nothing is brought up without a copy");
            fs::remove_dir(beside(&path, ".v7.begun")).unwrap();
            assert_eq!(store.return_to_file(now()).unwrap(), None);
        }
        drop(store);
        assert_eq!((version(&path), version(&beside(&path, ".v7"))), (8, 7));
        raw(&beside(&path, ".v7")).execute_batch("SELECT raw FROM messages").unwrap();
        let store = open(&path);
        let new = beside(&path, ".new");
        drop(open(&new));
        assert_eq!(tables(&path), tables(&new));
        assert_eq!((holds(&store), store.silences(now()).unwrap().acks.len()), ((1, 2), 1));
    }
}

#[test]
fn a_command_beside_a_store_of_0_2_reads_it_and_may_not_write() {
    let (directory, path) = place();
    left_by_0_2(&path);
    let mut store = Store::open_beside(&path, now()).unwrap();
    assert_eq!((store.restore().unwrap().incidents.len(), store.sent(9).unwrap().len()), (1, 2));
    let refused = [
        store.acknowledge(&vm(1), 1, "", now()).unwrap_err(),
        store.take_back_ack(&vm(1)).unwrap_err(),
        store.silence("main/*", now(), "", now()).unwrap_err(),
        store.end_silence(1, now()).unwrap_err(),
    ];
    for error in refused.map(|error| error.to_string()) {
        assert!(
            error.contains("of schema 7, this hostwatch writes schema 8: nothing was changed"),
            "{error}"
        );
    }
    assert_eq!(version(&path), 7);
    drop(store);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
}

#[test]
fn the_note_of_each_minute_waits_for_a_command_that_writes() {
    let (_directory, path) = place();
    let mut store = open(&path);
    let other = raw(&path);
    other.execute_batch("BEGIN IMMEDIATE; INSERT INTO acks VALUES ('main/vm_error/1', 1, '', '')").unwrap();
    let command = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(200));
        other.execute_batch("COMMIT").unwrap();
    });
    let Daemon { engine, log, .. } = World::healthy().system;
    store.save(&engine, &log, &Flying::new(), &[], now()).unwrap();
    command.join().unwrap();
    assert_eq!(store.restore().unwrap().watched_until, Some(now()));
}

#[test]
fn a_reason_that_repeats_is_stored_once() {
    let (_directory, path) = place();
    let mut world = world(Some(&path));
    let old = "INSERT INTO decisions VALUES (NULL, 'main/vm_error/1', '2026-01-01T00:00:00Z', 'told by 0.1')";
    raw(&path).execute(old, []).unwrap();
    let mut write_twice = |state: &str, reasons_after: &[&str]| {
        world.vms(&[(1, state), (2, "active")]);
        world.system.engine.write_all();
        let later = world.now + Duration::minutes(1);
        world.system.commit(later).unwrap();
        assert_eq!(reasons(world.system.store(), &vm(1)), reasons_after);
        world.system.store().decisions("main/vm_error/1", 1).unwrap()
    };
    write_twice("error", &["told by 0.1", "first seen in this poll"]);
    let recovering = ["told by 0.1", "first seen in this poll", "1 of 2 good polls"];
    let last = write_twice("active", &recovering);
    assert_eq!(
        crate::view::reasons::stored(last[0].1.clone()),
        "1 of 2 good polls",
        "the last ones are asked for"
    );
    let again = [&recovering[..], &["failed again before it had recovered"]].concat();
    write_twice("error", &again);
}

#[test]
fn each_drop_of_the_balance_is_a_reason_and_lists_the_mail_about_the_cut_off_that_told_it() {
    let mut world = World::healthy();
    world.live("no-date 200000, idle 1h, no-date 100000");
    let drop: Key = "main/balance_drop/account".parse().unwrap();
    let once = "the balance is lower than forecast";
    assert_eq!(reasons(world.system.store(), &drop), [once, once]);
    world.live("everybody away, cut-off 6d, everybody accepts, idle 1h");
    let told = world.system.store().sent_about(&drop).unwrap();
    assert_eq!(
        told.last().unwrap().told,
        ["main/disconnect/account#1#rung:7", "main/balance_drop/account#3#opened"]
    );
}

#[test]
fn rows_are_deleted_after_their_time_unless_an_open_incident_needs_them() {
    let (_directory, path) = place();
    let mut world = world(Some(&path));
    world.vms(&[(1, "error"), (2, "active")]);
    let now = world.now + Duration::days(1000);
    let store = world.system.store_mut();
    store.prune(now).unwrap();
    let file = raw(&path);
    type Ages = &'static [i64];
    // Rows that are so many days old, and the rows that are kept. Each row is named by its age. Incident 1 is
    // open, 99 is forgotten.
    let table: [(&str, &str, &str, Ages, Ages); 11] = [
        ("sent", "message_id", "(?1, 'ops', '', '[]', ?2, ?2)", &[91, 89], &[89]),
        ("decisions", "reason", "(NULL, 'main/vm_error/1', ?2, ?1)", &[300, 91, 89], &[89]),
        ("decisions", "reason", "(NULL, 'main/vm_error/1', ?2, ?1)", &[300, 91], &[91]),
        ("decisions", "reason", "(NULL, 'main/vm_error/99', ?2, ?1)", &[91, 89], &[89]),
        ("decisions", "reason", "(NULL, 'main/vm_error/99', ?2, ?1)", &[91], &[]),
        ("acks", "comment", "('main/vm_error/1', 1, ?2, ?1)", &[300], &[300]),
        ("acks", "comment", "('main/vm_error/99', 1, ?2, ?1)", &[91], &[]),
        ("silences", "pattern", "(NULL, ?1, ?2, ?2, '')", &[91, 89], &[89]),
        ("reports", "account", "(?1, ?2, '')", &[401, 399], &[399]),
        ("episodes", "title", "('main/vm_error/1', ?1, ?2, ?2, '', ?1)", &[401, 399], &[399]),
        ("episodes", "title", "('main/vm_error/1', ?1, ?2, NULL, '', ?1)", &[500], &[500]),
    ];
    let left = |table: &str, name: &str| -> Vec<i64> {
        let sql = format!("SELECT CAST({name} AS INTEGER) FROM {table} ORDER BY rowid");
        let mut rows = file.prepare(&sql).unwrap();
        rows.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    for (table, name, values, ages, kept) in table {
        file.execute(&format!("DELETE FROM {table}"), []).unwrap();
        for age in ages {
            let at = (now - Duration::days(*age)).format("%Y-%m-%dT%H:%M:%S%.6fZ").to_string();
            file.execute(&format!("INSERT INTO {table} VALUES {values}"), [age.to_string(), at]).unwrap();
        }
        assert_eq!(store.prune(now).unwrap(), ages.len() - kept.len(), "{table} {values}");
        assert_eq!(left(table, name), kept, "{table} {values}");
    }
}

#[test]
fn a_mail_is_found_by_each_incident_that_it_tells_of() {
    let (_directory, path) = place();
    let store = open(&path);
    let mails: [(&str, &[&str]); 4] = [
        ("opened", &["main/vm_error/1#1#opened", "main/vm_error/2#3#opened"]),
        ("next episode", &["main/vm_error/1#2#opened"]),
        ("twelfth episode of 11", &["main/vm_error/11#12#opened"]),
        ("of an account that ends the same", &["x-main/vm_error/1#1#opened"]),
    ];
    for (minute, (id, told)) in (0..).zip(mails) {
        send(&path, id, told, now() + Duration::minutes(minute));
    }
    let table: [(&str, &[&str]); 4] = [
        ("main/vm_error/1", &["opened", "next episode"]),
        ("main/vm_error/2", &["opened"]),
        ("main/vm_error/11", &["twelfth episode of 11"]),
        ("main/vm_error/3", &[]),
    ];
    for (key, want) in table {
        let found = store.sent_about(&key.parse().unwrap()).unwrap();
        let found: Vec<&str> = found.iter().map(|mail| mail.message_id.as_str()).collect();
        assert_eq!(found, want, "{key}");
    }
}

#[test]
fn the_decisions_of_people_are_read_back() {
    let mut store = Store::in_memory().unwrap();
    let until = now() + Duration::hours(2);
    store.acknowledge(&vm(7), 3, "Ann", now()).unwrap();
    let id = store.silence("main/*", until, "moving", now()).unwrap();
    let ack = Ack { episode: 3, at: now(), comment: "Ann".to_owned() };
    let silence =
        Silence { id, pattern: "main/*".to_owned(), at: now(), until, comment: "moving".to_owned() };
    let muted = Muted { acks: [(vm(7), ack)].into(), silences: vec![silence] };
    assert_eq!(store.silences(now()).unwrap(), muted);
    assert!(store.silences(until).unwrap().silences.is_empty(), "it is over by itself");
    assert!(store.end_silence(id, now()).unwrap() && !store.end_silence(id, now()).unwrap());
    assert!(store.take_back_ack(&vm(7)).unwrap() && !store.take_back_ack(&vm(7)).unwrap());
    assert_eq!(store.silences(now()).unwrap(), Muted::default());
}
