//! Access control for listeners that others can reach: TLS and passwords. All listeners of a daemon share
//! one guard.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hyper::header::{self, HeaderValue};
use hyper::{HeaderMap, Response, StatusCode};

use super::body::Body;
use super::response::{text, with};
use super::web_config::{Admission, Checks, WebConfig};
use crate::file_stamp::FileStamp;
use crate::state::Shared;

/// Access control; see the module.
#[derive(Debug)]
pub(crate) struct Guard {
    /// The web configuration in force, and its file.
    web: Option<(PathBuf, Shared<WebConfig>)>,
    checks: Checks,
}

impl Guard {
    /// A guard with `config` and its path.
    pub(crate) fn new(config: Option<(&Path, WebConfig)>) -> Self {
        let web = config.map(|(path, config)| (path.to_owned(), Shared::new(config)));
        Self { web, checks: Checks::new() }
    }

    /// The web configuration in force.
    pub(super) fn config(&self) -> Option<Arc<WebConfig>> {
        self.web.as_ref().map(|(_, config)| config.get())
    }

    /// The files of the web configuration.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let config = self.config();
        config.iter().flat_map(|config| &config.files).map(|file| file.path.clone()).collect()
    }

    /// Reads the web configuration again; `None` if none of its files has changed.
    ///
    /// # Errors
    /// The reason why the new one cannot be put in force.
    pub(crate) fn read_again(&self) -> Result<Option<WebConfig>, String> {
        let Some((path, config)) = &self.web else { return Ok(None) };
        let old = config.get();
        if !old.files.iter().any(FileStamp::has_changed) {
            return Ok(None);
        }
        let new = WebConfig::read(path).map_err(|errors| errors.to_string())?;
        // Clients are configured for TLS or plain connections, and encryption must not vanish silently.
        if new.has_tls() != old.has_tls() {
            return Err(format!("{}: TLS was turned on or off; that takes a restart", path.display()));
        }
        for note in &new.notes {
            tracing::warn!("{}: {note}", path.display());
        }
        Ok(Some(new))
    }

    /// Puts a web configuration in force. Connections made under the old one end.
    pub(crate) fn renew(&self, new: WebConfig) {
        if let Some((_, config)) = &self.web {
            let old = config.get();
            config.set(new);
            old.replaced.cancel();
        }
    }

    /// The refusal of a request that is not admitted.
    pub(super) async fn refuse(&self, config: &WebConfig, headers: &HeaderMap) -> Option<Response<Body>> {
        const CHALLENGE: &str = "Basic realm=\"hostwatch\", charset=\"UTF-8\"";
        let authorization = headers.get(header::AUTHORIZATION).map(HeaderValue::as_bytes);
        let (status, words, header) = match config.users.check(authorization, &self.checks).await {
            Admission::Allowed => return None,
            Admission::Denied => (
                StatusCode::UNAUTHORIZED,
                "401: name and password, please\n",
                (header::WWW_AUTHENTICATE, CHALLENGE),
            ),
            Admission::Busy => (
                StatusCode::SERVICE_UNAVAILABLE,
                "503: too many passwords are being checked; try again later\n",
                (header::RETRY_AFTER, "1"),
            ),
        };
        Some(with(text(status, words), [header]))
    }
}
