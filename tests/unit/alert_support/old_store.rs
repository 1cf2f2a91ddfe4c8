//! Stores that hostwatch 0.2 wrote, as SQL (`tests/fixtures/store_v7`). This release starts on them.

use std::path::PathBuf;

use super::{Daemon, World};
use crate::alert::{AlertSettings, Event, Key};
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

    /// The events that 0.2 told a recipient, with the time at which each mail arrived.
    pub fn told_before_the_update(&self, to: &str) -> Vec<(DateTime<Utc>, Key, Event)> {
        let old = self.before_the_update();
        let sql = "SELECT e.ended_at, m.told FROM envelopes e JOIN messages m USING (message_id)
          WHERE e.state = 'sent' AND e.recipient = ?1 ORDER BY e.ended_at, e.id";
        let mut mails = old.prepare(sql).unwrap();
        let mails = mails.query_map([to], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        let told = mails.map(Result::unwrap).flat_map(|(at, told): (String, String)| {
            let told: Vec<(Key, String)> = serde_json::from_str(&told).unwrap();
            // 0.2 called an open incident flapping, and had a mail of what else an incident caused.
            let told = told.into_iter().filter(|(_, event)| !event.starts_with("covered:"));
            told.map(move |(key, event)| {
                (at.parse().unwrap(), key, event.replace("flapping", "opened").parse().unwrap())
            })
        });
        told.collect()
    }

    /// The copy of the old store, which the update keeps.
    fn before_the_update(&self) -> Connection {
        let directory = self.system.directory.as_ref().unwrap().path();
        Connection::open(directory.join("hw.db.v7")).unwrap()
    }
}

fn file(name: &str) -> PathBuf {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    root.join("tests/fixtures/store_v7").join(name).with_extension("sql")
}
