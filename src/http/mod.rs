//! The web server: metrics, status page, JSON, health. Shows what others know; decides nothing and
//! asks the provider nothing. The endpoints are listed at the top of `routes`.

mod body;
mod guard;
mod listener;
mod middleware;
mod negotiate;
mod page;
mod query;
mod response;
mod routes;
mod server;
pub(crate) mod web_config;
mod write_timeout;

use std::sync::Arc;

use chrono::{DateTime, Utc};
use tokio::sync::{mpsc, oneshot};

use crate::metrics;
use crate::model::Snapshot;
use crate::state::Shared;
use crate::view::Alerting;

pub(crate) use guard::Guard;
pub(crate) use listener::Listener;
pub(crate) use server::{Limits, serve};
pub(crate) use web_config::WebConfig;

/// Asks for a reload of the configuration; the answer says whether it was taken over, or why not.
pub(crate) type Reload = oneshot::Sender<Result<(), String>>;

/// All that the server shows, and the little that it may ask for.
#[derive(Debug)]
pub(crate) struct Context {
    pub snapshot: Shared<Snapshot>,
    /// The provider's facts, compressed.
    pub page: Shared<metrics::Page>,
    pub own: Arc<metrics::Own>,
    /// Incidents and mails, as whoever keeps them last said.
    pub alerting: Shared<Alerting>,
    /// Where metrics are served, with a leading slash.
    pub telemetry_path: String,
    /// `POST /-/reload` is allowed.
    pub lifecycle: bool,
    pub reload: mpsc::Sender<Reload>,
    pub build: BuildInfo,
    pub started_at: DateTime<Utc>,
    /// Tells the time; the server has no clock of its own.
    pub clock: fn() -> DateTime<Utc>,
}

/// Which binary this is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BuildInfo {
    pub version: &'static str,
    pub commit: &'static str,
}
