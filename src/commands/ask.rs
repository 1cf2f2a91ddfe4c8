//! Asks a running daemon what it shows: one GET, over its Unix socket or its web address. Understands
//! nothing of the answer.

use std::path::PathBuf;
use std::time::Duration;

use reqwest::{ClientBuilder, Url};

use crate::provider::http_client;

/// How long the daemon may take; it answers from memory.
const PATIENCE: Duration = Duration::from_secs(10);
/// A status has at most 100 resources and 20,000 incidents.
const MOST_BYTES: usize = 64 << 20;

/// Where a daemon answers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Door {
    /// The socket beside its store.
    Socket(PathBuf),
    /// The root of its pages; a path before `/api/` is kept.
    Web(Url),
}

/// Why nothing could be learnt, and what to do.
#[derive(Debug, thiserror::Error)]
pub(super) enum AskError {
    #[error("preparing the request: {0}")]
    Setup(String),
    #[error(
        "no daemon answers at {place} ({cause}); is it running? If it listens elsewhere, name the address \
         with --url"
    )]
    Silent { place: String, cause: String },
    #[error("{place} may not be opened ({cause}); run this as root or as the daemon's user")]
    Forbidden { place: String, cause: String },
    #[error(
        "{place} asks for a user and a password; run this beside the daemon, where its socket asks for none"
    )]
    Password { place: String },
    #[error("{place} answered {status}; is that a hostwatch? Name its address with --url")]
    Status { place: String, status: u16 },
    #[error("the answer of {place} broke off or never ended: {cause}")]
    Broken { place: String, cause: String },
}

impl Door {
    /// The text of the status (docs/api.md), unread.
    ///
    /// # Errors
    /// Where no daemon answers, or with something else than success.
    pub(super) async fn status(&self) -> Result<Vec<u8>, AskError> {
        self.get("/api/v1/status").await
    }

    async fn get(&self, path: &str) -> Result<Vec<u8>, AskError> {
        let place = self.to_string();
        let client = self.client().build().map_err(|error| AskError::Setup(cause(&error)))?;
        let answer = client.get(self.url(path)?).send().await.map_err(|error| self.failed(&error))?;
        match answer.status().as_u16() {
            200 => {}
            401 => return Err(AskError::Password { place }),
            status => return Err(AskError::Status { place, status }),
        }
        let broken = |cause| AskError::Broken { place: place.clone(), cause };
        let mut answer = answer;
        let mut body = Vec::new();
        while let Some(chunk) = answer.chunk().await.map_err(|error| broken(cause(&error)))? {
            body.extend_from_slice(&chunk);
            if body.len() > MOST_BYTES {
                return Err(broken(format!("more than {MOST_BYTES} bytes")));
            }
        }
        Ok(body)
    }

    fn client(&self) -> ClientBuilder {
        let client = http_client(PATIENCE).no_proxy();
        match self {
            Self::Socket(path) => client.unix_socket(path.as_path()),
            Self::Web(_) => client,
        }
    }

    fn url(&self, path: &str) -> Result<Url, AskError> {
        match self {
            Self::Socket(_) => {
                // The name is sent and looked up by nobody.
                let url = format!("http://localhost{path}");
                url.parse().map_err(|_| AskError::Setup(format!("{url} is no address")))
            }
            Self::Web(root) => {
                let mut url = root.clone();
                url.set_path(&format!("{}{path}", root.path().trim_end_matches('/')));
                url.set_query(None);
                url.set_fragment(None);
                Ok(url)
            }
        }
    }

    fn failed(&self, error: &reqwest::Error) -> AskError {
        let (place, why) = (self.to_string(), cause(error));
        let denied = |error: &std::io::Error| error.kind() == std::io::ErrorKind::PermissionDenied;
        if root_of(error).downcast_ref::<std::io::Error>().is_some_and(denied) {
            return AskError::Forbidden { place, cause: why };
        }
        let cause =
            if error.is_timeout() { format!("no answer within {} s", PATIENCE.as_secs()) } else { why };
        AskError::Silent { place, cause }
    }
}

/// Where it is, without a password that the address may hold.
impl std::fmt::Display for Door {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Socket(path) => path.display().fmt(f),
            Self::Web(url) => {
                let mut bare = url.clone();
                // Both fail only for addresses that can't hold a user, which then have none.
                let _ = bare.set_username("");
                let _ = bare.set_password(None);
                bare.fmt(f)
            }
        }
    }
}

fn cause(error: &reqwest::Error) -> String {
    root_of(error).to_string()
}

/// The innermost cause, which says what a person can act on.
fn root_of<'a>(error: &'a (dyn std::error::Error + 'static)) -> &'a (dyn std::error::Error + 'static) {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_door_says_where_it_is_and_not_its_password() {
        let web = Door::Web("http://user:secret@mon.example.com:10245/hostwatch/?x=1".parse().unwrap());
        assert_eq!(web.to_string(), "http://mon.example.com:10245/hostwatch/?x=1");
        assert_eq!(
            web.url("/api/v1/status").unwrap().as_str(),
            "http://user:secret@mon.example.com:10245/hostwatch/api/v1/status"
        );
        let socket = Door::Socket("/var/lib/hostwatch/hostwatch.db.sock".into());
        assert_eq!(socket.to_string(), "/var/lib/hostwatch/hostwatch.db.sock");
    }
}
