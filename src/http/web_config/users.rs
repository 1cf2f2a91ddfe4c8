//! Passwords. A check takes as long for an unknown user as for a known one. Bcrypt is slow on purpose and runs
//! on blocking threads, a few at a time. A correct password is remembered, so that bcrypt runs once for it.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr as _;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use parking_lot::Mutex;
use ring::hmac;
use secrecy::{ExposeSecret as _, SecretSlice, SecretString};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::findings::WebFindings;

/// From this cost on a check takes a second or more.
const SLOW_COST: u32 = 14;
/// The longest time that a request waits for its check.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// The result of checking credentials.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::http) enum Admission {
    Allowed,
    /// Wrong, missing or unreadable.
    Denied,
    /// Too many checks are running, so no check was made.
    Busy,
}

/// The users.
pub(in crate::http) struct Users {
    by_name: BTreeMap<String, Arc<User>>,
}

struct User {
    hash: SecretString,
    /// The tag of the last correct password.
    verified: Mutex<Option<hmac::Tag>>,
}

/// The running checks of all configurations.
#[derive(Clone, Debug)]
pub(in crate::http) struct Checks(Arc<Semaphore>);

impl Checks {
    /// Two checks at most, and never more than half of the processors.
    pub(crate) fn new() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self(Arc::new(Semaphore::new((processors / 2).clamp(1, 2))))
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
        Self { by_name }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// Checks a request's `Authorization`. Without users everybody is allowed.
    pub(crate) async fn check(&self, authorization: Option<&[u8]>, checks: &Checks) -> Admission {
        if self.is_empty() {
            return Admission::Allowed;
        }
        let Some(credentials) = authorization.and_then(Credentials::read) else { return Admission::Denied };
        let known = std::str::from_utf8(credentials.name()).ok().and_then(|name| self.by_name.get(name));
        // For an unknown name another user's hash is checked, so that time does not reveal which names exist.
        let Some(user) = known.or_else(|| self.by_name.values().next()) else { return Admission::Denied };
        // The tag covers name and password, so that a password is remembered for its own user only.
        let key = hmac::Key::new(hmac::HMAC_SHA256, user.hash.expose_secret().as_bytes());
        let tag = hmac::sign(&key, credentials.both.expose_secret());
        if user.is_verified(&tag) {
            return Admission::Allowed;
        }
        let turn = timeout(LONGEST_WAIT, Arc::clone(&checks.0).acquire_owned()).await;
        let Ok(Ok(turn)) = turn else { return Admission::Busy };
        let checked = Arc::clone(user);
        let right = tokio::task::spawn_blocking(move || {
            // The permit is held to the end, even if the client has disconnected.
            let _turn = turn;
            bcrypt::verify(credentials.password(), checked.hash.expose_secret()).unwrap_or(false)
        });
        if !right.await.unwrap_or(false) || known.is_none() {
            return Admission::Denied;
        }
        *user.verified.lock() = Some(tag);
        Admission::Allowed
    }
}

impl User {
    fn is_verified(&self, tag: &hmac::Tag) -> bool {
        // The key is the salted hash, so the time of a comparison reveals nothing useful.
        self.verified.lock().as_ref().is_some_and(|verified| verified.as_ref() == tag.as_ref())
    }
}

/// Only the names.
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
    use std::time::Instant;

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
        // The second round shows that remembered passwords change no verdict.
        for (authorization, verdict) in table.into_iter().chain(table) {
            let text = String::from_utf8_lossy(authorization).into_owned();
            assert_eq!(users.check(Some(authorization), &checks).await, verdict, "{text}");
        }
        assert_eq!(users.check(None, &checks).await, Admission::Denied);
    }

    /// Bcrypt runs for unknown users too, and does not run again for a user that was admitted before.
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
        // The password is as correct under another name as under its own.
        let borrowed = time("nobody:one").await;
        users.check(Some(&basic("alice:one")), &checks).await;
        let remembered = time("alice:one").await;
        let after = time("nobody:one").await;
        for (what, slow) in [("known", known), ("unknown", unknown), ("borrowed", borrowed), ("after", after)]
        {
            assert!(slow > remembered * 5, "{what}: {slow:?}, remembered: {remembered:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_flood_of_wrong_passwords_does_not_lock_out_known_users() {
        let users = users(&[("alice", "one", 4), ("bob", "two", 4)]);
        let checks = Checks::new();
        assert_eq!(users.check(Some(&basic("alice:one")), &checks).await, Admission::Allowed);
        // No check can run any more.
        let all = u32::try_from(checks.0.available_permits()).unwrap();
        let _held = checks.0.acquire_many(all).await.unwrap();
        assert_eq!(users.check(Some(&basic("bob:two")), &checks).await, Admission::Busy);
        assert_eq!(users.check(Some(&basic("alice:one")), &checks).await, Admission::Allowed);
    }
}
