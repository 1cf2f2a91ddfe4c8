//! Stores that hostwatch 0.2 wrote, as SQL (`tests/fixtures/store_v7`). This release starts on them.

use std::path::PathBuf;

use super::{Daemon, World};
use crate::alert::AlertSettings;
use crate::store::Store;
use chrono::{DateTime, Duration, Utc};
use rusqlite::Connection;

/// The time between the stop of 0.2 and the start of this release.
const DOWN: Duration = Duration::minutes(3);

impl World {
    /// A world whose account 0.2 watched for these recipients, with the store that 0.2 wrote. Nothing is read
    /// yet.
    pub fn updated(fixture: &str, to: &[&str]) -> Self {
        Self::updated_after(fixture, to, "")
    }

    /// The same after this SQL changed the store.
    pub fn updated_after(fixture: &str, to: &[&str], sql: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("hw.db");
        let old = Connection::open(&path).unwrap();
        for part in ["schema", fixture] {
            old.execute_batch(&std::fs::read_to_string(file(part)).unwrap()).unwrap();
        }
        old.execute_batch(sql).unwrap();
        let until = "SELECT value FROM meta WHERE key = 'watched_until'";
        let until: String = old.query_row(until, [], |row| row.get(0)).unwrap();
        old.close().unwrap();

        let mut world = Self::new(AlertSettings::defaults());
        world.now = until.parse::<DateTime<Utc>>().unwrap() + DOWN;
        world.looking = Some(world.now);
        world.to = to.iter().map(|&to| to.to_owned()).collect();
        let store = Store::open(&path, world.now).unwrap().store;
        world.muted = store.silences(world.now).unwrap();
        world.system = Daemon::on(store, world.watchers(), world.now);
        world.system.set_muted(world.muted.clone());
        world.system.directory = Some(directory);
        // Message-IDs are unique.
        world.system.mails = 1000;
        world
    }
}

fn file(name: &str) -> PathBuf {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    root.join("tests/fixtures/store_v7").join(name).with_extension("sql")
}
