//! Passwords. A check takes as long for an unknown user as for a known one. Bcrypt, slow on purpose, runs on blocking
//! threads, a few at a time; a password that was right once is remembered, and not put through bcrypt again.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr as _;
use std::sync::Arc;

use aws_lc_rs::hmac;
use aws_lc_rs::rand::SystemRandom;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use parking_lot::Mutex;
use secrecy::{ExposeSecret as _, SecretSlice, SecretString};
use tokio::sync::Semaphore;

use super::findings::WebFindings;

/// From this cost on a check takes a second and more.
const SLOW_COST: u32 = 14;
/// Checks that may be queued; one more is refused.
const MOST_WAITING: usize = 32;

/// What became of a request's credentials.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::http) enum Admission {
    Allowed,
    /// Wrong, missing or unreadable.
    Denied,
    /// Too many checks are waiting; nothing was decided.
    Busy,
}

/// Who may come in.
pub(in crate::http) struct Users {
    by_name: BTreeMap<String, Arc<User>>,
    /// Random and secret: tags made with it reveal nothing about a password.
    key: Option<hmac::Key>,
}

struct User {
    hash: SecretString,
    /// Of the password that was right last.
    verified: Mutex<Option<hmac::Tag>>,
}

/// The checks under way, of all configurations there ever were.
#[derive(Clone, Debug)]
pub(in crate::http) struct Checks {
    running: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
}

impl Checks {
    /// At most two at once and never more than half of the machine.
    pub(crate) fn new() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            running: Arc::new(Semaphore::new((processors / 2).clamp(1, 2))),
            waiting: Arc::new(Semaphore::new(MOST_WAITING)),
        }
    }
}

impl Users {
    pub(super) fn read(users: BTreeMap<String, SecretString>, findings: &mut WebFindings) -> Self {
        let mut by_name = BTreeMap::new();
        for (name, hash) in users {
            let key = format!("basic_auth_users.{name}");
            if name.contains(':') || name.is_empty() {
                findings.error(&key, "a name has one letter at least and no colon; rename it");
                continue;
            }
            let cost = bcrypt::HashParts::from_str(hash.expose_secret()).map(|parts| parts.get_cost());
            match cost {
                Ok(cost @ 4..=31) => {
                    if cost >= SLOW_COST {
                        findings.note(format!(
                            "{key}: its bcrypt cost is {cost}; 10 to 12 is enough, and faster"
                        ));
                    }
                    by_name.insert(name, Arc::new(User { hash, verified: Mutex::default() }));
                }
                Ok(_) | Err(_) => {
                    findings.error(&key, "is not a bcrypt hash; make one with: htpasswd -nBC 10 NAME");
                }
            }
        }
        let key = match by_name.is_empty() {
            true => None,
            false => hmac::Key::generate(hmac::HMAC_SHA256, &SystemRandom::new()).ok(),
        };
        if key.is_none() && !by_name.is_empty() {
            findings.error("basic_auth_users", "the system has no random numbers to give");
        }
        Self { by_name, key }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// Checks what a request's `Authorization` says. Everybody is allowed where there are no users.
    pub(crate) async fn check(&self, authorization: Option<&[u8]>, checks: &Checks) -> Admission {
        let Some(key) = &self.key else { return Admission::Allowed };
        let Some(credentials) = authorization.and_then(Credentials::read) else { return Admission::Denied };
        let known = std::str::from_utf8(credentials.name()).ok().and_then(|name| self.by_name.get(name));
        let Some(user) = known.or_else(|| self.stand_in(key, credentials.name())) else {
            return Admission::Denied;
        };
        // Of name and password together: a password is remembered for its own user only.
        let tag = hmac::sign(key, credentials.both.expose_secret());
        if user.is_verified(&tag) {
            return Admission::Allowed;
        }
        let Ok(_place) = Arc::clone(&checks.waiting).try_acquire_owned() else { return Admission::Busy };
        let Ok(turn) = Arc::clone(&checks.running).acquire_owned().await else { return Admission::Busy };
        // Another request may have brought the same password meanwhile.
        if user.is_verified(&tag) {
            return Admission::Allowed;
        }
        let checked = Arc::clone(user);
        let right = tokio::task::spawn_blocking(move || {
            // Held to the end, even when the client has disconnected.
            let _turn = turn;
            bcrypt::verify(credentials.password(), checked.hash.expose_secret()).unwrap_or(false)
        });
        if !right.await.unwrap_or(false) || known.is_none() {
            return Admission::Denied;
        }
        *user.verified.lock() = Some(tag);
        Admission::Allowed
    }

    /// The user whose hash is checked in place of an unknown user's: always the same one for a name, so that timing
    /// does not reveal which names exist. Access is denied whatever the result.
    fn stand_in(&self, key: &hmac::Key, name: &[u8]) -> Option<&Arc<User>> {
        let tag = hmac::sign(key, name);
        let first = tag.as_ref().first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let index = usize::try_from(first % self.by_name.len().max(1) as u64).unwrap_or(0);
        self.by_name.values().nth(index)
    }
}

impl User {
    fn is_verified(&self, tag: &hmac::Tag) -> bool {
        // The tags are keyed, so the time of comparing them reveals nothing useful.
        self.verified.lock().as_ref().is_some_and(|verified| verified.as_ref() == tag.as_ref())
    }
}

/// Names only.
impl fmt::Debug for Users {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.by_name.keys()).finish()
    }
}

/// `name:password`.
struct Credentials {
    both: SecretSlice<u8>,
    colon: usize,
}

