//! Rate limits of section 8: the number of requests of a kind in any 60 s. The caller decides what happens
//! beyond them.

use chrono::{DateTime, TimeDelta, Utc};
use std::collections::{HashMap, VecDeque};

/// A kind of request with a limit, and the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Limited(&'static str, usize);

impl Limited {
    /// The limit that a request falls under, if any.
    pub fn of(method: &str, path: &[&str]) -> Option<Limited> {
        match (method, path) {
            ("POST", ["api", "cvds", "v1", "vms"]) => Some(Limited("VM create", 2)),
            ("GET", ["api", "cvds", "v1", "vms"]) => Some(Limited("VM list", 200)),
            ("POST", ["api", "cvds", "v1", "vms", _, "start" | "stop"]) => {
                Some(Limited("VM start, stop", 50))
            }
            ("POST", ["api", "cvds", "v1", "ssh-keys"]) => Some(Limited("key create", 2)),
            ("GET", ["api", "cvds", "v1", "ssh-keys"]) => Some(Limited("key list", 200)),
            _ => None,
        }
    }
}

/// The times of requests, by kind.
#[derive(Debug, Default)]
pub struct Limits {
    seen: HashMap<Limited, VecDeque<DateTime<Utc>>>,
}

impl Limits {
    /// Counts a request. Beyond the limit it is not counted, and the seconds to wait are returned.
    pub fn admit(&mut self, kind: Limited, now: DateTime<Utc>) -> Result<(), i64> {
        let seen = self.seen.entry(kind).or_default();
        let window = TimeDelta::seconds(60);
        while seen.front().is_some_and(|t| now - *t >= window) {
            seen.pop_front();
        }
        match seen.front() {
            Some(first) if seen.len() >= kind.1 => {
                let wait = window - (now - *first);
                Err((wait.num_milliseconds() + 999) / 1000)
            }
            Some(_) | None => {
                seen.push_back(now);
                Ok(())
            }
        }
    }
}
