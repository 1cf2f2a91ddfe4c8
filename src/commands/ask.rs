//! Asks a running daemon, over its Unix socket or its web address. Does not parse the answer.

use std::path::{Path, PathBuf};
use std::time::Duration;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::{ClientBuilder, Method, Url};

use crate::daemon::control::{Reply, Request};
use crate::daemon::webhook::innermost;
use crate::model::AccountName;
use crate::provider::http_client;

/// Longest wait for the daemon, which answers from memory.
const PATIENCE: Duration = Duration::from_secs(10);
/// A status has at most 100 resources and 20,000 incidents.
const MOST_BYTES: usize = 64 << 20;

/// Where a daemon answers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum DaemonAddress {
    /// Its control socket.
    Socket(PathBuf),
    /// The root of its pages; a path before `/api/` is kept.
    Web(Url),
}

/// Why there is no answer, and what to do.
#[derive(Debug, thiserror::Error)]
pub(super) enum AskError {
    #[error("preparing the request: {0}")]
    Setup(String),
    #[error(
        "no daemon answers at {place} ({cause}); is it running? If it listens elsewhere, name the address \
         with --url"
    )]
    Silent { place: String, cause: String },
    #[error("no daemon runs on {file}: none has a socket at {places}")]
    NoSocket { places: String, file: String },
    #[error(
        "the daemon's socket {place} may not be opened ({cause}); run this as root, as the daemon's user or in its group"
    )]
    Forbidden { place: String, cause: String },
    #[error(
        "{place} asks for a user and a password; run this beside the daemon, where its socket asks for none"
    )]
    Password { place: String },
    #[error("{place} answered {status}; is that a hostwatch? Name its address with --url")]
    Status { place: String, status: u16 },
    #[error("the daemon at {place} is of another release and does not know what this asks; restart it")]
    OtherRelease { place: String },
    #[error("the daemon at {place} took the connection and gave no answer ({cause})")]
    Unanswered { place: String, cause: String },
    #[error("the daemon at {place} is of another release: its answer cannot be read; restart it")]
    OtherAnswer { place: String },
    #[error("the answer of {place} broke off or never ended: {cause}")]
    Broken { place: String, cause: String },
}

impl AskError {
    /// Keeps why one place gave no answer, so that the next one can be asked: what may not be opened says more than that
    /// nobody is there.
    ///
    /// # Errors
    /// With what no other place can mend: somebody answered.
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

    /// May what was asked be done all the same? Not where no connection was made, nor where it was not understood.
    pub(super) fn may_be_done(&self) -> bool {
        let unasked = matches!(
            self,
            Self::Setup(_) | Self::Silent { .. } | Self::NoSocket { .. } | Self::Forbidden { .. }
        );
        !unasked && !matches!(self, Self::Password { .. } | Self::OtherRelease { .. })
    }
}

impl DaemonAddress {
    /// The text of the status (docs/api.md), unread.
    ///
    /// # Errors
    /// Where no daemon answers, or not with success.
    pub(super) async fn status(&self) -> Result<Vec<u8>, AskError> {
        self.get("/api/v1/status").await
    }

    /// The last report of an account (docs/api.md), unread.
    pub(super) async fn last_report(&self, account: &AccountName) -> Result<Vec<u8>, AskError> {
        self.get(&format!("/api/v1/report?account={account}")).await
    }

    /// What time it is for the daemon, unread.
    pub(super) async fn time(&self) -> Result<Vec<u8>, AskError> {
        self.get("/api/v1/time").await
    }

    /// What a command asks of the daemon, over its socket, perhaps of that of one store alone; the inner error is the
    /// daemon's, in words for people.
    pub(super) async fn ask(
        &self,
        request: &Request,
        store: Option<&Path>,
    ) -> Result<Result<Reply, String>, AskError> {
        let json = match store {
            Some(store) => serde_json::to_string(&request.clone().addressed(store)),
            None => serde_json::to_string(request),
        };
        let json = json.map_err(|error| AskError::Setup(error.to_string()))?;
        let path = format!("/control/v1?{}", utf8_percent_encode(&json, NON_ALPHANUMERIC));
        let other_release = || AskError::OtherRelease { place: self.to_string() };
        let sent = self.send(Method::POST, &path, request.patience()).await;
        let is_unknown = |error: &AskError| matches!(error, AskError::Status { status: 404 | 501, .. });
        let answer = sent.map_err(|error| if is_unknown(&error) { other_release() } else { error })?;
        serde_json::from_slice(&answer).map_err(|_| AskError::OtherAnswer { place: self.to_string() })
    }

    async fn get(&self, path: &str) -> Result<Vec<u8>, AskError> {
        self.send(Method::GET, path, PATIENCE).await
    }

    #[allow(clippy::disallowed_methods)] // to our own daemon
    async fn send(&self, method: Method, path: &str, patience: Duration) -> Result<Vec<u8>, AskError> {
        let place = self.to_string();
        let client = self.client(patience).build().map_err(|error| AskError::Setup(cause(&error)))?;
        let sent = client.request(method, self.url(path)?).send().await;
        let answer = sent.map_err(|error| self.failed(&error, patience))?;
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

    fn client(&self, patience: Duration) -> ClientBuilder {
        let client = http_client(patience);
        match self {
            Self::Socket(path) => client.unix_socket(path.as_path()),
            Self::Web(_) => client,
        }
    }

    fn url(&self, path: &str) -> Result<Url, AskError> {
        match self {
            Self::Socket(_) => {
                // The host name is not resolved: the connection is to the socket.
                let url = format!("http://localhost{path}");
                url.parse().map_err(|_| AskError::Setup(format!("{url} is no address")))
            }
            Self::Web(root) => {
                let (path, query) = path.split_once('?').map_or((path, None), |(path, it)| (path, Some(it)));
                let mut url = root.clone();
                url.set_path(&format!("{}{path}", root.path().trim_end_matches('/')));
                url.set_query(query);
                url.set_fragment(None);
                Ok(url)
            }
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

/// Where it is, without a password that the address may hold.
impl std::fmt::Display for DaemonAddress {
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
    innermost(error).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_its_password() {
        let web =
            DaemonAddress::Web("http://user:secret@mon.example.com:10245/hostwatch/?x=1".parse().unwrap());
        assert_eq!(web.to_string(), "http://mon.example.com:10245/hostwatch/?x=1");
        assert_eq!(
            web.url("/api/v1/status").unwrap().as_str(),
            "http://user:secret@mon.example.com:10245/hostwatch/api/v1/status"
        );
        let socket = DaemonAddress::Socket("/var/lib/hostwatch/hostwatch.db.sock".into());
        assert_eq!(socket.to_string(), "/var/lib/hostwatch/hostwatch.db.sock");
    }
}
