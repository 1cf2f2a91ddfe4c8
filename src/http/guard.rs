//! Access control for listeners that others can reach: TLS and passwords. All listeners of a daemon share
//! one guard.

use std::path::Path;
use std::sync::Arc;

use hyper::header::{self, HeaderValue};
use hyper::{HeaderMap, Response, StatusCode};

use super::body::Body;
use super::response::{text, with};
use super::web_config::{Admission, Checks, ReloadingConfig, WebConfig};

/// Access control; see the module.
#[derive(Debug)]
pub(crate) struct Guard {
    config: Option<ReloadingConfig>,
    checks: Checks,
}

impl Guard {
    /// A guard with `config` and its path. The file is read again when it or a file that it names changes.
    pub(crate) fn new(config: Option<(&Path, WebConfig)>) -> Self {
        Self {
            config: config.map(|(path, config)| ReloadingConfig::new(path, config)),
            checks: Checks::new(),
        }
    }

    /// The web configuration in force.
    pub(super) async fn config(&self) -> Option<Arc<WebConfig>> {
        Some(self.config.as_ref()?.get().await)
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