impl Credentials {
    fn read(authorization: &[u8]) -> Option<Self> {
        let (scheme, rest) = authorization.split_at_checked(6)?;
        let encoded = scheme.eq_ignore_ascii_case(b"basic ").then(|| rest.trim_ascii())?;
        let both = STANDARD.decode(encoded).ok()?;
        let colon = both.iter().position(|&byte| byte == b':')?;
        Some(Self { both: both.into(), colon })
    }

    fn name(&self) -> &[u8] {
        &self.both.expose_secret()[..self.colon]
    }

    fn password(&self) -> &[u8] {
        &self.both.expose_secret()[self.colon + 1..]
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::{Duration, Instant};

    use super::*;

    fn users(pairs: &[(&str, &str, u32)]) -> Users {
        let mut findings = WebFindings::new(Path::new("web.yml"));
        let hashed = |&(name, password, cost): &(&str, &str, u32)| {
            (name.to_owned(), bcrypt::hash(password, cost).unwrap().into())
        };
        let users = Users::read(pairs.iter().map(hashed).collect(), &mut findings);
        findings.finish().unwrap();
        users
    }

    fn basic(pair: &str) -> Vec<u8> {
        format!("Basic {}", STANDARD.encode(pair)).into_bytes()
    }

    #[tokio::test]
    async fn only_the_right_password_of_a_known_name_is_let_in() {
        let users = users(&[("alice", "one", 4), ("bob", "two:with:colons", 4), ("", "", 4)][..2]);
        let checks = Checks::new();
        let table: [(&[u8], Admission); 12] = [
            (&basic("alice:one"), Admission::Allowed),
            (&basic("bob:two:with:colons"), Admission::Allowed),
            (&basic("alice:two:with:colons"), Admission::Denied),
            (&basic("alice:"), Admission::Denied),
            (&basic("alice"), Admission::Denied),
            (&basic("ALICE:one"), Admission::Denied),
            (&basic("carol:one"), Admission::Denied),
            (&basic(":"), Admission::Denied),
            (b"Basic !!!", Admission::Denied),
            (b"Bearer YWxpY2U6b25l", Admission::Denied),
            (b"", Admission::Denied),
            (b"basic YWxpY2U6b25l", Admission::Allowed),
        ];
        // A second time: what is remembered changes nothing.
        for (authorization, verdict) in table.into_iter().chain(table) {
            let text = String::from_utf8_lossy(authorization).into_owned();
            assert_eq!(users.check(Some(authorization), &checks).await, verdict, "{text}");
        }
        assert_eq!(users.check(None, &checks).await, Admission::Denied);
    }

    #[tokio::test]
    async fn without_users_everybody_is() {
        assert_eq!(users(&[]).check(None, &Checks::new()).await, Admission::Allowed);
    }

    /// An unknown user, even with another user's right password, is never admitted and never remembered.
    #[tokio::test]
    async fn a_password_under_another_name_is_nothing() {
        let users = users(&[("alice", "one", 4), ("bob", "two", 4)]);
        let checks = Checks::new();
        assert_eq!(users.check(Some(&basic("alice:one")), &checks).await, Admission::Allowed);
        assert_eq!(users.check(Some(&basic("bob:two")), &checks).await, Admission::Allowed);
        for name in ["a", "b", "c", "d", "e", "f"] {
            for password in ["one", "two"] {
                let pair = basic(&format!("{name}:{password}"));
                assert_eq!(users.check(Some(&pair), &checks).await, Admission::Denied, "{name}:{password}");
            }
        }
    }

    /// Bcrypt runs for an unknown user as for a known one, and not again for one that was admitted before.
    #[tokio::test]
    async fn time_tells_nothing_about_names() {
        let users = users(&[("alice", "one", 9)]);
        let checks = Checks::new();
        let time = async |pair: &str| {
            let mut best = Duration::MAX;
            for _ in 0..3 {
                let start = Instant::now();
                users.check(Some(&basic(pair)), &checks).await;
                best = best.min(start.elapsed());
            }
            best
        };
        let (known, unknown) = (time("alice:wrong").await, time("nobody:wrong").await);
        // As right under another's name as it is under its own.
        let borrowed = time("nobody:one").await;
        users.check(Some(&basic("alice:one")), &checks).await;
        let remembered = time("alice:one").await;
        let after = time("nobody:one").await;
        for (what, slow) in [("known", known), ("unknown", unknown), ("borrowed", borrowed), ("after", after)]
        {
            assert!(slow > remembered * 5, "{what}: {slow:?}, remembered: {remembered:?}");
        }
    }

    #[tokio::test]
    async fn a_flood_of_wrong_passwords_does_not_lock_out_who_was_let_in() {
        let users = Arc::new(users(&[("alice", "one", 4), ("bob", "two", 4)]));
        let checks = Checks::new();
        assert_eq!(users.check(Some(&basic("alice:one")), &checks).await, Admission::Allowed);
        // No check can run any more.
        let all = u32::try_from(checks.running.available_permits()).unwrap();
        let _held = checks.running.acquire_many(all).await.unwrap();
        let flood: Vec<_> = (0..MOST_WAITING)
            .map(|_| {
                let (users, checks) = (Arc::clone(&users), checks.clone());
                tokio::spawn(async move { users.check(Some(&basic("alice:wrong")), &checks).await })
            })
            .collect();
        let full = async {
            while checks.waiting.available_permits() > 0 {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), full).await.expect("only so many wait");
        assert_eq!(users.check(Some(&basic("bob:two")), &checks).await, Admission::Busy);
        assert_eq!(users.check(Some(&basic("alice:one")), &checks).await, Admission::Allowed);
        for check in flood {
            check.abort();
        }
    }
}
