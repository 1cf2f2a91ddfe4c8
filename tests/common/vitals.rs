//! The resources of a process by the kernel: descriptors, connections and threads; and words that must not be
//! in its log.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::Daemon;

/// The resources of a daemon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vitals {
    /// Descriptors that are no connection: files, listeners, and those of the runtime.
    pub descriptors: usize,
    /// TCP connections that it has a descriptor of, by the other end's port.
    pub connections: Vec<u16>,
    pub threads: usize,
}

impl Vitals {
    /// The least of several samples: without a file or a socket that is open for a moment only.
    pub fn at_rest(daemon: &Daemon) -> Self {
        let looks = (0..5).map(|_| {
            std::thread::sleep(Duration::from_millis(20));
            Self::of(daemon)
        });
        looks.min_by_key(|look| look.descriptors).unwrap()
    }

    pub fn of(daemon: &Daemon) -> Self {
        let process = format!("/proc/{}", daemon.id());
        let targets: Vec<String> = std::fs::read_dir(format!("{process}/fd"))
            .unwrap()
            // A descriptor that was closed meanwhile has no target any more.
            .filter_map(|entry| std::fs::read_link(entry.unwrap().path()).ok())
            .map(|target| target.to_string_lossy().into_owned())
            .collect();
        let sockets: BTreeSet<&str> =
            targets.iter().filter_map(|it| it.strip_prefix("socket:[")?.strip_suffix(']')).collect();
        let table = std::fs::read_to_string(format!("{process}/net/tcp")).unwrap();
        // By the socket's number, since a table that changes while it is read can have a row twice.
        let mut connections = BTreeMap::new();
        for row in table.lines().skip(1) {
            let columns: Vec<&str> = row.split_whitespace().collect();
            let port = u16::from_str_radix(columns[2].split_once(':').unwrap().1, 16).unwrap();
            // A listener has no other end.
            if port != 0 && sockets.contains(columns[9]) {
                connections.insert(columns[9].to_owned(), port);
            }
        }
        Self {
            descriptors: targets.len() - connections.len(),
            connections: connections.into_values().collect(),
            threads: usize::try_from(daemon.status_of_process("Threads")).unwrap(),
        }
    }
}

/// Checks that the log has no fault of the daemon itself.
///
/// # Panics
/// If it has one.
pub fn assert_sound(daemon: &Daemon) {
    for sign in ["panicked", "by a fault of its own", "a fault of hostwatch's own", "ended early"] {
        assert_eq!(daemon.log.count(sign), 0, "{sign:?}: {:#?}", daemon.log.lines());
    }
}

/// Sends SIGTERM, and checks that it ends by itself and leaves nothing running.
///
/// # Panics
/// If it does not end.
pub fn assert_stops(daemon: &mut Daemon) {
    assert_eq!(daemon.stop(), 0, "{:#?}", daemon.log.lines());
    daemon.log.wait("message=stopping");
    assert_sound(daemon);
}
