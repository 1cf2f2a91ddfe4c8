//! The web server: metrics, status page, JSON, health. Shows what others know; decides nothing and
//! asks the provider nothing. The endpoints are listed at the top of `routes`.

mod accounts;
mod bar;
mod body;
mod cards;
mod chart;
mod guard;
mod head;
mod hosts;
mod idle;
mod listen_address;
mod listener;
mod middleware;
mod negotiate;
mod page;
mod past;
mod past_pages;
mod query;
mod response;
mod routes;
mod server;
pub(crate) mod web_config;
mod write_timeout;

use std::fmt::Debug;
use std::pin::Pin;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use tokio::sync::{mpsc, oneshot};

use crate::alert::{History, Past};
use crate::clock::Clock;
use crate::metrics;
use crate::model::Snapshot;
use crate::state::Shared;
use crate::view::Alerting;

#[cfg(test)]
pub(crate) use chart::svg;
pub(crate) use guard::Guard;
pub(crate) use hosts::{AllowedHosts, WebSettings, domain};
pub(crate) use listen_address::{DEFAULT_LISTEN_ADDRESS, ListenAddress};
pub(crate) use listener::Listener;
pub(crate) use routes::is_taken;
pub(crate) use server::{ConnectionLimits, serve};
pub(crate) use web_config::WebConfig;

/// Asks for a reload of the configuration; the answer says whether it was taken over, or why not.
pub(crate) type Reload = oneshot::Sender<Result<(), String>>;

/// The answer to a command, once it is there; `None` where the request is not understood.
pub(crate) type Answering<'a> = Pin<Box<dyn Future<Output = Option<String>> + Send + 'a>>;

/// Whoever answers what commands beside the daemon ask over its own socket.
pub(crate) trait Control: Debug + Send + Sync {
    /// JSON in, JSON out.
    fn answer<'a>(&'a self, request: &'a str) -> Answering<'a>;
}

/// Whoever keeps the history; the store is another layer's.
pub(crate) trait Remember: Debug + Send + Sync {
    /// May wait for the store: not to be called where nothing may wait.
    ///
    /// # Errors
    /// Why it could not be read.
    fn history(&self, past: &Past) -> Result<History, String>;
}

/// Everything the server shows, and the reload it may ask for.
#[derive(Debug)]
pub(crate) struct Context {
    pub snapshot: Shared<Snapshot>,
    /// The provider's facts, compressed.
    pub page: Shared<metrics::Page>,
    /// What Prometheus is to probe, compressed.
    pub targets: Shared<metrics::Targets>,
    pub own: Arc<metrics::Own>,
    /// Incidents and mails, as last published by the pipeline.
    pub alerting: Shared<Alerting>,
    /// Incidents of the past.
    pub memory: Arc<dyn Remember>,
    /// Answers commands, on listeners without a guard alone.
    pub control: Arc<dyn Control>,
    /// Where metrics are served, with a leading slash.
    pub telemetry_path: String,
    /// Of the events in the calendar feed.
    pub calendar_domain: Shared<String>,
    /// Where the store is, by which commands know their daemon.
    pub store: String,
    /// Under which names it may be asked.
    pub hosts: Shared<AllowedHosts>,
    /// `POST /-/reload` is allowed.
    pub lifecycle: bool,
    pub reload: mpsc::Sender<Reload>,
    pub build: BuildInfo,
    pub started_at: DateTime<Utc>,
    /// The clock.
    pub clock: Clock,
}

/// Which binary this is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BuildInfo {
    pub version: &'static str,
    pub commit: &'static str,
}
