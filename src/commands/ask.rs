//! Sends requests to a running daemon over its Unix socket. The answer is not parsed here.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::config_error::ConfigErrors;
use crate::daemon::control::{self, Asked, Reply, Request};
use crate::provider::{http_client, innermost};

/// The longest wait for the daemon, which answers from memory.
const PATIENCE: Duration = Duration::from_secs(10);
/// A status has at most 100 resources and 20,000 incidents.
const MOST_BYTES: usize = 64 << 20;

/// The path of a daemon's control socket.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct DaemonSocket(pub PathBuf);

/// The reason why no answer came, and the remedy.
#[derive(Debug, thiserror::Error)]
pub(super) enum AskError {
    #[error("preparing the request: {0}")]
    Setup(String),
    #[error("no daemon answers at {place} ({cause}); is it running?")]
    Silent { place: String, cause: String },
    #[error("no daemon runs on {file}: none has a socket at {places}")]
    NoSocket { places: String, file: String },
    #[error("{0}")]
    Configuration(ConfigErrors),
    #[error(
        "the daemon's socket {place} may not be opened ({cause}); run this as root, as the daemon's user or in its group"
    )]
    Forbidden { place: String, cause: String },
    #[error("the daemon at {place} is of another release and does not know what this asks; restart it")]
    OtherRelease { place: String },
    #[error("the daemon at {place} took the request and gave no answer that can be read ({cause})")]
    Unanswered { place: String, cause: String },
}

impl AskError {
    /// Keeps the reason why one place gave no answer, so that the next place can be tried. "Permission denied"
    /// outranks "not found".
    ///
    /// # Errors
    /// If another place cannot help, because somebody answered.
    pub(super) fn keep(self, kept: &mut Option<Self>) -> Result<(), Self> {
        if matches!(self, Self::Forbidden { .. }) {
            *kept = Some(self);
        } else if matches!(self, Self::Silent { .. }) {
            kept.get_or_insert(self);
        } else {
            return Err(self);
        }
        Ok(())
    }

    /// Whether the request may have been carried out in spite of the error. It was not if the connection
    /// failed, or if the daemon did not understand it.
    pub(super) fn may_be_done(&self) -> bool {
        matches!(self, Self::Unanswered { .. })
    }
}

impl DaemonSocket {
    /// The text of the status (docs/api.md) of all accounts, or one, unparsed.
    ///
    /// # Errors
    /// If no daemon answers, or not with success.
    pub(super) async fn status(&self, account: Option<&str>) -> Result<Vec<u8>, AskError> {
        let query = account.map_or_else(String::new, |account| format!("?account={account}"));
        self.send(&format!("/api/v1/status{query}"), None, PATIENCE).await
    }

    /// Sends a command's request over the daemon's socket, for one store alone if `store` is given. The inner
    /// error is the daemon's, in words for people.
    pub(super) async fn ask(
        &self,
        request: &Request,
        store: Option<&Path>,
    ) -> Result<Result<Reply, String>, AskError> {
        let asked = Asked { store: store.map(control::whole), request: request.clone() };
        let json = serde_json::to_string(&asked).map_err(|error| AskError::Setup(error.to_string()))?;
        let answer = self.send("/control/v1", Some(json), request.patience()).await?;
        let unread =
            |_| AskError::Unanswered { place: self.to_string(), cause: "of another release?".to_owned() };
        serde_json::from_slice(&answer).map_err(unread)
    }

    /// Posts a body, or gets without one, and returns the answer's.
    #[allow(clippy::disallowed_methods)] // to our own daemon
    async fn send(&self, path: &str, body: Option<String>, patience: Duration) -> Result<Vec<u8>, AskError> {
        let place = self.to_string();
        let silent =
            |error: std::io::Error| AskError::Silent { place: place.clone(), cause: error.to_string() };
        // The directory is held open while its path is used.
        let (short, _directory) = control::short(&self.0).map_err(silent)?;
        let client = http_client(patience).unix_socket(short);
        let client = client.build().map_err(|error| AskError::Setup(cause(&error)))?;
        // The host name is not resolved, since the connection is to the socket.
        let url = format!("http://localhost{path}");
        let request = match body {
            Some(body) => client.post(url).body(body),
            None => client.get(url),
        };
        let mut answer = request.send().await.map_err(|error| self.failed(&error, patience))?;
        let status = answer.status().as_u16();
        let broken = |cause| AskError::Unanswered { place: place.clone(), cause };
        let mut body = Vec::new();
        while let Some(chunk) = answer.chunk().await.map_err(|error| broken(cause(&error)))? {
            body.extend_from_slice(&chunk);
            if body.len() > MOST_BYTES {
                return Err(broken(format!("more than {MOST_BYTES} bytes")));
            }
        }
        match status {
            200 => Ok(body),
            404 | 501 => Err(AskError::OtherRelease { place }),
            status => Err(broken(format!("HTTP {status}"))),
        }
    }

    fn failed(&self, error: &reqwest::Error, patience: Duration) -> AskError {
        let (place, why) = (self.to_string(), cause(error));
        let denied = |error: &std::io::Error| error.kind() == std::io::ErrorKind::PermissionDenied;
        if innermost(error).downcast_ref::<std::io::Error>().is_some_and(denied) {
            return AskError::Forbidden { place, cause: why };
        }
        let cause =
            if error.is_timeout() { format!("no answer within {} s", patience.as_secs()) } else { why };
        match error.is_connect() {
            true => AskError::Silent { place, cause },
            false => AskError::Unanswered { place, cause },
        }
    }
}

impl std::fmt::Display for DaemonSocket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.display().fmt(f)
    }
}

fn cause(error: &reqwest::Error) -> String {
    innermost(error).to_string()
}
